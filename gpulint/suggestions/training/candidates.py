"""Training candidates: whole shapes of a run, cheapest for the same work first.

A shape is an accelerator, its count per pod, the number of pods, the sharding, recomputation, and
the micro-batch that keeps the batch of a step. Shapes that change the training result (adapters,
8-bit moments) and those that wait for host memory come last.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator, Mapping
from typing import NamedTuple

from gpulint.catalog import hardware, offers
from gpulint.catalog.capabilities import does, lacks
from gpulint.facts.model import Facts, Missing
from gpulint.suggestions import changed_role
from gpulint.suggestions.edits import accelerator_names
from gpulint.suggestions.generators import Candidate
from gpulint.suggestions.serving.changes import GPUS_OF_A_NODE, find_count, rank_by_price
from gpulint.suggestions.serving.layouts import find_factors
from gpulint.suggestions.training import memory_estimate
from gpulint.suggestions.training.changes import (
    EVERY_MATRIX,
    GATHERED,
    LAYERS_RECOMPUTED,
    RANK,
    RECOMPUTED,
)
from gpulint.suggestions.training.memory_estimate import Needs, States
from gpulint.suggestions.training.merit import find_dense_peak
from gpulint.workload import Value

COUNTS_TRIED = 2
"""Counts of an accelerator to try: the smallest that holds the run, and the next."""
KEPT_TRIED = 14
"""Shapes with the same training result that are tried before others."""
PODS = (1 / 4, 1 / 2, 1, 2, 4, 8)
"""Multiples of today's pods that are tried."""
LARGEST_MICRO_BATCH = 8
ADAM = frozenset({"adamw", "adamw-fused", "adam", "adam-fused"})
HOST = "lower speed: states cross the link to host memory, and the CPU updates them"
RESIDENT = {"optimizer_offload": False, "parameter_offload": False}


class AcceleratorGroup(NamedTuple):
    """GPUs per pod and pods of an accelerator, the machine of a pod, and the cost per operation."""

    card: hardware.Accelerator
    gpus: int
    pods: int
    machine: offers.Offer | None
    cost_usd_per_flop: float

    @property
    def world(self) -> int:
        return self.gpus * self.pods

    @property
    def memory(self) -> float:
        return self.card.cuda_memory_bytes or self.card.driver_memory_bytes or 0


class RunLayout(NamedTuple):
    """A layout of a run: title, quantities, bytes of states on a GPU, ranks of one data-parallel
    replica, and trade-off.
    """

    title: str
    values: Mapping[str, Value]
    held: float
    ranks_together: int
    trade_off: str = ""


def propose_shapes(facts: Facts, mends: bool) -> Iterator[Candidate]:
    """Yield every shape that holds the run, cheapest for the same work first.

    Shapes that change the training result come last, and only if `mends` is set.
    """
    now, needs = hardware.accelerator(facts.role.text("accelerator")), memory_estimate.estimate(facts)
    if now is None or needs is None or not _has_rank_per_gpu(facts):
        return
    cards = sorted(_list_cards(facts, now), key=lambda group: (group.cost_usd_per_flop, group.world, group.card.id))
    yield from itertools.islice(_propose(cards, facts, needs, now, learns_less=False), KEPT_TRIED)
    if mends:
        yield from _propose(cards, facts, needs, now, learns_less=True)


def _propose(
    cards: list[AcceleratorGroup], facts: Facts, needs: Needs, now: hardware.Accelerator, learns_less: bool
) -> Iterator[Candidate]:
    """Yield, for each count of each accelerator that the file can declare, the fitting layout with
    the least trade-off.
    """
    tried: dict[str, int] = {}
    for group in cards:
        placed = Candidate("", _build_hardware_values(group, facts))
        if tried.get(group.card.id, 0) < COUNTS_TRIED and changed_role.is_expressible(facts.role, placed):
            ways = _list_lesser_ways(group, facts, needs) if learns_less else _list_ways(group, facts, needs)
            move = next(_find_fitting(group, ways, facts, needs, now), None)
            if move is not None:
                tried[group.card.id] = tried.get(group.card.id, 0) + 1
                yield move


# ---- cards


