"""Twins: roles of one file whose objects differ in their names only, for which suggestions are worked out once."""

from __future__ import annotations

import re
from collections.abc import Callable, Hashable
from typing import NamedTuple

from gpulint.policy.rules.evaluate import EvaluatedRole, Verdict
from gpulint.report.model import Edit, Suggestion
from gpulint.source.documents import Document, places
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


def identify(verdict: Verdict, role: EvaluatedRole, namesakes: int) -> Hashable:
    """Return what the twins of a role have in common, and no other role of the file: the text of the object without
    its name, every value with its places, and the outcome of the rules.
    """
    name, known = role.workload.name, role.facts.role
    outcome = role.outcome
    return (
        verdict.rule.name,
        verdict.severity,
        namesakes,
        (role.workload.kind, role.workload.adapter, role.workload.path, _hide(known.name, name), role.component),
        _hide(_read_object(role.workload.document), name),
        tuple((key, *_describe(field, role)) for key, field in sorted(known.fields.items())),
        None if known.arguments is None else _place(known.arguments, role),
        known.open_ended,
        tuple((other.rule.name, other.severity) for other in outcome.verdicts),
        tuple((entry.rule, tuple(entry.needs)) for entry in outcome.not_evaluated),
        frozenset(outcome.holding),
    )


def _describe(field: Field, role: EvaluatedRole) -> tuple[Hashable, ...]:
    name = role.workload.name
    origins = tuple(_place(origin, role) for origin in field.origins)
    return _hide(repr(field.value), name), _hide(field.source, name), _hide(field.assumption, name), origins


def _place(origin: Origin, role: EvaluatedRole) -> Hashable:
    """Return a place; one in another document is named with its document."""
    own = origin.document.path == role.workload.document.path and origin.document.index == role.workload.document.index
    return origin[1:] if own else (origin.document.path, origin.document.index, *origin[1:])


def _read_object(document: Document) -> str:
    return document.text[document.root.start : document.root.end]


def _hide(text: str, name: str) -> str:
    """Return a text without a name."""
    return re.sub(rf"(?<![\w.-]){re.escape(name)}(?![\w.-])", NAME, text) if name and name in text else text


# ---- the same edits in another object


def _move(suggestion: Suggestion, first: EvaluatedRole, other: EvaluatedRole) -> Suggestion | None:
    """Return a suggestion for another object; None if an edit has no place there that reads the same."""
    texts = (suggestion.title, suggestion.trade_off, *(f"{edit.old} {edit.new}" for edit in suggestion.edits))
    if any(_hide(text, first.workload.name) != text for text in texts):
        return None
    edits = [_move_edit(edit, first.workload.document, other.workload.document) for edit in suggestion.edits]
    return None if None in edits else suggestion._replace(edits=tuple(edit for edit in edits if edit is not None))


def _move_edit(edit: Edit, first: Document, other: Document) -> Edit | None:
    if edit.location is None:
        return edit
    begin, end = (places.find_line(first.text, at) for at in (first.root.start, first.root.end))
    moved = places.find_line(other.text, other.root.start) - begin
    place = edit.location
    if place.path != first.path or not begin <= place.line <= place.end_line <= end:
        return None
    lines = range(place.line, place.end_line + 1)
    if any(places.read_line(first.text, line) != places.read_line(other.text, line + moved) for line in lines):
        return None
    return edit._replace(
        location=place._replace(path=other.path, line=place.line + moved, end_line=place.end_line + moved)
    )
