"""Search: other shapes of a role. Formulas filter them, and the same rules evaluate the rest."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

from gpulint import engines
from gpulint.facts.model import Facts, Missing
from gpulint.policy.rules import evaluate, objectives
from gpulint.policy.rules.evaluate import Outcome, Verdict
from gpulint.policy.rules.rule import Rule
from gpulint.suggestions import changed_role, companions, generators
from gpulint.suggestions.generators import Candidate
from gpulint.suggestions.serving import candidates
from gpulint.suggestions.training import candidates as training_candidates
from gpulint.workload import Value, Workload

SIFTED = 48
"""Maximum shapes whose formulas are computed; each takes about a millisecond."""
JUDGED = 16
"""Maximum shapes that all rules evaluate; each takes two to four milliseconds."""
JUDGED_UNDER_LOAD = 11
"""The same with a declared load, for which the capacity of each shape is computed."""
OF_A_KIND = 3
"""Changes of one quantity that are evaluated before the next quantity."""
OF_RUNS = 6
"""Evaluations reserved for whole shapes of a training run, whose rules name more quantities than a
server's.
"""
HARDWARE = frozenset({"accelerator", "gpus_per_pod", "mig_profile"})
"""Changes after which sequence length and number of instances are reconsidered."""
BESIDE_WEIGHTS = 0.85
"""Share of GPU memory that weights may take if no formula tells what else is needed."""
LOADS = ("target_tokens_per_s", "target_requests_per_s", "target_concurrency")
"""Objectives that the number of instances can meet."""


class SearchStart(NamedTuple):
    """The start of a search: a role as it is, its rules, their outcome, and the verdicts to
    clear.
    """

    workload: Workload
    known: Facts
    rules: Sequence[Rule]
    outcome: Outcome
    targets: tuple[Verdict, ...]


class VerifiedCandidate(NamedTuple):
    """A verified shape, and the targets that still fire on it."""

    move: Candidate
    known: Facts
    left: frozenset[str]


class WeightReading(NamedTuple):
    """How a shape reads its weights: number format, ranks, and minimum time."""

    quantization: Value | Missing
    ranks: int
    floor_s: float

    def no_faster_than(self, other: WeightReading) -> bool:
        """Return whether it reads as slowly with at least as many ranks, which communicate more."""
        alike = self.quantization == other.quantization
        return alike and self.ranks >= other.ranks and self.floor_s >= other.floor_s > 0


@dataclass
class _Search:
    """State of a search: what was tried, the budgets used, and the shapes that read too slowly."""

    before: SearchStart
    traced: Facts
    refused: Counter[str]
    tried: set[frozenset[tuple[str, Value]]] = field(default_factory=set)
    sifted: int = 0
    judged: int = 0
    most: int = JUDGED
    too_slow: list[WeightReading] = field(default_factory=list)

    def new(self, move: Candidate) -> bool:
        """Return whether a change was not tried before under another title."""
        now = self.before.known
        values = frozenset((name, value) for name, value in move.values.items() if now.expected(name) != value)
        was_tried = values in self.tried
        self.tried.add(values)
        return not was_tried


def search(before: SearchStart, refused: Counter[str]) -> Iterator[VerifiedCandidate]:
    """Yield every verified shape within the two budgets; `refused` counts the others by reason."""
    loaded = any(isinstance(before.known.expected(name), int | float) for name in LOADS)
    most = JUDGED_UNDER_LOAD if loaded else JUDGED
    search = _Search(before, before.known.start_trace(), refused, most=most)
    runs = engines.is_training(before.known.role)
    for kind in dict.fromkeys(kind for target in before.targets for kind in target.rule.change):
        left = search.most - search.judged - (OF_RUNS if runs else 0)
        yield from _verify_changes(generators.propose(kind, before.known), min(OF_A_KIND, left), search)
    yield from _verify_changes(_propose_enough(before.known), 1, search)
    yield from _verify_changes(_propose_whole(before, runs), search.most, search)
    times = (before.known.expected(name) for name in ("target_training_s", "training_run_s"))
    if runs and all(isinstance(value, int | float) for value in times):
        yield from _verify_changes(generators.propose("power_cap_w", before.known), OF_A_KIND, search)


def _propose_whole(before: SearchStart, runs: bool) -> Iterator[Candidate]:
    """Return whole shapes, cheapest first."""
    if runs:
        return training_candidates.propose_shapes(before.known, mends=bool(before.targets))
    return candidates.propose_shapes(before.known)


def _propose_enough(facts: Facts) -> Iterator[Candidate]:
    """Yield today's shape with the instances that carry the load."""
    if any(isinstance(facts.expected(name), int | float) for name in LOADS):
        found = candidates.fit_load(Candidate("the current shape", {}), facts)
        yield from () if found is None else (found,)


def _verify_changes(changes: Iterator[Candidate], most: int, search: _Search) -> Iterator[VerifiedCandidate]:
    """Yield the options among some changes, evaluating at most so many of them."""
    until = min(search.most, search.judged + most)
    for move in changes:
        if search.sifted >= SIFTED or search.judged >= until:
            return
        if search.new(move):
            found = _verify(move, search)
            if isinstance(found, VerifiedCandidate):
                yield found
            else:
                search.refused[found] += 1


