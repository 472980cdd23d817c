"""Training layouts: other ways to share a run out over the same ranks, with the product of ranks and the batch of a step kept."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping
from fractions import Fraction

from gpulint.facts.model import Facts
from gpulint.suggestions.serving.changes import Move, count_of
from gpulint.suggestions.serving.layouts import factors, machines
from gpulint.workload import Value

RECOMPUTED_LESS: Mapping[str, tuple[str, str]] = {
    "scores": ("the scores of attention alone recomputed", "the memory of the other activations"),
    "none": ("nothing recomputed", "the memory of all activations"),
}
"""What is kept of a layer that is recomputed whole today: Korthikanti et al., Reducing Activation Recomputation, 2022."""
SPARE = 0.1
"""Share of a card that has to be free before less is recomputed or more computed at once."""
IN_STAGES = frozenset({"torchtitan", "megatron-lm", "megatron-deepspeed", "nemo", "gpt-neox", "nanotron"})
"""Trainers that can run a network in stages."""
MORE_MACHINES = (2, 3, 4, 6, 8, 16)
"""Multiples of today's machines that are tried."""
LONGER = (2, 4)
"""Multiples of context parallel ranks, micro-batches and parts of a stage that are tried."""


def training(quantity: str, known: Facts) -> Iterator[Move]:
    """The layouts of a run that are worth a try when one of its quantities may change."""
    by_quantity: Mapping[str, Callable[[Facts], Iterator[Move]]] = {
        "tensor_parallel": _tensor_ranks,
        "pipeline_parallel": _stages,
        "virtual_stages": _parts,
        "micro_batch_size": _smaller,
        "gradient_accumulation_steps": _larger,
        "shard_group": _groups,
        "sequence_parallel": _sequence_parallel,
        "context_parallel": _context_ranks,
        "expert_parallel_size": _expert_ranks,
        "rollout_tensor_parallel": _rollout_ranks,
        "activation_checkpointing": _recomputed_less,
        "network_bytes_per_s": machines,
        "world_size": _more_machines,
    }
    return by_quantity[quantity](known) if quantity in by_quantity else iter(())


def kept(known: Facts, copies: Fraction) -> Mapping[str, Value] | None:
    """What keeps the batch of a step when there are so many times as many copies; None where nothing does."""
    steps, stated = count_of(known, "gradient_accumulation_steps"), known.role.fields.get("gradient_accumulation_steps")
    if copies == 1:
        return {}
    if steps and stated and stated.origins:
        fewer = steps / copies
        return {"gradient_accumulation_steps": int(fewer)} if fewer.denominator == 1 else None
    batch, micro, today = (
        count_of(known, name) for name in ("global_batch_size", "micro_batch_size", "training_copies")
    )
    if not batch or not micro:
        return None
    return {} if today is None or batch % (micro * today * copies) == 0 else None


def _tensor_ranks(known: Facts) -> Iterator[Move]:
    """Fewer ranks for each layer: as stages of the pipeline, then as copies."""
    ranks, stages, layers = (count_of(known, name) for name in ("tensor_parallel", "pipeline_parallel", "layers"))
    if not ranks:
        return
    deep, joined = max(1, stages or 1), _joined(known)
    for left in sorted((one for one in factors(ranks) if one < ranks), reverse=True):
        if left > joined:
            continue
        longer = deep * ranks // left
        if layers is None or layers % longer == 0:
            values: dict[str, Value] = {"tensor_parallel": left, "pipeline_parallel": longer}
            yield Move(
                f"tensor parallel {left}, pipeline parallel {longer} on the same GPUs", values, "a pipeline's wait"
            )
        yield from _as_copies(known, "tensor_parallel", left, Fraction(ranks, left))


def _joined(known: Facts) -> int:
    """GPUs of a pod that one direct link joins."""
    counts = [count_of(known, name) for name in ("gpus_per_pod", "link_domain_gpus")]
    return min((count for count in counts if count), default=1)


def _as_copies(known: Facts, quantity: str, size: int, more: Fraction) -> Iterator[Move]:
    """Fewer ranks for one micro-batch, as more copies with the same batch of a step."""
    together = {"tensor_parallel": "tensor", "pipeline_parallel": "pipeline", "context_parallel": "context"}[quantity]
    batch = kept(known, more)
    if batch is not None:
        lost = "the memory of so many ranks" if more > 1 else "copies that compute at once"
        extra = f", {batch['gradient_accumulation_steps']} micro-batches to a step" if batch else ""
        yield Move(f"{together} parallel {size}{extra}", {quantity: size, **batch}, lost)


def _stages(known: Facts) -> Iterator[Move]:
    """Other numbers of stages that layers and ranks divide by, the nearest first; half at least unless memory is known."""
    now, world, layers = (count_of(known, name) for name in ("pipeline_parallel", "world_size", "layers"))
    together = count_of(known, "model_ranks")
    if not (now and world and together) or (now == 1 and known.role.text("engine") not in IN_STAGES):
        return
    others = together // now
    least = 1 if isinstance(known.likely("training_headroom"), float) else now / 2
    for stages in sorted(range(1, 2 * now + 1), key=lambda stages: (abs(stages - now), -stages)):
        if stages != now and stages >= least and world % (others * stages) == 0 and (layers or stages) % stages == 0:
            yield from _as_copies(known, "pipeline_parallel", stages, Fraction(now, stages))


