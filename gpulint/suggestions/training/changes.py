"""Training moves: the changes of a training run that are worth a try when its states or its step do not fit."""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Iterator, Mapping
from fractions import Fraction

from gpulint.catalog import hardware, offers
from gpulint.facts.model import Facts, Missing
from gpulint.suggestions.edits import accelerator_names as labels
from gpulint.suggestions.serving import changes as moves
from gpulint.suggestions.serving.changes import GPUS_OF_A_NODE, Move, count_of, priced
from gpulint.suggestions.training.layouts import kept
from gpulint.workload import Value

NODES = (2, 4, 8, 16)
SHORTEST = 512
RANK = 16
EVERY_MATRIX = "qkvogud"
HAVE_NO_ADAPTERS = frozenset({"torchtitan", "megatron-lm", "megatron-deepspeed", "nanotron", "maxtext", "llm-foundry"})
"""Trainers of whole networks."""
HELD = 0.8
"""Share of a card that states may take before it is offered: activations are to come beside them."""
SPARE = 0.5
"""Share of a card that a step has to leave before a cheaper one is tried."""
BFLOAT16_SINCE = 8.0
LAYERS_RECOMPUTED = frozenset({"full", "offloaded"})
RECOMPUTED = "a third more computation in every step"
"""Chen et al., Training Deep Nets with Sublinear Memory Cost, 2016: one more forward pass beside a forward and a backward."""
GATHERED = "communication: weights are gathered for every layer, twice a step"


def of(quantity: str, known: Facts) -> Iterator[Move]:
    """The changes of one quantity of a training run that are worth a try, smallest or cheapest first."""
    by_quantity: Mapping[str, Callable[[Facts], Iterator[Move]]] = {
        "sharding": _sharding,
        "lora_rank": _adapters,
        "optimizer": _optimizer,
        "activation_checkpointing": _recomputation,
        "micro_batch_size": _micro_batch,
        "sequence_length": _shorter,
        "gpus_per_pod": _gpus,
        "pods_per_replica": _pods,
        "accelerator": _cards,
        "optimizer_offload": _resident,
        "processes_per_pod": _ranks,
    }
    return by_quantity[quantity](known) if quantity in by_quantity else moves.moves(quantity, known)


def _sharding(known: Facts) -> Iterator[Move]:
    """What the data-parallel ranks may share out beyond today."""
    ranks, by, stage = known.likely("shard_ranks"), known.likely("sharding"), known.likely("zero_stage")
    if not isinstance(ranks, int) or ranks < 2:
        return
    if by == "deepspeed" and isinstance(stage, int):
        for further in range(stage + 1, 4):
            yield Move(
                f"ZeRO stage {further} over {ranks} ranks", {"zero_stage": further}, GATHERED if further == 3 else ""
            )
    elif by == "fsdp" and stage == 2:
        yield Move(f"full sharding over {ranks} ranks", {"zero_stage": 3}, GATHERED)
    elif by == "megatron":
        yield Move(f"the distributed optimizer over {ranks} ranks", {"sharding": "distributed-optimizer"}, "")
    elif by in ("ddp", "none"):
        yield Move(
            f"FSDP: weights, gradients and optimizer state shared out over {ranks} ranks",
            {"sharding": "fsdp"},
            GATHERED,
        )
        for more in (*_pods(known), *_adapters(known)):
            if "quantization" not in more.values:
                lost = "; ".join(filter(None, (GATHERED, more.gives_up)))
                yield Move(f"FSDP with {more.title}", {"sharding": "fsdp", **more.values}, lost)


def _adapters(known: Facts) -> Iterator[Move]:
    """Adapters instead of all weights, and below them a base in 4 bits."""
    if known.role.text("engine") in HAVE_NO_ADAPTERS or known.likely("quantization") is not None:
        return
    given = "full fine-tuning: adapters alone are trained"
    values: dict[str, Value] = {"lora_rank": RANK, "lora_targets": EVERY_MATRIX}
    if known.likely("lora_rank") is None:
        yield Move(f"LoRA of rank {RANK} in every linear layer", values, given)
    elif isinstance(known.likely("lora_rank"), int):
        values, given = {}, ""
    if known.likely("checkpoint_quantization") is None and known.likely("sharding") in ("none", "ddp"):
        lost = " and ".join(filter(None, (given, "a little accuracy of the base")))
        yield Move("QLoRA: the base in 4 bits below the adapters", {**values, "quantization": "nf4"}, lost)


