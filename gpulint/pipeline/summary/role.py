"""Summary: what was understood of a role, whether it fits, and on which cards it would."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import NamedTuple

from gpulint import engines, units
from gpulint.catalog import hardware, offers
from gpulint.catalog.architecture import Resolved
from gpulint.facts.formulas import is_used
from gpulint.facts.glossary import glossary
from gpulint.facts.model import Facts, Missing
from gpulint.pipeline.summary import costs
from gpulint.policy.rules import cel
from gpulint.policy.rules import evaluate as check
from gpulint.policy.rules import objectives as aims
from gpulint.policy.rules.rule import Rule, shipped_rules
from gpulint.report.model import Explanation, Fit, NotEvaluated, RoleSummary, Severity
from gpulint.workload import Field, Role, Unknown

SHOWN = (
    *("checkpoint", "architecture", "accelerator", "gpus_per_replica", "tensor_parallel", "pipeline_parallel"),
    *("data_parallel", "max_model_len", "device_memory_bytes", "memory_budget_bytes", "weight_bytes_per_gpu"),
    *("reserve_bytes", "kv_needed_bytes", "kv_cache_bytes", "kv_cache_tokens", "required_bytes_per_gpu", "headroom"),
)
SHOWN_OF_TRAINING = (
    *("checkpoint", "architecture", "accelerator", "gpus_per_replica", "tensor_parallel", "pipeline_parallel"),
    *("sharding", "sharding_stage", "shard_ranks", "micro_batch_size", "sequence_length", "activation_checkpointing"),
    *("optimizer", "trainable_parameters", "device_memory_bytes", "training_weight_bytes", "gradient_bytes"),
    *("optimizer_state_bytes", "state_bytes_per_gpu", "training_peak_bytes", "training_needed_bytes", "training_room"),
)

LOCAL = re.compile(r"[/~.]|(?:pvc|file|s3|gs|gcs|oci|models|pvc\+hf|az|azblob)://|[\w.-]+(?:/[\w.-]+){2,}/?$")
"""References to weights that no hub serves: a path, a volume, a bucket."""
BY_CARD = frozenset({"compute_capability", "vendor"})


def of(
    role: Role, known: Facts, resolved: Resolved | None, outcome: check.Outcome, rules: Sequence[Rule] = ()
) -> RoleSummary:
    """What a report says of one role, also when nothing is wrong."""
    names = SHOWN_OF_TRAINING if engines.trains(role) else SHOWN
    shown = [fact for name in names if (fact := known.shown(name))]
    shown += aims.shown(known)
    shown += costs.shown(known)
    found = fitting(known, outcome, rules)
    stated = aims.of(known)
    return RoleSummary(
        name=role.name,
        engine=role.text("engine"),
        part_of=role.text("part_of"),
        architecture="" if role.text("part_of") else _architecture(role, resolved),
        accelerator=_accelerator(role),
        parallelism="" if role.text("part_of") else _parallelism(known),
        verdict=_verdict(known, outcome, aims.undersized(stated)),
        headroom=_headroom(known),
        objectives=stated,
        fits_on=found.fits,
        borderline=found.borderline,
        too_small=found.too_small,
        smallest=found.smallest,
        facts=tuple(shown),
        assumptions=tuple(assumptions(role, resolved)),
        unknown=dict(sorted(known.reasons.items())),
        explained=tuple(explanations(role, resolved)),
        not_evaluated=() if _is_part_of_a_run(role) else outcome.not_evaluated,
        cost=costs.per_hour(known),
        cost_of_work=costs.of_work(known),
        prices=costs.prices(known),
        figures=costs.figures(known),
    )


def _verdict(known: Facts, outcome: check.Outcome, undersized: str) -> str:
    """Whether it fits in memory; what fits and fails for another reason does not run; what runs may miss its objectives."""
    if leader := known.role.text("part_of"):
        return f"part of {leader}"
    fits = verdict(known)
    if fits not in ("fits", "likely fits"):
        return fits
    failing = (one.rule for one in outcome.verdicts if one.severity is Severity.ERROR)
    return "does not run" if any(map(_stops, failing)) else undersized or fits


def _stops(rule: Rule) -> bool:
    """Whether an error says that a role does not run: not one about its objectives, nor what an organisation forbids."""
    return rule.family not in ("performance", "governance") and rule.name in shipped_rules()


def verdict(known: Facts) -> str:
    """Whether it fits in memory, by in how many worlds something is left of a serving budget, or of the card in training.

    Where the whole is not known, it does not fit where a part does not: states or weights, or weights and reserve of a server.
    """
    if known.role.value("device") not in (None, "gpu"):
        return "no GPU"
    whole, *parts = _judged_by(known)
    told = _by_what_is_left(known, whole)
    if told != "cannot tell":
        return told
    return next((part for name in parts if "not fit" in (part := _by_what_is_left(known, name))), told)


def generates(known: Facts) -> bool:
    """Whether a role generates static batches by a program that is no server."""
    return not engines.trains(known.role) and isinstance(known.likely("generation_cache"), str)


def _is_part_of_a_run(role: Role) -> bool:
    """Whether a file states how states are shared out and no more: what it lacks stands in another one."""
    return role.text("task") == "training" and not {"engine", "checkpoint", "program"} & role.fields.keys()


def _judged_by(known: Facts) -> tuple[str, ...]:
    """What has to be left for a role to fit, and what has to be left in any case."""
    if engines.trains(known.role):
        return "training_room_bytes", "training_state_room_bytes", "training_weight_room_bytes"
    if generates(known):
        return "generation_headroom_bytes", "generation_weight_headroom_bytes"
    return "headroom_bytes", "kv_cache_bytes", "weight_headroom_bytes"


def _by_what_is_left(known: Facts, name: str) -> str:
    left = known.worlds(name)
    if isinstance(left, Missing):
        return "cannot tell"
    if _amount(left.adverse) >= 0:
        return "fits"
    if _amount(left.favourable) < 0:
        return "does not fit"
    return "likely fits" if _amount(left.likely) >= 0 else "likely does not fit"


def _amount(value: object) -> float:
    return float(value) if isinstance(value, int | float) else 0.0


def _headroom(known: Facts) -> str:
    ends = known.ends("training_room" if engines.trains(known.role) else "headroom")
    if ends is None or known.role.value("device") not in (None, "gpu"):
        return ""
    low, high = (round(_amount(end) * 100) for end in ends)
    return f"{low} %" if low == high else f"{low} to {high} %"


def _architecture(role: Role, resolved: Resolved | None) -> str:
    stated = role.value("checkpoint")
    if isinstance(stated, Unknown):
        return f"? ({stated.reason})"
    if resolved is None:
        return "?"
    known = resolved.architecture is not None and (resolved.architecture.known or resolved.how == "name")
    return role.text("checkpoint") if known else f"{role.text('checkpoint')} (not in the catalog)"


def _accelerator(role: Role) -> str:
    count, product = role.value("gpus_per_replica"), hardware.accelerator(role.text("accelerator"))
    if (device := role.value("device")) not in (None, "gpu"):
        return "none" if device == "cpu" else str(device)
    name = product.name if product else _resource_name(role)
    if profile := role.text("mig_profile"):
        name = f"{profile} of {name}" if product else profile
    amount = units.human(count, "") if isinstance(count, int | float) else "?"
    return f"{amount} × {name}"


def _resource_name(role: Role) -> str:
    unknown = role.value("accelerator")
    reason = f" ({unknown.reason})" if isinstance(unknown, Unknown) else ""
    return (role.text("accelerator_resource") or "?") + reason


def _parallelism(known: Facts) -> str:
    parts = []
    for name, letters in (("tensor_parallel", "TP"), ("pipeline_parallel", "PP"), ("data_parallel", "DP")):
        value = known.likely(name)
        if isinstance(value, int) and (value > 1 or name == "tensor_parallel"):
            parts.append(f"{letters} {value}")
    return " × ".join(parts) or "?"


def assumptions(role: Role, resolved: Resolved | None) -> Iterator[str]:
    """What was inferred of a role, in sentences."""
    yield from (field.assumption for field in role.fields.values() if field.assumption)
    if resolved and resolved.assumption:
        yield resolved.assumption
    engine = role.text("engine")
    if engine and not role.text("engine_version") and (oldest := engines.oldest(engine)):
        yield f"release of {engine} not stated: {'.'.join(map(str, oldest))} or later"
    if role.value("sharing"):
        yield "the card is shared: what its other users take is not counted"
    for name, memory in (("speculative", "draft_weight_bytes_per_gpu"), ("enable_lora", "lora_bytes")):
        if role.value(name) not in (None, False) and not is_used(engine, memory):
            yield f"memory of {glossary()[name].meaning} is not counted"


def explanations(role: Role, resolved: Resolved | None) -> Iterator[Explanation]:
    """Who decides the quantities that the file leaves open, each with the place that says so."""
    for name, field in role.fields.items():
        if isinstance(field.value, Unknown) and field.value.category and field.origins:
            yield Explanation(name, field.value.category, field.value.reason, field.origins[0].location())
    yield from _any_node(role)
    checkpoint = role.fields.get("checkpoint")
    if checkpoint is None:
        yield from _own_program(role)
    elif checkpoint.origins and LOCAL.match(role.text("checkpoint")) and _unlisted(resolved):
        reason = f"the weights lie at {checkpoint.value}, whose config.json is not in the repository"
        yield Explanation("architecture", "local path", reason, checkpoint.origins[0].location())


def _any_node(role: Role) -> Iterator[Explanation]:
    """Why the product of a pod's GPUs is open where no label, queue or claim says anything of it."""
    resource, count = role.text("accelerator_resource"), role.fields.get("gpus_per_pod")
    if resource and count and count.origins and count.value != 0 and "accelerator" not in role.fields:
        reason = f"no label names the product: the nodes that offer {resource} decide"
        yield Explanation("accelerator", "any host", reason, count.origins[0].location())


