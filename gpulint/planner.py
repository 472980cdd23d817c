"""Planner: searches what else a role could run on; formulas sift the shapes, the same rules judge those that are left."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import NamedTuple

from gpulint import candidates, engines, hardware, suggest, variants
from gpulint.facts import Facts, Missing
from gpulint.findings import Fact, Plan, Severity, Suggestion
from gpulint.moves import Move
from gpulint.policy import check
from gpulint.policy.check import Outcome, Verdict
from gpulint.policy.rule import Rule
from gpulint.workload import Value, Workload

SIFTED = 36
"""Shapes whose formulas are asked, at most: one takes about a millisecond."""
JUDGED = 16
"""Shapes that all rules judge, at most: one takes two to four milliseconds."""
LOADS = ("target_tokens_per_s", "target_requests_per_s", "target_concurrency")
"""Objectives that a number of instances answers."""
OF_A_KIND = 3
"""Changes of one quantity that are judged before the next quantity's turn."""
PRINTED = 6
SAME_HARDWARE = frozenset(
    {"accelerator", "gpus_per_pod", "pods_per_replica", "replicas", "mig_profile", "instance_type"}
)
"""What an answer on the same hardware leaves as it is."""
NUMBER_FORMATS = frozenset({"quantization", "kv_cache_dtype", "weight_dtype"})
"""What gives up accuracy, and is not offered beside the same shape without it."""
SPENT = 1.5
"""How much more than the cheapest option the one with the most headroom may cost, where today's cost is less or unknown."""
SHOWN = ("tpot_s", "ttft_s", "service_tokens_per_s", "step_s", "training_run_s", "average_power_w")
"""What an option shows beside its headroom, where enough is stated to tell."""


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


def plan(before: Before) -> Plan:
    """The options of a role, best first, and why the others were left out."""
    refused: Counter[str] = Counter()
    found = list(_options(before, refused))
    fewest = min((len(one.left) for one in found), default=0)
    kept = [(_suggested(before, one), one) for one in found if len(one.left) == fewest]
    if not before.targets:
        kept = [(said, one) for said, one in kept if _better(said, before, one)]
    options = _answered(_plainest([said for said, _ in kept]), before)
    left = kept[0][1].left if kept else frozenset()
    return Plan(
        workload=before.workload.name,
        role=before.known.role.name,
        location=before.known.role.anchor.location(),
        now=_now(before.known),
        cures=tuple(one.rule.name for one in before.targets if one.rule.name not in left),
        leaves=tuple(sorted(left)),
        facts=_shown(before.known),
        options=options,
        refused=dict(sorted(refused.items(), key=lambda pair: (-pair[1], pair[0]))),
        needs=tuple(sorted(_needs(before))),
    )


def _now(known: Facts) -> str:
    """The network on its cards, in a line."""
    card = hardware.accelerator(known.role.text("accelerator"))
    gpus, ranks = known.likely("gpus_per_replica"), known.likely("tensor_parallel")
    shape = f"{gpus} × {card.name}" if card and isinstance(gpus, int) else "cards that are not stated"
    network = known.resolved.architecture.id if known.resolved and known.resolved.architecture else "a network"
    return f"{network} on {shape}" + (f", tensor parallel {ranks}" if isinstance(ranks, int) and ranks > 1 else "")


def targets(outcome: Outcome, names: frozenset[str] = frozenset()) -> tuple[Verdict, ...]:
    """The verdicts that another size or layout may answer, the most severe first: those of a line, else all from a warning on."""
    sizing = [one for one in outcome.verdicts if one.rule.change]
    asked = [one for one in sizing if (one.rule.name in names if names else one.severity >= Severity.WARNING)]
    return tuple(sorted(asked, key=lambda one: (-one.severity, one.rule.name)))


# ---- the search


