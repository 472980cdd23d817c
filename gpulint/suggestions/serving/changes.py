"""Moves: the changes of a role that are worth a try, by the quantity that a rule says may change."""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Iterator, Mapping
from typing import NamedTuple

from gpulint import units
from gpulint.catalog import hardware, offers
from gpulint.facts.model import Facts, Missing
from gpulint.suggestions.edits import accelerator_names as labels
from gpulint.workload import Role, Value

GPUS_OF_A_NODE = (1, 2, 4, 8)
USUAL_UTILIZATION = 0.9
"""What every release of vLLM takes at least when nothing is stated."""


USUAL_STATIC_FRACTION = 0.9
"""Leaves the forward pass a tenth of the card; the rules check whether that is enough."""
HIGHEST_UTILIZATION = 0.95
"""What engines still start with on a card of their own: half a GiB is the CUDA context's."""


class Move(NamedTuple):
    """A change to try: what to call it, the quantities it sets, and what it gives up."""

    title: str
    values: Mapping[str, Value]
    gives_up: str = ""


def moves(quantity: str, known: Facts) -> Iterator[Move]:
    """The changes of one quantity that are worth a try, smallest or cheapest first."""
    by_quantity: Mapping[str, Callable[[Facts], Iterator[Move]]] = {
        "tensor_parallel": _tensor_parallel,
        "gpus_per_pod": _gpus,
        "data_parallel": _data_parallel,
        "max_model_len": _max_model_len,
        "gpu_memory_utilization": _gpu_memory_utilization,
        "static_memory_fraction": _static_memory_fraction,
        "kv_cache_dtype": _kv_cache_dtype,
        "quantization": _quantization,
        "weight_dtype": _weight_dtype,
        "accelerator": _accelerator,
        "mig_profile": _mig_profile,
        "gpu_limit": _gpu_limit,
        "gpu_request": _gpu_request,
        "global_batch_size": _global_batch,
        "processes_per_pod": _processes,
        "zero_stage": _zero_stage,
        "power_cap_w": _power_cap,
    }
    return by_quantity[quantity](known) if quantity in by_quantity else iter(())


CAPS = (0.8, 0.7)
"""Shares of a board's power that are tried: drivers take limits down to about half of it."""
YOUNG = "latency of a single sequence; decode context parallel is young, so compare its answers"
"""https://github.com/vllm-project/vllm/issues/41623"""


