"""Bounds: the memory verdict on a role over all values that its decisions can have."""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import NamedTuple

from gpulint import engines
from gpulint.catalog import hardware, resource_names
from gpulint.catalog.architecture import Resolution
from gpulint.facts import decisions as open_decisions
from gpulint.facts.decisions import Opened
from gpulint.facts.model import Facts, Missing
from gpulint.policy.rules import memory_verdict
from gpulint.report.verdicts import NOT_EVALUATED
from gpulint.workload import Decision, Field, Role

REFERENCE_GPUS = 8
RANKS = ("does not fit", "likely does not fit", "likely fits", "fits")
FITTING = RANKS.index("likely fits")
ASSIGNMENTS_MAX = 64
TIPPING_MAX = 2
ASSUMED_SHAPE = "typical shape"
SHAPE_SAID = "the network is assumed to have the proportions of Llama 3"
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
    def part(self) -> str:
        """What the verdict is about if nothing tells what else the program holds: weights or states; else empty."""
        return memory_verdict.PARTS.get(self.measure, "")

    @property
    def has_likely_members(self) -> bool:
        """Whether a source names the likely member of every decision."""
        return all(decision.expected is not None for decision in self.decisions)

    @property
    def is_of_unknown_program(self) -> bool:
        """Whether no engine is known: such a program may keep weights in host memory."""
        return not self.expected.facts.role.text("engine")

    @property
    def rests_on_samples(self) -> bool:
        """Whether nothing but the length of the samples is open."""
        return [decision.name for decision in self.decisions] == [open_decisions.SAMPLE_LENGTH] and not self.reference

    @property
    def has_assumed_shape(self) -> bool:
        """Whether the shape of the network follows from its size alone."""
        resolved = self.expected.facts.resolved
        return resolved is not None and resolved.how == ASSUMED_SHAPE

    def release(self, probe: Probe) -> Facts:
        """Return the facts of an assignment with the hardware left open."""
        fields = {name: field for name, field in probe.facts.role.fields.items() if name not in self.reference}
        return probe.facts.fresh(replace(probe.facts.role, fields=fields), probe.facts.resolved)

    def find_spread(self, decision: Decision) -> float:
        """Return how much memory a decision alone moves [bytes]."""
        others = {name: at for name, at in self.expected.chosen.items() if name != decision.name}
        alone = [probe.headroom for probe in self.probes if others.items() <= probe.chosen.items()]
        return max(alone) - min(alone)


def find_bounds(facts: Facts, assumes_shape: bool = True) -> Bounds | None:
    """Return the verdict over all assignments of what a role leaves open; None where something has no domain.

    If nothing bounds all of its memory, as of an unknown program, the weights or the training states alone decide. With
    `assumes_shape`, a network of which only the size is known has the typical shape of that size.
    """
    if facts.role.text("device") not in ("", "gpu") or facts.role.text("part_of"):
        return None
    names = memory_verdict.list_measures(facts)
    if not isinstance(facts.scenarios(names[0]), Missing):
        return _bound_by_samples(facts, names[0])
    shaped = _assume_shape(facts) if assumes_shape else None
    tried = [(facts, names[0]), *([(shaped, names[0])] if shaped else []), *((facts, name) for name in names[1:])]
    return next((found for known, name in tried if (found := _find_bounds_of(known, name))), None)


def _bound_by_samples(facts: Facts, name: str) -> Bounds | None:
    """Return the bounds of a training run that states everything and fails, if shorter samples fit: none are packed."""
    if not engines.is_training(facts.role) or "not fit" not in memory_verdict.compare_headroom(facts, name):
        return None
    samples = tuple(open_decisions.bound_samples(facts))
    found = Search(facts, Opened(facts.role, samples), {}, name).find() if samples else None
    return found if found and found.depends_on else None


def _assume_shape(facts: Facts) -> Facts | None:
    """Return the facts of a training run whose network has the typical shape of its size; None if more, or less, is known."""
    shape = facts.resolved.architecture if facts.resolved else None
    if (
        not engines.is_training(facts.role)
        or shape is None
        or shape.named_parameters is None
        or shape.is_known
        or shape.parameters
    ):
        return None
    from gpulint.catalog.architecture import typical

    assumed = typical.build_typical(shape.named_parameters)
    if assumed is None:
        return None
    assumed = replace(assumed, id=shape.id, checkpoint_quantization=shape.checkpoint_quantization)
    return facts.fresh(facts.role, Resolution(assumed, ASSUMED_SHAPE, SHAPE_SAID))


def _find_bounds_of(facts: Facts, name: str) -> Bounds | None:
    """Return the bounds of one headroom; None where something that it needs has no domain."""
    left = facts.scenarios(name)
    is_alone = name in memory_verdict.PARTS
    given = _find_reference(facts, left.names) if isinstance(left, Missing) else {}
    opened = open_decisions.find_decisions(facts, name, given)
    if isinstance(opened, Missing) or not (opened.decisions or given or facts.role.open_ended or is_alone):
        return None
    found = Search(facts, opened, given, name).find()
    return None if found and is_alone and found.best.rank < FITTING and _has_open_count(found) else found


def _has_open_count(bounds: Bounds) -> bool:
    """Whether more GPUs than the largest member are possible, so that no finding may rest on their count."""
    return any("gpus_per_replica" in decision.fields and len(decision.members) > 1 for decision in bounds.decisions)


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
        has_assumed_shape = facts.resolved is not None and facts.resolved.how == ASSUMED_SHAPE
        is_less_certain = has_assumed_shape or open_decisions.has_unread_settings(facts.role)
        self.highest = FITTING if is_less_certain else len(RANKS) - 1
        self.name = name
        self.role = opened.role.having(**given)
        self.resolved = facts.resolved
        self.base = facts.fresh(self._assign({}), self._resolve({})).start_trace()
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
            known = self._build(chosen)
            left = known.scenarios(self.name)
            headroom = -math.inf if isinstance(left, Missing) else memory_verdict.to_number(left.expected)
            full = {decision.name: at for decision, at in zip(self.decisions, key, strict=True)}
            self.probed[key] = Probe(full, known, self._judge(known), headroom)
        return self.probed[key]

    def _build(self, chosen: Chosen) -> Facts:
        """Return the facts of an assignment; those of another network share nothing with the others."""
        role, resolved = self._assign(chosen), self._resolve(chosen)
        return self.base.variant(role) if resolved is self.base.resolved else self.base.fresh(role, resolved)

    def _resolve(self, chosen: Chosen) -> Resolution | None:
        return open_decisions.find_resolution(self.decisions, chosen, self.resolved)

    def _judge(self, known: Facts) -> str:
        if self.name in memory_verdict.PARTS:
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
