"""Layouts: other ways to share the same work out over the same GPUs, with the product of ranks and the batch of a step kept."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping

from gpulint import units
from gpulint.catalog import hardware, offers
from gpulint.facts.model import Facts, Missing
from gpulint.suggestions.serving.changes import Move, count_of, priced, sequence_shared
from gpulint.workload import Value

LATENCY = "the latency of a single sequence"
ONE_COPY = "the memory that several GPUs lend one copy, and its latency"
MORE_REPLICAS = (2, 3, 4, 6, 8)
"""Multiples of today's instances that are tried, smallest first."""
MOST_REPLICAS = 256
LOADS = (
    ("wanted_tokens_per_s", "service_tokens_per_s"),
    ("target_concurrency", "service_concurrency"),
    ("grown_tokens_per_s", "service_tokens_per_s"),
    ("grown_concurrency", "service_concurrency"),
)
"""What is wanted of a whole service, and what all of its replicas give."""


def serving(quantity: str, known: Facts) -> Iterator[Move]:
    """The layouts of a server that are worth a try when one of its quantities may change."""
    by_quantity: Mapping[str, Callable[[Facts], Iterator[Move]]] = {
        "data_parallel": _copies,
        "replicas": _replicas,
        "requests_context": _shorter_on_less,
        "pipeline_parallel": _stages,
        "expert_parallel": _whole_experts,
        "prefill_apart": _prompts_apart,
        "expert_parallel_size": _expert_ranks,
        "decode_context_parallel": _sequence_ranks,
        "link": _linked,
        "network_bytes_per_s": machines,
        "max_num_seqs": _decoded_together,
    }
    return by_quantity[quantity](known) if quantity in by_quantity else iter(())


def factors(count: int) -> Iterator[int]:
    """The divisors of a count, ascending."""
    return (one for one in range(1, count + 1) if count % one == 0)


def _copies(known: Facts) -> Iterator[Move]:
    """Copies of fewer ranks on the same GPUs, the most first; of copies of the attention, as many as divide the ranks."""
    ranks, copies = count_of(known, "tensor_parallel"), count_of(known, "data_parallel")
    if not ranks or not copies:
        return
    if known.likely("data_parallel_attention") is True:
        for fewer in sorted(factors(ranks), reverse=True):
            if 1 < fewer < copies:
                yield Move(f"{fewer} copies of the attention on {ranks} ranks", {"data_parallel": fewer})
        return
    if known.likely("pods_per_replica") != 1 or known.likely("gpus_per_replica") != known.likely("gpus_per_pod"):
        return
    for left in factors(ranks):
        if left < ranks:
            more = copies * ranks // left
            values: dict[str, Value] = {"tensor_parallel": left, "data_parallel": more}
            yield Move(f"data parallel {more} of tensor parallel {left} on the same GPUs", values, ONE_COPY)


def _replicas(known: Facts) -> Iterator[Move]:
    """The same GPUs in more instances of fewer ranks, then more instances."""
    now = count_of(known, "replicas")
    if not now:
        return
    gpus, ranks = count_of(known, "gpus_per_pod"), count_of(known, "tensor_parallel")
    alone = [known.likely(name) for name in ("pipeline_parallel", "data_parallel", "pods_per_replica")] == [1, 1, 1]
    if gpus and ranks == gpus and alone:
        for left in (one for one in factors(ranks) if one < ranks):
            more = now * ranks // left
            values: dict[str, Value] = {"gpus_per_pod": left, "tensor_parallel": left, "replicas": more}
            yield Move(f"{more} replicas of {left} GPU{'' if left == 1 else 's'}, as many in all", values, ONE_COPY)
    fewer = known.worlds("enough_replicas")
    if not isinstance(fewer, Missing) and isinstance(fewer.adverse, int) and fewer.adverse < now:
        yield Move(f"{fewer.adverse} replicas", {"replicas": fewer.adverse}, "room for more load than is stated")
    for more in dict.fromkeys([*_enough(known, now), *(now * multiple for multiple in MORE_REPLICAS)]):
        yield Move(f"{more} replicas", {"replicas": more}, "the price of the further instances")