def _own_program(role: Role) -> Iterator[Explanation]:
    """Why there is no network to know: what runs is no engine or trainer that we read."""
    for name in ("program", "engine"):
        runs = role.fields.get(name)
        if runs is None or not runs.origins or engines.purpose(role.text("engine")):
            continue
        category = runs.value.category if isinstance(runs.value, Unknown) else "own program"
        if category:
            reason = "only the image tells" if category == "image default" else f"only {runs.value} itself tells"
            yield Explanation("architecture", category, reason, runs.origins[0].location())
            return


def _unlisted(resolved: Resolved | None) -> bool:
    return resolved is None or resolved.architecture is None or not resolved.architecture.known


class Fitting(NamedTuple):
    """The products a role fits on in every world, in some, and in none; what cannot run on a card is not listed there.

    `smallest` is the card, count and layout to take, and others of another count.
    """

    fits: tuple[str, ...] = ()
    borderline: tuple[str, ...] = ()
    too_small: tuple[str, ...] = ()
    smallest: tuple[Fit, ...] = ()


def fitting(known: Facts, outcome: check.Outcome, rules: Sequence[Rule]) -> Fitting:
    """When the accelerator is missing: how the role fits on each product that is to be had."""
    if known.role.value("accelerator") is not None and not isinstance(known.role.value("accelerator"), Unknown):
        return Fitting()
    from gpulint.suggestions import smallest_fit as smallest

    left = known.worlds(smallest.room(known))
    if not isinstance(left, Missing) or "accelerator" not in left.names:
        return Fitting()
    offered = offers.of(known.role.available, smallest.cloud_of(known))
    products = smallest.products(known, offered)
    listed = _listed(known, outcome, products) if left.names == {"accelerator"} else Fitting()
    severe = tuple(rule for rule in rules if rule.severity is Severity.ERROR)
    found = smallest.smallest(known, offered, lambda tried: _nothing_new(severe, tried, outcome))
    return listed._replace(smallest=found)


