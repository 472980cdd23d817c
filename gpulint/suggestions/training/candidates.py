"""Training candidates: the whole shapes that a run could have instead, cheapest for the same work first.

A shape is a card, how many in how many pods, what their ranks share out, what is recomputed, and the micro-batch that keeps the
batch of a step. Shapes that change what is learnt (adapters, moments in 8 bits) and those that wait for host memory come last.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator, Mapping
from typing import NamedTuple

from gpulint.catalog import hardware, offers
from gpulint.facts.model import Facts, Missing
from gpulint.suggestions import alternatives as suggest
from gpulint.suggestions.edits import accelerator_names as labels
from gpulint.suggestions.serving.changes import GPUS_OF_A_NODE, Move, count_of, priced
from gpulint.suggestions.serving.layouts import factors
from gpulint.suggestions.training import memory_estimate as training_needs
from gpulint.suggestions.training.changes import (
    EVERY_MATRIX,
    GATHERED,
    HAVE_NO_ADAPTERS,
    LAYERS_RECOMPUTED,
    RANK,
    RECOMPUTED,
)
from gpulint.suggestions.training.layouts import IN_STAGES
from gpulint.suggestions.training.memory_estimate import Needs, States
from gpulint.suggestions.training.merit import dense_peak
from gpulint.workload import Value

COUNTS_TRIED = 2
"""Numbers of a card that are tried: the smallest that hold the run, and the next."""
KEPT_TRIED = 14
"""Shapes that keep what is learnt, before those that do not have their turn."""
PODS = (1 / 4, 1 / 2, 1, 2, 4, 8)
"""Multiples of today's pods that are tried."""
LARGEST_MICRO_BATCH = 8
ADAM = frozenset({"adamw", "adamw-fused", "adam", "adam-fused"})
HOST = "speed: states wait for the link to host memory, and the CPU updates them"
RESIDENT = {"optimizer_offload": False, "parameter_offload": False}


class Cards(NamedTuple):
    """So many of a card in each of some pods, the machine that holds a pod's, and what they cost for each operation."""

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
    """How a run is laid out over its ranks: what to call it, the quantities that say so, what stays on a card, what is lost."""

    title: str
    values: Mapping[str, Value]
    held: float
    ranks_together: int
    gives_up: str = ""


def training(known: Facts, mends: bool) -> Iterator[Move]:
    """Every shape whose cards hold the run, cheapest for the same work first; last, to mend a run, those that learn otherwise."""
    now, needs = hardware.accelerator(known.role.text("accelerator")), training_needs.of(known)
    if now is None or needs is None or not _ranks(known):
        return
    cards = sorted(_cards(known, now), key=lambda one: (one.cost_usd_per_flop, one.world, one.card.id))
    yield from itertools.islice(_moves(cards, known, needs, now, learns_less=False), KEPT_TRIED)
    if mends:
        yield from _moves(cards, known, needs, now, learns_less=True)


def _moves(
    cards: list[Cards], known: Facts, needs: Needs, now: hardware.Accelerator, learns_less: bool
) -> Iterator[Move]:
    """For each number of each card that the file can state the layout that loses least of those that fit."""
    tried: dict[str, int] = {}
    for one in cards:
        if tried.get(one.card.id, 0) < COUNTS_TRIED and suggest.expressible(known.role, Move("", _placed(one, known))):
            ways = _lesser(one, known, needs) if learns_less else _ways(one, known, needs)
            move = next(_fitting(one, ways, known, needs, now), None)
            if move is not None:
                tried[one.card.id] = tried.get(one.card.id, 0) + 1
                yield move


# ---- cards


def _cards(known: Facts, now: hardware.Accelerator) -> Iterator[Cards]:
    cloud = labels.cloud(known.role)
    least = _least_flop_per_s(known)
    products = [now, *(product for product, _ in priced(now, known.role) if product.id != now.id)]
    for product, (gpus, pods) in itertools.product(products, _counts(known)):
        peak = dense_peak(product)
        machine = offers.cheapest(known.role.available, product.id, gpus, cloud)
        if machine is None and (product.id, gpus, pods) != (now.id, *_today(known)):
            continue
        if product.id != now.id and ((product.compute_capability or 0) < 8.0 or peak * gpus * pods < least):
            continue
        if peak * gpus * pods >= least:
            cost = machine.cost_usd_per_hour if machine else None
            each = math.inf if cost is None or machine is None else cost / machine.node_gpus
            yield Cards(product, gpus, pods, machine, each / peak if peak else math.inf)


