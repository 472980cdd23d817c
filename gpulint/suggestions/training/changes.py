"""Training changes: proposed changes of a run whose states or step do not fit."""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator
from fractions import Fraction

from gpulint.catalog import hardware, offers
from gpulint.catalog.capabilities import lacks
from gpulint.facts.model import Facts, Missing
from gpulint.suggestions.edits import accelerator_names
from gpulint.suggestions.generators import Candidate, generates
from gpulint.suggestions.serving.changes import GPUS_OF_A_NODE, find_count, propose_gpus, rank_by_price
from gpulint.suggestions.training.layouts import keep_batch
from gpulint.workload import Value

NODES = (2, 4, 8, 16)
SHORTEST = 512
RANK = 16
EVERY_MATRIX = "qkvogud"
HELD = 0.8
"""Share of GPU memory that states may take before an option is offered; activations come on top."""
SPARE = 0.5
"""Share of GPU memory that a step must leave before a cheaper accelerator is tried."""
BFLOAT16_SINCE = 8.0
LAYERS_RECOMPUTED = frozenset({"full", "offloaded"})
RECOMPUTED = "a third more computation in every step"
"""Chen et al., Training Deep Nets with Sublinear Memory Cost, 2016: one more forward pass per step.
"""
GATHERED = "more communication: weights are gathered for every layer, twice per step"


@generates("sharding")
def _propose_sharding(facts: Facts) -> Iterator[Candidate]:
    """Yield further sharding over the data-parallel ranks."""
    ranks, by, stage = facts.expected("shard_ranks"), facts.expected("sharding"), facts.expected("zero_stage")
    if not isinstance(ranks, int) or ranks < 2:
        return
    if by == "deepspeed" and isinstance(stage, int):
        for further in range(stage + 1, 4):
            yield Candidate(
                f"ZeRO stage {further} over {ranks} ranks", {"zero_stage": further}, GATHERED if further == 3 else ""
            )
    elif by == "fsdp" and stage == 2:
        yield Candidate(f"full sharding over {ranks} ranks", {"zero_stage": 3}, GATHERED)
    elif by == "megatron":
        yield Candidate(f"the distributed optimizer over {ranks} ranks", {"sharding": "distributed-optimizer"}, "")
    elif by in ("ddp", "none"):
        yield Candidate(
            f"FSDP: weights, gradients and optimizer state sharded over {ranks} ranks",
            {"sharding": "fsdp"},
            GATHERED,
        )
        for more in (*_propose_pods(facts), *_propose_adapters(facts)):
            if "quantization" not in more.values:
                lost = "; ".join(filter(None, (GATHERED, more.trade_off)))
                yield Candidate(f"FSDP with {more.title}", {"sharding": "fsdp", **more.values}, lost)


@generates("lora_rank")
def _propose_adapters(facts: Facts) -> Iterator[Candidate]:
    """Yield adapters instead of full fine-tuning, and a 4-bit base model below them."""
    if lacks(facts.role.text("engine"), "trains_adapters") or facts.expected("quantization") is not None:
        return
    given = "no full fine-tuning: only adapters are trained"
    values: dict[str, Value] = {"lora_rank": RANK, "lora_targets": EVERY_MATRIX}
    if facts.expected("lora_rank") is None:
        yield Candidate(f"LoRA of rank {RANK} in every linear layer", values, given)
    elif isinstance(facts.expected("lora_rank"), int):
        values, given = {}, ""
    if facts.expected("checkpoint_quantization") is None and facts.expected("sharding") in ("none", "ddp"):
        lost = " and ".join(filter(None, (given, "a slightly less accurate base model")))
        yield Candidate("QLoRA: adapters on a base model in 4 bits", {**values, "quantization": "nf4"}, lost)


@generates("optimizer")
def _propose_optimizer(facts: Facts) -> Iterator[Candidate]:
    """Yield 8-bit optimizer moments if no library shards them."""
    now = facts.expected("optimizer")
    if now in ("adamw", "adamw-fused", "adam", "adam-fused") and facts.expected("sharding") in ("none", "ddp"):
        yield Candidate("8-bit optimizer moments", {"optimizer": "adamw-8bit"}, "slightly less accurate moments")


@generates("activation_checkpointing")
def _propose_recomputation(facts: Facts) -> Iterator[Candidate]:
    """Yield recomputation, alone and with smaller micro-batches."""
    if facts.expected("activation_checkpointing") in LAYERS_RECOMPUTED:
        return
    alone = Candidate("activations recomputed in the backward pass", {"activation_checkpointing": "full"}, RECOMPUTED)
    yield alone
    for smaller in _propose_micro_batches(facts):
        lost = f"{RECOMPUTED}, and {smaller.trade_off}"
        yield Candidate(f"{alone.title}, {smaller.title}", {**alone.values, **smaller.values}, lost)


