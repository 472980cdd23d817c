"""Ranking: the options that a search found for a role, ordered by the questions that people ask."""

from __future__ import annotations

import functools
import math
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence

from gpulint import engines
from gpulint.catalog import hardware
from gpulint.facts.model import Facts
from gpulint.policy.rules.evaluate import Outcome, Verdict
from gpulint.report.model import Edit, Fact, Plan, Severity, Suggestion
from gpulint.suggestions import changed_role, pricing, search, smallest_fit
from gpulint.suggestions.search import SearchStart, VerifiedCandidate
from gpulint.suggestions.training import merit

PRINTED = 6
SAME_HARDWARE = frozenset(
    {"accelerator", "gpus_per_pod", "pods_per_replica", "replicas", "mig_profile", "sharing", "instance_type"}
)
"""Quantities that an option on the same hardware does not change."""
NUMBER_FORMATS = frozenset({"quantization", "kv_cache_dtype", "weight_dtype"})
"""Quantities that lower accuracy; an option that changes one is dropped if it also works without
the change.
"""
NEARLY = 1.2
"""Costs within this factor count as equal, and the smaller change comes first."""
NARROW = ("fp8", "nf4", "fp4", "int")
"""The first letters of dtypes of fewer than 16 bits."""
SPENT = 1.5
"""The option with the most headroom may cost this many times the cheapest option, or what the role
costs today.
"""
SHOWN = (
    *("cost_usd_per_million_tokens", "training_cost_usd", "training_cost_usd_per_billion_tokens"),
    *("tpot_s", "ttft_s", "service_tokens_per_s", "step_s", "training_run_s", "power_w"),
)
"""Facts that an option shows beside its headroom, if they are known."""
TODAY = ("cost_usd_per_hour", "headroom", "training_room")
"""Facts that the present shape shows as well."""


def propose_plan(before: SearchStart, objection: Callable[[Suggestion, Sequence[str]], str] = lambda *_: "") -> Plan:
    """Return the options of a role, best first, and the reasons for which others were left out.

    `objection` returns why an option does not clear some rules in the changed text; empty if it
    does.
    """
    refused: Counter[str] = Counter()
    found = list(search.search(before, refused))
    fewest = min((len(option.left) for option in found), default=0)
    cloud = pricing.find_common_cloud(before.known.role, [option.known.role for option in found])
    kept = [(_build(before, option, cloud), option) for option in found if len(option.left) == fewest]
    kept = [(suggestion, option) for suggestion, option in kept if suggestion.hours <= merit.SLOWEST]
    if not before.targets:
        kept = [
            (merit.compare_hourly(suggestion, before.known), option)
            for suggestion, option in kept
            if _is_better(suggestion, before, option)
        ]
    left = kept[0][1].left if kept else frozenset()
    cures = tuple(target.rule.name for target in before.targets if target.rule.name not in left)
    offered = _drop_needless([suggestion for suggestion, _ in kept])
    options = _verify(offered, before, lambda suggestion: objection(suggestion, cures), refused)
    fitting = smallest_fit.find_fitting(before.known, before.outcome, before.rules)
    return Plan(
        workload=before.workload.name,
        role=before.known.role.name,
        location=before.known.role.anchor.location(),
        now=_describe_present(before.known),
        cures=cures,
        leaves=tuple(sorted(left)),
        facts=_list_facts(before.known, (*TODAY, *SHOWN)),
        options=options,
        refused=dict(sorted(refused.items(), key=lambda pair: (-pair[1], pair[0]))),
        needs=tuple(sorted(_find_missing(before))),
        smallest=fitting.smallest,
        too_small=fitting.too_small,
    )


def _verify(
    found: Sequence[Suggestion], before: SearchStart, objection: Callable[[Suggestion], str], refused: Counter[str]
) -> tuple[Suggestion, ...]:
    """Return the options that answer a question best, of those that the changed text accepts."""
    objections: dict[tuple[Edit, ...], str] = {}
    while True:
        options = _select(found, before)
        objections |= {option.edits: objection(option) for option in options if option.edits not in objections}
        wrong = {option.edits for option in options if objections[option.edits]}
        if not wrong:
            return options
        refused.update(objections[edits] for edits in wrong)
        found = [suggestion for suggestion in found if suggestion.edits not in wrong]


