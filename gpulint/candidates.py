"""Candidates: the whole shapes that a server could have instead: card, count, ranks, number format, instances."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from typing import NamedTuple

from gpulint import hardware, labels, moves
from gpulint.facts import Facts, Missing
from gpulint.moves import GPUS_OF_A_NODE, Move, count_of, priced
from gpulint.workload import Value

FILLED = 0.92
"""Share of a card that weights may take before its formulas are asked: what no engine leaves to them is not tried."""
COUNTS_TRIED = 2
"""GPU counts of a card that are tried: the smallest that holds the weights, and the next for the KV cache."""
ACCURACY = "a little accuracy"


class Shape(NamedTuple):
    """One card, how many of it a pod has, in which number format it holds the weights, and the list price of them all."""

    card: hardware.Accelerator
    gpus: int
    quantization: str
    cost_usd_per_hour: float


def serving(known: Facts) -> Iterator[Move]:
    """Every shape whose cards hold the weights, cheapest first, as changes of the present one."""
    now, pods = hardware.accelerator(known.role.text("accelerator")), count_of(known, "pods_per_replica")
    weights = known.likely("weight_bytes")
    if now is None or not pods or not isinstance(weights, int | float):
        return
    for shape in sorted(_shapes(known, now, weights), key=lambda one: (one.cost_usd_per_hour, one.gpus, one.card.id)):
        values = {name: value for name, value in _values(shape, known).items() if known.likely(name) != value}
        if values:
            yield Move(_title(shape, values), values, _lost(shape, now, known))


def _shapes(known: Facts, now: hardware.Accelerator, weights: float) -> Iterator[Shape]:
    cloud = labels.cloud(known.role)
    heads = count_of(known, "attention_heads")
    for product, each in _products(now, known):
        memory = product.cuda_memory_bytes or product.driver_memory_bytes or 0
        for quantization, share in _formats(known, product):
            least = weights * share / (FILLED * memory) if memory else math.inf
            counts = [
                count
                for count in GPUS_OF_A_NODE
                if count >= least and (heads is None or heads % count == 0) and _held(product, count, cloud)
            ]
            for count in counts[:COUNTS_TRIED]:
                yield Shape(product, count, quantization, each * count)


def _products(now: hardware.Accelerator, known: Facts) -> Iterator[tuple[hardware.Accelerator, float]]:
    """The cards that the file can name, today's also without a price, and the price of one."""
    found = priced(now, known.role)
    if all(product.id != now.id for product, _ in found):
        yield now, math.inf
    for product, each in found:
        if product.id == now.id or not moves.loses_bfloat16(known, product):
            yield product, each


def _formats(known: Facts, product: hardware.Accelerator) -> Iterator[tuple[str, float]]:
    """As they are stored, and 16-bit weights in 8 bits where the card computes in them: with the share of bytes that is left."""
    yield "", 1.0
    if known.likely("bytes_per_weight") == 2.0 and (product.compute_capability or 0) >= 8.9:
        yield "fp8", 0.5


def _held(product: hardware.Accelerator, count: int, cloud: str | None) -> bool:
    return count == 1 or hardware.cheapest(product.id, count, cloud) is not None


def _values(shape: Shape, known: Facts) -> Mapping[str, Value]:
    values: dict[str, Value] = {
        "accelerator": shape.card.id,
        "gpus_per_pod": shape.gpus,
        "tensor_parallel": shape.gpus,
        "pipeline_parallel": 1,
        "data_parallel": 1,
        "pods_per_replica": 1,
    }
    return {**values, "quantization": shape.quantization} if shape.quantization else values


def _title(shape: Shape, values: Mapping[str, Value]) -> str:
    parts = [f"{shape.gpus} × {shape.card.name}"]
    if shape.gpus > 1:
        parts.append(f"tensor parallel {shape.gpus}")
    if "quantization" in values:
        parts.append("weights in FP8, quantised at load")
    return ", ".join(parts)


def _lost(shape: Shape, now: hardware.Accelerator, known: Facts) -> str:
    gpus = (count_of(known, "gpus_per_pod") or 1) * (count_of(known, "pods_per_replica") or 1)
    slower = moves.slower(now, shape.card, gpus, shape.gpus)
    return " and ".join(filter(None, (slower, ACCURACY if shape.quantization else "")))


def for_load(move: Move, changed: Facts) -> Move | None:
    """A shape with the instances that carry the stated load in the adverse world; None where today's number does."""
    now = count_of(changed, "replicas")
    needed = [count for count in _instances(changed) if count]
    if not now or not needed or max(needed) == now:
        return None
    replicas = max(needed)
    named = f"{replicas} replica{'' if replicas == 1 else 's'} of {move.title}"
    return Move(named, {**move.values, "replicas": replicas}, move.gives_up)


def _instances(known: Facts) -> Iterator[int]:
    """Instances that each stated load needs."""
    from gpulint.layouts import LOADS

    now = count_of(known, "replicas") or 1
    for load, carried in LOADS:
        wanted, given = (known.worlds(name) for name in (load, carried))
        if isinstance(wanted, Missing) or isinstance(given, Missing):
            continue
        if isinstance(wanted.adverse, int | float) and isinstance(given.adverse, int | float) and given.adverse > 0:
            yield math.ceil(wanted.adverse * now / given.adverse)
