"""Room alternatives: changes of a facility, kept only if the same rules, run again on all they reach, have nothing new to say."""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import NamedTuple

from gpulint import facilities, room_moves, stated, units
from gpulint.facilities import Key
from gpulint.facts import glossary
from gpulint.findings import Edit, Suggestion
from gpulint.parts import Part, PartFacts
from gpulint.policy.check import Outcome, Verdict
from gpulint.policy.rule import Rule
from gpulint.room_moves import Change, Move
from gpulint.workload import Field, Origin, Role

PRINTED = 3
TRIED = 24
ANSWERED = 12
"""Findings of one facility that get alternatives, the worst first."""


class Before(NamedTuple):
    """What was said of each part: how severely by which rule, and which rules lacked facts."""

    severities: Mapping[tuple[Key, str], int]
    lacking: frozenset[tuple[Key, str]]


def before(said: Iterable[facilities.Said]) -> Before:
    """What the rules say of a facility as it is."""
    severities: dict[tuple[Key, str], int] = {}
    lacking: set[tuple[Key, str]] = set()
    for one in said:
        at = facilities.key(one.known)
        severities.update({(at, verdict.rule.name): verdict.severity for verdict in one.outcome.verdicts})
        lacking |= {(at, each.rule) for each in one.outcome.not_evaluated}
    return Before(severities, frozenset(lacking))


def alternatives(
    verdict: Verdict, known: PartFacts, stood: Before, rules: Mapping[str, tuple[Rule, ...]]
) -> tuple[Suggestion, ...]:
    """Up to three changes after which the rule is evaluated, holds in no world, and nothing else is new."""
    kept: list[Suggestion] = []
    tried = itertools.count()
    for quantity in verdict.rule.change:
        for move in room_moves.moves(quantity, known):
            if next(tried) >= TRIED or len(kept) >= PRINTED:
                break
            if _cures(verdict.rule.name, known, varied(known.root(), move), stood, rules):
                kept.append(_suggestion(move))
                break
    return tuple(kept)


def _cures(
    rule: str, known: PartFacts, after: Sequence[PartFacts], stood: Before, rules: Mapping[str, tuple[Rule, ...]]
) -> bool:
    """Whether a rule holds no longer, and none speaks or lacks a fact that did not before."""
    own, cured = facilities.key(known), False
    for one in after:
        at, mine = facilities.key(one), rules.get(one.kind, ())
        outcome = facilities.outcome(mine, one)
        if at == own:
            if rule in outcome.holding or any(each.rule == rule for each in outcome.not_evaluated):
                return False
            cured = True
        if _is_worse(at, outcome, stood):
            return False
    return cured


def _is_worse(at: Key, outcome: Outcome, stood: Before) -> bool:
    louder = (one.severity > stood.severities.get((at, one.rule.name), 0) for one in outcome.verdicts)
    return any(louder) or any((at, one.rule) not in stood.lacking for one in outcome.not_evaluated)


# ---- the facility after a move


def varied(root: PartFacts, move: Move) -> tuple[PartFacts, ...]:
    """The parts of a facility after a move that it can reach: what changes, what that holds, and what stands above or beside."""
    roles = {id(part): role for part, role in _changed(root, move.changes)}
    added: dict[int, tuple[Part, ...]] = {}
    for holder, part in move.added:
        for one in root.of_kind(holder.kind):
            if _same(one.role.anchor, holder.role.anchor) and one.role.name == holder.role.name:
                added[id(one)] = (*added.get(id(one), ()), part)
    again = root.varied(roles, added)
    same = {id(one) for one in root.all()}
    return tuple(one for one in again.all() if id(one) not in same)


def _changed(root: PartFacts, changes: Iterable[Change]) -> Iterator[tuple[PartFacts, Role]]:
    """Every part whose place in the file a change rewrites: those that a name with a range stands for are all of them."""
    wanted = list(changes)
    kinds = {one.part.kind for one in wanted}
    for part in root.all() if wanted else ():
        mine = [one for one in wanted if part.kind in kinds and _reaches(one, part)]
        if mine:
            yield part, part.role.having(**{one.quantity: _restated(one) for one in mine})


def _reaches(one: Change, part: PartFacts) -> bool:
    if part.kind != one.part.kind:
        return False
    here, there = (each.role.fields.get(one.quantity) for each in (part, one.part))
    if here is not None and there is not None and here.origins and there.origins:
        return _same(here.origins[0], there.origins[0])
    return _same(part.role.anchor, one.part.role.anchor) and here is there


def _same(one: Origin, other: Origin) -> bool:
    return one.document is other.document and one.path == other.path


def _restated(one: Change) -> Field:
    field = one.part.role.fields.get(one.quantity)
    return Field(one.value, field.origins if field else (), source="suggested")


# ---- what a move would write


def _suggestion(move: Move) -> Suggestion:
    edits = [*(edit for one in move.changes for edit in [_edit(one)]), *(_addition(*one) for one in move.added)]
    values = {one.quantity: one.value for one in move.changes} or {"feeds": len(move.added)}
    return Suggestion(move.title, tuple(dict.fromkeys(edits)), gives_up=move.gives_up, values=values)


def _edit(one: Change) -> Edit:
    """The place of a change and what stands there instead; of a value that nothing states, a key beside another."""
    written = _written(one)
    if room_moves.is_stated(one):
        origin = one.part.role.fields[one.quantity].origins[0]
        place = stated.place(origin)
        return Edit(one.quantity, place.location if place else None, origin.text(), written)
    beside = next((field.origins[0] for field in one.part.role.fields.values() if field.origins), None)
    return Edit(
        one.quantity,
        beside._replace(key=True).location() if beside else None,
        "",
        f"{room_moves.key(one)}: {written}",
        "key",
    )


def _written(one: Change) -> str:
    """A value as the file writes such values: with its unit where the old one has it."""
    unit = glossary()[one.quantity].unit
    old = one.part.role.fields[one.quantity].origins[0].text() if room_moves.is_stated(one) else "with a unit"
    if isinstance(one.value, int | float) and unit and not _is_number(old):
        return units.human(one.value, unit).replace(",", "")
    return str(one.value)


def _is_number(text: str) -> bool:
    return text.replace(".", "", 1).isdigit()


def _addition(holder: PartFacts, part: Part) -> Edit:
    count = part.role.value("servers") if part.kind == "server" else 1
    return Edit(f"{part.kind}s", None, "", f"{count} × {part.role.name} in {holder.role.name}")


def offered(said: Sequence[facilities.Said], rules: Iterable[Rule]) -> dict[tuple[Key, str], tuple[Suggestion, ...]]:
    """The alternatives of the worst findings, by part and rule; those behind `ANSWERED` have none."""
    asked = [(verdict, one.known) for one in said for verdict in one.outcome.verdicts if verdict.rule.change]
    asked.sort(key=lambda pair: -pair[0].severity)
    if not asked:
        return {}
    stood, about = before(said), facilities.by_kind(rules)
    return {
        (facilities.key(known), verdict.rule.name): alternatives(verdict, known, stood, about)
        for verdict, known in asked[:ANSWERED]
    }