def _list_cards(facts: Facts, now: hardware.Accelerator) -> Iterator[AcceleratorGroup]:
    cloud = accelerator_names.find_cloud(facts.role)
    least = _find_least_flop_per_s(facts)
    products = [now, *(product for product, _ in rank_by_price(now, facts.role) if product.id != now.id)]
    for product, (gpus, pods) in itertools.product(products, _list_counts(facts)):
        peak = find_dense_peak(product)
        machine = offers.find_cheapest(facts.role.available, product.id, gpus, cloud)
        if machine is None and (product.id, gpus, pods) != (now.id, *_find_today(facts)):
            continue
        if product.id != now.id and ((product.compute_capability or 0) < 8.0 or peak * gpus * pods < least):
            continue
        if peak * gpus * pods >= least:
            cost = machine.cost_usd_per_hour if machine else None
            cost_per_gpu = math.inf if cost is None or machine is None else cost / machine.node_gpus
            yield AcceleratorGroup(product, gpus, pods, machine, cost_per_gpu / peak if peak else math.inf)


def _find_today(facts: Facts) -> tuple[int, int]:
    return find_count(facts, "gpus_per_pod") or 1, find_count(facts, "pods_per_replica") or 1


def _list_counts(facts: Facts) -> list[tuple[int, int]]:
    """Return pairs of GPUs per pod and pods: today's, one machine's, and multiples of today's
    pods.
    """
    gpus, pods = _find_today(facts)
    found = {(gpus, pods), *((count, 1) for count in GPUS_OF_A_NODE)}
    found.update((gpus, int(pods * times)) for times in PODS if pods * times >= 1 and gpus >= GPUS_OF_A_NODE[-2])
    together = find_count(facts, "model_ranks") or 1
    return sorted(
        counts
        for counts in found
        if (counts[0] * counts[1]) % together == 0 or does(facts.role.text("engine"), "pipelines_stages")
    )


def _find_least_flop_per_s(facts: Facts) -> float:
    """Return the total peak that the declared time requires, scaled from today's run; zero without
    one.
    """
    wanted, card = facts.expected("target_training_s"), hardware.accelerator(facts.role.text("accelerator"))
    today, world = facts.scenarios("training_run_s"), find_count(facts, "world_size")
    if not isinstance(wanted, int | float) or not card or not world:
        return 0.0
    if isinstance(today, Missing) or not isinstance(today.worst, int | float):
        return find_dense_peak(card) * world
    return float(today.expected) / wanted * find_dense_peak(card) * world  # type: ignore[arg-type]


def _has_rank_per_gpu(facts: Facts) -> bool:
    """Return whether there is one rank per GPU and nothing else decides their number."""
    gpus, ranks = find_count(facts, "gpus_per_pod"), facts.role.fields.get("processes_per_pod")
    return bool(gpus) and (ranks is None or isinstance(ranks.value, int))


def _build_hardware_values(group: AcceleratorGroup, facts: Facts) -> Mapping[str, Value]:
    """Return the quantities of the hardware that differ from today's."""
    gpus, pods = _find_today(facts)
    values: dict[str, Value] = {}
    if group.card.id != facts.role.text("accelerator"):
        values["accelerator"] = group.card.id
        if _names_its_machine(facts) and group.machine and group.machine.instance_type:
            values["instance_type"] = group.machine.instance_type
    if group.gpus != gpus:
        values["gpus_per_pod"] = group.gpus
    if "processes_per_pod" in facts.role.fields and facts.expected("processes_per_pod") != group.gpus:
        values["processes_per_pod"] = group.gpus
    return {**values, "pods_per_replica": group.pods} if group.pods != pods else values


def _names_its_machine(facts: Facts) -> bool:
    """Return whether the machine type has a location of its own."""
    machine, card = (facts.role.fields.get(name) for name in ("instance_type", "accelerator"))
    return bool(machine and machine.origins and (card is None or set(machine.origins).isdisjoint(card.origins)))


# ---- layouts