def _optimizer(known: Facts) -> Iterator[Move]:
    """Moments in 8 bits, where no library shares them out."""
    now = known.likely("optimizer")
    if now in ("adamw", "adamw-fused", "adam", "adam-fused") and known.likely("sharding") in ("none", "ddp"):
        yield Move(
            "moments of the optimizer in 8 bits", {"optimizer": "adamw-8bit"}, "a little accuracy of the moments"
        )


def _recomputation(known: Facts) -> Iterator[Move]:
    """Recomputation, alone and with smaller micro-batches."""
    if known.likely("activation_checkpointing") in LAYERS_RECOMPUTED:
        return
    alone = Move("activations recomputed in the backward pass", {"activation_checkpointing": "full"}, RECOMPUTED)
    yield alone
    for smaller in _micro_batch(known):
        lost = f"{RECOMPUTED}, and {smaller.gives_up}"
        yield Move(f"{alone.title}, {smaller.title}", {**alone.values, **smaller.values}, lost)


def _micro_batch(known: Facts) -> Iterator[Move]:
    """Smaller micro-batches, as many samples to a step."""
    now, steps = known.likely("micro_batch_size"), known.likely("gradient_accumulation_steps")
    if not isinstance(now, int):
        return
    for size in _halves(now):
        added = now // size * (steps if isinstance(steps, int) else 1)
        title = f"micro-batches of {size}, {added} of them to an optimizer step"
        values = {"micro_batch_size": size, "gradient_accumulation_steps": added}
        yield Move(title, values, "the speed of larger matrix products")


def _halves(now: int) -> Iterator[int]:
    """Smaller sizes of which a whole number makes the present one."""
    size = now
    while size % 2 == 0:
        size //= 2
        yield size
    if size > 1:
        yield 1


def _shorter(known: Facts) -> Iterator[Move]:
    now = known.likely("sequence_length")
    lengths = (size for power in range(23, 8, -1) for size in (3 * 2 ** (power - 1), 2**power))
    for length in itertools.islice((size for size in lengths if isinstance(now, int) and SHORTEST <= size < now), 4):
        yield Move(f"sequences of at most {length:,} tokens", {"sequence_length": length}, "longer samples are cut")


def _resident(known: Facts) -> Iterator[Move]:
    """All that is kept in host memory back on the card."""
    kept = [name for name in ("optimizer_offload", "parameter_offload") if known.likely(name) is True]
    if kept:
        yield Move("states kept on the card", dict.fromkeys(kept, False))


def _gpus(known: Facts) -> Iterator[Move]:
    """As many GPUs as are used, or hold the step; then more of the machine, over which the states are shared out."""
    yield from _one_gpu(known)
    yield from (move for move in moves.moves("gpus_per_pod", known) if "tensor_parallel" not in move.values)
    now, ranks = known.likely("gpus_per_pod"), known.role.fields.get("processes_per_pod")
    most, key = known.likely("node_gpus"), known.role.arguments is not None and known.role.arguments.key
    if ranks is None and not key:
        return  # nothing says that more ranks would start
    for count in GPUS_OF_A_NODE:
        if isinstance(now, int) and now < count <= (most if isinstance(most, int) else GPUS_OF_A_NODE[-1]):
            values: dict[str, Value] = {"gpus_per_pod": count, **({"processes_per_pod": count} if ranks else {})}
            title = f"{count} GPUs, over which the states are shared out"
            if known.likely("sharding") == "none":
                yield Move(f"{title} (FSDP)", {**values, "sharding": "fsdp"}, GATHERED)
            else:
                yield Move(title, values, "")


def _one_gpu(known: Facts) -> Iterator[Move]:
    """One GPU that computes the micro-batches of all at once, where they leave it room."""
    names = ("gpus_per_pod", "processes_per_pod", "training_copies", "micro_batch_size", "pods_per_replica")
    gpus, ranks, copies, size, pods = (count_of(known, name) for name in names)
    share = known.worlds("step_share")
    if not (gpus and size and ranks == copies == gpus and gpus > 1 and pods == 1) or isinstance(share, Missing):
        return
    if isinstance(share.adverse, float) and share.adverse < HELD:
        values: dict[str, Value] = {"gpus_per_pod": 1, "processes_per_pod": 1, "micro_batch_size": size * gpus}
        yield Move(f"one GPU with micro-batches of {size * gpus}", values, "the time that several GPUs save")