def _options(before: Before, refused: Counter[str]) -> Iterator[Option]:
    """Every shape that nothing speaks against, within the two budgets."""
    traced = variants.Traced(before.known.role, before.known.resolved)
    tried: set[frozenset[tuple[str, Value]]] = set()
    sifted = judged = 0
    for moves, most in (*((kind, OF_A_KIND) for kind in _by_kind(before)), (_whole(before), JUDGED)):
        of_a_kind = 0
        for move in moves:
            if sifted == SIFTED or judged == JUDGED or of_a_kind == most:
                break
            values = frozenset(
                (name, value) for name, value in move.values.items() if before.known.likely(name) != value
            )
            if values in tried:
                continue
            tried.add(values)
            if not suggest.expressible(before.known.role, move):
                refused["cannot be written into this file"] += 1
                continue
            sifted += 1
            sized, changed = _carrying(move, before, traced)
            if reason := _sifted(before, changed):
                refused[reason] += 1
                continue
            judged += 1
            of_a_kind += 1
            outcome = check.judged(check.matching(before.rules, before.workload, changed.role), changed)
            if reason := _refusal(before, outcome):
                refused[reason] += 1
                continue
            yield Option(sized, changed, outcome.holding & {one.rule.name for one in before.targets})


def _by_kind(before: Before) -> Iterator[Iterator[Move]]:
    """The changes of each quantity that a target may be answered with."""
    kinds = dict.fromkeys(kind for one in before.targets for kind in one.rule.change)
    for kind in kinds:
        yield suggest.worth_trying(kind, before.known)


def _whole(before: Before) -> Iterator[Move]:
    """Whole shapes, cheapest first."""
    return iter(()) if engines.trains(before.known.role) else candidates.serving(before.known)


def _carrying(move: Move, before: Before, traced: variants.Traced) -> tuple[Move, Facts]:
    """A shape, with as many instances as carry the load where one is stated."""
    changed = traced.variant(suggest.applied(before.known.role, move.values))
    if "replicas" in move.values or not any(isinstance(changed.likely(name), int | float) for name in LOADS):
        return move, changed
    if _too_large(changed) or (more := candidates.for_load(move, changed)) is None:
        return move, changed
    if not suggest.expressible(before.known.role, more):
        return move, changed
    return more, traced.variant(suggest.applied(before.known.role, more.values))


def _too_large(known: Facts) -> bool:
    """Whether a role does not fit in memory in the adverse world."""
    name = "training_room_bytes" if engines.trains(known.role) else "headroom_bytes"
    room = known.worlds(name)
    return not isinstance(room, Missing) and isinstance(room.adverse, int | float) and room.adverse < 0


def _sifted(before: Before, changed: Facts) -> str:
    """Why a shape is left out before all rules are asked; empty when it is worth asking."""
    if _too_large(changed):
        return "does not fit in memory"
    if not before.targets:
        return ""
    worst = before.targets[0].rule
    outcome = check.judged([worst], changed)
    return f"{worst.name} would hold still" if outcome.holding or outcome.not_evaluated else ""


def _refusal(before: Before, after: Outcome) -> str:
    """What a change would newly say, or leave open."""
    lacking = {one.rule for one in before.outcome.not_evaluated}
    if new := [one.rule for one in after.not_evaluated if one.rule not in lacking]:
        return f"{new[0]} could not be evaluated"
    severities = {one.rule.name: one.severity for one in before.outcome.verdicts}
    worse = [one.rule.name for one in after.verdicts if one.severity > severities.get(one.rule.name, 0)]
    return f"{worse[0]} would speak" if worse else ""


# ---- the answers


def _suggested(before: Before, option: Option) -> Suggestion:
    said = suggest.suggestion(option.move, before.known, option.known)
    return said._replace(facts=(*said.facts, *_shown(option.known)))


def _shown(known: Facts) -> tuple[Fact, ...]:
    return tuple(fact for name in SHOWN if (fact := known.shown(name)))


def _plainest(found: Sequence[Suggestion]) -> list[Suggestion]:
    """Options without those that another one makes in the number format of today."""
    shapes = [(one, {key: value for key, value in one.values.items() if key not in NUMBER_FORMATS}) for one in found]
    return [one for one, shape in shapes if all(shape == one.values or other.values != shape for other, _ in shapes)]