def _list_ways(group: AcceleratorGroup, facts: Facts, needs: Needs) -> Iterator[RunLayout]:
    """Yield layouts with the same training result: as today, more sharding, more ranks per
    replica.
    """
    stage, by = facts.expected("sharding_stage"), facts.expected("sharding")
    if not isinstance(stage, int):
        return
    offloads = any(facts.expected(name) is True for name in RESIDENT)
    kept = {name: value for name, value in RESIDENT.items() if facts.expected(name) is True}
    for values, together in _list_together(group, facts):
        parts = needs.states if not values else _scale(needs.states, facts, together)
        copies = group.world // together
        for title, shared, further, lost in _list_sharing(by, stage, copies):
            state_bytes = parts.count_bytes_on_rank(further, copies) + (needs.copied if further == stage else 0)
            yield RunLayout(title, {**values, **shared, **kept}, state_bytes, together, lost)
            if offloads:
                yield RunLayout(title, {**values, **shared}, parts.weights, together, lost)


def _list_together(group: AcceleratorGroup, facts: Facts) -> Iterator[tuple[Mapping[str, Value], int]]:
    """Yield today's ranks of a replica and, for trainers with pipeline stages, other numbers,
    fewest first.
    """
    now = find_count(facts, "model_ranks") or 1
    if group.world % now == 0:
        yield {}, now
    if not does(facts.role.text("engine"), "pipelines_stages"):
        return
    heads, layers = (find_count(facts, name) or 0 for name in ("attention_heads", "layers"))
    for ranks, stages in sorted(
        itertools.product(GPUS_OF_A_NODE, GPUS_OF_A_NODE), key=lambda pair: (math.prod(pair), pair)
    ):
        together = ranks * stages * (find_count(facts, "context_parallel") or 1)
        divides = group.world % together == 0 and heads % ranks == 0 and layers % stages == 0
        if divides and ranks <= group.gpus and together != now:
            yield {"tensor_parallel": ranks, "pipeline_parallel": stages}, together


def _scale(states: States, facts: Facts, together: int) -> States:
    """Return the states of one part if a replica has so many ranks."""
    share = (find_count(facts, "model_ranks") or 1) / together
    return States(*(size * share for size in states))


def _list_sharing(by: Value | Missing, stage: int, copies: int) -> Iterator[tuple[str, Mapping[str, Value], int, str]]:
    """Yield what data-parallel ranks shard: as today, then more."""
    if by != "none" or copies == 1:
        yield "", {}, stage, ""
    if copies == 1:
        return
    if by == "deepspeed":
        for further in range(stage + 1, 4):
            yield f"ZeRO stage {further}", {"zero_stage": further}, further, GATHERED if further == 3 else ""
    elif by == "megatron" and stage == 0:
        yield "the distributed optimizer", {"sharding": "distributed-optimizer"}, 1, ""
    elif by in ("none", "ddp"):
        yield "FSDP", {"sharding": "fsdp"}, 3, GATHERED
    elif by == "fsdp" and stage == 2:
        yield "full sharding", {"zero_stage": 3}, 3, GATHERED


def _list_lesser_ways(group: AcceleratorGroup, facts: Facts, needs: Needs) -> Iterator[RunLayout]:
    """Yield layouts that change the training result or wait for host memory."""
    shared = facts.expected("sharding") in ("fsdp", "deepspeed") and facts.expected("sharding_stage") == 3
    together = find_count(facts, "model_ranks") or 1
    if group.world % together:
        return
    copies = group.world // together
    alone = facts.expected("sharding") in ("none", "ddp")
    if facts.expected("optimizer") in ADAM and needs.trains_all and alone and _uses_glossary_words(facts):
        state_bytes = needs.shrink_moments().count_bytes_on_rank(0, 1) + needs.copied
        lost = "slightly less accurate moments"
        yield RunLayout("8-bit optimizer moments", {"optimizer": "adamw-8bit"}, state_bytes, together, lost)
    if not lacks(facts.role.text("engine"), "trains_adapters") and facts.expected("quantization") is None:
        yield from _list_adapters(facts, needs, copies if shared else 1, together)
    if facts.expected("sharding") == "deepspeed":
        yield RunLayout(
            "optimizer state in host memory", {"optimizer_offload": True}, needs.states.weights / copies, together, HOST
        )


def _uses_glossary_words(facts: Facts) -> bool:
    """Return whether the optimizer is written in the glossary's words or not at all.

    Trainers spell it differently.
    """
    stated, arguments = facts.role.fields.get("optimizer"), facts.role.arguments
    return stated is None or not stated.origins or bool(arguments and arguments.key)