def _shorter_on_less(known: Facts) -> Iterator[Move]:
    """As many of a cheaper card, with the context that the stated requests need, cheapest first."""
    now, gpus, length = (
        hardware.accelerator(known.role.text("accelerator")),
        count_of(known, "gpus_per_pod"),
        count_of(known, "requests_context"),
    )
    for product, _ in priced(now, known.role) if now and gpus and length else ():
        if now and product.id == now.id:
            return
        title = f"{gpus} × {product.name} with sequences of at most {length:,} tokens"
        values: dict[str, Value] = {"accelerator": product.id, "max_model_len": length or 0}
        yield Move(title, values, "longer sequences, and the speed of the larger card")


def _enough(known: Facts, now: int) -> list[int]:
    """Instances that carry each load that is wanted even in the adverse world, fewest first."""
    needed = []
    for load, carried in LOADS:
        wanted, given = (known.worlds(name) for name in (load, carried))
        if not isinstance(wanted, Missing) and not isinstance(given, Missing) and given.adverse and wanted.adverse:
            needed.append(math.ceil(now * wanted.adverse / given.adverse))  # type: ignore[operator]
    return sorted(count for count in needed if now < count <= MOST_REPLICAS)


def _stages(known: Facts) -> Iterator[Move]:
    """Ranks of each layer turned into stages of layers on the same GPUs, few first; then stages into ranks."""
    ranks, stages = count_of(known, "tensor_parallel"), count_of(known, "pipeline_parallel")
    layers = count_of(known, "layers")
    if not ranks or not stages:
        return
    for left in sorted((one for one in factors(ranks) if one < ranks), reverse=True):
        longer = stages * ranks // left
        if layers is None or layers >= longer:
            values: dict[str, Value] = {"tensor_parallel": left, "pipeline_parallel": longer}
            title = f"tensor parallel {left}, pipeline parallel {longer} on the same GPUs"
            yield Move(title, values, LATENCY)
            yield from sequence_shared(title, values, known)
    for left in sorted((one for one in factors(stages) if one < stages), reverse=True):
        wider = ranks * stages // left
        values = {"tensor_parallel": wider, "pipeline_parallel": left}
        lost = "communication inside every layer"
        yield Move(f"tensor parallel {wider}, pipeline parallel {left} on the same GPUs", values, lost)


def _whole_experts(known: Facts) -> Iterator[Move]:
    """Whole experts on each rank instead of a slice of every expert."""
    if count_of(known, "experts") and known.likely("expert_parallel") is False:
        yield Move("whole experts on each rank", {"expert_parallel": True}, "an even load where few experts are hit")


def _prompts_apart(known: Facts) -> Iterator[Move]:
    """Prompts on replicas of their own, so that decoding does not wait for those of other requests."""
    if known.likely("prefill_apart") is False:
        lost = "the GPUs of those replicas, and the time in which each prompt's KV cache is sent"
        yield Move("prefill and decode split: prompts on replicas of their own", {"prefill_apart": True}, lost)


def _expert_ranks(known: Facts) -> Iterator[Move]:
    """Expert parallel ranks that divide the experts and the ranks of a server, most first."""
    ranks, now, experts = (count_of(known, name) for name in ("tensor_parallel", "expert_parallel_size", "experts"))
    if not ranks or not now or not experts:
        return
    copies = count_of(known, "redundant_experts") or 0
    for fewer in sorted(factors(math.gcd(ranks, experts + copies)), reverse=True):
        if fewer != now:
            yield Move(
                f"expert parallel {fewer}", {"expert_parallel_size": fewer}, "the memory of experts on fewer ranks"
            )


UNTRIED = "the certainty of older code: decode context parallel is young, so compare its answers"
"""https://github.com/vllm-project/vllm/issues/41623"""


def _sequence_ranks(known: Facts) -> Iterator[Move]:
    """Decode context parallel ranks, at most as many as hold the same KV entries, the most first."""
    ranks, now = count_of(known, "tensor_parallel"), count_of(known, "decode_context_parallel")
    most = count_of(known, "decode_context_limit")
    if not ranks or not now or not most or known.likely("vendor") == "amd" or _keeps_several_caches(known):
        return
    for size in sorted(factors(ranks), reverse=True):
        if size != now and size <= most:
            yield Move(f"decode context parallel {size}", {"decode_context_parallel": size}, UNTRIED)