def _better(said: Suggestion, before: Before, option: Option) -> bool:
    """Whether a change that no rule asks for saves money."""
    cost = said.cost_after_usd_per_hour
    return cost is not None and said.cost_before_usd_per_hour is not None and cost < said.cost_before_usd_per_hour


def _answered(found: Sequence[Suggestion], before: Before) -> tuple[Suggestion, ...]:
    """The options that answer a question best or that no other one beats, best first."""
    best = _best(found, bool(before.targets))
    ranked = sorted(found, key=_smallness if _mends(before) else _frugality)
    kept = [one for one in ranked if any(one is other for other in best.values()) or not _beaten(one, found)]
    return tuple(
        one._replace(answers=tuple(answer for answer, other in best.items() if other is one)) for one in kept[:PRINTED]
    )


def _mends(before: Before) -> bool:
    """Whether something fails or crawls today, so that the least change comes first; money does where it is only wasted."""
    return any(one.rule.family != "oversizing" for one in before.targets)


def _best(found: Sequence[Suggestion], asked: bool) -> Mapping[str, Suggestion]:
    """The option that answers each question best, of those that can be compared in it."""
    priced = [one for one in found if one.cost_after_usd_per_hour is not None]
    kept = [one for one in found if SAME_HARDWARE.isdisjoint(one.values)]
    most = _affordable(found)
    roomy = [one for one in found if _headroom(one) > -math.inf and _cost(one)[0] <= most]
    answers = {
        "smallest change": min(found, key=_smallness, default=None) if asked else None,
        "cheapest": min(priced, key=_cost, default=None),
        "same hardware": min(kept, key=_smallness, default=None),
        "most headroom": max(roomy, key=_headroom, default=None),
    }
    return {answer: one for answer, one in answers.items() if one is not None}


def _affordable(found: Sequence[Suggestion]) -> float:
    today = max((one.cost_before_usd_per_hour or 0 for one in found), default=0)
    return max(today, SPENT * min((_cost(one)[0] for one in found), default=0))


def _frugality(one: Suggestion) -> tuple[bool, float, int]:
    """Money first, among what keeps its number format."""
    return not NUMBER_FORMATS.isdisjoint(one.values), *_cost(one)


def _smallness(one: Suggestion) -> tuple[bool, int, float]:
    return suggest.costs_more(one), len(one.values), _cost(one)[0]


def _cost(one: Suggestion) -> tuple[float, int]:
    cost = one.cost_after_usd_per_hour
    return (math.inf if cost is None else cost), len(one.values)


def _headroom(one: Suggestion) -> float:
    room = next((fact.values.adverse for fact in one.facts if fact.name in ("headroom", "training_room")), None)
    return room if isinstance(room, int | float) else -math.inf


def _beaten(one: Suggestion, others: Iterable[Suggestion]) -> bool:
    """Whether another option is at least as good in all that is shown, and better in something."""
    mine = _scores(one)
    return any(_dominates(_scores(other), mine) for other in others if other is not one)


def _scores(one: Suggestion) -> tuple[float, ...]:
    """What an option costs, takes, loses and leaves, less being better."""
    shown: Mapping[str, object] = {fact.name: fact.values.likely for fact in one.facts}
    slow = shown.get("tpot_s") or shown.get("step_s")
    return (
        _cost(one)[0],
        float(len(one.values)),
        float(bool(one.gives_up)),
        slow if isinstance(slow, float) else 0.0,
        -_headroom(one),
    )


def _dominates(one: Sequence[float], other: Sequence[float]) -> bool:
    return all(a <= b for a, b in zip(one, other, strict=True)) and tuple(one) != tuple(other)


def _needs(before: Before) -> Iterable[str]:
    """What would have to be stated before shapes can be compared."""
    name = "training_room_bytes" if engines.trains(before.known.role) else "headroom_bytes"
    return before.known.missing([name])
