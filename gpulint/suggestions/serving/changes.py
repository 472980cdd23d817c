"""Candidates: proposed changes of a role, by the quantity that a rule lets change."""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator, Mapping

from gpulint import units
from gpulint.catalog import hardware, offers
from gpulint.catalog.capabilities import does
from gpulint.facts.model import Facts, Missing
from gpulint.suggestions.edits import accelerator_names
from gpulint.suggestions.generators import FAMILIES, Candidate, generates
from gpulint.workload import Role, Value

GPUS_OF_A_NODE = (1, 2, 4, 8)
USUAL_UTILIZATION = 0.9
"""The minimum default of all vLLM releases."""


USUAL_STATIC_FRACTION = 0.9
"""Leaves a tenth of GPU memory to the forward pass; the rules check whether that is enough."""
SHARE_STEP = 0.05
"""Shares of GPU memory are proposed in multiples of this."""
HIGHEST_UTILIZATION = 0.95
"""The highest share with which engines still start alone on a GPU: the CUDA context takes half a
GiB.
"""


CAPS = (0.8, 0.7)
"""Shares of a board's power to try; drivers accept limits down to about half of it."""
YOUNG = "higher latency of a single sequence; decode context parallelism is new, so verify its outputs"
"""https://github.com/vllm-project/vllm/issues/41623"""