def _today(known: Facts) -> tuple[int, int]:
    return count_of(known, "gpus_per_pod") or 1, count_of(known, "pods_per_replica") or 1


def _counts(known: Facts) -> list[tuple[int, int]]:
    """GPUs of a pod and pods: today's, those of one machine, and multiples of today's pods."""
    gpus, pods = _today(known)
    found = {(gpus, pods), *((count, 1) for count in GPUS_OF_A_NODE)}
    found.update((gpus, int(pods * times)) for times in PODS if pods * times >= 1 and gpus >= GPUS_OF_A_NODE[-2])
    together = count_of(known, "model_ranks") or 1
    return sorted(one for one in found if (one[0] * one[1]) % together == 0 or known.role.text("engine") in IN_STAGES)


def _least_flop_per_s(known: Facts) -> float:
    """The peak of all cards below which the stated time cannot be kept, as today's run would scale; zero without one."""
    wanted, card = known.likely("target_training_s"), hardware.accelerator(known.role.text("accelerator"))
    today, world = known.worlds("training_run_s"), count_of(known, "world_size")
    if not isinstance(wanted, int | float) or not card or not world:
        return 0.0
    if isinstance(today, Missing) or not isinstance(today.adverse, int | float):
        return dense_peak(card) * world
    return float(today.likely) / wanted * dense_peak(card) * world  # type: ignore[arg-type]


def _ranks(known: Facts) -> bool:
    """Whether there is a rank for each GPU, and nothing else decides how many there are."""
    gpus, ranks = count_of(known, "gpus_per_pod"), known.role.fields.get("processes_per_pod")
    return bool(gpus) and (ranks is None or isinstance(ranks.value, int))


def _placed(one: Cards, known: Facts) -> Mapping[str, Value]:
    """The quantities that say which cards, as changes of today's."""
    gpus, pods = _today(known)
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
    """Whether a machine type stands at a place of its own."""
    machine, card = (known.role.fields.get(name) for name in ("instance_type", "accelerator"))
    return bool(machine and machine.origins and (card is None or set(machine.origins).isdisjoint(card.origins)))


# ---- layouts


def _ways(one: Cards, known: Facts, needs: Needs) -> Iterator[Way]:
    """Ways that keep what is learnt: as today, more shared out, more ranks to a copy."""
    stage, by = known.likely("sharding_stage"), known.likely("sharding")
    if not isinstance(stage, int):
        return
    offloads = any(known.likely(name) is True for name in RESIDENT)
    kept = {name: value for name, value in RESIDENT.items() if known.likely(name) is True}
    for values, together in _together(one, known):
        parts = needs.states if not values else _scaled(needs.states, known, together)
        copies = one.world // together
        for title, shared, further, lost in _sharing(by, stage, copies):
            held = parts.on_rank(further, copies) + (needs.copied if further == stage else 0)
            yield Way(title, {**values, **shared, **kept}, held, together, lost)
            if offloads:
                yield Way(title, {**values, **shared}, parts.weights, together, lost)


def _together(one: Cards, known: Facts) -> Iterator[tuple[Mapping[str, Value], int]]:
    """Today's ranks of a copy; of trainers that run in stages also others within a machine, fewest first."""
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


def _scaled(states: States, known: Facts, together: int) -> States:
    """The states of one part where a copy has so many ranks."""
    share = (count_of(known, "model_ranks") or 1) / together
    return States(*(held * share for held in states))


def _sharing(by: Value | Missing, stage: int, copies: int) -> Iterator[tuple[str, Mapping[str, Value], int, str]]:
    """What copies share out: as today, then more of it."""
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