def _parts(known: Facts) -> Iterator[Move]:
    """Parts of the network on each stage, which shorten the pipeline's wait, or none."""
    stages, now, layers = (count_of(known, name) for name in ("pipeline_parallel", "virtual_stages", "layers"))
    if not stages or not now:
        return
    for parts in LONGER if stages > 1 else ():
        if parts > now and layers and layers % (stages * parts) == 0:
            values: dict[str, Value] = {"virtual_stages": parts}
            yield Move(f"{parts} parts of the network on each stage", values, "communication between stages")
    if now > 1:
        yield Move("one part of the network on each stage", {"virtual_stages": 1}, "a short wait of the pipeline")


def _smaller(known: Facts) -> Iterator[Move]:
    """Smaller micro-batches where the batch of a step is stated whole."""
    now, batch = count_of(known, "micro_batch_size"), count_of(known, "global_batch_size")
    if not now or not batch or count_of(known, "gradient_accumulation_steps"):
        return
    for size in sorted((one for one in factors(now) if one < now), reverse=True):
        yield Move(f"micro-batches of {size}", {"micro_batch_size": size}, "the speed of larger matrix products")


def _larger(known: Facts) -> Iterator[Move]:
    """Larger micro-batches, as many samples to a step, the largest first."""
    now, steps = count_of(known, "micro_batch_size"), count_of(known, "gradient_accumulation_steps")
    if not now or not steps:
        return
    for multiple in sorted((one for one in factors(steps) if 1 < one <= 8), reverse=True):
        values: dict[str, Value] = {
            "micro_batch_size": now * multiple,
            "gradient_accumulation_steps": steps // multiple,
        }
        title = f"micro-batches of {now * multiple}, {steps // multiple} of them to an optimizer step"
        yield Move(title, values, "memory that is free today")


def _groups(known: Facts) -> Iterator[Move]:
    """Hybrid sharding: whole copies of the states on each machine, or on each pair of machines."""
    gpus, ranks = count_of(known, "gpus_per_pod"), count_of(known, "shard_ranks")
    if known.likely("sharding") != "fsdp" or not gpus or not ranks:
        return
    lost = "memory: fewer ranks share the states out"
    if (stated := known.role.fields.get("hybrid_sharding")) is not None and stated.origins:
        if stated.value is False and gpus < ranks:
            yield Move(
                f"hybrid sharding: a copy of the states on the {gpus} GPUs of each node",
                {"hybrid_sharding": True},
                lost,
            )
        return
    for group in (gpus, 2 * gpus, 4 * gpus):
        if group < ranks and ranks % group == 0:
            title = f"hybrid sharding: a copy of the states on every {group} GPUs"
            yield Move(title, {"shard_group": group}, lost)


def _sequence_parallel(known: Facts) -> Iterator[Move]:
    if known.likely("sequence_parallel") is False and (count_of(known, "tensor_parallel") or 1) > 1:
        yield Move("tokens shared out between the matrices (sequence parallel)", {"sequence_parallel": True})


def _context_ranks(known: Facts) -> Iterator[Move]:
    """Fewer ranks for the tokens of a sequence, most first, then more of them."""
    now = count_of(known, "context_parallel") or 1
    for fewer in sorted((one for one in factors(now) if one < now), reverse=True):
        yield from _as_copies(known, "context_parallel", fewer, Fraction(now, fewer))
    for more in (now * multiple for multiple in LONGER):
        if (count_of(known, "training_copies") or 0) % (more // now) == 0:
            yield from _as_copies(known, "context_parallel", more, Fraction(now, more))


def _expert_ranks(known: Facts) -> Iterator[Move]:
    """Expert parallel ranks that the experts and the ranks of each stage divide by: fewer, most first, then more."""
    experts, now, world = (count_of(known, name) for name in ("experts", "expert_parallel_size", "world_size"))
    if not (experts and now and world):
        return
    shared = count_of(known, "expert_tensor_parallel") or count_of(known, "tensor_parallel") or 1
    room = world // (shared * max(1, count_of(known, "pipeline_parallel") or 1))
    for ranks in sorted(factors(math.gcd(experts, room)), key=lambda ranks: (ranks > now, abs(ranks - now))):
        if ranks != now:
            lost = "the memory of experts on fewer ranks" if ranks < now else "tokens sent to more ranks"
            yield Move(f"expert parallel {ranks}", {"expert_parallel_size": ranks}, lost)


def _rollout_ranks(known: Facts) -> Iterator[Move]:
    """Engines of fewer ranks that the run and the heads divide by, largest first."""
    now, world = count_of(known, "rollout_tensor_parallel"), count_of(known, "world_size")
    if not now or not world:
        return
    heads = count_of(known, "attention_heads") or world
    for ranks in sorted(factors(math.gcd(world, heads)), reverse=True):
        if ranks < now:
            title = f"tensor parallel {ranks} in the engines that generate samples"
            yield Move(title, {"rollout_tensor_parallel": ranks}, "the memory of so many ranks")


def _more_machines(known: Facts) -> Iterator[Move]:
    """More machines that share the same batch of a step, fewest first."""
    now, gpus = count_of(known, "pods_per_replica"), count_of(known, "gpus_per_pod")
    for times in MORE_MACHINES if now and gpus else ():
        batch = kept(known, Fraction(times))
        if batch is not None:
            pods = (now or 1) * times
            values: dict[str, Value] = {"pods_per_replica": pods, **batch}
            yield Move(f"{pods} pods of {gpus} GPUs at the same batch", values, "further machines")


def _recomputed_less(known: Facts) -> Iterator[Move]:
    """Less recomputation, where a step leaves room."""
    room = known.likely("training_headroom")
    if known.likely("activation_checkpointing") != "full" or not isinstance(room, float) or room < SPARE:
        return
    for kept_of_layer, (title, lost) in RECOMPUTED_LESS.items():
        yield Move(title, {"activation_checkpointing": kept_of_layer}, lost)