def _listed(known: Facts, outcome: check.Outcome, products: Sequence[hardware.Accelerator]) -> Fitting:
    """Each product in the layout that the file states."""
    name = "training_room_bytes" if engines.trains(known.role) else "headroom_bytes"
    fits: list[str] = []
    borderline: list[str] = []
    small: list[str] = []
    untold = False
    rules = tuple(_of_the_card(outcome))
    traced = known.traced()
    for product in products:
        tried = traced.variant(known.role.having(accelerator=Field(product.id)))
        room = tried.worlds(name)
        if isinstance(room, Missing):
            continue
        if _amount(room.favourable) < 0:
            small.append(product.name)
            continue
        judged = check.judged(rules, tried)
        untold |= bool(judged.not_evaluated)
        if not judged.holding and not judged.not_evaluated:
            (fits if _amount(room.adverse) >= 0 else borderline).append(product.name)
    if untold and not fits and not borderline:
        return Fitting()
    return Fitting(tuple(fits), tuple(borderline), tuple(small))


def _nothing_new(rules: Sequence[Rule], tried: Facts, before: check.Outcome) -> bool:
    """Whether no error holds that did not hold before, and what a card can do is told."""
    judged = check.judged(rules, tried)
    return judged.holding <= before.holding and not any(map(_is_of_the_card, judged.not_evaluated))


def _is_of_the_card(one: NotEvaluated) -> bool:
    rule = shipped_rules().get(one.rule)
    return rule is not None and any(map(_tells_the_card, cel.names(rule.when)))


def _of_the_card(outcome: check.Outcome) -> Iterator[Rule]:
    """The error rules that wait for what the card can do."""
    for name in (one.rule for one in outcome.not_evaluated):
        rule = shipped_rules().get(name)
        if rule is not None and rule.severity is Severity.ERROR and any(map(_tells_the_card, cel.names(rule.when))):
            yield rule


def _tells_the_card(name: str) -> bool:
    return name in BY_CARD or name.endswith("_capability")
