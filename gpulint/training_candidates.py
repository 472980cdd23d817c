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

from gpulint import hardware, labels, offers, suggest, training_needs
from gpulint.facts import Facts, Missing
from gpulint.layouts import factors
from gpulint.moves import GPUS_OF_A_NODE, Move, count_of, priced
from gpulint.training_layouts import IN_STAGES
from gpulint.training_merits import dense_peak
from gpulint.training_moves import EVERY_MATRIX, GATHERED, HAVE_NO_ADAPTERS, LAYERS_RECOMPUTED, RANK, RECOMPUTED
from gpulint.training_needs import Needs, States
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


class Cards(NamedTuple):
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


class Way(NamedTuple):
    """A layout of a run: title, quantities, bytes of states on a GPU, ranks of one data-parallel
    replica, and trade-off.
    """

    title: str
    values: Mapping[str, Value]
    held: float
    ranks_together: int
    gives_up: str = ""


def training(known: Facts, mends: bool) -> Iterator[Move]:
    """Yield every shape that holds the run, cheapest for the same work first.

    Shapes that change the training result come last, and only if `mends` is set.
    """
    now, needs = hardware.accelerator(known.role.text("accelerator")), training_needs.of(known)
    if now is None or needs is None or not _has_rank_per_gpu(known):
        return
    cards = sorted(_list_cards(known, now), key=lambda one: (one.cost_usd_per_flop, one.world, one.card.id))
    yield from itertools.islice(_propose(cards, known, needs, now, learns_less=False), KEPT_TRIED)
    if mends:
        yield from _propose(cards, known, needs, now, learns_less=True)


def _propose(
    cards: list[Cards], known: Facts, needs: Needs, now: hardware.Accelerator, learns_less: bool
) -> Iterator[Move]:
    """Yield, for each count of each accelerator that the file can declare, the fitting layout with
    the least trade-off.
    """
    tried: dict[str, int] = {}
    for one in cards:
        placed = Move("", _build_hardware_values(one, known))
        if tried.get(one.card.id, 0) < COUNTS_TRIED and suggest.expressible(known.role, placed):
            ways = _list_lesser_ways(one, known, needs) if learns_less else _list_ways(one, known, needs)
            move = next(_find_fitting(one, ways, known, needs, now), None)
            if move is not None:
                tried[one.card.id] = tried.get(one.card.id, 0) + 1
                yield move


# ---- cards


def _list_cards(known: Facts, now: hardware.Accelerator) -> Iterator[Cards]:
    cloud = labels.cloud(known.role)
    least = _find_least_flop_per_s(known)
    products = [now, *(product for product, _ in priced(now, known.role) if product.id != now.id)]
    for product, (gpus, pods) in itertools.product(products, _list_counts(known)):
        peak = dense_peak(product)
        machine = offers.cheapest(known.role.available, product.id, gpus, cloud)
        if machine is None and (product.id, gpus, pods) != (now.id, *_find_today(known)):
            continue
        if product.id != now.id and ((product.compute_capability or 0) < 8.0 or peak * gpus * pods < least):
            continue
        if peak * gpus * pods >= least:
            cost = machine.cost_usd_per_hour if machine else None
            each = math.inf if cost is None or machine is None else cost / machine.node_gpus
            yield Cards(product, gpus, pods, machine, each / peak if peak else math.inf)


def _find_today(known: Facts) -> tuple[int, int]:
    return count_of(known, "gpus_per_pod") or 1, count_of(known, "pods_per_replica") or 1


def _list_counts(known: Facts) -> list[tuple[int, int]]:
    """Return pairs of GPUs per pod and pods: today's, one machine's, and multiples of today's pods."""
    gpus, pods = _find_today(known)
    found = {(gpus, pods), *((count, 1) for count in GPUS_OF_A_NODE)}
    found.update((gpus, int(pods * times)) for times in PODS if pods * times >= 1 and gpus >= GPUS_OF_A_NODE[-2])
    together = count_of(known, "model_ranks") or 1
    return sorted(one for one in found if (one[0] * one[1]) % together == 0 or known.role.text("engine") in IN_STAGES)