def _keeps_several_caches(known: Facts) -> bool:
    """Whether layers differ in what they keep, which vLLM shares out over no sequence before mid 2026.

    https://github.com/vllm-project/vllm/pull/40996
    """
    shape = known.resolved.architecture if known.resolved else None
    return shape is not None and bool(shape.sliding_layers or shape.linear_attention_layers)


def _linked(known: Facts) -> Iterator[Move]:
    """Products that join all tensor parallel ranks of a pod by a direct link, cheapest first."""
    now, ranks = hardware.accelerator(known.role.text("accelerator")), count_of(known, "tensor_parallel")
    if now is None or not ranks:
        return
    memory = now.cuda_memory_bytes or now.driver_memory_bytes or 0
    for product, _ in priced(now, known.role):
        joined = (product.link_domain_gpus or 1) >= ranks
        enough = (product.cuda_memory_bytes or product.driver_memory_bytes or 0) >= memory
        if (
            product.id != now.id
            and joined
            and enough
            and (product.compute_capability or 0) >= (now.compute_capability or 0)
        ):
            title = f"{count_of(known, 'gpus_per_pod') or ranks} × {product.name}, joined by {product.link}"
            yield Move(title, {"accelerator": product.id})


def machines(known: Facts) -> Iterator[Move]:
    """Machine types of the same cloud with the same card and a faster network, cheapest first, then other cards'."""
    now, gpus = hardware.node(known.role.text("instance_type")), count_of(known, "gpus_per_pod")
    if now is None or not gpus:
        return
    others = (
        one
        for one in offers.of(known.role.available, now.cloud)
        if (one.cloud, one.accelerator) == (now.cloud, now.accelerator)
        and one.node_gpus >= gpus
        and _network(one.instance_type) > (now.network_bytes_per_s or 0)
        and one.cost_usd_per_hour is not None
    )
    for one in sorted(
        others, key=lambda offer: ((offer.cost_usd_per_hour or 0) / offer.node_gpus, offer.instance_type)
    ):
        speed = units.human(_network(one.instance_type), "bytes_per_s")
        yield Move(f"{one.instance_type}, {speed} between machines", {"instance_type": one.instance_type})
    card = hardware.accelerator(now.accelerator)
    for product, _ in priced(card, known.role) if card else ():
        other = offers.cheapest(known.role.available, product.id, gpus, now.cloud)
        faster = other and _network(other.instance_type) > (now.network_bytes_per_s or 0)
        if product.id != now.accelerator and other and faster:
            yield Move(f"{gpus} × {product.name} in {other.instance_type}", {"accelerator": product.id})


def _network(instance_type: str) -> float:
    node = hardware.node(instance_type)
    return (node.network_bytes_per_s if node else None) or 0


def _decoded_together(known: Facts) -> Iterator[Move]:
    """Fewer sequences at once, so that each token comes sooner, then more, so that more tokens come in all."""
    now = count_of(known, "max_num_seqs")
    if not now:
        return
    if (wanted := _of_one_group(known)) > now:
        yield Move(f"up to {wanted} sequences at once", {"max_num_seqs": wanted}, "the time of each token")
    for share in (2, 4, 8):
        if now >= share:
            yield Move(
                f"at most {now // share} sequences at once", {"max_num_seqs": now // share}, "tokens per second in all"
            )
    for multiple in (2, 4):
        yield Move(
            f"up to {now * multiple} sequences at once", {"max_num_seqs": now * multiple}, "the time of each token"
        )


def _of_one_group(known: Facts) -> int:
    """Sequences that each group has to run for the load that is stated or will be; nothing where none is."""
    wanted, replicas, groups = (
        known.likely(name) for name in ("grown_concurrency", "service_replicas", "sequence_groups")
    )
    if not isinstance(wanted, int | float) or not isinstance(replicas, int | float) or not isinstance(groups, int):
        return 0
    return math.ceil(wanted / (replicas * groups)) if replicas and groups else 0