def _list_adapters(facts: Facts, needs: Needs, shared: int, together: int) -> Iterator[RunLayout]:
    values: dict[str, Value] = {}
    lost = ""
    if needs.trains_all:
        values, lost = (
            {"lora_rank": RANK, "lora_targets": EVERY_MATRIX},
            "no full fine-tuning: only adapters are trained",
        )
        state_bytes = needs.add_adapters(memory_estimate.HALF_BYTES).weights / shared
        yield RunLayout(f"LoRA of rank {RANK}", values, state_bytes, together, lost)
    if facts.expected("checkpoint_quantization") is None and facts.expected("sharding") in ("none", "ddp"):
        lost = " and ".join(filter(None, (lost, "a slightly less accurate base model")))
        state_bytes = needs.add_adapters(memory_estimate.NF4_BYTES).weights
        yield RunLayout(
            "QLoRA, the base model in 4 bits", {**values, "quantization": "nf4"}, state_bytes, together, lost
        )


# ---- micro-batches and recomputation


def _find_fitting(
    group: AcceleratorGroup, ways: Iterator[RunLayout], facts: Facts, needs: Needs, now: hardware.Accelerator
) -> Iterator[Candidate]:
    """Yield the fitting shapes on some GPUs, smallest trade-off first."""
    recomputes = facts.expected("activation_checkpointing") in LAYERS_RECOMPUTED
    for way, recomputed in itertools.product(list(ways), (recomputes,) if recomputes else (False, True)):
        for micro, batch in _list_batches(facts, group.world // way.ranks_together):
            values = {**_build_hardware_values(group, facts), **way.values, **batch}
            if recomputed and not recomputes:
                values["activation_checkpointing"] = "full"
            if values and needs.fits(group.memory, way.held, micro, recomputed):
                lost = (
                    way.trade_off,
                    RECOMPUTED if recomputed and not recomputes else "",
                    _describe_lost_link(group, now),
                )
                yield Candidate(_render_title(group, way, values), values, "; ".join(filter(None, lost)))
                break


def _list_batches(facts: Facts, copies: int) -> Iterator[tuple[int, Mapping[str, Value]]]:
    """Yield micro-batches that keep the batch of a step: with today's accumulation steps, then
    smaller ones.
    """
    now, steps = (find_count(facts, name) for name in ("micro_batch_size", "gradient_accumulation_steps"))
    batch, today = find_count(facts, "step_sequences"), find_count(facts, "training_copies")
    if not now or not batch or not today:
        if copies == today or not (now and today):
            yield now or 1, {}
        return
    if not copies or batch % copies:
        return
    samples = batch // copies
    most = max(now, min(now * max(1, today // copies), LARGEST_MICRO_BATCH))
    for micro in (size for size in sorted(find_factors(samples), reverse=True) if size <= most):
        values: dict[str, Value] = {} if micro == now else {"micro_batch_size": micro}
        if find_count(facts, "global_batch_size") is None and samples // micro != (steps or 1):
            values["gradient_accumulation_steps"] = samples // micro
        yield micro, values


def _describe_lost_link(group: AcceleratorGroup, now: hardware.Accelerator) -> str:
    """Return the direct link that another accelerator lacks.

    The slowdown follows from its step time.
    """
    if 1 < group.gpus <= (now.link_domain_gpus or 1) and (group.card.link_domain_gpus or 1) < group.gpus:
        return f"no direct link between the GPUs (today: {now.link})"
    return ""


def _render_title(group: AcceleratorGroup, way: RunLayout, values: Mapping[str, Value]) -> str:
    parts = [f"{group.gpus} × {group.card.name}"]
    if group.pods > 1:
        parts.append(f"{group.pods} pods")
    parts += [f"{word} parallel {values[name]}" for word, name in TOGETHER if name in values]
    parts.append(way.title)
    if "activation_checkpointing" in values:
        parts.append("activations recomputed")
    if "micro_batch_size" in values or "gradient_accumulation_steps" in values:
        parts.append(_name_batch(values))
    return ", ".join(filter(None, parts))


TOGETHER = (("tensor", "tensor_parallel"), ("pipeline", "pipeline_parallel"))


def _name_batch(values: Mapping[str, Value]) -> str:
    size, steps = values.get("micro_batch_size"), values.get("gradient_accumulation_steps")
    named = f"micro-batches of {size}" if size else "micro-batches of the same size"
    return f"{named}, {steps} per step" if steps else named