def _describe_present(known: Facts) -> str:
    """Return the model on its accelerators, in a line."""
    accelerator = hardware.accelerator(known.role.text("accelerator"))
    gpus, ranks = known.expected("gpus_per_replica"), known.expected("tensor_parallel")
    shape = f"{gpus} × {accelerator.name}" if accelerator and isinstance(gpus, int) else "undeclared GPUs"
    model = known.resolved.architecture.id if known.resolved and known.resolved.architecture else "a model"
    return f"{model} on {shape}" + (f", tensor parallel {ranks}" if isinstance(ranks, int) and ranks > 1 else "")


def find_targets(outcome: Outcome, names: frozenset[str] = frozenset()) -> tuple[Verdict, ...]:
    """Return the verdicts that another size or layout can clear, the most severe first.

    With `names` these are the rules of a line, else all warnings and errors. If there is none, they
    are notes: those of a training run that are not about oversizing, which may be intended, else
    all.
    """
    sizing = [verdict for verdict in outcome.verdicts if verdict.rule.change]
    chosen = [found for found in sizing if (found.rule.name in names if names else found.severity >= Severity.WARNING)]
    if not chosen and not names:
        chosen = [
            found for found in sizing if found.rule.target.kind == ("training",) and found.rule.family != "oversizing"
        ]
    return tuple(sorted(chosen or ([] if names else sizing), key=lambda found: (-found.severity, found.rule.name)))


# ---- the answers


def _build(before: SearchStart, option: VerifiedCandidate, cloud: str | None) -> Suggestion:
    suggestion = pricing.build_suggestion(option.move, before.known, option.known, cloud)
    if engines.is_training(option.known.role):
        suggestion = merit.add_duration(suggestion, before.known, option.known)
    if "sharing" in suggestion.values:
        return suggestion  # the speed of a shared GPU for one of its programs is not known
    return suggestion._replace(facts=(*suggestion.facts, *_list_facts(option.known, SHOWN)))


def _list_facts(known: Facts, names: Iterable[str]) -> tuple[Fact, ...]:
    return tuple(fact for name in names if (fact := known.report(name)))


def _drop_needless(found: Sequence[Suggestion]) -> list[Suggestion]:
    """Drop options that another option makes without a change of dtype or of what is learnt."""
    apart = NUMBER_FORMATS | merit.LEARNT
    shapes = [(option, {key: value for key, value in option.values.items() if key not in apart}) for option in found]
    return [
        option
        for option, shape in shapes
        if all(shape == option.values or other.values != shape for other, _ in shapes)
    ]


def _is_better(suggestion: Suggestion, before: SearchStart, option: VerifiedCandidate) -> bool:
    """Whether a change that no rule asks for saves money, power or a part of the GPU."""
    if "power_cap_w" in suggestion.values:
        return True
    if "mig_profile" in suggestion.values and "accelerator" not in suggestion.values:
        return True
    if engines.is_training(option.known.role):
        return merit.is_worthwhile(suggestion, merit.is_empty(before.known))
    return _saves(suggestion)


def _saves(suggestion: Suggestion) -> bool:
    before, after = suggestion.cost_before_usd_per_hour, suggestion.cost_after_usd_per_hour
    return before is not None and after is not None and after < before


def _select(found: Sequence[Suggestion], before: SearchStart) -> tuple[Suggestion, ...]:
    """Return the options that answer a question best or that no other option beats, best first."""
    best = _find_best(found, bool(before.targets))
    least = _find_least_cost(found)
    rank = _rank_by_change if _repairs(before) else _rank_by_cost
    ranked = sorted(found, key=lambda option: rank(option, least))
    unbeaten = [option for option in ranked if _is_among(option, best.values()) or not _is_beaten(option, found)]
    others = [option for option in unbeaten if not _is_among(option, best.values())][: PRINTED - len(best)]
    kept = [option for option in unbeaten if _is_among(option, best.values()) or _is_among(option, others)]
    return tuple(
        option._replace(answers=tuple(answer for answer, other in best.items() if other is option))
        for option in kept[:PRINTED]
    )


def _is_among(option: Suggestion, others: Iterable[Suggestion]) -> bool:
    return any(option is other for other in others)


def _repairs(before: SearchStart) -> bool:
    """Whether something fails or is slow today, so that the smallest change comes first; else the
    cheapest does.
    """
    return any(target.rule.family != "oversizing" for target in before.targets)