def _verify(move: Candidate, search: _Search) -> VerifiedCandidate | str:
    """Return a change as an option, or the reason why it is none."""
    before = search.before
    if not _is_expressible(move, search):
        return "cannot be written into this file"
    if not changed_role.is_available(before.known.role, move):
        return "no available machine holds it"
    search.sifted += 1
    sized, changed = _fit_load(move, search)
    if reason := _find_rejection(changed, search):
        return reason
    search.judged += 1
    outcome = evaluate.evaluate(evaluate.select(before.rules, before.workload, changed.role), changed)
    if both := companions.add(sized, outcome.verdicts, before.known.role, changed):
        sized, changed = both, _change_facts(both, search)
        outcome = evaluate.evaluate(evaluate.select(before.rules, before.workload, changed.role), changed)
    if reason := _find_refusal(before, outcome):
        if any(
            verdict.rule.family != "oversizing" and "target_tpot_s" in verdict.rule.facts
            for verdict in outcome.verdicts
        ):
            search.too_slow.append(_build_reading(changed))
        return reason
    return VerifiedCandidate(sized, changed, outcome.holding & {target.rule.name for target in before.targets})


def _fit_load(move: Candidate, search: _Search) -> tuple[Candidate, Facts]:
    """Return a shape with sequences cut to the requests if it is too small, and with instances for
    the load.
    """
    sized, changed = move, _change_facts(move, search)
    if not HARDWARE & move.values.keys():
        return sized, changed
    if _is_too_large(changed) and (cut := candidates.fit_requests(sized, changed)) and _is_expressible(cut, search):
        sized, changed = cut, _change_facts(cut, search)
    loaded = any(isinstance(changed.expected(name), int | float) for name in LOADS) and not _is_too_large(changed)
    if loaded and (more := candidates.fit_load(sized, changed)) and _is_expressible(more, search):
        sized, changed = more, _change_facts(more, search)
    return sized, changed


def _change_facts(move: Candidate, search: _Search) -> Facts:
    return search.traced.variant(changed_role.apply(search.before.known.role, move.values))


def _is_expressible(move: Candidate, search: _Search) -> bool:
    return changed_role.is_expressible(search.before.known.role, move)


def _find_rejection(changed: Facts, search: _Search) -> str:
    """Return why a shape is rejected before all rules are evaluated; empty if it is not."""
    if _is_too_large(changed):
        return "does not fit in memory"
    reading = _build_reading(changed) if search.too_slow else None
    if reading and any(reading.no_faster_than(other) for other in search.too_slow):
        return "reads weights no faster than a shape that misses the time per token"
    if (untold := objectives.find_unknown(changed)) and _build_reading(changed).floor_s > _build_reading(
        search.before.known
    ).floor_s:
        return f"reads weights slower than today, and its {untold} is unknown"
    if not search.before.targets:
        return ""
    worst = search.before.targets[0].rule
    outcome = evaluate.evaluate([worst], changed)
    return f"{worst.name} would still fire" if outcome.holding or outcome.not_evaluated else ""


def _is_too_large(facts: Facts) -> bool:
    """Return whether a role does not fit in memory at the end of its interval; for a shared GPU, in
    the worst scenario.
    """
    name = "training_room_bytes" if engines.is_training(facts.role) else "headroom_bytes"
    room = facts.scenarios(name)
    if isinstance(room, Missing):
        weights, memory = facts.expected("weight_bytes_per_gpu"), facts.expected("device_memory_bytes")
        is_known = isinstance(weights, int | float) and isinstance(memory, int | float)
        return is_known and weights > BESIDE_WEIGHTS * memory  # type: ignore[operator]
    if not isinstance(room.worst, int | float) or room.worst >= 0:
        return False
    near = isinstance(room.expected, int | float) and room.expected >= 0 and not facts.role.value("sharing")
    ends = facts.ends(name) if near else None
    return ends is None or not isinstance(ends[0], int | float) or ends[0] < 0


def _build_reading(facts: Facts) -> WeightReading:
    floor, ranks = facts.expected("weight_read_floor_s"), facts.expected("tensor_parallel")
    read_s = floor if isinstance(floor, int | float) else 0.0
    return WeightReading(facts.expected("quantization"), ranks if isinstance(ranks, int) else 1, read_s)


def _find_refusal(before: SearchStart, after: Outcome) -> str:
    """Return the first new finding or new missing fact after a change."""
    lacking = {lack.rule for lack in before.outcome.not_evaluated}
    if new := [lack.rule for lack in after.not_evaluated if lack.rule not in lacking]:
        return f"{new[0]} could not be evaluated"
    severities = {verdict.rule.name: verdict.severity for verdict in before.outcome.verdicts}
    worse = [verdict.rule.name for verdict in after.verdicts if verdict.severity > severities.get(verdict.rule.name, 0)]
    return f"{worse[0]} would fire" if worse else ""
