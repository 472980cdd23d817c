"""Bounds: the memory verdict on a role over all values that its decisions can have."""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import NamedTuple

from gpulint.catalog import hardware, resource_names
from gpulint.facts import decisions as open_decisions
from gpulint.facts.decisions import Opened
from gpulint.facts.model import Facts, Missing
from gpulint.policy.rules import evaluate, memory_verdict
from gpulint.policy.rules.evaluate import Outcome, Verdict
from gpulint.policy.rules.rule import Rule
from gpulint.report.verdicts import NOT_EVALUATED
from gpulint.workload import Decision, Field, Role

REFERENCE_GPUS = 8
RANKS = ("does not fit", "likely does not fit", "likely fits", "fits")
CORNERS = 2
"""The last probes of bounds: every decision at its best, and every one at its worst."""
BOUND = "bound"
"""The value of `open` in a rule that is evaluated with all that open values can be."""
FITTING = RANKS.index("likely fits")
ASSIGNMENTS_MAX = 64
TIPPING_MAX = 2
NAMED_MAX = 3
"""Decisions that a message names."""
Chosen = Mapping[str, int]


class Probe(NamedTuple):
    """A role under one assignment: its facts, its verdict, and the memory that it leaves."""

    chosen: Chosen
    facts: Facts
    verdict: str
    headroom: float

    @property
    def rank(self) -> int:
        """Return the verdict as a number that grows with the memory left; -1 if it was not evaluated."""
        return RANKS.index(self.verdict) if self.verdict in RANKS else -1


Count = tuple[int, float, Probe]
"""In how many scenarios a rule fires at a probe, and the memory that is short there [bytes]."""


class Tipping(NamedTuple):
    """A decision on which the verdict depends, and the members with which the role fits.

    `together` holds if the role fits only with such a member of every decision that is named.
    """

    decision: Decision
    fitting: tuple[int, ...]
    together: bool = False


class Bounds(NamedTuple):
    """The decisions that a role leaves open, and the verdict over their assignments.

    `expected`, `best` and `worst` are the probes with the likely members, the most and the least memory left. If no
    file names the accelerator, they are compared on the hardware of `reference`, and the answer is what it takes.
    `measure` is the fact that tells what memory is left.
    """

    decisions: tuple[Decision, ...]
    verdict: str
    expected: Probe
    best: Probe
    worst: Probe
    probes: tuple[Probe, ...]
    depends_on: tuple[Tipping, ...]
    reference: Mapping[str, Field]
    search: Search
    measure: str

    @property
    def is_about_weights(self) -> bool:
        """Whether the verdict is about the weights alone: nothing tells what else the program holds."""
        return self.measure == memory_verdict.WEIGHTS_ALONE

    @property
    def has_likely_members(self) -> bool:
        """Whether a source names the likely member of every decision."""
        return all(decision.expected is not None for decision in self.decisions)

    @property
    def is_of_unknown_program(self) -> bool:
        """Whether no engine is known: such a program may keep weights in host memory."""
        return not self.expected.facts.role.text("engine")

    def release(self, probe: Probe) -> Facts:
        """Return the facts of an assignment with the hardware left open."""
        fields = {name: field for name, field in probe.facts.role.fields.items() if name not in self.reference}
        return probe.facts.fresh(replace(probe.facts.role, fields=fields), probe.facts.resolved)

    def find_spread(self, decision: Decision) -> float:
        """Return how much memory a decision alone moves [bytes]."""
        others = {name: at for name, at in self.expected.chosen.items() if name != decision.name}
        alone = [probe.headroom for probe in self.probes if others.items() <= probe.chosen.items()]
        return max(alone) - min(alone)


class Judged(NamedTuple):
    """Rules that fire at every assignment, and the names of those that were evaluated at every one."""

    verdicts: tuple[Verdict, ...]
    settled: frozenset[str]


def find_bounds(facts: Facts) -> Bounds | None:
    """Return the verdict over all assignments of what a role leaves open; None where something has no domain.

    If nothing bounds all of its memory, as of an unknown program, the weights alone decide.
    """
    if facts.role.value("device") not in (None, "gpu") or facts.role.text("part_of"):
        return None
    names = memory_verdict.list_headroom_facts(facts)[0], memory_verdict.WEIGHTS_ALONE
    measures = names if memory_verdict.judges_weights_alone(facts) else names[:1]
    return next((found for name in measures if (found := _find_bounds_of(facts, name))), None)


