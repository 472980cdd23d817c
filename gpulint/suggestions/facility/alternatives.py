"""Room alternatives: changes of a facility, kept only if the same rules, run again on all they reach, have nothing new to say."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import NamedTuple

from gpulint import units
from gpulint.facility.model import Part, PartFacts
from gpulint.facts.glossary import glossary
from gpulint.policy.rules import evaluate as check
from gpulint.policy.rules import facility as facilities
from gpulint.policy.rules.evaluate import Outcome, Verdict
from gpulint.policy.rules.facility import Key
from gpulint.policy.rules.rule import Rule
from gpulint.report.model import Edit, Severity, Suggestion
from gpulint.source.documents import Path
from gpulint.suggestions.edits import exact_places as stated
from gpulint.suggestions.facility import changes as room_moves
from gpulint.suggestions.facility.changes import Change, Move
from gpulint.workload import Field, Origin, Role

PRINTED = 3
TRIED = 24
FEW = 3
ANSWERED = 12
"""Findings of one facility that get alternatives, the worst first."""
ANSWERED_LEAST = 3
ANSWERED_PARTS = 4000
"""Parts that all changes written into a text may be judged with: a hall of a thousand parts has fewer answers."""


class Before(NamedTuple):
    """What was said of each part, how severely by which rule, and which rules lacked facts; and one part of each place."""

    severities: Mapping[tuple[Key, str], int]
    lacking: frozenset[tuple[Key, str]]
    parts: frozenset[Key]
    places: Mapping[tuple[str, tuple[str | int, ...]], Key]

    def called(self, at: Key) -> Key:
        """What a part was called; one that comes in elsewhere was called as where it comes from."""
        kind, _, place = at
        return at if at in self.parts else self.places.get((kind, place), at)


def before(said: Iterable[facilities.Said]) -> Before:
    """What the rules say of a facility as it is; what a rule absorbs is said with it."""
    severities: dict[tuple[Key, str], int] = {}
    lacking: set[tuple[Key, str]] = set()
    places: dict[tuple[str, Path], Key] = {}
    parts = []
    for one in said:
        at = facilities.key(one.known)
        parts.append(at)
        places[at[0], at[2]] = at
        lacking |= {(at, each.rule) for each in one.outcome.not_evaluated}
        for verdict in one.outcome.verdicts:
            for name in (verdict.rule.name, *verdict.rule.absorbs):
                severities[at, name] = max(verdict.severity, severities.get((at, name), 0))
    return Before(severities, frozenset(lacking), frozenset(parts), places)


def alternatives(
    verdict: Verdict, known: PartFacts, stood: Before, rules: Mapping[str, tuple[Rule, ...]]
) -> tuple[Suggestion, ...]:
    """Up to three changes after which the rule is evaluated, holds in no world, and nothing else is new.

    Of each quantity the least that does, and those first that leave the fewest errors of other rules.
    """
    budget = iter(range(TRIED))
    found = [_best(quantity, verdict.rule, known, stood, rules, budget) for quantity in verdict.rule.change]
    kept = sorted((one for one in found if one is not None), key=lambda one: one[0])
    return tuple(_suggestion(move) for _, move in kept[:PRINTED])


def _best(
    quantity: str,
    rule: Rule,
    known: PartFacts,
    stood: Before,
    rules: Mapping[str, tuple[Rule, ...]],
    budget: Iterator[int],
) -> tuple[int, Move] | None:
    """Of the changes of a quantity the first that leaves no error, else the better one of the first few that do."""
    kept: list[tuple[int, Move]] = []
    for move, _ in zip(room_moves.moves(quantity, known), budget, strict=False):
        after = varied(known.root(), move)
        errors = _errors_left(rule, known, after, stood, rules) if _is_told(rule, move, after) else None
        if errors is not None:
            kept.append((errors, move))
        if errors == 0 or len(kept) == FEW:
            break
    return min(kept, key=lambda one: one[0], default=None)


def _is_told(rule: Rule, move: Move, after: Sequence[PartFacts]) -> bool:
    """Whether a rule can be evaluated of whatever takes something in: nothing passes by going where little is known."""
    places = {(holder.kind, holder.path()) for holder, _ in move.added}
    taking = (one for one in after if one.kind in rule.target.kind and (one.kind, one.path()) in places)
    return not any(check.judged([rule], one.facts).not_evaluated for one in taking)


def _errors_left(
    rule: Rule, known: PartFacts, after: Sequence[PartFacts], stood: Before, rules: Mapping[str, tuple[Rule, ...]]
) -> int | None:
    """The errors that stay where a rule holds no longer and none speaks or lacks a fact that did not before; else None.

    Most changes fail the first question.
    """
    own = facilities.key(known)
    here = next((one for one in after if one.kind == known.kind and facilities.key(one) == own), None)
    if here is None:
        return None
    answered = check.judged([rule], here.facts)
    if answered.holding or answered.not_evaluated:
        return None
    outcomes: list[tuple[Key, Outcome]] = []
    for one, outcome in facilities.outcomes(reversed(after), rules):
        at = stood.called(facilities.key(one))
        if _is_worse(at, outcome, stood):
            return None
        outcomes.append((at, outcome))
    if _comes_up(rule, own, outcomes):
        return None
    return sum(one.severity == Severity.ERROR for _, outcome in outcomes for one in outcome.verdicts)


def _is_worse(at: Key, outcome: Outcome, stood: Before) -> bool:
    louder = (one.severity > stood.severities.get((at, one.rule.name), 0) for one in outcome.verdicts)
    return any(louder) or any((at, one.rule) not in stood.lacking for one in outcome.not_evaluated)


def _comes_up(rule: Rule, own: Key, outcomes: Iterable[tuple[Key, Outcome]]) -> bool:
    """Whether a rule that holds no longer leaves what it absorbed of the parts that its own part holds."""
    within = [outcome for at, outcome in outcomes if at[1][:-1] == own[1]]
    return any(one.rule.name in rule.absorbs for outcome in within for one in outcome.verdicts)


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


def _changed(root: PartFacts, changes: Sequence[Change]) -> Iterator[tuple[PartFacts, Role]]:
    """Every part whose place in the file a change rewrites: those that a name with a range stands for are all of them."""
    wanted = {(one.part.kind, one.quantity, _place(one.part, one.quantity)): one for one in changes}
    quantities = {(kind, quantity) for kind, quantity, _ in wanted}
    for part in root.all() if wanted else ():
        named = [quantity for kind, quantity in quantities if kind == part.kind]
        places = ((part.kind, quantity, _place(part, quantity)) for quantity in named)
        if mine := [wanted[place] for place in places if place in wanted]:
            yield part, part.role.having(**{one.quantity: _restated(one) for one in mine})


def _place(part: PartFacts, quantity: str) -> tuple[str, Path]:
    """Where a part states a quantity, or would."""
    field = part.role.fields.get(quantity)
    origin = field.origins[0] if field and field.origins else part.role.anchor
    return origin.document.path, origin.path


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
    """The place of a change and what stands there instead; of a value that nothing states, a key beside another.

    An inventory takes no keys of ours, so that what it holds is changed in words only.
    """
    written = _written(one)
    if room_moves.is_stated(one):
        origin = one.part.role.fields[one.quantity].origins[0]
        place = stated.place(origin) if _is_edited(origin) else None
        return Edit(one.quantity, place.location if place else None, origin.text(), written)
    beside = next((field.origins[0] for field in one.part.role.fields.values() if field.origins), None)
    entry = f"{room_moves.key(one)}: {written}"
    if beside is None or beside.document is not one.part.root().role.anchor.document:
        return Edit(one.quantity, None, "", f"{entry} of {one.part.role.name}")
    return Edit(one.quantity, beside._replace(key=True).location(), "", entry, "key")


def _is_edited(origin: Origin) -> bool:
    """Whether people write the file: one that an inventory exports is changed there, and exported anew."""
    return origin.document.format != "export"


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
    what = (
        f"{part.role.value('servers')} × {part.role.name}" if part.kind == "server" else f"{part.kind} {part.role.name}"
    )
    return Edit(f"{part.kind}s", None, "", f"{what} in {holder.role.name}")


def offered(
    said: Sequence[facilities.Said], spoken: Sequence[facilities.Spoken], rules: Iterable[Rule]
) -> dict[tuple[Key, str], tuple[Suggestion, ...]]:
    """The alternatives of the worst findings, by part and rule; those of lesser ones beyond `ANSWERED` are not sought."""
    asked = [(one.verdict, one.said.known) for one in spoken if one.verdict.rule.change]
    asked.sort(key=lambda pair: -pair[0].severity)
    if not asked:
        return {}
    stood, about = before(said), facilities.by_kind(rules)
    worst = asked[: min(ANSWERED, max(ANSWERED_LEAST, ANSWERED_PARTS // len(said)))]
    return {(facilities.key(one), said.rule.name): alternatives(said, one, stood, about) for said, one in worst}
