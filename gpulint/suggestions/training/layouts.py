"""Training layouts: other ways to distribute a run over the same ranks, with the batch of a step
kept.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from fractions import Fraction

from gpulint.catalog.capabilities import does
from gpulint.facts.model import Facts
from gpulint.report import escaping
from gpulint.suggestions.generators import Candidate, generates
from gpulint.suggestions.serving.changes import find_count
from gpulint.suggestions.serving.layouts import find_factors
from gpulint.workload import Value

STAGES_MAX = 4_096
"""No network has more layers to divide into stages."""
RECOMPUTED_LESS: Mapping[str, tuple[str, str]] = {
    "scores": ("only the attention scores recomputed", "more memory for the other activations"),
    "none": ("nothing recomputed", "more memory for all activations"),
}
"""What is kept of a fully recomputed layer: Korthikanti et al., Reducing Activation Recomputation,
2022.
"""
SPARE = 0.1
"""Share of GPU memory that must be free before less is recomputed or more computed at once."""
MORE_MACHINES = (2, 3, 4, 6, 8, 16)
"""Multiples of today's machines to try."""
LONGER = (2, 4)
"""Multiples of context parallel ranks, micro-batches and virtual stages to try."""


def keep_batch(facts: Facts, copies: Fraction) -> Mapping[str, Value] | None:
    """Return the values that keep the batch of a step with so many times the data-parallel ranks;

    None if none do.
    """
    steps, stated = (
        find_count(facts, "gradient_accumulation_steps"),
        facts.role.fields.get("gradient_accumulation_steps"),
    )
    if copies == 1:
        return {}
    if steps and stated and stated.origins:
        fewer = steps / copies
        return {"gradient_accumulation_steps": int(fewer)} if fewer.denominator == 1 else None
    batch, micro, today = (
        find_count(facts, name) for name in ("global_batch_size", "micro_batch_size", "training_copies")
    )
    if not batch or not micro:
        return None
    return {} if today is None or batch % (micro * today * copies) == 0 else None


@generates("tensor_parallel")
def _propose_tensor_ranks(facts: Facts) -> Iterator[Candidate]:
    """Yield fewer tensor ranks: as pipeline stages, then as data-parallel ranks."""
    ranks, stages, layers = (find_count(facts, name) for name in ("tensor_parallel", "pipeline_parallel", "layers"))
    if not ranks:
        return
    deep, joined = max(1, stages or 1), _count_connected(facts)
    for left in sorted((divisor for divisor in find_factors(ranks) if divisor < ranks), reverse=True):
        if left > joined:
            continue
        longer = deep * ranks // left
        if layers is None or layers % longer == 0:
            values: dict[str, Value] = {"tensor_parallel": left, "pipeline_parallel": longer}
            yield Candidate(
                f"tensor parallel {left}, pipeline parallel {longer} on the same GPUs", values, "pipeline bubbles"
            )
        yield from _propose_data_parallel(facts, "tensor_parallel", left, Fraction(ranks, left))


def _count_connected(facts: Facts) -> int:
    """Return the GPUs of a pod that one direct link connects."""
    counts = [find_count(facts, name) for name in ("gpus_per_pod", "link_domain_gpus")]
    return min((count for count in counts if count), default=1)


def _propose_data_parallel(facts: Facts, quantity: str, size: int, more: Fraction) -> Iterator[Candidate]:
    """Yield another size of model parallelism, with data parallelism changed and the batch of a
    step kept.
    """
    together = {"tensor_parallel": "tensor", "pipeline_parallel": "pipeline", "context_parallel": "context"}[quantity]
    batch = keep_batch(facts, more)
    if batch is not None:
        lost = "more memory per GPU" if more > 1 else "fewer data-parallel ranks"
        extra = f", {batch['gradient_accumulation_steps']} micro-batches per step" if batch else ""
        yield Candidate(f"{together} parallel {size}{extra}", {quantity: size, **batch}, lost)