def _find_bounds_of(facts: Facts, name: str) -> Bounds | None:
    """Return the bounds of one headroom; None where it is known, or where something that it needs has no domain."""
    left = facts.scenarios(name)
    is_alone = name == memory_verdict.WEIGHTS_ALONE
    if not isinstance(left, Missing) and not is_alone:
        return None
    given = _find_reference(facts, left.names) if isinstance(left, Missing) else {}
    opened = open_decisions.find_decisions(facts, name, given)
    if isinstance(opened, Missing) or not (opened.decisions or given or facts.role.open_ended or is_alone):
        return None
    found = Search(facts, opened, given, name).find()
    return None if found and is_alone and found.best.rank < FITTING and _has_open_count(found) else found


def _has_open_count(bounds: Bounds) -> bool:
    """Whether more GPUs than the largest member are possible, so that no finding may rest on their count."""
    return any("gpus_per_replica" in decision.fields and len(decision.members) > 1 for decision in bounds.decisions)


def apply(bounds: Bounds, outcome: Outcome, rules: Iterable[Rule]) -> Outcome:
    """Return an outcome with what the rules about memory say whatever the open values are."""
    return _add_judged(outcome, judge(bounds, _list_open(outcome, rules)))


def judge_outcome(outcome: Outcome, rules: Iterable[Rule], facts: Facts) -> tuple[Bounds | None, Outcome]:
    """Return the bounds of a role, and its outcome with what its rules about memory say whatever the open values are."""
    open_rules, known = _list_open(outcome, rules), find_bounds(facts)
    judged = _add_judged(outcome, judge(known, open_rules)) if known else outcome
    return known, _drop_bounded(judged, open_rules, facts.role)


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
        elif (
            min(fires[:-CORNERS])
            and (min(fires) or bounds.has_likely_members)
            and (verdict := _build_verdict(rule, known, bounds))
        ):
            settled.add(rule.name)
            found.append(verdict)
    return Judged(tuple(found), frozenset(settled))


def _build_verdict(rule: Rule, known: Sequence[Count], bounds: Bounds) -> Verdict | None:
    """Return the verdict of a rule that no single decision avoids: one step lower if several together do."""
    everywhere = _count_each(rule, bounds.search.list_all()) if min(count for count, _, _ in known) else ()
    is_certain = bool(everywhere) and min(count for count, _, _ in everywhere) > 0
    if not is_certain and not bounds.has_likely_members:
        return None
    counts = everywhere if is_certain else known[:-CORNERS]
    least, _, probe = min(counts, key=lambda entry: entry[:2])
    severity = rule.severity.lower_by(3 - least + (not is_certain) + bounds.is_of_unknown_program)
    whatever = _name_decisions(bounds) if is_certain else "; only several settings together avoid it"
    return Verdict(rule, least, severity, probe.facts, whatever) if severity else None


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


def _find_reference(facts: Facts, missing: frozenset[str]) -> dict[str, Field]:
    """Return the hardware on which assignments are compared if no file names it."""
    if getattr(facts.role.value("accelerator"), "choices", ()):
        return {}
    if facts.role.text("accelerator") or isinstance(facts.role.value("device_memory_bytes"), int | float):
        return {}
    if "accelerator" not in missing:
        return {}
    maker = resource_names.find_vendor(facts.role.text("accelerator_resource")) or "nvidia"
    made = (product for product in hardware.list_accelerators() if product.vendor == maker)
    largest = max(made, key=lambda product: product.cuda_memory_bytes or product.driver_memory_bytes or 0)
    fields: dict[str, Field] = {"accelerator": Field(largest.id)}
    if facts.missing(("gpus_per_replica",)):
        counts = {"gpus_per_replica": REFERENCE_GPUS, "gpus_per_pod": REFERENCE_GPUS, "pods_per_replica": 1}
        fields |= {name: Field(count) for name, count in counts.items()}
    return fields


