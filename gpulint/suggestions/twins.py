"""Twins: roles of one file whose objects differ in their names only, for which suggestions are worked out once."""

from __future__ import annotations

import re
from collections.abc import Callable, Hashable
from typing import NamedTuple

from gpulint.policy.rules.evaluate import Verdict
from gpulint.policy.rules.evaluated_role import EvaluatedRole
from gpulint.report.model import Edit, Location, Suggestion
from gpulint.source.documents import Document, Node, Path, places
from gpulint.workload import Field, Origin

NAME = "\0"
"""Stands for an object's own name in a text."""


class _First(NamedTuple):
    """The suggestions of the first of some twins."""

    role: EvaluatedRole
    suggestions: tuple[Suggestion, ...]


class Twins:
    """The suggestions for the roles of one file, each worked out for the first of its twins only."""

    def __init__(self) -> None:
        self._first: dict[Hashable, _First] = {}

    def suggest(
        self, key: Hashable, role: EvaluatedRole, work_out: Callable[[], tuple[Suggestion, ...]]
    ) -> tuple[Suggestion, ...]:
        """Return the suggestions for a role: those of its twin with their edits moved, else those worked out now."""
        first = self._first.get(key)
        if first is not None:
            moved = [_move(suggestion, first.role, role) for suggestion in first.suggestions]
            if None not in moved:
                return tuple(suggestion for suggestion in moved if suggestion is not None)
        found = work_out()
        self._first.setdefault(key, _First(role, found))
        return found


class Region(NamedTuple):
    """The part of a document that is a role's own: its item of a list of roles or containers, else all of it."""

    document: Document
    path: Path

    @property
    def start(self) -> int:
        """The offset of its first character."""
        return self._node.start

    @property
    def end(self) -> int:
        """The offset behind its last character."""
        return self._node.end

    @property
    def text(self) -> str:
        """Its text."""
        return self.document.text[self.start : self.end]

    @property
    def _node(self) -> Node:
        return self.document.node(self.path) or self.document.root


def find_region(role: EvaluatedRole) -> Region:
    """Return the part of a role's document that is its own."""
    document, anchor = role.workload.document, role.facts.role.anchor
    if not _is_same(anchor.document, document):
        return Region(document, ())
    last = max((at for at, part in enumerate(anchor.path, 1) if isinstance(part, int)), default=0)
    return Region(document, anchor.path[:last])


def _is_same(one: Document, other: Document) -> bool:
    return one.path == other.path and one.index == other.index


def identify(verdict: Verdict, role: EvaluatedRole, namesakes: Hashable) -> Hashable:
    """Return what the twins of a role have in common, and no other role of the file: the texts of the object and of the
    role without their names, every value with its places, and the outcome of the rules.
    """
    name, known = role.workload.name, role.facts.role
    outcome, region = role.outcome, find_region(role)
    return (
        verdict.rule.name,
        verdict.severity,
        namesakes,
        (role.workload.kind, role.workload.adapter, role.workload.path, region.path[:-1], role.component),
        _hide(_read_object(role.workload.document), name),
        _hide(_hide(region.text, name), known.name) if region.path else _hide(known.name, name),
        tuple((key, *_describe(field, role, region)) for key, field in sorted(known.fields.items())),
        None if known.arguments is None else _place(known.arguments, region),
        known.open_ended,
        tuple((other.rule.name, other.severity) for other in outcome.verdicts),
        tuple((entry.rule, tuple(entry.needs)) for entry in outcome.not_evaluated),
        frozenset(outcome.holding),
    )


def _describe(field: Field, role: EvaluatedRole, region: Region) -> tuple[Hashable, ...]:
    name = role.workload.name
    origins = tuple(_place(origin, region) for origin in field.origins)
    return _hide(repr(field.value), name), _hide(field.source, name), _hide(field.assumption, name), origins


def _place(origin: Origin, region: Region) -> Hashable:
    """Return a place: of the region, of the rest of its document, or of another document, which is then named."""
    if not _is_same(origin.document, region.document):
        return (origin.document.path, origin.document.index, *origin[1:])
    inside = len(region.path)
    if origin.path[:inside] == region.path:
        return (origin.path[inside:], *origin[2:])
    return ("", *origin[1:])


def _read_object(document: Document) -> str:
    return document.text[document.root.start : document.root.end]


def _hide(text: str, name: str) -> str:
    """Return a text without a name."""
    return re.sub(rf"(?<![\w.-]){re.escape(name)}(?![\w.-])", NAME, text) if name and name in text else text


# ---- the same edits in another object


def _move(suggestion: Suggestion, first: EvaluatedRole, other: EvaluatedRole) -> Suggestion | None:
    """Return a suggestion for another role; None if an edit has no place there that reads the same."""
    texts = (suggestion.title, suggestion.trade_off, *(f"{edit.old} {edit.new}" for edit in suggestion.edits))
    names = (first.workload.name, first.facts.role.name)
    if any(_hide(text, name) != text for text in texts for name in names):
        return None
    edits = [_move_edit(edit, first, other) for edit in suggestion.edits]
    return None if None in edits else suggestion._replace(edits=tuple(edit for edit in edits if edit is not None))


def _move_edit(edit: Edit, first: EvaluatedRole, other: EvaluatedRole) -> Edit | None:
    """Return an edit at the same place of another region; a place outside the region is the same for twins of one document."""
    if edit.location is None:
        return edit
    source, target = find_region(first), find_region(other)
    place = edit.location
    if place.path != source.document.path:
        return None
    if not _contains(source, place):
        if source.path and _is_same(source.document, target.document):
            return edit
        source, target = Region(source.document, ()), Region(target.document, ())
    moved = _find_line(target) - _find_line(source)
    names = (first.facts.role.name, other.facts.role.name)
    column = _find_column(place, source.document.text, moved, target.document.text, names)
    if column is None or not _contains(source, place):
        return None
    line, end_line = place.line + moved, place.end_line + moved
    end_column = place.end_column + (column - place.column if place.line == place.end_line else 0)
    shown = (places.read_line(target.document.text, at) for at in range(line, end_line + 1))
    text = "\n".join(shown) if place.text else ""
    return edit._replace(location=Location(target.document.path, line, column, end_line, end_column, text))


def _find_line(region: Region) -> int:
    return places.find_line(region.document.text, region.start)


def _contains(region: Region, place: Location) -> bool:
    begin, end = (places.find_offset(region.document.text, *at) for at in (place[1:3], place[3:5]))
    return region.start <= begin <= end <= region.end


def _find_column(place: Location, text: str, moved: int, other: str, names: tuple[str, str]) -> int | None:
    """Return the column of a place in the lines of a twin; None if they read differently but for the role's name."""
    lines = [places.read_line(text, line) for line in range(place.line, place.end_line + 1)]
    same = [places.read_line(other, line + moved) for line in range(place.line, place.end_line + 1)]
    if lines == same:
        return place.column
    if len(lines) > 1 or _hide(lines[0], names[0]) != _hide(same[0], names[1]):
        return None
    before = _hide(lines[0][: place.column - 1], names[0]).count(NAME)
    return place.column + before * (len(names[1]) - len(names[0]))