def _tensor_parallel(known: Facts) -> Iterator[Move]:
    """Other tensor parallel sizes on the GPUs that the instance already has."""
    now, gpus = count_of(known, "tensor_parallel"), count_of(known, "gpus_per_replica")
    stages, copies = count_of(known, "pipeline_parallel"), count_of(known, "data_parallel")
    if not (now and gpus and stages and copies):
        return
    full = gpus // (stages * copies)
    sizes = dict.fromkeys([full, *(2**power for power in range(full.bit_length() - 1, -1, -1))])
    for size in sizes:
        if size not in (0, now) and _shards(known, size):
            slower = "" if size > now else f"the memory and speed of {now} ranks"
            yield Move(f"tensor parallel {size} on the {_gpus_named(gpus)} given", {"tensor_parallel": size}, slower)
    pods = gpus // (count_of(known, "gpus_per_pod") or gpus)
    if pods > 1 and full % pods == 0 and full // pods != now:
        values = {"tensor_parallel": full // pods, "pipeline_parallel": stages * pods}
        title = f"tensor parallel {full // pods} in each pod, pipeline parallel {stages * pods} over them"
        yield Move(title, values, "latency of a single sequence")
        yield from sequence_shared(title, values, known)


def sequence_shared(title: str, values: Mapping[str, Value], known: Facts) -> Iterator[Move]:
    """The same layout where the ranks that would hold the same KV entries share out the tokens of a sequence."""
    heads = 1 if count_of(known, "kv_lora_rank") else count_of(known, "kv_heads")
    ranks = values["tensor_parallel"]
    if heads and isinstance(ranks, int) and ranks > heads:
        shared = {**values, "decode_context_parallel": ranks // heads}
        yield Move(f"{title}, decode context parallel {ranks // heads}", shared, YOUNG)


def _gpus(known: Facts) -> Iterator[Move]:
    """Other GPU counts: as many as the program sees or the parallelism occupies, else with tensor parallel to match."""
    yield from _used(known)
    now = known.likely("gpus_per_pod")
    if not isinstance(now, int | float):
        return
    if now != int(now):
        whole = math.ceil(now)
        yield Move(f"whole: {_gpus_named(whole)}", {"gpus_per_pod": whole})
        return
    most = count_of(known, "node_gpus") or GPUS_OF_A_NODE[-1]
    if now > most:
        yield Move(f"the {_gpus_named(most)} of the machine", {"gpus_per_pod": most})
    occupied, pods = count_of(known, "parallel_size"), count_of(known, "pods_per_replica")
    if occupied and pods and occupied % pods == 0 and now != occupied // pods <= most:
        fewer, count = occupied < now * pods, occupied // pods
        title = f"ask for the {_gpus_named(count)} that {'is' if count == 1 else 'are'} {'used' if fewer else 'needed'}"
        yield Move(title, {"gpus_per_pod": count})
    if (known.likely("pipeline_parallel"), known.likely("data_parallel"), pods) != (1, 1, 1):
        return
    fitting = count_of(known, "fitting_tensor_parallel")
    for count in _counts(int(now), fitting):
        if count < now and fitting is None:
            continue  # whether the weights fit on fewer is not known
        if count not in (now, occupied) and count <= most and _shards(known, count):
            gives_up = "" if count > now else "the bandwidth of the other GPUs"
            title = f"{_gpus_named(count)} with tensor parallel {count}"
            yield Move(title, {"gpus_per_pod": count, "tensor_parallel": count}, gives_up)


MEANT = "the ranks that the idle GPUs may have been meant for"


def _used(known: Facts) -> Iterator[Move]:
    """No more GPUs than CUDA_VISIBLE_DEVICES shows, or than the launcher starts ranks for."""
    now = count_of(known, "gpus_per_pod")
    for name in ("visible_devices", "processes_per_pod"):
        used = count_of(known, name)
        if now and used and used < now:
            title = f"ask for the {used} GPUs that are used" if used > 1 else "ask for the GPU that is used"
            yield Move(title, {"gpus_per_pod": used}, MEANT if name == "processes_per_pod" else "")


def _shards(known: Facts, ranks: int) -> bool:
    """Whether the heads divide by so many ranks: as the rules say where they are known, else as fewer of today's ranks."""
    now = count_of(known, "tensor_parallel")
    return count_of(known, "attention_heads") is not None or (now is not None and now % ranks == 0)


def _gpus_named(count: int) -> str:
    return f"{count} GPU" + ("" if count == 1 else "s")


def _counts(now: int, fitting: int | None) -> list[int]:
    """GPU counts of a node: from the smallest that fits when fewer do, else the nearest to the present one first."""
    if fitting and fitting < now:
        return [count for count in GPUS_OF_A_NODE if count >= fitting]
    return sorted(GPUS_OF_A_NODE, key=lambda count: (abs(math.log2(count / max(now, 1))), -count))


def _data_parallel(known: Facts) -> Iterator[Move]:
    """Fill the GPUs given with further copies."""
    gpus, pods = count_of(known, "gpus_per_replica"), known.likely("pods_per_replica")
    ranks = (count_of(known, "tensor_parallel") or 0) * (count_of(known, "pipeline_parallel") or 0)
    if gpus and ranks and pods == 1 and gpus % ranks == 0 and gpus // ranks > 1:
        copies = gpus // ranks
        yield Move(f"data parallel {copies}: {copies} copies on the {gpus} GPUs given", {"data_parallel": copies})


def _max_model_len(known: Facts) -> Iterator[Move]:
    """The longest round sequence length that fits in the adverse world and that the checkpoint knows."""
    trained = count_of(known, "trained_context")
    fitting = known.worlds("kv_cache_tokens")
    limits = [trained] if trained else []
    if not isinstance(fitting, Missing) and int(fitting.adverse) > 0:  # type: ignore[arg-type]
        limits.append(int(fitting.adverse))  # type: ignore[arg-type]
    now = count_of(known, "max_model_len")
    longest = min(limits, default=0)
    for length in _round_lengths(longest):
        if now is None or length < now:
            yield Move(f"sequences of at most {length:,} tokens", {"max_model_len": length}, "longer sequences")


def _round_lengths(longest: int) -> Iterator[int]:
    """Lengths 2^k and 3·2^(k−1) up to a limit, and the limit itself if it is one, longest first, three of them."""
    lengths = sorted({size for power in range(9, 24) for size in (2**power, 3 * 2 ** (power - 1))}, reverse=True)
    yield from itertools.islice((length for length in lengths if length <= longest), 3)


def _gpu_memory_utilization(known: Facts) -> Iterator[Move]:
    """The share that the engine takes unasked, where less was asked for."""
    now = known.likely("gpu_memory_utilization")
    if isinstance(now, float) and now < USUAL_UTILIZATION:
        title = f"{USUAL_UTILIZATION:.0%} of the card's memory instead of {now:.0%}"
        yield Move(title, {"gpu_memory_utilization": USUAL_UTILIZATION}, "memory for other programs on the card")
    elif isinstance(now, float) and now > HIGHEST_UTILIZATION:
        title = f"{HIGHEST_UTILIZATION:.0%} of the card's memory instead of {now:.0%}"
        yield Move(title, {"gpu_memory_utilization": HIGHEST_UTILIZATION}, "KV cache")


def _static_memory_fraction(known: Facts) -> Iterator[Move]:
    """A share that still leaves a tenth for the forward pass, where less or more was asked for."""
    now = known.likely("static_memory_fraction")
    if isinstance(now, float) and now != USUAL_STATIC_FRACTION:
        gives_up = "memory for the forward pass" if now < USUAL_STATIC_FRACTION else "KV cache"
        title = f"{USUAL_STATIC_FRACTION:.0%} of the card's memory for weights and KV cache instead of {now:.0%}"
        yield Move(title, {"static_memory_fraction": USUAL_STATIC_FRACTION}, gives_up)


def _kv_cache_dtype(known: Facts) -> Iterator[Move]:
    if str(known.likely("kv_cache_dtype")).startswith("fp8"):
        yield Move("KV cache in 16 bits", {"kv_cache_dtype": "auto"}, "half of the KV cache's tokens")
    elif _at_least(known, "compute_capability", 8.9):
        yield Move("KV cache in FP8", {"kv_cache_dtype": "fp8"}, "a little accuracy over long contexts")


def _quantization(known: Facts) -> Iterator[Move]:
    if _at_least(known, "compute_capability", 8.9) and known.likely("bytes_per_weight") == 2.0:
        yield Move("weights in FP8, quantised at load", {"quantization": "fp8"}, "a little accuracy")


def _weight_dtype(known: Facts) -> Iterator[Move]:
    """16 bits, as the checkpoint is stored where the card computes in it."""
    if known.likely("checkpoint_dtype") == "bfloat16" and _at_least(known, "compute_capability", 8.0):
        yield Move("weights in bfloat16", {"weight_dtype": "bfloat16"})
    yield Move("weights in float16", {"weight_dtype": "half"}, "the range of bfloat16")


def _accelerator(known: Facts) -> Iterator[Move]:
    """Other products of the same maker that the file can name, cheapest first: as many of them, else one."""
    now = hardware.accelerator(known.role.text("accelerator"))
    gpus, weights = count_of(known, "gpus_per_pod"), known.likely("weight_bytes")
    if now is None or not gpus or not isinstance(weights, int | float):
        return
    alone = known.likely("fitting_tensor_parallel") == 1 and gpus > 1
    for product, _ in priced(now, known.role):
        count = 1 if alone else gpus
        memory = product.cuda_memory_bytes or product.driver_memory_bytes or 0
        if product.id == now.id or memory * count < weights or unsuited(known, product):
            continue
        values: dict[str, Value] = {"accelerator": product.id}
        if alone:
            ones = ("gpus_per_pod", "tensor_parallel", "pipeline_parallel")
            values.update({name: 1 for name in ones if known.likely(name) != 1})
        yield Move(f"{count} × {product.name}", values, slower(now, product, gpus, count))


def loses_bfloat16(known: Facts, product: hardware.Accelerator) -> bool:
    """Whether a bfloat16 checkpoint would have to be cast: some networks refuse float16, and early releases any cast."""
    return known.likely("checkpoint_dtype") == "bfloat16" and (product.compute_capability or 0) < 8.0


def unsuited(known: Facts, product: hardware.Accelerator) -> bool:
    """Whether a product does not compute in the format of the weights: bfloat16, or FP8 without weight-only kernels.

    vLLM and TGI turn FP8 weights back into 16 bits; of SGLang that depends on how they are stored.
    """
    asked = [str(known.likely(name)) for name in ("weight_format", "quantization")]
    narrow = any(one.startswith("fp8") for one in asked) and known.role.text("engine") not in ("vllm", "tgi")
    old = product.vendor == "nvidia" and (product.compute_capability or 0) < 8.9
    return loses_bfloat16(known, product) or (narrow and old)


def slower(now: hardware.Accelerator, other: hardware.Accelerator, gpus: int, count: int) -> str:
    """What another product gives up: the direct link between several, and memory bandwidth."""
    lost = []
    if count > 1 and (other.link_domain_gpus or 1) < count <= (now.link_domain_gpus or 1):
        lost.append(f"the direct link between the GPUs ({now.link})")
    before, after = (now.memory_bytes_per_s or 0) * gpus, (other.memory_bytes_per_s or 0) * count
    if after < before:
        lost.append(f"memory bandwidth ({units.human(before, 'bytes_per_s')} to {units.human(after, 'bytes_per_s')})")
    return " and ".join(lost)


def priced(now: hardware.Accelerator, role: Role) -> list[tuple[hardware.Accelerator, float]]:
    """Products to be had in the same cloud that the file's own label can name, by the price of one; pools without one last."""
    found = []
    cloud = labels.cloud(role)
    for product in hardware.list_accelerators():
        if product.vendor != now.vendor or labels.relabelled(role, product.id) is None:
            continue
        machine = offers.cheapest(role.available, product.id, 1, cloud)
        if machine:
            cost = machine.cost_usd_per_hour
            found.append((product, math.inf if cost is None else cost / machine.node_gpus))
    return sorted(found, key=lambda pair: (pair[1], pair[0].id))


def _mig_profile(known: Facts) -> Iterator[Move]:
    now = known.likely("device_memory_bytes")
    for profile, memory in hardware.slices(known.role.text("accelerator")):
        if isinstance(now, int | float) and memory > now and "+" not in profile and ".me" not in profile:
            values: dict[str, Value] = {"mig_profile": profile}
            if (count_of(known, "tensor_parallel") or 1) > 1:
                values.update(gpus_per_pod=1, tensor_parallel=1)
            yield Move(f"{'one' if 'gpus_per_pod' in values else 'a'} slice of {profile}", values)


def _gpu_limit(known: Facts) -> Iterator[Move]:
    count = count_of(known, "gpu_request")
    if count:
        yield Move(f"a limit of {count}", {"gpu_limit": count})


def _gpu_request(known: Facts) -> Iterator[Move]:
    count = count_of(known, "gpu_limit")
    if count:
        yield Move(f"a request of {count}, as the limit", {"gpu_request": count})


def _global_batch(known: Facts) -> Iterator[Move]:
    """The batch that the stated parts make; else the nearest that the copies share out whole."""
    now, micro = count_of(known, "global_batch_size"), count_of(known, "micro_batch_size")
    copies, accumulated = count_of(known, "training_copies"), known.likely("gradient_accumulation_steps")
    if not (now and micro and copies):
        return
    shared = micro * copies
    made = [shared * accumulated] if isinstance(accumulated, int) else []
    above = math.ceil(now / shared) * shared
    for batch in dict.fromkeys([*made, above, above - shared]):
        if batch not in (0, now):
            yield Move(
                f"a batch of {batch}",
                {"global_batch_size": batch},
                "the learning rate that the old batch was tuned for",
            )


def _processes(known: Facts) -> Iterator[Move]:
    """As many ranks as there are GPUs."""
    gpus = count_of(known, "gpus_per_pod")
    if gpus and gpus != known.likely("processes_per_pod"):
        yield Move(f"one rank on each of {_gpus_named(gpus)}", {"processes_per_pod": gpus})


def _zero_stage(known: Facts) -> Iterator[Move]:
    """Sharing out the optimizer state, then the gradients, then the weights too."""
    now = known.likely("zero_stage")
    for stage in range(now + 1, 4) if isinstance(now, int) else ():
        yield Move(f"ZeRO stage {stage}", {"zero_stage": stage}, "communication of weights" if stage == 3 else "")


def _power_cap(known: Facts) -> Iterator[Move]:
    """Lower limits of each card's power, of which the speed is known to follow."""
    board, now = known.likely("board_w"), known.likely("power_cap_w")
    if not isinstance(board, int | float) or now is not None:
        return
    for share in CAPS:
        watts = round(board * share)
        yield Move(f"each card limited to {watts} W of {round(board)}", {"power_cap_w": watts}, "a part of its speed")


def count_of(known: Facts, name: str) -> int | None:
    """A count in the likely world; None where it is no whole number, or not known."""
    value = known.likely(name)
    return value if isinstance(value, int) and not isinstance(value, bool) else None


def _at_least(known: Facts, name: str, least: float) -> bool:
    value = known.likely(name)
    return isinstance(value, int | float) and value >= least
