"""Planner: what else a role could run on: the options that a search found, ranked by the questions that people ask."""

from __future__ import annotations

import functools
import math
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence

from gpulint import engines
from gpulint.catalog import hardware
from gpulint.facts.model import Facts
from gpulint.pipeline.summary import role as summary
from gpulint.policy.rules.evaluate import Outcome, Verdict
from gpulint.report.model import Edit, Fact, Plan, Severity, Suggestion
from gpulint.suggestions import alternatives as suggest
from gpulint.suggestions import search
from gpulint.suggestions.search import Before, Option
from gpulint.suggestions.training import merit as training_merits

PRINTED = 6
SAME_HARDWARE = frozenset(
    {"accelerator", "gpus_per_pod", "pods_per_replica", "replicas", "mig_profile", "sharing", "instance_type"}
)
"""What an answer on the same hardware leaves as it is."""
OTHER_HARDWARE = frozenset({"accelerator", "mig_profile", "sharing", "instance_type"})
"""What makes it another kind of hardware, not only more or less of the same."""
NUMBER_FORMATS = frozenset({"quantization", "kv_cache_dtype", "weight_dtype"})
"""What gives up accuracy, and is not offered beside the same shape without it."""
NEARLY = 1.2
"""Costs that differ by less than this are as good as the same, and the smaller change comes first."""
NARROW = ("fp8", "nf4", "fp4", "int")
"""How formats of fewer than 16 bits begin."""
SPENT = 1.5
"""How much more than the cheapest option the one with the most headroom may cost, where today's cost is less or unknown."""
SHOWN = (
    *("cost_usd_per_million_tokens", "training_cost_usd", "training_cost_usd_per_billion_tokens"),
    *("tpot_s", "ttft_s", "service_tokens_per_s", "step_s", "training_run_s", "power_w"),
)
"""What an option shows beside its headroom, where enough is stated to tell."""
TODAY = ("cost_usd_per_hour", "headroom", "training_room")
"""What today's shape shows besides."""


def plan(before: Before, objection: Callable[[Suggestion, Sequence[str]], str] = lambda *_: "") -> Plan:
    """The options of a role, best first, and why the others were left out.

    `objection` says what is wrong with an option that is to answer some rules once it is written; empty where nothing is.
    """
    refused: Counter[str] = Counter()
    found = list(search.options(before, refused))
    fewest = min((len(one.left) for one in found), default=0)
    kept = [(_suggested(before, one), one) for one in found if len(one.left) == fewest]
    kept = [(said, one) for said, one in kept if said.hours <= training_merits.SLOWEST]
    if not before.targets:
        kept = [
            (training_merits.by_the_hour(said, before.known), one) for said, one in kept if _better(said, before, one)
        ]
    left = kept[0][1].left if kept else frozenset()
    cures = tuple(one.rule.name for one in before.targets if one.rule.name not in left)
    offered = _plainest([said for said, _ in kept])
    options = _written(offered, before, lambda one: objection(one, cures), refused)
    fitting = summary.fitting(before.known, before.outcome, before.rules)
    return Plan(
        workload=before.workload.name,
        role=before.known.role.name,
        location=before.known.role.anchor.location(),
        now=_now(before.known),
        cures=cures,
        leaves=tuple(sorted(left)),
        facts=_shown(before.known, (*TODAY, *SHOWN)),
        options=options,
        refused=dict(sorted(refused.items(), key=lambda pair: (-pair[1], pair[0]))),
        needs=tuple(sorted(_needs(before))),
        smallest=fitting.smallest,
        too_small=fitting.too_small,
    )


def _written(
    found: Sequence[Suggestion], before: Before, objection: Callable[[Suggestion], str], refused: Counter[str]
) -> tuple[Suggestion, ...]:
    """The options that answer a question best, of those that keep their promise once they are written."""
    said: dict[tuple[Edit, ...], str] = {}
    while True:
        options = _answered(found, before)
        said |= {one.edits: objection(one) for one in options if one.edits not in said}
        wrong = {one.edits for one in options if said[one.edits]}
        if not wrong:
            return options
        refused.update(said[edits] for edits in wrong)
        found = [one for one in found if one.edits not in wrong]