def _find_least_flop_per_s(known: Facts) -> float:
    """Return the total peak that the declared time requires, scaled from today's run; zero without
    one.
    """
    wanted, card = known.likely("target_training_s"), hardware.accelerator(known.role.text("accelerator"))
    today, world = known.worlds("training_run_s"), count_of(known, "world_size")
    if not isinstance(wanted, int | float) or not card or not world:
        return 0.0
    if isinstance(today, Missing) or not isinstance(today.adverse, int | float):
        return dense_peak(card) * world
    return float(today.likely) / wanted * dense_peak(card) * world  # type: ignore[arg-type]


def _has_rank_per_gpu(known: Facts) -> bool:
    """Return whether there is one rank per GPU and nothing else decides their number."""
    gpus, ranks = count_of(known, "gpus_per_pod"), known.role.fields.get("processes_per_pod")
    return bool(gpus) and (ranks is None or isinstance(ranks.value, int))


def _build_hardware_values(one: Cards, known: Facts) -> Mapping[str, Value]:
    """Return the quantities of the hardware that differ from today's."""
    gpus, pods = _find_today(known)
    values: dict[str, Value] = {}
    if one.card.id != known.role.text("accelerator"):
        values["accelerator"] = one.card.id
        if _names_its_machine(known) and one.machine and one.machine.instance_type:
            values["instance_type"] = one.machine.instance_type
    if one.gpus != gpus:
        values["gpus_per_pod"] = one.gpus
    if "processes_per_pod" in known.role.fields and known.likely("processes_per_pod") != one.gpus:
        values["processes_per_pod"] = one.gpus
    return {**values, "pods_per_replica": one.pods} if one.pods != pods else values


def _names_its_machine(known: Facts) -> bool:
    """Return whether the machine type has a location of its own."""
    machine, card = (known.role.fields.get(name) for name in ("instance_type", "accelerator"))
    return bool(machine and machine.origins and (card is None or set(machine.origins).isdisjoint(card.origins)))


# ---- layouts


def _list_ways(one: Cards, known: Facts, needs: Needs) -> Iterator[Way]:
    """Yield layouts with the same training result: as today, more sharding, more ranks per replica."""
    stage, by = known.likely("sharding_stage"), known.likely("sharding")
    if not isinstance(stage, int):
        return
    offloads = any(known.likely(name) is True for name in RESIDENT)
    kept = {name: value for name, value in RESIDENT.items() if known.likely(name) is True}
    for values, together in _list_together(one, known):
        parts = needs.states if not values else _scale(needs.states, known, together)
        copies = one.world // together
        for title, shared, further, lost in _list_sharing(by, stage, copies):
            held = parts.on_rank(further, copies) + (needs.copied if further == stage else 0)
            yield Way(title, {**values, **shared, **kept}, held, together, lost)
            if offloads:
                yield Way(title, {**values, **shared}, parts.weights, together, lost)


def _list_together(one: Cards, known: Facts) -> Iterator[tuple[Mapping[str, Value], int]]:
    """Yield today's ranks of a replica and, for trainers with pipeline stages, other numbers,
    fewest first.
    """
    now = count_of(known, "model_ranks") or 1
    if one.world % now == 0:
        yield {}, now
    if known.role.text("engine") not in IN_STAGES:
        return
    heads, layers = (count_of(known, name) or 0 for name in ("attention_heads", "layers"))
    for ranks, stages in sorted(
        itertools.product(GPUS_OF_A_NODE, GPUS_OF_A_NODE), key=lambda pair: (math.prod(pair), pair)
    ):
        together = ranks * stages * (count_of(known, "context_parallel") or 1)
        divides = one.world % together == 0 and heads % ranks == 0 and layers % stages == 0
        if divides and ranks <= one.gpus and together != now:
            yield {"tensor_parallel": ranks, "pipeline_parallel": stages}, together


def _scale(states: States, known: Facts, together: int) -> States:
    """Return the states of one part if a replica has so many ranks."""
    share = (count_of(known, "model_ranks") or 1) / together
    return States(*(held * share for held in states))


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


