"""Search: the shapes that a role could have instead; formulas sift them, the same rules judge those that are left."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

from gpulint import engines
from gpulint.facts.model import Facts, Missing
from gpulint.policy.rules import evaluate as check
from gpulint.policy.rules import objectives as aims
from gpulint.policy.rules.evaluate import Outcome, Verdict
from gpulint.policy.rules.rule import Rule
from gpulint.suggestions import alternatives as suggest
from gpulint.suggestions.serving import candidates
from gpulint.suggestions.serving import changes as moves
from gpulint.suggestions.serving.changes import Move
from gpulint.suggestions.training import candidates as training_candidates
from gpulint.workload import Value, Workload

SIFTED = 48
"""Shapes whose formulas are asked, at most: one takes about a millisecond."""
JUDGED = 16
"""Shapes that all rules judge, at most: one takes two to four milliseconds."""
JUDGED_UNDER_LOAD = 11
"""The same where a load is stated, of which each shape has to be asked what it carries."""
OF_A_KIND = 3
"""Changes of one quantity that are judged before the next quantity's turn."""
OF_RUNS = 6
"""Whole shapes of a training run that are judged in any case: its rules name more quantities than a server's."""
HARDWARE = frozenset({"accelerator", "gpus_per_pod", "mig_profile"})
"""Changes after which the length of sequences and the number of instances are worth another look."""
BESIDE_WEIGHTS = 0.85
"""Share of a card that weights may take where no formula tells what else is needed."""
LOADS = ("target_tokens_per_s", "target_requests_per_s", "target_concurrency")
"""Objectives that a number of instances answers."""


class Before(NamedTuple):
    """What a search starts from: a role as it stands, the rules that are about it, and those that it is to answer."""

    workload: Workload
    known: Facts
    rules: Sequence[Rule]
    outcome: Outcome
    targets: tuple[Verdict, ...]


class Option(NamedTuple):
    """A shape that nothing speaks against, and the targets that it leaves."""

    move: Move
    known: Facts
    left: frozenset[str]


class Reading(NamedTuple):
    """How a shape reads its weights: in which number format, by how many ranks, in which least time."""

    quantization: Value | Missing
    ranks: int
    floor_s: float

    def no_faster_than(self, other: Reading) -> bool:
        """Whether it reads as slowly with at least as many ranks, which have more to send."""
        alike = self.quantization == other.quantization
        return alike and self.ranks >= other.ranks and self.floor_s >= other.floor_s > 0


@dataclass
class _Search:
    """How far a search has come: what was tried, how much of its budgets is used, and which shapes read too slowly."""

    before: Before
    traced: Facts
    refused: Counter[str]
    tried: set[frozenset[tuple[str, Value]]] = field(default_factory=set)
    sifted: int = 0
    judged: int = 0
    most: int = JUDGED
    too_slow: list[Reading] = field(default_factory=list)

    def new(self, move: Move) -> bool:
        """Whether a change is none that was tried before under another name."""
        now = self.before.known
        values = frozenset((name, value) for name, value in move.values.items() if now.likely(name) != value)
        known = values in self.tried
        self.tried.add(values)
        return not known


def options(before: Before, refused: Counter[str]) -> Iterator[Option]:
    """Every shape that nothing speaks against, within the two budgets; `refused` counts the others by their reason."""
    loaded = any(isinstance(before.known.likely(name), int | float) for name in LOADS)
    most = JUDGED_UNDER_LOAD if loaded else JUDGED
    search = _Search(before, before.known.traced(), refused, most=most)
    runs = engines.trains(before.known.role)
    for kind in dict.fromkeys(kind for one in before.targets for kind in one.rule.change):
        left = search.most - search.judged - (OF_RUNS if runs else 0)
        yield from _of(suggest.worth_trying(kind, before.known), min(OF_A_KIND, left), search)
    yield from _of(_enough(before.known), 1, search)
    yield from _of(_whole(before, runs), search.most, search)
    told = (before.known.likely(name) for name in ("target_training_s", "training_run_s"))
    if runs and all(isinstance(value, int | float) for value in told):
        yield from _of(moves.moves("power_cap_w", before.known), OF_A_KIND, search)


def _whole(before: Before, runs: bool) -> Iterator[Move]:
    """Whole shapes, cheapest first."""
    if runs:
        return training_candidates.training(before.known, mends=bool(before.targets))
    return candidates.serving(before.known)


def _enough(known: Facts) -> Iterator[Move]:
    """Today's shape with the instances that carry the load."""
    if any(isinstance(known.likely(name), int | float) for name in LOADS):
        found = candidates.for_load(Move("the present shape", {}), known)
        yield from () if found is None else (found,)