@generates("micro_batch_size")
def _propose_micro_batches(facts: Facts) -> Iterator[Candidate]:
    """Yield smaller micro-batches with as many samples per step."""
    now, steps = facts.expected("micro_batch_size"), facts.expected("gradient_accumulation_steps")
    if not isinstance(now, int):
        return
    for size in _list_halves(now):
        added = now // size * (steps if isinstance(steps, int) else 1)
        title = f"micro-batches of {size}, {added} per optimizer step"
        values = {"micro_batch_size": size, "gradient_accumulation_steps": added}
        yield Candidate(title, values, "slower, smaller matrix products")


def _list_halves(now: int) -> Iterator[int]:
    """Yield smaller sizes that divide the present one."""
    size = now
    while size % 2 == 0:
        size //= 2
        yield size
    if size > 1:
        yield 1


@generates("sequence_length")
def _propose_shorter(facts: Facts) -> Iterator[Candidate]:
    now = facts.expected("sequence_length")
    lengths = (size for power in range(23, 8, -1) for size in (3 * 2 ** (power - 1), 2**power))
    for length in itertools.islice((size for size in lengths if isinstance(now, int) and SHORTEST <= size < now), 4):
        yield Candidate(
            f"sequences of at most {length:,} tokens", {"sequence_length": length}, "longer samples are truncated"
        )


@generates("optimizer_offload")
def _propose_resident(facts: Facts) -> Iterator[Candidate]:
    """Yield everything that is kept in host memory moved back to the GPU."""
    kept = [name for name in ("optimizer_offload", "parameter_offload") if facts.expected(name) is True]
    if kept:
        yield Candidate("states kept in GPU memory", dict.fromkeys(kept, False))


@generates("gpus_per_pod")
def _propose_gpus(facts: Facts) -> Iterator[Candidate]:
    """Yield the GPUs that are used or hold the step; then more of the machine, with sharded
    states.
    """
    yield from _propose_one_gpu(facts)
    yield from (move for move in propose_gpus(facts) if "tensor_parallel" not in move.values)
    now, ranks = facts.expected("gpus_per_pod"), facts.role.fields.get("processes_per_pod")
    most, key = facts.expected("node_gpus"), facts.role.arguments is not None and facts.role.arguments.key
    if ranks is None and not key:
        return  # it is not known that more ranks would start
    for count in GPUS_OF_A_NODE:
        if isinstance(now, int) and now < count <= (most if isinstance(most, int) else GPUS_OF_A_NODE[-1]):
            values: dict[str, Value] = {"gpus_per_pod": count, **({"processes_per_pod": count} if ranks else {})}
            title = f"{count} GPUs that share the states"
            if facts.expected("sharding") == "none":
                yield Candidate(f"{title} (FSDP)", {**values, "sharding": "fsdp"}, GATHERED)
            else:
                yield Candidate(title, values, "")


def _propose_one_gpu(facts: Facts) -> Iterator[Candidate]:
    """Yield one GPU that computes all micro-batches at once, if they fit."""
    names = ("gpus_per_pod", "processes_per_pod", "training_copies", "micro_batch_size", "pods_per_replica")
    gpus, ranks, copies, size, pods = (find_count(facts, name) for name in names)
    share = facts.scenarios("step_share")
    if not (gpus and size and ranks == copies == gpus and gpus > 1 and pods == 1) or isinstance(share, Missing):
        return
    if isinstance(share.worst, float) and share.worst < HELD:
        values: dict[str, Value] = {"gpus_per_pod": 1, "processes_per_pod": 1, "micro_batch_size": size * gpus}
        yield Candidate(f"one GPU with micro-batches of {size * gpus}", values, "a longer run")


@generates("processes_per_pod")
def _propose_ranks(facts: Facts) -> Iterator[Candidate]:
    """Yield as many ranks as GPUs, with the batch of a step kept if its parts are declared."""
    now, gpus = find_count(facts, "processes_per_pod"), find_count(facts, "gpus_per_pod")
    for move in _propose_processes(facts):
        batch = keep_batch(facts, Fraction(gpus, now)) if now and gpus and now < gpus else {}
        lost = "a larger batch per step" if batch is None else ""
        yield Candidate(move.title, {**move.values, **(batch or {})}, lost)


def _propose_processes(facts: Facts) -> Iterator[Candidate]:
    """Yield as many ranks as there are GPUs."""
    gpus = find_count(facts, "gpus_per_pod")
    if gpus and gpus != facts.expected("processes_per_pod"):
        yield Candidate(f"one rank per GPU, {gpus} in all", {"processes_per_pod": gpus})


@generates("pods_per_replica")
def _propose_pods(facts: Facts) -> Iterator[Candidate]:
    """Yield more machines with sharded states."""
    now, gpus = facts.expected("pods_per_replica"), facts.expected("gpus_per_pod")
    for count in NODES:
        if isinstance(now, int) and isinstance(gpus, int) and now < count and gpus >= GPUS_OF_A_NODE[-1]:
            title = f"{count} pods of {gpus} GPUs that share the states"
            yield Candidate(title, {"pods_per_replica": count}, "more communication between machines")