def _now(known: Facts) -> str:
    """The network on its cards, in a line."""
    card = hardware.accelerator(known.role.text("accelerator"))
    gpus, ranks = known.likely("gpus_per_replica"), known.likely("tensor_parallel")
    shape = f"{gpus} × {card.name}" if card and isinstance(gpus, int) else "cards that are not stated"
    network = known.resolved.architecture.id if known.resolved and known.resolved.architecture else "a network"
    return f"{network} on {shape}" + (f", tensor parallel {ranks}" if isinstance(ranks, int) and ranks > 1 else "")


def targets(outcome: Outcome, names: frozenset[str] = frozenset()) -> tuple[Verdict, ...]:
    """The verdicts that another size or layout may answer, the most severe first: those of a line, else all from a warning on.

    Where there is none, notes: those of a run that are not about oversizing, which may be what it was bought for, else all.
    """
    sizing = [one for one in outcome.verdicts if one.rule.change]
    asked = [one for one in sizing if (one.rule.name in names if names else one.severity >= Severity.WARNING)]
    if not asked and not names:
        asked = [one for one in sizing if one.rule.target.kind == ("training",) and one.rule.family != "oversizing"]
    return tuple(sorted(asked or ([] if names else sizing), key=lambda one: (-one.severity, one.rule.name)))


# ---- the answers


def _suggested(before: Before, option: Option) -> Suggestion:
    said = suggest.suggestion(option.move, before.known, option.known)
    if engines.trains(option.known.role):
        said = training_merits.timed(said, before.known, option.known)
    if "sharing" in said.values:
        return said  # how fast a card is for one of several programs is not known
    return said._replace(facts=(*said.facts, *_shown(option.known, SHOWN)))


def _shown(known: Facts, names: Iterable[str]) -> tuple[Fact, ...]:
    return tuple(fact for name in names if (fact := known.shown(name)))


def _plainest(found: Sequence[Suggestion]) -> list[Suggestion]:
    """Options without those that another one makes in the number format of today, and learning the same."""
    apart = NUMBER_FORMATS | training_merits.LEARNT
    shapes = [(one, {key: value for key, value in one.values.items() if key not in apart}) for one in found]
    return [one for one, shape in shapes if all(shape == one.values or other.values != shape for other, _ in shapes)]


def _better(said: Suggestion, before: Before, option: Option) -> bool:
    """Whether a change that no rule asks for saves money, or is there to save power or a part of the card."""
    if "power_cap_w" in said.values or ("mig_profile" in said.values and "accelerator" not in said.values):
        return True
    if engines.trains(option.known.role):
        return training_merits.is_worthwhile(said, training_merits.is_empty(before.known))
    return _saves(said)


def _saves(said: Suggestion) -> bool:
    before, after = said.cost_before_usd_per_hour, said.cost_after_usd_per_hour
    return before is not None and after is not None and after < before


def _answered(found: Sequence[Suggestion], before: Before) -> tuple[Suggestion, ...]:
    """The options that answer a question best or that no other one beats, best first."""
    best = _best(found, bool(before.targets))
    least = min((_cost(one)[0] for one in found), default=math.inf)
    rank = _smallness if _mends(before) else _frugality
    ranked = sorted(found, key=lambda one: rank(one, least))
    unbeaten = [one for one in ranked if _is_one(one, best.values()) or not _beaten(one, found)]
    others = [one for one in unbeaten if not _is_one(one, best.values())][: PRINTED - len(best)]
    kept = [one for one in unbeaten if _is_one(one, best.values()) or _is_one(one, others)]
    return tuple(
        one._replace(answers=tuple(answer for answer, other in best.items() if other is one)) for one in kept[:PRINTED]
    )