@generates("pipeline_parallel")
def _propose_stages(facts: Facts) -> Iterator[Candidate]:
    """Yield other numbers of stages that layers and ranks divide by, nearest first; at least half
    unless memory is known.
    """
    now, world, layers = (find_count(facts, name) for name in ("pipeline_parallel", "world_size", "layers"))
    together = find_count(facts, "model_ranks")
    if not (now and world and together) or (now == 1 and not does(facts.role.text("engine"), "pipelines_stages")):
        return
    others = together // now
    least = 1 if isinstance(facts.expected("training_headroom"), float) else now / 2
    for stages in sorted(range(1, min(2 * now, STAGES_MAX) + 1), key=lambda stages: (abs(stages - now), -stages)):
        if stages != now and stages >= least and world % (others * stages) == 0 and (layers or stages) % stages == 0:
            yield from _propose_data_parallel(facts, "pipeline_parallel", stages, Fraction(now, stages))


@generates("virtual_stages")
def _propose_virtual_stages(facts: Facts) -> Iterator[Candidate]:
    """Yield virtual stages, which shorten pipeline bubbles, or a single one."""
    stages, now, layers = (find_count(facts, name) for name in ("pipeline_parallel", "virtual_stages", "layers"))
    if not stages or not now:
        return
    for parts in LONGER if stages > 1 else ():
        if parts > now and layers and layers % (stages * parts) == 0:
            values: dict[str, Value] = {"virtual_stages": parts}
            yield Candidate(
                f"{parts} virtual stages on each pipeline rank", values, "more communication between stages"
            )
    if now > 1:
        yield Candidate("one virtual stage on each pipeline rank", {"virtual_stages": 1}, "larger pipeline bubbles")


@generates("micro_batch_size", order=-1)
def _propose_smaller_batches(facts: Facts) -> Iterator[Candidate]:
    """Yield smaller micro-batches if the batch of a step is declared as a whole."""
    now, batch = find_count(facts, "micro_batch_size"), find_count(facts, "global_batch_size")
    if not now or not batch or find_count(facts, "gradient_accumulation_steps"):
        return
    for size in sorted((divisor for divisor in find_factors(now) if divisor < now), reverse=True):
        yield Candidate(f"micro-batches of {size}", {"micro_batch_size": size}, "slower, smaller matrix products")


@generates("gradient_accumulation_steps")
def _propose_larger_batches(facts: Facts) -> Iterator[Candidate]:
    """Yield larger micro-batches with as many samples per step, largest first."""
    now, steps = find_count(facts, "micro_batch_size"), find_count(facts, "gradient_accumulation_steps")
    if not now or not steps:
        return
    for multiple in sorted((divisor for divisor in find_factors(steps) if 1 < divisor <= 8), reverse=True):
        values: dict[str, Value] = {
            "micro_batch_size": now * multiple,
            "gradient_accumulation_steps": steps // multiple,
        }
        title = f"micro-batches of {now * multiple}, {steps // multiple} per optimizer step"
        yield Candidate(title, values, "more memory, which is free today")


@generates("shard_group")
def _propose_shard_groups(facts: Facts) -> Iterator[Candidate]:
    """Yield hybrid sharding: all states on each machine, or on each group of machines."""
    gpus, ranks = find_count(facts, "gpus_per_pod"), find_count(facts, "shard_ranks")
    if facts.expected("sharding") != "fsdp" or not gpus or not ranks:
        return
    lost = "more memory: fewer ranks share the states"
    if (stated := facts.role.fields.get("hybrid_sharding")) is not None and stated.origins:
        if stated.value is False and gpus < ranks:
            yield Candidate(
                f"hybrid sharding: a full set of states on the {gpus} GPUs of each node",
                {"hybrid_sharding": True},
                lost,
            )
        return
    for group in (gpus, 2 * gpus, 4 * gpus):
        if group < ranks and ranks % group == 0:
            title = f"hybrid sharding: a full set of states on every {group} GPUs"
            yield Candidate(title, {"shard_group": group}, lost)