def _lesser(one: Cards, known: Facts, needs: Needs) -> Iterator[Way]:
    """Ways that change what is learnt, or wait for host memory."""
    shared = known.likely("sharding") in ("fsdp", "deepspeed") and known.likely("sharding_stage") == 3
    together = count_of(known, "model_ranks") or 1
    if one.world % together:
        return
    copies = one.world // together
    alone = known.likely("sharding") in ("none", "ddp")
    if known.likely("optimizer") in ADAM and needs.trains_all and alone and _in_our_words(known):
        held = needs.with_small_moments().on_rank(0, 1) + needs.copied
        lost = "a little accuracy of the moments"
        yield Way("moments in 8 bits", {"optimizer": "adamw-8bit"}, held, together, lost)
    if known.role.text("engine") not in HAVE_NO_ADAPTERS and known.likely("quantization") is None:
        yield from _adapters(known, needs, copies if shared else 1, together)
    if known.likely("sharding") == "deepspeed":
        yield Way(
            "optimizer state in host memory", {"optimizer_offload": True}, needs.states.weights / copies, together, HOST
        )


def _in_our_words(known: Facts) -> bool:
    """Whether the optimizer stands in the glossary's words, or nowhere: trainers spell it each in their own."""
    stated, arguments = known.role.fields.get("optimizer"), known.role.arguments
    return stated is None or not stated.origins or bool(arguments and arguments.key)


def _adapters(known: Facts, needs: Needs, shared: int, together: int) -> Iterator[Way]:
    values: dict[str, Value] = {}
    lost = ""
    if needs.trains_all:
        values, lost = {"lora_rank": RANK, "lora_targets": EVERY_MATRIX}, "full fine-tuning: adapters alone are trained"
        held = needs.adapted(training_needs.HALF_BYTES).weights / shared
        yield Way(f"LoRA of rank {RANK}", values, held, together, lost)
    if known.likely("checkpoint_quantization") is None and known.likely("sharding") in ("none", "ddp"):
        lost = " and ".join(filter(None, (lost, "a little accuracy of the base")))
        held = needs.adapted(training_needs.NF4_BYTES).weights
        yield Way("QLoRA, the base in 4 bits", {**values, "quantization": "nf4"}, held, together, lost)


# ---- micro-batches and recomputation


def _fitting(one: Cards, ways: Iterator[Way], known: Facts, needs: Needs, now: hardware.Accelerator) -> Iterator[Move]:
    """The shapes of some cards that fit, the least lost first."""
    recomputes = known.likely("activation_checkpointing") in LAYERS_RECOMPUTED
    for way, recomputed in itertools.product(list(ways), (recomputes,) if recomputes else (False, True)):
        for micro, batch in _batches(known, one.world // way.ranks_together):
            values = {**_placed(one, known), **way.values, **batch}
            if recomputed and not recomputes:
                values["activation_checkpointing"] = "full"
            if values and needs.fits(one.memory, way.held, micro, recomputed):
                lost = (way.gives_up, RECOMPUTED if recomputed and not recomputes else "", _linked(one, now))
                yield Move(_title(one, way, values), values, "; ".join(filter(None, lost)))
                break


def _batches(known: Facts, copies: int) -> Iterator[tuple[int, Mapping[str, Value]]]:
    """Micro-batches that keep the batch of a step: of as many steps of accumulation as today, then smaller ones."""
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


def _linked(one: Cards, now: hardware.Accelerator) -> str:
    """The direct link that several of another card do without; how much longer a run takes is told by its step."""
    if 1 < one.gpus <= (now.link_domain_gpus or 1) and (one.card.link_domain_gpus or 1) < one.gpus:
        return f"the direct link between the GPUs ({now.link})"
    return ""


def _title(one: Cards, way: Way, values: Mapping[str, Value]) -> str:
    parts = [f"{one.gpus} × {one.card.name}"]
    if one.pods > 1:
        parts.append(f"{one.pods} pods")
    parts += [f"{word} parallel {values[name]}" for word, name in TOGETHER if name in values]
    parts.append(way.title)
    if "activation_checkpointing" in values:
        parts.append("activations recomputed")
    if "micro_batch_size" in values or "gradient_accumulation_steps" in values:
        parts.append(_batch_named(values))
    return ", ".join(filter(None, parts))


TOGETHER = (("tensor", "tensor_parallel"), ("pipeline", "pipeline_parallel"))


def _batch_named(values: Mapping[str, Value]) -> str:
    size, steps = values.get("micro_batch_size"), values.get("gradient_accumulation_steps")
    named = f"micro-batches of {size}" if size else "as large micro-batches"
    return f"{named}, {steps} to a step" if steps else named