def _ranks(known: Facts) -> Iterator[Move]:
    """As many ranks as there are GPUs, which share the batch of a step where its parts are stated."""
    now, gpus = count_of(known, "processes_per_pod"), count_of(known, "gpus_per_pod")
    for move in moves.moves("processes_per_pod", known):
        batch = kept(known, Fraction(gpus, now)) if now and gpus and now < gpus else {}
        lost = "the batch of a step, which grows with its ranks" if batch is None else ""
        yield Move(move.title, {**move.values, **(batch or {})}, lost)


def _pods(known: Facts) -> Iterator[Move]:
    """More machines, over which the states are shared out."""
    now, gpus = known.likely("pods_per_replica"), known.likely("gpus_per_pod")
    for count in NODES:
        if isinstance(now, int) and isinstance(gpus, int) and now < count and gpus >= GPUS_OF_A_NODE[-1]:
            title = f"{count} pods of {gpus} GPUs, over which the states are shared out"
            yield Move(title, {"pods_per_replica": count}, "communication between machines")


def _cards(known: Facts) -> Iterator[Move]:
    """Cheaper cards where a step leaves most of today's and no end is wanted, else larger ones, and faster ones for an end."""
    left, end = known.likely("training_headroom"), known.likely("target_training_s")
    wanted = isinstance(end, int | float)
    if isinstance(left, float) and left > SPARE and not wanted:
        yield from _cheaper_card(known)
        return
    if wanted:
        yield from _faster_card(known)
    yield from _larger_card(known)


def _faster_card(known: Facts) -> Iterator[Move]:
    """Products that compute faster and hold the step, cheapest first."""
    now, needed = hardware.accelerator(known.role.text("accelerator")), known.worlds("training_needed_bytes")
    if now is None or isinstance(needed, Missing) or not isinstance(needed.adverse, int | float):
        return
    for move in _products(known, now, needed.adverse, math.inf):
        other = hardware.accelerator(str(move.values["accelerator"]))
        if other and (other.dense_bf16_flop_per_s or 0) > (now.dense_bf16_flop_per_s or 0):
            yield move


def _larger_card(known: Facts) -> Iterator[Move]:
    """Products of the same maker that leave room beside the states and that the file can name, cheapest first."""
    now = hardware.accelerator(known.role.text("accelerator"))
    held = (known.likely(name) for name in ("state_bytes_per_gpu", "unadapted_weight_bytes"))
    states = next((value for value in held if isinstance(value, int | float)), None)
    if now is not None and states is not None:
        yield from _products(known, now, max(_memory(now) + 1, states / HELD), math.inf)


def _cheaper_card(known: Facts) -> Iterator[Move]:
    """Products that hold the step and cost less for the same arithmetic, cheapest first."""
    now, needed = hardware.accelerator(known.role.text("accelerator")), known.worlds("training_needed_bytes")
    prices = {product.id: price for product, price in priced(now, known.role)} if now else {}
    if (
        now is None
        or now.id not in prices
        or isinstance(needed, Missing)
        or not isinstance(needed.adverse, int | float)
    ):
        return
    yield from _products(known, now, needed.adverse, prices[now.id])


def _products(known: Facts, now: hardware.Accelerator, least: float, below_usd_per_hour: float) -> Iterator[Move]:
    """As many of other products as there are cards today, with so much memory, each below a price, cheapest first."""
    count = count_of(known, "gpus_per_pod")
    for product, price in priced(now, known.role) if count else ():
        if offers.cheapest(known.role.available, product.id, count or 1, labels.cloud(known.role)) is None:
            continue  # no machine holds so many
        able = (product.compute_capability or 0) >= _capability(known, now)
        if product.id != now.id and able and _memory(product) >= least and price < below_usd_per_hour:
            yield Move(f"{count} × {product.name}", {"accelerator": product.id})


def _capability(known: Facts, now: hardware.Accelerator) -> float:
    """What the run's number format needs of a card; today's where it is not known to compute in bfloat16."""
    here = now.compute_capability or 0
    return min(here, BFLOAT16_SINCE) if known.likely("training_dtype") == "bfloat16" else here


def _memory(product: hardware.Accelerator) -> float:
    return product.cuda_memory_bytes or product.driver_memory_bytes or 0