@generates("sequence_parallel")
def _propose_sequence_parallel(facts: Facts) -> Iterator[Candidate]:
    if facts.expected("sequence_parallel") is False and (find_count(facts, "tensor_parallel") or 1) > 1:
        yield Candidate("sequence parallelism: tokens sharded between the matrix products", {"sequence_parallel": True})


@generates("context_parallel")
def _propose_context_ranks(facts: Facts) -> Iterator[Candidate]:
    """Yield fewer context parallel ranks, most first, then more."""
    now = find_count(facts, "context_parallel") or 1
    for fewer in sorted((divisor for divisor in find_factors(now) if divisor < now), reverse=True):
        yield from _propose_data_parallel(facts, "context_parallel", fewer, Fraction(now, fewer))
    for more in (now * multiple for multiple in LONGER):
        if (find_count(facts, "training_copies") or 0) % (more // now) == 0:
            yield from _propose_data_parallel(facts, "context_parallel", more, Fraction(now, more))


@generates("expert_parallel_size")
def _propose_expert_ranks(facts: Facts) -> Iterator[Candidate]:
    """Yield expert parallel sizes that divide experts and ranks of a stage: fewer, most first, then
    more.
    """
    experts, now, world = (find_count(facts, name) for name in ("experts", "expert_parallel_size", "world_size"))
    if not (experts and now and world):
        return
    shared = find_count(facts, "expert_tensor_parallel") or find_count(facts, "tensor_parallel") or 1
    room = world // (shared * max(1, find_count(facts, "pipeline_parallel") or 1))
    for ranks in sorted(find_factors(math.gcd(experts, room)), key=lambda ranks: (ranks > now, abs(ranks - now))):
        if ranks != now:
            lost = "more memory for experts on each rank" if ranks < now else "tokens sent to more ranks"
            yield Candidate(f"expert parallel {ranks}", {"expert_parallel_size": ranks}, lost)


@generates("rollout_tensor_parallel")
def _propose_rollout_ranks(facts: Facts) -> Iterator[Candidate]:
    """Yield smaller rollout engines whose ranks divide the run and the heads, largest first."""
    now, world = find_count(facts, "rollout_tensor_parallel"), find_count(facts, "world_size")
    if not now or not world:
        return
    heads = find_count(facts, "attention_heads") or world
    for ranks in sorted(find_factors(math.gcd(world, heads)), reverse=True):
        if ranks < now:
            title = f"tensor parallel {ranks} in the engines that generate samples"
            yield Candidate(title, {"rollout_tensor_parallel": ranks}, "more memory per GPU")


@generates("world_size")
def _propose_more_machines(facts: Facts) -> Iterator[Candidate]:
    """Yield more machines with the same batch of a step, fewest first."""
    now, gpus = find_count(facts, "pods_per_replica"), find_count(facts, "gpus_per_pod")
    for times in MORE_MACHINES if now and gpus else ():
        batch = keep_batch(facts, Fraction(times))
        if batch is not None:
            pods = (now or 1) * times
            values: dict[str, Value] = {"pods_per_replica": pods, **batch}
            yield Candidate(
                f"{pods} pods of {escaping.count(gpus or 0, 'GPU')} at the same batch size",
                values,
                "the cost of more machines",
            )


@generates("activation_checkpointing", order=-1)
def _propose_less_recomputation(facts: Facts) -> Iterator[Candidate]:
    """Yield less recomputation if a step leaves memory."""
    room = facts.expected("training_headroom")
    if facts.expected("activation_checkpointing") != "full" or not isinstance(room, float) or room < SPARE:
        return
    for kept_of_layer, (title, lost) in RECOMPUTED_LESS.items():
        yield Candidate(title, {"activation_checkpointing": kept_of_layer}, lost)
