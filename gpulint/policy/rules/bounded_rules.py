"""Rules over open values: what a rule about memory says whatever the values are that a file leaves open."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import NamedTuple

from gpulint.facts import decisions as open_decisions
from gpulint.facts.model import Facts, Missing
from gpulint.policy.rules import evaluate
from gpulint.policy.rules.bounds import SHAPE_SAID, Bounds, Probe, find_bounds
from gpulint.policy.rules.evaluate import Outcome, Verdict
from gpulint.policy.rules.rule import Rule
from gpulint.workload import Role

CORNERS = 2
"""The last probes of bounds: every decision at its best, and every one at its worst."""
BOUND = "bound"
"""The value of `open` in a rule that is evaluated with all that open values can be."""
AVOIDED = "; this is with the likely settings, and no single other setting avoids it"
SAID_OF_SHAPE = f"; {SHAPE_SAID}"
NAMED_MAX = 3
"""Decisions that a message names."""
Count = tuple[int, float, Probe]
"""In how many scenarios a rule fires at a probe, and the memory that is short there [bytes]."""


class Judged(NamedTuple):
    """Rules that fire at every assignment, and the names of those that were evaluated at every one."""

    verdicts: tuple[Verdict, ...]
    settled: frozenset[str]


def apply(bounds: Bounds, outcome: Outcome, rules: Iterable[Rule]) -> Outcome:
    """Return an outcome with what the rules about memory say whatever the open values are."""
    return _add_judged(outcome, judge(bounds, _list_open(outcome, rules)))


def judge_outcome(outcome: Outcome, rules: Iterable[Rule], facts: Facts) -> tuple[Bounds | None, Outcome]:
    """Return the bounds of a role, and its outcome with what its rules about memory say whatever the open values are."""
    open_rules, known = _list_open(outcome, rules), find_bounds(facts)
    if known and known.rests_on_samples:
        return known, outcome._replace(verdicts=tuple(_lower_at_the_cap(outcome.verdicts, known)))
    judged = _add_judged(outcome, judge(known, open_rules)) if known else outcome
    return known, _drop_bounded(judged, open_rules, facts.role)


def _lower_at_the_cap(verdicts: Iterable[Verdict], bounds: Bounds) -> Iterator[Verdict]:
    """Yield verdicts; one that short samples avoid is one step lower, because samples may be shorter than the stated length."""
    shortest = bounds.search.probe({bounds.decisions[0].name: 0})
    longest = bounds.decisions[0].members[-1].label
    for verdict in verdicts:
        fires = evaluate.count_scenarios(verdict.rule, shortest.facts) if verdict.rule.open == BOUND else None
        if fires is None or isinstance(fires, Missing) or fires >= verdict.confidence:
            yield verdict
            continue
        severity = verdict.severity.lower_by(1)
        if severity is not None:
            said = f"; this is with samples of {longest} tokens, and shorter ones may fit"
            yield verdict._replace(severity=severity, whatever=f"{verdict.whatever}{said}")


def _add_judged(outcome: Outcome, judged: Judged) -> Outcome:
    """Return the outcome of a role with what its rules say whatever the open values are.

    A rule that another one absorbs stays listed as not evaluated: nothing is reported of it.
    """
    verdicts = (*outcome.verdicts, *judged.verdicts)
    reported = tuple(verdict for verdict in verdicts if not evaluate.is_absorbed(verdict, verdicts))
    absorbed = {verdict.rule.name for verdict in judged.verdicts} - {verdict.rule.name for verdict in reported}
    return Outcome(
        reported,
        tuple(entry for entry in outcome.not_evaluated if entry.rule not in judged.settled - absorbed),
        outcome.holding | {verdict.rule.name for verdict in judged.verdicts},
        judged.settled,
    )


def _list_open(outcome: Outcome, rules: Iterable[Rule]) -> list[Rule]:
    """Return the rules about memory that lack a fact."""
    lacking = {entry.rule for entry in outcome.not_evaluated}
    return [rule for rule in rules if rule.open == BOUND and rule.name in lacking]


def _drop_bounded(outcome: Outcome, rules: Iterable[Rule], role: Role) -> Outcome:
    """Return an outcome whose rules about weights alone do not ask for what has a domain, but for what has none."""
    about_weights = {rule.name for rule in rules if rule.target.unknown}
    bounded = open_decisions.list_fields(role)
    return outcome._replace(
        not_evaluated=tuple(
            entry._replace(needs=tuple(name for name in entry.needs if name not in bounded) or entry.needs)
            if entry.rule in about_weights
            else entry
            for entry in outcome.not_evaluated
        )
    )


def judge(bounds: Bounds, rules: Iterable[Rule]) -> Judged:
    """Return which rules about memory fire whatever the open values are, and which fire for none.

    The severity follows from the assignment at which a rule fires in the fewest scenarios; it is one step lower for a
    program that is not known, and for a rule that only several decisions together avoid. A rule that fires at every
    probe is confirmed at all assignments, or at the corners if these are too many.
    """
    if bounds.reference:
        return Judged((), frozenset())
    found: list[Verdict] = []
    settled: set[str] = set()
    for rule in rules:
        known = _count_each(rule, bounds.probes)
        if not known:
            continue
        fires = [count for count, _, _ in known]
        if max(fires) == 0:
            settled.add(rule.name)
        elif min(fires[:-CORNERS]) and (verdict := _build_verdict(rule, known, bounds)):
            settled.add(rule.name)
            found.append(verdict)
    return Judged(tuple(found), frozenset(settled))


def _build_verdict(rule: Rule, known: Sequence[Count], bounds: Bounds) -> Verdict | None:
    """Return the verdict of a rule that no single decision avoids: one step lower if several together do.

    It tells the figures of the assignment at which the rule fires least, or of the likely one if some other avoids it.
    """
    everywhere = _count_each(rule, bounds.search.list_all()) if min(count for count, _, _ in known) else ()
    is_certain = bool(everywhere) and min(count for count, _, _ in everywhere) > 0
    if not is_certain and not bounds.has_likely_members:
        return None
    counts = everywhere if is_certain else known[:-CORNERS]
    least, _, probe = min(counts, key=lambda entry: entry[:2])
    assumed = bounds.is_of_unknown_program + bounds.has_assumed_shape
    severity = rule.severity.lower_by(3 - least + (not is_certain) + assumed)
    if severity is None:
        return None
    said = SAID_OF_SHAPE if bounds.has_assumed_shape else ""
    if is_certain:
        return Verdict(rule, least, severity, probe.facts, f"{_name_decisions(bounds)}{said}")
    return Verdict(rule, least, severity, bounds.expected.facts, f"{AVOIDED}{said}")


def _count_each(rule: Rule, probes: Iterable[Probe]) -> list[Count]:
    """Return in how many scenarios a rule fires at each probe, with the memory short; nothing if one lacks a fact."""
    found = []
    for probe in probes:
        count = evaluate.count_scenarios(rule, probe.facts)
        if isinstance(count, Missing):
            return []
        found.append((count, -probe.headroom, probe))
    return found


def _name_decisions(bounds: Bounds) -> str:
    """Return in words that no decision avoids a finding, those with most effect first."""
    open_to = (decision for decision in bounds.decisions if len(decision.members) > 1)
    names = [decision.name for decision in sorted(open_to, key=bounds.find_spread, reverse=True)]
    if not names:
        return ""
    shown = names if len(names) <= NAMED_MAX else [*names[: NAMED_MAX - 1], "other open setting"]
    return f"; no {join_alternatives(shown)} avoids it"


def join_alternatives(words: Sequence[str]) -> str:
    """Return words as alternatives.

    >>> join_alternatives(["a", "b", "c"])
    'a, b or c'
    """
    return " or ".join(filter(None, (", ".join(words[:-1]), words[-1])))