def _is_one(one: Suggestion, others: Iterable[Suggestion]) -> bool:
    return any(one is other for other in others)


def _mends(before: Before) -> bool:
    """Whether something fails or crawls today, so that the least change comes first; money does where it is only wasted."""
    return any(one.rule.family != "oversizing" for one in before.targets)


def _best(found: Sequence[Suggestion], asked: bool) -> Mapping[str, Suggestion]:
    """The option that answers each question best, of those that can be compared in it."""
    priced = [one for one in found if one.cost_after_usd_per_hour is not None and (asked or _saves(one))]
    kept = [one for one in found if SAME_HARDWARE.isdisjoint(one.values)]
    most, least = _affordable(found), min((_cost(one)[0] for one in found), default=math.inf)
    roomy = [one for one in found if _headroom(one) > -math.inf and _cost(one)[0] <= most]
    smallness = functools.partial(_smallness, least=least)
    answers = {
        "smallest change": min(found, key=smallness, default=None) if asked else None,
        "cheapest": min(priced, key=lambda one: (one.learns_otherwise, *_cost(one)), default=None),
        "same hardware": min(kept, key=smallness, default=None),
        "most headroom": max(roomy, key=_headroom, default=None),
    }
    return {answer: one for answer, one in answers.items() if one is not None}


def _affordable(found: Sequence[Suggestion]) -> float:
    today = max((one.cost_before_usd_per_hour or 0 for one in found), default=0)
    return max(today, SPENT * min((_cost(one)[0] for one in found), default=0))


def _smallness(one: Suggestion, least: float) -> tuple[bool, float, bool, bool, int, float, float]:
    """The number of changes, of the same hardware first, where the work costs no more than today; else its cost in steps."""
    cost, runs = _cost(one)[0], one.hours != 1.0
    more = training_merits.costs_more(one) if runs else suggest.costs_more(one)
    moved = not OTHER_HARDWARE.isdisjoint(one.values)
    dear = _step(cost, least) if more else 0.0
    kept = (one.learns_otherwise, dear, _loses_much(one), moved, len(one.values))
    return *kept, _step(cost, least), one.cost_after_usd_per_hour or math.inf


def _frugality(one: Suggestion, least: float) -> tuple[bool, float, int, float]:
    """Money first, among what keeps its number format and its card to itself, and learns the same."""
    cost = _cost(one)[0]
    return _loses_much(one) or one.learns_otherwise, _step(cost, least), len(one.values), cost


def _step(cost: float, least: float) -> float:
    """How often a cost is a fifth more than the least one of all."""
    return math.floor(math.log(cost / least, NEARLY)) + 1.0 if math.inf > cost > 0 < least < math.inf else cost


def _loses_much(one: Suggestion) -> bool:
    """Whether it loses accuracy, or a card that nobody else uses."""
    return "sharing" in one.values or any(str(one.values.get(name, "")).startswith(NARROW) for name in NUMBER_FORMATS)


def _cost(one: Suggestion) -> tuple[float, int]:
    """What the work of one of today's hours costs."""
    cost = training_merits.work_usd(one)
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
    untold = math.inf if "sharing" in one.values else 0.0
    slow, watts = shown.get("tpot_s") or shown.get("step_s"), shown.get("power_w")
    return (
        _cost(one)[0],
        float(len(one.values)),
        float(bool(one.gives_up)),
        slow if isinstance(slow, float) else untold,
        watts if isinstance(watts, int | float) else untold,
        -_headroom(one),
    )


def _dominates(one: Sequence[float], other: Sequence[float]) -> bool:
    return all(a <= b for a, b in zip(one, other, strict=True)) and tuple(one) != tuple(other)


def _needs(before: Before) -> Iterable[str]:
    """What would have to be stated before shapes can be compared."""
    name = "training_room_bytes" if engines.trains(before.known.role) else "headroom_bytes"
    return before.known.missing([name])