class Search:
    """The probes of one role, each assignment once."""

    def __init__(self, facts: Facts, opened: Opened, given: Mapping[str, Field], name: str) -> None:
        self.decisions = opened.decisions
        self.given = given
        self.highest = FITTING if open_decisions.has_unread_settings(facts.role) else len(RANKS) - 1
        self.name = name
        self.role = opened.role.having(**given)
        self.base = facts.fresh(self._assign({}), facts.resolved).start_trace()
        self.probed: dict[tuple[int, ...], Probe] = {}

    def find(self) -> Bounds | None:
        """Return the bounds; None if an assignment lacks a further fact."""
        expected = self.probe({})
        alone = {
            decision.name: [self.probe({decision.name: at}) for at in _list_ends(decision)]
            for decision in self.decisions
        }
        best = self.probe(_combine(alone, 1))
        worst = self.probe(_combine(alone, -1))
        probes = (expected, *itertools.chain.from_iterable(alone.values()), best, worst)
        if any(probe.verdict == NOT_EVALUATED for probe in probes):
            return None
        best, worst = max(probes, key=_order), min(probes, key=_order)
        depends = (
            ()
            if (best.rank >= FITTING) == (worst.rank >= FITTING)
            else tuple(self._find_tipping(alone, expected, best))
        )
        is_mixed = best.rank >= FITTING > worst.rank
        verdict = RANKS[FITTING] if is_mixed and not depends else _describe(best.rank, min(worst.rank, self.highest))
        return Bounds(self.decisions, verdict, expected, best, worst, probes, depends, self.given, self, self.name)

    def probe(self, chosen: Chosen) -> Probe:
        """Return the role under an assignment: the chosen members, else the expected ones."""
        key = tuple(open_decisions.find_member(decision, chosen) for decision in self.decisions)
        if key not in self.probed:
            known = self.base.variant(self._assign(chosen))
            left = known.scenarios(self.name)
            headroom = -math.inf if isinstance(left, Missing) else memory_verdict.to_number(left.expected)
            full = {decision.name: at for decision, at in zip(self.decisions, key, strict=True)}
            self.probed[key] = Probe(full, known, self._judge(known), headroom)
        return self.probed[key]

    def _judge(self, known: Facts) -> str:
        if self.name == memory_verdict.WEIGHTS_ALONE:
            return memory_verdict.compare_headroom(known, self.name)
        return memory_verdict.find_verdict(known)

    def _assign(self, chosen: Chosen) -> Role:
        return open_decisions.assign(self.role, self.decisions, chosen)

    def list_all(self) -> Iterator[Probe]:
        """Yield all assignments, or if they are too many, the corners of the first decisions."""
        members = [list(range(len(decision.members))) for decision in self.decisions]
        if math.prod(map(len, members)) > ASSIGNMENTS_MAX:
            members = [list(dict.fromkeys((row[0], row[-1]))) for row in members]
        for chosen in itertools.islice(itertools.product(*members), ASSIGNMENTS_MAX):
            yield self.probe({decision.name: at for decision, at in zip(self.decisions, chosen, strict=True)})

    def _find_tipping(self, alone: Mapping[str, Sequence[Probe]], expected: Probe, best: Probe) -> Iterator[Tipping]:
        """Yield the decisions that flip the verdict alone, the largest change of memory first; else two together."""

        def spread(decision: Decision) -> float:
            headrooms = [probe.headroom for probe in alone[decision.name]]
            return max(headrooms) - min(headrooms)

        order = sorted(self.decisions, key=spread, reverse=True)
        is_fitting = expected.rank >= FITTING
        flipping = [one for one in order if any((probe.rank >= FITTING) != is_fitting for probe in alone[one.name])]
        for decision in flipping[:TIPPING_MAX]:
            yield Tipping(decision, self._find_fitting(decision, expected.chosen))
        if is_fitting:
            return
        chosen = dict(expected.chosen)
        for number, decision in enumerate(order if not flipping else (), 1):
            if fitting := self._find_fitting(decision, chosen):
                named = order[:number]
                yield from (Tipping(one, (chosen[one.name],), True) for one in named[:-1])
                yield Tipping(decision, fitting, number > 1)
                return
            chosen[decision.name] = best.chosen[decision.name]

    def _find_fitting(self, decision: Decision, chosen: Chosen) -> tuple[int, ...]:
        """Return the members of a decision with which the role fits, beside the chosen ones."""
        probes = (self.probe({**chosen, decision.name: at}) for at in range(len(decision.members)))
        return tuple(at for at, probe in enumerate(probes) if probe.rank >= FITTING)


def _list_ends(decision: Decision) -> Iterable[int]:
    count = len(decision.members)
    return dict.fromkeys((0, count - 1)) if decision.ordered else range(count)


def _combine(alone: Mapping[str, Sequence[Probe]], sign: int) -> dict[str, int]:
    """Return the assignment of the members that each alone leave the most memory (sign 1) or the least (-1)."""
    return {
        name: max(probes, key=lambda probe: (sign * probe.rank, sign * probe.headroom)).chosen[name]
        for name, probes in alone.items()
    }


def _order(probe: Probe) -> tuple[int, float]:
    return probe.rank, probe.headroom


def _describe(best: int, worst: int) -> str:
    """Return the verdict in words from the ranks of the best and the worst assignment."""
    if best < FITTING:
        return f"{RANKS[best]} in any case"
    return f"{RANKS[worst]} in every case" if worst >= FITTING else "depends"
