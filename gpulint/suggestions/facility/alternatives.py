"""Facility suggestions: changes of a facility that the same rules verify on everything they
reach.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import NamedTuple

from gpulint import units
from gpulint.facility.model import Component, ComponentFacts
from gpulint.facts.glossary import glossary
from gpulint.policy.rules import evaluate, facility
from gpulint.policy.rules.evaluate import Outcome, Verdict
from gpulint.policy.rules.facility import Key
from gpulint.policy.rules.rule import Rule
from gpulint.report.model import Edit, Severity, Suggestion
from gpulint.source.documents import Path
from gpulint.suggestions.edits import exact_places
from gpulint.suggestions.facility import changes as facility_changes
from gpulint.suggestions.facility.changes import Candidate, Change
from gpulint.workload import Field, Origin, Role

PRINTED = 3
TRIED = 24
FEW = 3
ANSWERED = 12
"""Maximum findings of one facility that get suggestions, the most severe first."""
ANSWERED_LEAST = 3
ANSWERED_PARTS = 4000
"""Number of components that limits how many findings of a large facility get suggestions."""


class Baseline(NamedTuple):
    """The evaluation before a change: severities and missing facts by component and rule, and one
    component of each location.
    """

    severities: Mapping[tuple[Key, str], int]
    lacking: frozenset[tuple[Key, str]]
    parts: frozenset[Key]
    places: Mapping[tuple[str, tuple[str | int, ...]], Key]

    def find_earlier_key(self, at: Key) -> Key:
        """Return the earlier identity of a component; a moved one keeps that of its origin."""
        kind, _, place = at
        return at if at in self.parts else self.places.get((kind, place), at)


def build_baseline(evaluations: Iterable[facility.Evaluation]) -> Baseline:
    """Return the evaluation of a facility as it is, including the rules that its findings
    absorb.
    """
    severities: dict[tuple[Key, str], int] = {}
    lacking: set[tuple[Key, str]] = set()
    places: dict[tuple[str, Path], Key] = {}
    parts = []
    for evaluation in evaluations:
        at = facility.identify(evaluation.known)
        parts.append(at)
        places[at[0], at[2]] = at
        lacking |= {(at, lack.rule) for lack in evaluation.outcome.not_evaluated}
        for verdict in evaluation.outcome.verdicts:
            for name in (verdict.rule.name, *verdict.rule.absorbs):
                severities[at, name] = max(verdict.severity, severities.get((at, name), 0))
    return Baseline(severities, frozenset(lacking), frozenset(parts), places)


def suggest(
    verdict: Verdict, facts: ComponentFacts, stood: Baseline, rules: Mapping[str, tuple[Rule, ...]]
) -> tuple[Suggestion, ...]:
    """Return up to three changes after which the rule is evaluated and cleared in every scenario,
    and nothing new is reported.

    For each quantity, the smallest sufficient change is taken. Changes that leave the fewest errors
    of other rules come first.
    """
    budget = iter(range(TRIED))
    found = [_find_best(quantity, verdict.rule, facts, stood, rules, budget) for quantity in verdict.rule.change]
    kept = sorted((pair for pair in found if pair is not None), key=lambda pair: pair[0])
    return tuple(_build_suggestion(move) for _, move in kept[:PRINTED])


def _find_best(
    quantity: str,
    rule: Rule,
    facts: ComponentFacts,
    stood: Baseline,
    rules: Mapping[str, tuple[Rule, ...]],
    budget: Iterator[int],
) -> tuple[int, Candidate] | None:
    """Return the first change of a quantity that leaves no error, else the best of the first few
    that help.
    """
    kept: list[tuple[int, Candidate]] = []
    for move, _ in zip(facility_changes.propose(quantity, facts), budget, strict=False):
        after = apply(facts.root(), move)
        errors = _count_errors_left(rule, facts, after, stood, rules) if _is_evaluated(rule, move, after) else None
        if errors is not None:
            kept.append((errors, move))
        if errors == 0 or len(kept) == FEW:
            break
    return min(kept, key=lambda pair: pair[0], default=None)


def _is_evaluated(rule: Rule, move: Candidate, after: Sequence[ComponentFacts]) -> bool:
    """Return whether a rule can be evaluated for every component that receives something.

    Unknown values must not make it pass.
    """
    places = {(holder.kind, holder.path()) for holder, _ in move.added}
    taking = (
        component
        for component in after
        if component.kind in rule.target.kind and (component.kind, component.path()) in places
    )
    return not any(evaluate.evaluate([rule], component.facts).not_evaluated for component in taking)


def _count_errors_left(
    rule: Rule,
    facts: ComponentFacts,
    after: Sequence[ComponentFacts],
    stood: Baseline,
    rules: Mapping[str, tuple[Rule, ...]],
) -> int | None:
    """Return the errors that remain if the rule is cleared and nothing new is reported; else None.

    Most changes fail the first check.
    """
    own = facility.identify(facts)
    here = next(
        (component for component in after if component.kind == facts.kind and facility.identify(component) == own), None
    )
    if here is None:
        return None
    answered = evaluate.evaluate([rule], here.facts)
    if answered.holding or answered.not_evaluated:
        return None
    outcomes: list[tuple[Key, Outcome]] = []
    for component, outcome in facility.evaluate_components(reversed(after), rules):
        at = stood.find_earlier_key(facility.identify(component))
        if _is_worse(at, outcome, stood):
            return None
        outcomes.append((at, outcome))
    if _reveals_absorbed(rule, own, outcomes):
        return None
    return sum(verdict.severity == Severity.ERROR for _, outcome in outcomes for verdict in outcome.verdicts)


def _is_worse(at: Key, outcome: Outcome, stood: Baseline) -> bool:
    louder = (verdict.severity > stood.severities.get((at, verdict.rule.name), 0) for verdict in outcome.verdicts)
    return any(louder) or any((at, lack.rule) not in stood.lacking for lack in outcome.not_evaluated)


def _reveals_absorbed(rule: Rule, own: Key, outcomes: Iterable[tuple[Key, Outcome]]) -> bool:
    """Return whether a cleared rule leaves findings that it absorbed on the children of its
    component.
    """
    within = [outcome for at, outcome in outcomes if at[1][:-1] == own[1]]
    return any(verdict.rule.name in rule.absorbs for outcome in within for verdict in outcome.verdicts)


# ---- the facility after a move


def apply(root: ComponentFacts, move: Candidate) -> tuple[ComponentFacts, ...]:
    """Return the components of a facility that a change reaches: changed ones, their children,
    parents and neighbours.
    """
    roles = {id(part): role for part, role in _find_changed(root, move.changes)}
    added: dict[int, tuple[Component, ...]] = {}
    for holder, part in move.added:
        for component in root.list_components(holder.kind):
            if _is_same(component.role.anchor, holder.role.anchor) and component.role.name == holder.role.name:
                added[id(component)] = (*added.get(id(component), ()), part)
    again = root.vary(roles, added)
    same = {id(component) for component in root.all()}
    return tuple(component for component in again.all() if id(component) not in same)


def _find_changed(root: ComponentFacts, changes: Sequence[Change]) -> Iterator[tuple[ComponentFacts, Role]]:
    """Yield every component whose location in the file a change rewrites, including all of a name
    with a range.
    """
    wanted = {
        (change.part.kind, change.quantity, _find_place(change.part, change.quantity)): change for change in changes
    }
    quantities = {(kind, quantity) for kind, quantity, _ in wanted}
    for part in root.all() if wanted else ():
        named = [quantity for kind, quantity in quantities if kind == part.kind]
        places = ((part.kind, quantity, _find_place(part, quantity)) for quantity in named)
        if mine := [wanted[place] for place in places if place in wanted]:
            yield part, part.role.having(**{change.quantity: _build_field(change) for change in mine})


def _find_place(part: ComponentFacts, quantity: str) -> tuple[str, Path]:
    """Return the location where a component declares a quantity, or would declare it."""
    field = part.role.fields.get(quantity)
    origin = field.origins[0] if field and field.origins else part.role.anchor
    return origin.document.path, origin.path


def _is_same(origin: Origin, other: Origin) -> bool:
    return origin.document is other.document and origin.path == other.path


def _build_field(change: Change) -> Field:
    field = change.part.role.fields.get(change.quantity)
    return Field(change.value, field.origins if field else (), source="suggested")


# ---- what a move would write


def _build_suggestion(move: Candidate) -> Suggestion:
    edits = [
        *(edit for change in move.changes for edit in [_build_edit(change)]),
        *(_build_addition(*addition) for addition in move.added),
    ]
    values = {change.quantity: change.value for change in move.changes} or {"feeds": len(move.added)}
    return Suggestion(move.title, tuple(dict.fromkeys(edits)), trade_off=move.trade_off, values=values)


def _build_edit(change: Change) -> Edit:
    """Return the edit of a change: a new value, or a new key if none is declared.

    An inventory takes no such keys, so its changes are described in words only.
    """
    written = _render_value(change)
    if facility_changes.is_declared(change):
        origin = change.part.role.fields[change.quantity].origins[0]
        place = exact_places.locate(origin) if _is_edited(origin) else None
        return Edit(change.quantity, place.location if place else None, origin.text(), written)
    beside = next((field.origins[0] for field in change.part.role.fields.values() if field.origins), None)
    entry = f"{facility_changes.find_key(change)}: {written}"
    if beside is None or beside.document is not change.part.root().role.anchor.document:
        return Edit(change.quantity, None, "", f"{entry} of {change.part.role.name}")
    return Edit(change.quantity, beside._replace(key=True).location(), "", entry, "key")


def _is_edited(origin: Origin) -> bool:
    """Return whether people edit the file. An exported inventory is changed at its source."""
    return origin.document.format != "export"


def _render_value(change: Change) -> str:
    """Return a value as the file writes it, with a unit if the old one has one."""
    unit = glossary()[change.quantity].unit
    old = (
        change.part.role.fields[change.quantity].origins[0].text()
        if facility_changes.is_declared(change)
        else "with a unit"
    )
    if isinstance(change.value, int | float) and unit and not _is_number(old):
        return units.human(change.value, unit).replace(",", "")
    return str(change.value)


def _is_number(text: str) -> bool:
    return text.replace(".", "", 1).isdigit()


def _build_addition(holder: ComponentFacts, part: Component) -> Edit:
    what = (
        f"{part.role.value('servers')} × {part.role.name}" if part.kind == "server" else f"{part.kind} {part.role.name}"
    )
    return Edit(f"{part.kind}s", None, "", f"{what} in {holder.role.name}")


def suggest_for_worst(
    evaluations: Sequence[facility.Evaluation], spoken: Sequence[facility.ComponentFinding], rules: Iterable[Rule]
) -> dict[tuple[Key, str], tuple[Suggestion, ...]]:
    """Return the suggestions for the most severe findings, by component and rule."""
    asked = [
        (component_finding.verdict, component_finding.said.known)
        for component_finding in spoken
        if component_finding.verdict.rule.change
    ]
    asked.sort(key=lambda pair: -pair[0].severity)
    if not asked:
        return {}
    stood, about = build_baseline(evaluations), facility.group_by_kind(rules)
    worst = asked[: min(ANSWERED, max(ANSWERED_LEAST, ANSWERED_PARTS // len(evaluations)))]
    return {
        (facility.identify(component), verdict.rule.name): suggest(verdict, component, stood, about)
        for verdict, component in worst
    }