def _find_best(found: Sequence[Suggestion], asked: bool) -> Mapping[str, Suggestion]:
    """Return the option that answers each question best, of those that can be compared in it."""
    priced = [option for option in found if option.cost_after_usd_per_hour is not None and (asked or _saves(option))]
    same = [option for option in found if SAME_HARDWARE.isdisjoint(option.values)]
    most, least = _find_highest_cost(found), _find_least_cost(found)
    roomy = [option for option in found if _find_headroom(option) > -math.inf and _find_cost(option)[0] <= most]
    rank = functools.partial(_rank_by_change, least=least)
    answers = {
        "smallest change": min(found, key=rank, default=None) if asked else None,
        "cheapest": min(priced, key=lambda option: (option.learns_otherwise, *_find_cost(option)), default=None),
        "same hardware": min(same, key=rank, default=None),
        "most headroom": max(roomy, key=_find_headroom, default=None),
    }
    return {answer: option for answer, option in answers.items() if option is not None}


def _find_least_cost(found: Sequence[Suggestion]) -> float:
    return min((_find_cost(option)[0] for option in found), default=math.inf)


def _find_highest_cost(found: Sequence[Suggestion]) -> float:
    """Return what the option with the most headroom may cost."""
    today = max((option.cost_before_usd_per_hour or 0 for option in found), default=0)
    return max(today, SPENT * min((_find_cost(option)[0] for option in found), default=0))


def _rank_by_change(option: Suggestion, least: float) -> tuple[bool, bool, float, bool, bool, int, float, float]:
    """Rank options on the same hardware first, then by the number of changes while the cost does not rise; else by cost
    in steps.
    """
    cost, is_run = _find_cost(option)[0], option.hours != 1.0
    more = merit.costs_more(option) if is_run else pricing.raises_cost(option)
    moved = not changed_role.OTHER_HARDWARE.isdisjoint(option.values)
    dear = _count_steps(cost, least) if more else 0.0
    other = moved or any(edit.asks_for_more for edit in option.edits)
    kept = (option.learns_otherwise, other, dear, _loses_much(option), moved, len(option.values))
    return *kept, _count_steps(cost, least), option.cost_after_usd_per_hour or math.inf


def _rank_by_cost(option: Suggestion, least: float) -> tuple[bool, float, int, float]:
    """Rank by cost, after the options that keep the dtype, the whole GPU and what is learnt."""
    cost = _find_cost(option)[0]
    return _loses_much(option) or option.learns_otherwise, _count_steps(cost, least), len(option.values), cost


def _count_steps(cost: float, least: float) -> float:
    """Return how many steps of 20 % a cost is above the least cost."""
    return math.floor(math.log(cost / least, NEARLY)) + 1.0 if math.inf > cost > 0 < least < math.inf else cost


def _loses_much(option: Suggestion) -> bool:
    """Whether an option lowers accuracy, or shares the GPU with other programs."""
    narrow = (str(option.values.get(name, "")).startswith(NARROW) for name in NUMBER_FORMATS)
    return "sharing" in option.values or any(narrow)


def _find_cost(option: Suggestion) -> tuple[float, int]:
    """Return the cost of the work of one present hour, and the number of changes."""
    cost = merit.work_usd(option)
    return (math.inf if cost is None else cost), len(option.values)


def _find_headroom(option: Suggestion) -> float:
    room = next((fact.values.worst for fact in option.facts if fact.name in ("headroom", "training_room")), None)
    return room if isinstance(room, int | float) else -math.inf


def _is_beaten(option: Suggestion, others: Iterable[Suggestion]) -> bool:
    """Whether another option is at least as good in every score, and better in one."""
    scores = _find_scores(option)
    return any(_dominates(_find_scores(other), scores) for other in others if other is not option)


def _find_scores(option: Suggestion) -> tuple[float, ...]:
    """Return the cost, the number of changes, the trade-off, speed, power and headroom; less is
    better.
    """
    shown: Mapping[str, object] = {fact.name: fact.values.expected for fact in option.facts}
    unknown = math.inf if "sharing" in option.values else 0.0
    slow, watts = shown.get("tpot_s") or shown.get("step_s"), shown.get("power_w")
    return (
        _find_cost(option)[0],
        float(len(option.values)),
        float(bool(option.trade_off)),
        slow if isinstance(slow, float) else unknown,
        watts if isinstance(watts, int | float) else unknown,
        -_find_headroom(option),
    )


def _dominates(scores: Sequence[float], other: Sequence[float]) -> bool:
    return all(a <= b for a, b in zip(scores, other, strict=True)) and tuple(scores) != tuple(other)


def _find_missing(before: SearchStart) -> Iterable[str]:
    """Return the quantities that must be declared before shapes can be compared."""
    name = "training_room_bytes" if engines.is_training(before.known.role) else "headroom_bytes"
    return before.known.missing([name])