@generates("accelerator")
def _propose_accelerators(facts: Facts) -> Iterator[Candidate]:
    """Yield cheaper accelerators if a step leaves most memory free and no end time is declared,
    else larger or faster ones.
    """
    left, end = facts.expected("training_headroom"), facts.expected("target_training_s")
    wanted = isinstance(end, int | float)
    if isinstance(left, float) and left > SPARE and not wanted:
        yield from _propose_cheaper(facts)
        return
    if wanted:
        yield from _propose_faster(facts)
    yield from _propose_larger(facts)


def _propose_faster(facts: Facts) -> Iterator[Candidate]:
    """Yield accelerators that compute faster and hold the step, cheapest first."""
    now, needed = hardware.accelerator(facts.role.text("accelerator")), facts.scenarios("training_needed_bytes")
    if now is None or isinstance(needed, Missing) or not isinstance(needed.worst, int | float):
        return
    for move in _propose_products(facts, now, needed.worst, math.inf):
        other = hardware.accelerator(str(move.values["accelerator"]))
        if other and (other.dense_bf16_flop_per_s or 0) > (now.dense_bf16_flop_per_s or 0):
            yield move


def _propose_larger(facts: Facts) -> Iterator[Candidate]:
    """Yield larger accelerators of the same vendor that the file can name, cheapest first."""
    now = hardware.accelerator(facts.role.text("accelerator"))
    sizes = (facts.expected(name) for name in ("state_bytes_per_gpu", "unadapted_weight_bytes"))
    states = next((value for value in sizes if isinstance(value, int | float)), None)
    if now is not None and states is not None:
        yield from _propose_products(facts, now, max(_find_memory(now) + 1, states / HELD), math.inf)


def _propose_cheaper(facts: Facts) -> Iterator[Candidate]:
    """Yield accelerators that hold the step and cost less for the same arithmetic, cheapest
    first.
    """
    now, needed = hardware.accelerator(facts.role.text("accelerator")), facts.scenarios("training_needed_bytes")
    prices = {product.id: price for product, price in rank_by_price(now, facts.role)} if now else {}
    if now is None or now.id not in prices or isinstance(needed, Missing) or not isinstance(needed.worst, int | float):
        return
    yield from _propose_products(facts, now, needed.worst, prices[now.id])


def _propose_products(
    facts: Facts, now: hardware.Accelerator, least: float, below_usd_per_hour: float
) -> Iterator[Candidate]:
    """Yield the same number of other accelerators with enough memory, below a price, cheapest
    first.
    """
    count = find_count(facts, "gpus_per_pod")
    for product, price in rank_by_price(now, facts.role) if count else ():
        if (
            offers.find_cheapest(facts.role.available, product.id, count or 1, accelerator_names.find_cloud(facts.role))
            is None
        ):
            continue  # no machine holds so many
        able = (product.compute_capability or 0) >= _find_capability(facts, now)
        if product.id != now.id and able and _find_memory(product) >= least and price < below_usd_per_hour:
            yield Candidate(f"{count} × {product.name}", {"accelerator": product.id})


@generates("global_batch_size")
def _propose_global_batch(facts: Facts) -> Iterator[Candidate]:
    """Yield the batch that the declared parts make; else the nearest that divides by the
    data-parallel ranks.
    """
    now, micro = find_count(facts, "global_batch_size"), find_count(facts, "micro_batch_size")
    copies, accumulated = find_count(facts, "training_copies"), facts.expected("gradient_accumulation_steps")
    if not (now and micro and copies):
        return
    shared = micro * copies
    made = [shared * accumulated] if isinstance(accumulated, int) else []
    above = math.ceil(now / shared) * shared
    for batch in dict.fromkeys([*made, above, above - shared]):
        if batch not in (0, now):
            yield Candidate(
                f"a global batch of {batch}",
                {"global_batch_size": batch},
                "the learning rate may need retuning",
            )


@generates("zero_stage")
def _propose_zero_stages(facts: Facts) -> Iterator[Candidate]:
    """Yield higher ZeRO stages: they shard the optimizer state, then the gradients, then the
    weights.
    """
    now = facts.expected("zero_stage")
    for stage in range(now + 1, 4) if isinstance(now, int) else ():
        yield Candidate(
            f"ZeRO stage {stage}",
            {"zero_stage": stage},
            "more communication: weights are gathered" if stage == 3 else "",
        )


def _find_capability(facts: Facts, now: hardware.Accelerator) -> float:
    """Return the compute capability that the run's number format needs; today's unless the run uses
    bfloat16.
    """
    here = now.compute_capability or 0
    return min(here, BFLOAT16_SINCE) if facts.expected("training_dtype") == "bfloat16" else here


def _find_memory(product: hardware.Accelerator) -> float:
    return product.cuda_memory_bytes or product.driver_memory_bytes or 0