@generates("tensor_parallel", families=FAMILIES)
def _propose_tensor_parallel(facts: Facts) -> Iterator[Candidate]:
    """Yield other tensor parallel sizes on the GPUs that the instance already has."""
    now, gpus = find_count(facts, "tensor_parallel"), find_count(facts, "gpus_per_replica")
    stages, copies = find_count(facts, "pipeline_parallel"), find_count(facts, "data_parallel")
    if not (now and gpus and stages and copies):
        return
    full = gpus // (stages * copies)
    sizes = dict.fromkeys([full, *(2**power for power in range(full.bit_length() - 1, -1, -1))])
    for size in sizes:
        if size not in (0, now) and _is_divisible(facts, size):
            slower = "" if size > now else f"less memory and speed than {now} ranks"
            yield Candidate(f"tensor parallel {size} on the same {name_gpus(gpus)}", {"tensor_parallel": size}, slower)
    pods = gpus // (find_count(facts, "gpus_per_pod") or gpus)
    if pods > 1 and full % pods == 0 and full // pods != now:
        values = {"tensor_parallel": full // pods, "pipeline_parallel": stages * pods}
        title = f"tensor parallel {full // pods} within each pod, pipeline parallel {stages * pods} across pods"
        yield Candidate(title, values, "higher latency of a single sequence")
        yield from propose_sequence_sharding(title, values, facts)


def propose_sequence_sharding(title: str, values: Mapping[str, Value], facts: Facts) -> Iterator[Candidate]:
    """Yield the same layout with the tokens of a sequence split over ranks that would store the
    same KV entries.
    """
    heads = 1 if find_count(facts, "kv_lora_rank") else find_count(facts, "kv_heads")
    ranks = values["tensor_parallel"]
    if heads and isinstance(ranks, int) and ranks > heads:
        shared = {**values, "decode_context_parallel": ranks // heads}
        yield Candidate(f"{title}, decode context parallel {ranks // heads}", shared, YOUNG)


@generates("gpus_per_pod")
def propose_gpus(facts: Facts) -> Iterator[Candidate]:
    """Yield other GPU counts: those that the program sees or the parallelism occupies, else with
    matching tensor parallel.
    """
    yield from _propose_used_gpus(facts)
    now = facts.expected("gpus_per_pod")
    if not isinstance(now, int | float):
        return
    if now != int(now):
        whole = math.ceil(now)
        yield Candidate(f"a whole number: {name_gpus(whole)}", {"gpus_per_pod": whole})
        return
    yield from _propose_larger_machine(facts)
    most = find_count(facts, "node_gpus") or GPUS_OF_A_NODE[-1]
    if now > most:
        yield Candidate(f"{name_gpus(most)}, as many as the machine has", {"gpus_per_pod": most})
    occupied, pods = find_count(facts, "parallel_size"), find_count(facts, "pods_per_replica")
    if occupied and pods and occupied % pods == 0 and now != occupied // pods <= most:
        fewer, count = occupied < now * pods, occupied // pods
        title = f"request the {name_gpus(count)} that {'is' if count == 1 else 'are'} {'used' if fewer else 'needed'}"
        yield Candidate(title, {"gpus_per_pod": count})
    if (facts.expected("pipeline_parallel"), facts.expected("data_parallel"), pods) != (1, 1, 1):
        return
    fitting = find_count(facts, "fitting_tensor_parallel")
    for count in _list_counts(int(now), fitting):
        if count < now and fitting is None:
            continue  # whether the weights fit on fewer is not known
        if count not in (now, occupied) and count <= most and _is_divisible(facts, count):
            trade_off = "" if count > now else "less total memory bandwidth"
            title = f"{name_gpus(count)} with tensor parallel {count}"
            yield Candidate(title, {"gpus_per_pod": count, "tensor_parallel": count}, trade_off)


def _propose_larger_machine(facts: Facts) -> Iterator[Candidate]:
    """Yield the machine type of the same cloud and accelerator that holds all ranks of a pod, if the named one does not."""
    now, needed = hardware.node(facts.role.text("instance_type")), find_count(facts, "parallel_size")
    pods = facts.expected("pods_per_replica")
    if now is None or not needed or pods != 1 or needed <= now.node_gpus:
        return
    larger = offers.find_cheapest(facts.role.available, now.accelerator, needed, now.cloud)
    if larger and larger.instance_type:
        values: dict[str, Value] = {"gpus_per_pod": needed, "instance_type": larger.instance_type}
        yield Candidate(f"{larger.instance_type} with {name_gpus(larger.node_gpus)}", values)


MEANT = "no GPUs for further ranks, if they were intended"


def _propose_used_gpus(facts: Facts) -> Iterator[Candidate]:
    """Yield no more GPUs than CUDA_VISIBLE_DEVICES shows, or than the launcher starts ranks for."""
    now = find_count(facts, "gpus_per_pod")
    for name in ("visible_devices", "processes_per_pod"):
        used = find_count(facts, name)
        if now and used and used < now:
            title = f"request the {used} GPUs that are used" if used > 1 else "request the GPU that is used"
            yield Candidate(title, {"gpus_per_pod": used}, MEANT if name == "processes_per_pod" else "")


def _is_divisible(facts: Facts, ranks: int) -> bool:
    """Return whether the heads divide by a number of ranks.

    If they are unknown, it must divide today's ranks.
    """
    now = find_count(facts, "tensor_parallel")
    return find_count(facts, "attention_heads") is not None or (now is not None and now % ranks == 0)


def name_gpus(count: int) -> str:
    return f"{count} GPU" + ("" if count == 1 else "s")


def _list_counts(now: int, fitting: int | None) -> list[int]:
    """Return GPU counts of a node: from the smallest that fits if fewer do, else the nearest to
    today's first.
    """
    if fitting and fitting < now:
        return [count for count in GPUS_OF_A_NODE if count >= fitting]
    return sorted(GPUS_OF_A_NODE, key=lambda count: (abs(math.log2(count / max(now, 1))), -count))


@generates("data_parallel")
def _propose_data_parallel(facts: Facts) -> Iterator[Candidate]:
    """Yield data parallelism that fills the GPUs of the instance."""
    gpus, pods = find_count(facts, "gpus_per_replica"), facts.expected("pods_per_replica")
    ranks = (find_count(facts, "tensor_parallel") or 0) * (find_count(facts, "pipeline_parallel") or 0)
    if gpus and ranks and pods == 1 and gpus % ranks == 0 and gpus // ranks > 1:
        copies = gpus // ranks
        yield Candidate(f"data parallel {copies} on the same {gpus} GPUs", {"data_parallel": copies})


@generates("max_model_len")
def propose_max_model_len(facts: Facts) -> Iterator[Candidate]:
    """Yield the context of the checkpoint if it fits in the worst scenario, then round lengths that do, longest
    first.
    """
    trained = find_count(facts, "trained_context")
    fitting = facts.scenarios("kv_cache_tokens")
    limits = [trained] if trained else []
    if not isinstance(fitting, Missing) and int(fitting.worst) > 0:  # type: ignore[arg-type]
        limits.append(int(fitting.worst))  # type: ignore[arg-type]
    now = find_count(facts, "max_model_len")
    longest = min(limits, default=0)
    exact = (trained,) if trained and trained == longest else ()
    for length in dict.fromkeys((*exact, *_list_round_lengths(longest))):
        if now is None or length < now:
            yield Candidate(
                f"sequences of at most {length:,} tokens", {"max_model_len": length}, "longer requests are rejected"
            )


def _list_round_lengths(longest: int) -> Iterator[int]:
    """Yield up to three lengths 2^k or 3·2^(k−1) up to a limit, longest first."""
    lengths = sorted({size for power in range(9, 24) for size in (2**power, 3 * 2 ** (power - 1))}, reverse=True)
    yield from itertools.islice((length for length in lengths if length <= longest), 3)


@generates("gpu_memory_utilization")
def _propose_memory_utilization(facts: Facts) -> Iterator[Candidate]:
    """Yield the least share that holds what is needed and the engine's default if less is declared, or the highest
    share if more is.
    """
    now = facts.expected("gpu_memory_utilization")
    if isinstance(now, float) and now < USUAL_UTILIZATION:
        for share in dict.fromkeys((*_list_enough_shares(facts, now), USUAL_UTILIZATION)):
            title = f"{share:.0%} of GPU memory instead of {now:.0%}"
            yield Candidate(title, {"gpu_memory_utilization": share}, "less memory for other programs on the GPU")
    elif isinstance(now, float) and now > HIGHEST_UTILIZATION:
        title = f"{HIGHEST_UTILIZATION:.0%} of GPU memory instead of {now:.0%}"
        yield Candidate(title, {"gpu_memory_utilization": HIGHEST_UTILIZATION}, "less KV cache")


def _list_enough_shares(facts: Facts, now: float) -> Iterator[float]:
    """Yield the two smallest round shares that hold what the engine lacks in the worst scenario."""
    room, memory = facts.scenarios("headroom_bytes"), facts.expected("device_memory_bytes")
    if isinstance(room, Missing) or not isinstance(room.worst, int | float) or not isinstance(memory, int | float):
        return
    least = math.ceil((now - room.worst / memory) / SHARE_STEP)
    for count in (least, least + 1):
        if room.worst < 0 and count * SHARE_STEP < USUAL_UTILIZATION:
            yield round(count * SHARE_STEP, 2)


@generates("static_memory_fraction")
def _propose_static_fraction(facts: Facts) -> Iterator[Candidate]:
    """Yield the share that leaves a tenth for the forward pass, if another is declared."""
    now = facts.expected("static_memory_fraction")
    if isinstance(now, float) and now != USUAL_STATIC_FRACTION:
        trade_off = "less memory for the forward pass" if now < USUAL_STATIC_FRACTION else "less KV cache"
        title = f"{USUAL_STATIC_FRACTION:.0%} of GPU memory for weights and KV cache instead of {now:.0%}"
        yield Candidate(title, {"static_memory_fraction": USUAL_STATIC_FRACTION}, trade_off)


@generates("kv_cache_dtype")
def _propose_kv_cache_dtype(facts: Facts) -> Iterator[Candidate]:
    if str(facts.expected("kv_cache_dtype")).startswith("fp8"):
        yield Candidate("KV cache in 16 bits", {"kv_cache_dtype": "auto"}, "half as many tokens in the KV cache")
    elif _is_at_least(facts, "compute_capability", 8.9):
        yield Candidate("KV cache in FP8", {"kv_cache_dtype": "fp8"}, "slightly lower accuracy over long contexts")


@generates("quantization")
def _propose_quantization(facts: Facts) -> Iterator[Candidate]:
    if _is_at_least(facts, "compute_capability", 8.9) and facts.expected("bytes_per_weight") == 2.0:
        yield Candidate("weights in FP8, quantised at load", {"quantization": "fp8"}, "slightly lower accuracy")


@generates("weight_dtype")
def _propose_weight_dtype(facts: Facts) -> Iterator[Candidate]:
    """Yield 16-bit formats: bfloat16 if the checkpoint is stored in it and the GPU supports it, and
    float16.
    """
    if facts.expected("checkpoint_dtype") == "bfloat16" and _is_at_least(facts, "compute_capability", 8.0):
        yield Candidate("weights in bfloat16", {"weight_dtype": "bfloat16"})
    yield Candidate("weights in float16", {"weight_dtype": "half"}, "a smaller number range than bfloat16")


@generates("accelerator")
def _propose_accelerators(facts: Facts) -> Iterator[Candidate]:
    """Yield other products of the same vendor that the file can name, cheapest first: the same
    count, else one.
    """
    now = hardware.accelerator(facts.role.text("accelerator"))
    gpus, weights = find_count(facts, "gpus_per_pod"), facts.expected("weight_bytes")
    if now is None or not gpus or not isinstance(weights, int | float):
        return
    alone = facts.expected("fitting_tensor_parallel") == 1 and gpus > 1
    for product, _ in rank_by_price(now, facts.role):
        count = 1 if alone else gpus
        memory = product.cuda_memory_bytes or product.driver_memory_bytes or 0
        if product.id == now.id or memory * count < weights or is_unsupported(facts, product):
            continue
        values: dict[str, Value] = {"accelerator": product.id}
        if alone:
            sizes = ("gpus_per_pod", "tensor_parallel", "pipeline_parallel")
            values.update({name: 1 for name in sizes if facts.expected(name) != 1})
        yield Candidate(f"{count} × {product.name}", values, describe_slowdown(now, product, gpus, count))


def loses_bfloat16(facts: Facts, product: hardware.Accelerator) -> bool:
    """Return whether a bfloat16 checkpoint would have to be cast.

    Some architectures refuse float16.
    """
    return facts.expected("checkpoint_dtype") == "bfloat16" and (product.compute_capability or 0) < 8.0


def is_unsupported(facts: Facts, product: hardware.Accelerator) -> bool:
    """Return whether a product does not support the weights' format: bfloat16, or FP8 without
    weight-only kernels.

    Some engines turn FP8 weights back into 16 bits. For SGLang, that depends on how they are
    stored.
    """
    asked = [str(facts.expected(name)) for name in ("weight_format", "quantization")]
    narrow = any(number_format.startswith("fp8") for number_format in asked) and not does(
        facts.role.text("engine"), "widens_fp8_weights"
    )
    old = product.vendor == "nvidia" and (product.compute_capability or 0) < 8.9
    return loses_bfloat16(facts, product) or (narrow and old)


def describe_slowdown(now: hardware.Accelerator, other: hardware.Accelerator, gpus: int, count: int) -> str:
    """Return the trade-off of another product: the direct link between several GPUs, and memory
    bandwidth.
    """
    lost = []
    if count > 1 and (other.link_domain_gpus or 1) < count <= (now.link_domain_gpus or 1):
        lost.append(f"no direct link between the GPUs (today: {now.link})")
    before, after = (now.memory_bytes_per_s or 0) * gpus, (other.memory_bytes_per_s or 0) * count
    if after < before:
        lost.append(
            f"lower memory bandwidth ({units.human(before, 'bytes_per_s')} to {units.human(after, 'bytes_per_s')})"
        )
    return " and ".join(lost)


def rank_by_price(now: hardware.Accelerator, role: Role) -> list[tuple[hardware.Accelerator, float]]:
    """Return the available products of the same cloud that the file's label can name, by price of
    one; pools without a price last.
    """
    found = []
    cloud = accelerator_names.find_cloud(role)
    for product in hardware.list_accelerators():
        if product.vendor != now.vendor or accelerator_names.relabel(role, product.id) is None:
            continue
        machine = offers.find_cheapest(role.available, product.id, 1, cloud)
        if machine:
            cost = machine.cost_usd_per_hour
            found.append((product, math.inf if cost is None else cost / machine.node_gpus))
    return sorted(found, key=lambda pair: (pair[1], pair[0].id))


@generates("mig_profile")
def _propose_mig_profiles(facts: Facts) -> Iterator[Candidate]:
    now = facts.expected("device_memory_bytes")
    for profile, memory in hardware.slices(facts.role.text("accelerator")):
        if isinstance(now, int | float) and memory > now and "+" not in profile and ".me" not in profile:
            values: dict[str, Value] = {"mig_profile": profile}
            if (find_count(facts, "tensor_parallel") or 1) > 1:
                values.update(gpus_per_pod=1, tensor_parallel=1)
            yield Candidate(f"{'one' if 'gpus_per_pod' in values else 'a'} {profile} slice", values)


@generates("gpu_limit", families=FAMILIES)
def _propose_gpu_limit(facts: Facts) -> Iterator[Candidate]:
    count = find_count(facts, "gpu_request")
    if count:
        yield Candidate(f"a limit of {count}", {"gpu_limit": count})


@generates("gpu_request", families=FAMILIES)
def _propose_gpu_request(facts: Facts) -> Iterator[Candidate]:
    count = find_count(facts, "gpu_limit")
    if count:
        yield Candidate(f"a request of {count}, equal to the limit", {"gpu_request": count})


@generates("power_cap_w", families=FAMILIES)
def _propose_power_caps(facts: Facts) -> Iterator[Candidate]:
    """Yield lower power limits of each GPU whose effect on speed is known."""
    board, now = facts.expected("board_w"), facts.expected("power_cap_w")
    if not isinstance(board, int | float) or now is not None:
        return
    for share in CAPS:
        watts = round(board * share)
        yield Candidate(f"each GPU limited to {watts} W of {round(board)} W", {"power_cap_w": watts}, "lower speed")


def find_count(facts: Facts, name: str) -> int | None:
    """Return a count in the expected scenario; None if it is unknown or not a whole number."""
    value = facts.expected(name)
    return value if isinstance(value, int) and not isinstance(value, bool) else None


def _is_at_least(facts: Facts, name: str, least: float) -> bool:
    value = facts.expected(name)
    return isinstance(value, int | float) and value >= least