def _of(changes: Iterator[Move], most: int, search: _Search) -> Iterator[Option]:
    """The options among some changes, of which so many are judged at most."""
    until = min(search.most, search.judged + most)
    for move in changes:
        if search.sifted >= SIFTED or search.judged >= until:
            return
        if search.new(move):
            found = _tried(move, search)
            if isinstance(found, Option):
                yield found
            else:
                search.refused[found] += 1


def _tried(move: Move, search: _Search) -> Option | str:
    """A change as an option, or why it is none."""
    before = search.before
    if not _expressible(move, search):
        return "cannot be written into this file"
    if not suggest.to_be_had(before.known.role, move):
        return "no machine that can be had holds it"
    search.sifted += 1
    sized, changed = _carrying(move, search)
    if reason := _sifted(changed, search):
        return reason
    search.judged += 1
    outcome = check.judged(check.matching(before.rules, before.workload, changed.role), changed)
    if reason := _refusal(before, outcome):
        if any(one.rule.family != "oversizing" and "target_tpot_s" in one.rule.facts for one in outcome.verdicts):
            search.too_slow.append(_reading(changed))
        return reason
    return Option(sized, changed, outcome.holding & {one.rule.name for one in before.targets})


def _carrying(move: Move, search: _Search) -> tuple[Move, Facts]:
    """A shape, with sequences no longer than requests need where it is too small, and instances that carry the load."""
    sized, changed = move, _changed(move, search)
    if not HARDWARE & move.values.keys():
        return sized, changed
    if _too_large(changed) and (cut := candidates.for_requests(sized, changed)) and _expressible(cut, search):
        sized, changed = cut, _changed(cut, search)
    loaded = any(isinstance(changed.likely(name), int | float) for name in LOADS) and not _too_large(changed)
    if loaded and (more := candidates.for_load(sized, changed)) and _expressible(more, search):
        sized, changed = more, _changed(more, search)
    return sized, changed


def _changed(move: Move, search: _Search) -> Facts:
    return search.traced.variant(suggest.applied(search.before.known.role, move.values))


def _expressible(move: Move, search: _Search) -> bool:
    return suggest.expressible(search.before.known.role, move)


def _sifted(changed: Facts, search: _Search) -> str:
    """Why a shape is left out before all rules are asked; empty when it is worth asking."""
    if _too_large(changed):
        return "does not fit in memory"
    reading = _reading(changed) if search.too_slow else None
    if reading and any(reading.no_faster_than(other) for other in search.too_slow):
        return "reads no faster than one that misses the time per token"
    if (untold := aims.untold(changed)) and _reading(changed).floor_s > _reading(search.before.known).floor_s:
        return f"reads slower than today, and its {untold} cannot be told"
    if not search.before.targets:
        return ""
    worst = search.before.targets[0].rule
    outcome = check.judged([worst], changed)
    return f"{worst.name} would hold still" if outcome.holding or outcome.not_evaluated else ""


def _too_large(known: Facts) -> bool:
    """Whether a role does not fit in memory at the end of its interval; on a shared card, in the adverse world."""
    name = "training_room_bytes" if engines.trains(known.role) else "headroom_bytes"
    room = known.worlds(name)
    if isinstance(room, Missing):
        weights, memory = known.likely("weight_bytes_per_gpu"), known.likely("device_memory_bytes")
        told = isinstance(weights, int | float) and isinstance(memory, int | float)
        return told and weights > BESIDE_WEIGHTS * memory  # type: ignore[operator]
    if not isinstance(room.adverse, int | float) or room.adverse >= 0:
        return False
    near = isinstance(room.likely, int | float) and room.likely >= 0 and not known.role.value("sharing")
    ends = known.ends(name) if near else None
    return ends is None or not isinstance(ends[0], int | float) or ends[0] < 0


def _reading(known: Facts) -> Reading:
    floor, ranks = known.likely("weight_read_floor_s"), known.likely("tensor_parallel")
    read_s = floor if isinstance(floor, int | float) else 0.0
    return Reading(known.likely("quantization"), ranks if isinstance(ranks, int) else 1, read_s)


def _refusal(before: Before, after: Outcome) -> str:
    """What a change would newly say, or leave open."""
    lacking = {one.rule for one in before.outcome.not_evaluated}
    if new := [one.rule for one in after.not_evaluated if one.rule not in lacking]:
        return f"{new[0]} could not be evaluated"
    severities = {one.rule.name: one.severity for one in before.outcome.verdicts}
    worse = [one.rule.name for one in after.verdicts if one.severity > severities.get(one.rule.name, 0)]
    return f"{worse[0]} would speak" if worse else ""