def _list_lesser_ways(one: Cards, known: Facts, needs: Needs) -> Iterator[Way]:
    """Yield layouts that change the training result or wait for host memory."""
    shared = known.likely("sharding") in ("fsdp", "deepspeed") and known.likely("sharding_stage") == 3
    together = count_of(known, "model_ranks") or 1
    if one.world % together:
        return
    copies = one.world // together
    alone = known.likely("sharding") in ("none", "ddp")
    if known.likely("optimizer") in ADAM and needs.trains_all and alone and _uses_glossary_words(known):
        held = needs.with_small_moments().on_rank(0, 1) + needs.copied
        lost = "slightly less accurate moments"
        yield Way("8-bit optimizer moments", {"optimizer": "adamw-8bit"}, held, together, lost)
    if known.role.text("engine") not in HAVE_NO_ADAPTERS and known.likely("quantization") is None:
        yield from _list_adapters(known, needs, copies if shared else 1, together)
    if known.likely("sharding") == "deepspeed":
        yield Way(
            "optimizer state in host memory", {"optimizer_offload": True}, needs.states.weights / copies, together, HOST
        )


def _uses_glossary_words(known: Facts) -> bool:
    """Return whether the optimizer is written in the glossary's words or not at all.

    Trainers spell it differently.
    """
    stated, arguments = known.role.fields.get("optimizer"), known.role.arguments
    return stated is None or not stated.origins or bool(arguments and arguments.key)


def _list_adapters(known: Facts, needs: Needs, shared: int, together: int) -> Iterator[Way]:
    values: dict[str, Value] = {}
    lost = ""
    if needs.trains_all:
        values, lost = (
            {"lora_rank": RANK, "lora_targets": EVERY_MATRIX},
            "no full fine-tuning: only adapters are trained",
        )
        held = needs.adapted(training_needs.HALF_BYTES).weights / shared
        yield Way(f"LoRA of rank {RANK}", values, held, together, lost)
    if known.likely("checkpoint_quantization") is None and known.likely("sharding") in ("none", "ddp"):
        lost = " and ".join(filter(None, (lost, "a slightly less accurate base model")))
        held = needs.adapted(training_needs.NF4_BYTES).weights
        yield Way("QLoRA, the base model in 4 bits", {**values, "quantization": "nf4"}, held, together, lost)


# ---- micro-batches and recomputation


def _find_fitting(
    one: Cards, ways: Iterator[Way], known: Facts, needs: Needs, now: hardware.Accelerator
) -> Iterator[Move]:
    """Yield the fitting shapes on some GPUs, smallest trade-off first."""
    recomputes = known.likely("activation_checkpointing") in LAYERS_RECOMPUTED
    for way, recomputed in itertools.product(list(ways), (recomputes,) if recomputes else (False, True)):
        for micro, batch in _list_batches(known, one.world // way.ranks_together):
            values = {**_build_hardware_values(one, known), **way.values, **batch}
            if recomputed and not recomputes:
                values["activation_checkpointing"] = "full"
            if values and needs.fits(one.memory, way.held, micro, recomputed):
                lost = (
                    way.gives_up,
                    RECOMPUTED if recomputed and not recomputes else "",
                    _describe_lost_link(one, now),
                )
                yield Move(_render_title(one, way, values), values, "; ".join(filter(None, lost)))
                break


def _list_batches(known: Facts, copies: int) -> Iterator[tuple[int, Mapping[str, Value]]]:
    """Yield micro-batches that keep the batch of a step: with today's accumulation steps, then
    smaller ones.
    """
    now, steps = (count_of(known, name) for name in ("micro_batch_size", "gradient_accumulation_steps"))
    batch, today = count_of(known, "step_sequences"), count_of(known, "training_copies")
    if not now or not batch or not today:
        if copies == today or not (now and today):
            yield now or 1, {}
        return
    if not copies or batch % copies:
        return
    each = batch // copies
    most = max(now, min(now * max(1, today // copies), LARGEST_MICRO_BATCH))
    for micro in (size for size in sorted(factors(each), reverse=True) if size <= most):
        values: dict[str, Value] = {} if micro == now else {"micro_batch_size": micro}
        if count_of(known, "global_batch_size") is None and each // micro != (steps or 1):
            values["gradient_accumulation_steps"] = each // micro
        yield micro, values


def _describe_lost_link(one: Cards, now: hardware.Accelerator) -> str:
    """Return the direct link that another accelerator lacks.

    The slowdown follows from its step time.
    """
    if 1 < one.gpus <= (now.link_domain_gpus or 1) and (one.card.link_domain_gpus or 1) < one.gpus:
        return f"no direct link between the GPUs (today: {now.link})"
    return ""


def _render_title(one: Cards, way: Way, values: Mapping[str, Value]) -> str:
    parts = [f"{one.gpus} × {one.card.name}"]
    if one.pods > 1:
        parts.append(f"{one.pods} pods")
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
