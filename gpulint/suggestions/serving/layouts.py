"""Serving layouts: other ways to use the same GPUs, with the product of ranks kept."""

from __future__ import annotations

import math
from collections.abc import Iterator

from gpulint import units
from gpulint.catalog import hardware, offers
from gpulint.facts.model import Facts, Missing
from gpulint.report import escaping
from gpulint.suggestions.generators import FAMILIES, Candidate, generates
from gpulint.suggestions.serving.changes import find_count, propose_sequence_sharding, rank_by_price
from gpulint.workload import Value

LATENCY = "higher latency of a single sequence"
ONE_COPY = "less memory for each replica, and higher latency"
MORE_REPLICAS = (2, 3, 4, 6, 8)
"""Multiples of today's instances to try, smallest first."""
MOST_REPLICAS = 256
LOADS = (
    ("wanted_tokens_per_s", "service_tokens_per_s"),
    ("target_concurrency", "service_concurrency"),
    ("grown_tokens_per_s", "service_tokens_per_s"),
    ("grown_concurrency", "service_concurrency"),
)
"""What is wanted of a whole service, and what all of its replicas deliver."""


FACTORED_MAX = 65_536
"""No server has more GPUs, experts or heads to divide."""


def find_factors(count: int) -> Iterator[int]:
    """Return the divisors of a count in ascending order; none of a count that no server has."""
    return (divisor for divisor in range(1, count + 1 if count <= FACTORED_MAX else 1) if count % divisor == 0)


@generates("data_parallel")
def _propose_data_parallel(facts: Facts) -> Iterator[Candidate]:
    """Yield more replicas of fewer ranks on the same GPUs; for attention data parallelism, sizes
    that divide the ranks.
    """
    ranks, copies = find_count(facts, "tensor_parallel"), find_count(facts, "data_parallel")
    if not ranks or not copies:
        return
    if facts.expected("data_parallel_attention") is True:
        for fewer in sorted(find_factors(ranks), reverse=True):
            if 1 < fewer < copies:
                yield Candidate(f"attention data parallel {fewer} on {ranks} ranks", {"data_parallel": fewer})
        return
    if facts.expected("pods_per_replica") != 1 or facts.expected("gpus_per_replica") != facts.expected("gpus_per_pod"):
        return
    for left in find_factors(ranks):
        if left < ranks:
            more = copies * ranks // left
            values: dict[str, Value] = {"tensor_parallel": left, "data_parallel": more}
            yield Candidate(f"data parallel {more} × tensor parallel {left} on the same GPUs", values, ONE_COPY)


@generates("enough_data_parallel")
def _propose_fewer_ranks(facts: Facts) -> Iterator[Candidate]:
    """Yield the data-parallel ranks that carry the declared load, on as many GPUs as they take."""
    copies, fewer = find_count(facts, "data_parallel"), facts.scenarios("enough_data_parallel")
    ranks = (find_count(facts, "tensor_parallel") or 0) * (find_count(facts, "pipeline_parallel") or 0)
    if not copies or not ranks or isinstance(fewer, Missing) or not isinstance(fewer.worst, int):
        return
    if fewer.worst < copies and facts.expected("gpus_per_pod") == copies * ranks:
        gpus = fewer.worst * ranks
        values: dict[str, Value] = {"data_parallel": fewer.worst, "gpus_per_pod": gpus}
        title = f"data parallel {fewer.worst} on {escaping.count(gpus, 'GPU')}"
        yield Candidate(title, values, "no spare capacity beyond the declared load")


@generates("replicas")
def _propose_replicas(facts: Facts) -> Iterator[Candidate]:
    """Yield the same GPUs in more instances of fewer ranks, then more instances."""
    now = find_count(facts, "replicas")
    if not now:
        return
    gpus, ranks = find_count(facts, "gpus_per_pod"), find_count(facts, "tensor_parallel")
    alone = [facts.expected(name) for name in ("pipeline_parallel", "data_parallel", "pods_per_replica")] == [1, 1, 1]
    if gpus and ranks == gpus and alone:
        for left in (divisor for divisor in find_factors(ranks) if divisor < ranks):
            more = now * ranks // left
            values: dict[str, Value] = {"gpus_per_pod": left, "tensor_parallel": left, "replicas": more}
            yield Candidate(
                f"{more} replicas of {left} GPU{'' if left == 1 else 's'} each, the same total", values, ONE_COPY
            )
    fewer = facts.scenarios("enough_replicas")
    if not isinstance(fewer, Missing) and isinstance(fewer.worst, int) and fewer.worst < now:
        yield Candidate(
            escaping.count(fewer.worst, "replica"),
            {"replicas": fewer.worst},
            "no spare capacity beyond the declared load",
        )
    for more in dict.fromkeys([*_count_enough(facts, now), *(now * multiple for multiple in MORE_REPLICAS)]):
        yield Candidate(f"{more} replicas", {"replicas": more}, "the cost of the additional replicas")


@generates("requests_context")
def _propose_cheaper(facts: Facts) -> Iterator[Candidate]:
    """Yield the same number of a cheaper GPU with the context that the declared requests need,
    cheapest first.
    """
    now, gpus, length = (
        hardware.accelerator(facts.role.text("accelerator")),
        find_count(facts, "gpus_per_pod"),
        find_count(facts, "requests_context"),
    )
    for product, _ in rank_by_price(now, facts.role) if now and gpus and length else ():
        if now and product.id == now.id:
            return
        title = f"{gpus} × {product.name} with sequences of at most {length:,} tokens"
        values: dict[str, Value] = {"accelerator": product.id, "max_model_len": length or 0}
        yield Candidate(title, values, "shorter sequences, and less speed than the larger GPU")


def _count_enough(facts: Facts, now: int) -> list[int]:
    """Return the instances that carry each wanted load even in the worst scenario, fewest first."""
    needed = []
    for load, carried in LOADS:
        wanted, given = (facts.scenarios(name) for name in (load, carried))
        if not isinstance(wanted, Missing) and not isinstance(given, Missing) and given.worst and wanted.worst:
            needed.append(math.ceil(now * wanted.worst / given.worst))  # type: ignore[operator]
    return sorted(count for count in needed if now < count <= MOST_REPLICAS)


@generates("pipeline_parallel")
def _propose_stages(facts: Facts) -> Iterator[Candidate]:
    """Yield tensor ranks turned into pipeline stages on the same GPUs, few stages first; then
    stages into ranks.
    """
    ranks, stages = find_count(facts, "tensor_parallel"), find_count(facts, "pipeline_parallel")
    layers = find_count(facts, "layers")
    if not ranks or not stages:
        return
    for left in sorted((divisor for divisor in find_factors(ranks) if divisor < ranks), reverse=True):
        longer = stages * ranks // left
        if layers is None or layers >= longer:
            values: dict[str, Value] = {"tensor_parallel": left, "pipeline_parallel": longer}
            title = f"tensor parallel {left}, pipeline parallel {longer} on the same GPUs"
            yield Candidate(title, values, LATENCY)
            yield from propose_sequence_sharding(title, values, facts)
    for left in sorted((divisor for divisor in find_factors(stages) if divisor < stages), reverse=True):
        wider = ranks * stages // left
        values = {"tensor_parallel": wider, "pipeline_parallel": left}
        lost = "more communication in every layer"
        yield Candidate(f"tensor parallel {wider}, pipeline parallel {left} on the same GPUs", values, lost)


@generates("expert_parallel")
def _propose_expert_parallel(facts: Facts) -> Iterator[Candidate]:
    """Yield whole experts on each rank instead of a slice of every expert."""
    if find_count(facts, "experts") and facts.expected("expert_parallel") is False:
        yield Candidate(
            "expert parallelism: whole experts on each rank",
            {"expert_parallel": True},
            "uneven load when few experts are used",
        )


@generates("prefill_apart")
def _propose_prefill_split(facts: Facts) -> Iterator[Candidate]:
    """Yield prompts on replicas of their own, so that decoding does not wait for them."""
    if facts.expected("prefill_apart") is False:
        lost = "extra GPUs for prefill, and the time to transfer each prompt's KV cache"
        yield Candidate("prefill/decode split: prompts on replicas of their own", {"prefill_apart": True}, lost)


@generates("expert_parallel_size")
def _propose_expert_ranks(facts: Facts) -> Iterator[Candidate]:
    """Yield expert parallel sizes that divide the experts and the ranks of a server, largest
    first.
    """
    ranks, now, experts = (find_count(facts, name) for name in ("tensor_parallel", "expert_parallel_size", "experts"))
    if not ranks or not now or not experts:
        return
    copies = find_count(facts, "redundant_experts") or 0
    for fewer in sorted(find_factors(math.gcd(ranks, experts + copies)), reverse=True):
        if fewer != now:
            yield Candidate(
                f"expert parallel {fewer}",
                {"expert_parallel_size": fewer},
                "the experts are stored on another number of ranks",
            )


UNTRIED = "decode context parallelism is new, so verify its outputs"
"""https://github.com/vllm-project/vllm/issues/41623"""


@generates("decode_context_parallel")
def _propose_sequence_ranks(facts: Facts) -> Iterator[Candidate]:
    """Yield decode context parallel sizes up to the number of ranks that store the same KV entries,
    largest first.
    """
    ranks, now = find_count(facts, "tensor_parallel"), find_count(facts, "decode_context_parallel")
    most = find_count(facts, "decode_context_limit")
    if not ranks or not now or not most or facts.expected("vendor") == "amd" or _has_several_caches(facts):
        return
    for size in sorted(find_factors(ranks), reverse=True):
        if size != now and size <= most:
            yield Candidate(f"decode context parallel {size}", {"decode_context_parallel": size}, UNTRIED)


def _has_several_caches(facts: Facts) -> bool:
    """Return whether layers differ in their caches, which vLLM does not split over a sequence
    before mid 2026.

    https://github.com/vllm-project/vllm/pull/40996
    """
    shape = facts.resolved.architecture if facts.resolved else None
    return shape is not None and bool(shape.sliding_layers or shape.linear_attention_layers)


@generates("link")
def _propose_linked(facts: Facts) -> Iterator[Candidate]:
    """Yield accelerators that connect all tensor parallel ranks of a pod directly, cheapest
    first.
    """
    now, ranks = hardware.accelerator(facts.role.text("accelerator")), find_count(facts, "tensor_parallel")
    if now is None or not ranks:
        return
    memory = now.cuda_memory_bytes or now.driver_memory_bytes or 0
    for product, _ in rank_by_price(now, facts.role):
        joined = (product.link_domain_gpus or 1) >= ranks
        enough = (product.cuda_memory_bytes or product.driver_memory_bytes or 0) >= memory
        if (
            product.id != now.id
            and joined
            and enough
            and (product.compute_capability or 0) >= (now.compute_capability or 0)
        ):
            title = f"{find_count(facts, 'gpus_per_pod') or ranks} × {product.name}, connected by {product.link}"
            yield Candidate(title, {"accelerator": product.id})


@generates("network_bytes_per_s", families=FAMILIES)
def propose_machines(facts: Facts) -> Iterator[Candidate]:
    """Yield machine types of the same cloud with a faster network: same accelerator first, then
    others, cheapest first.
    """
    now, gpus = hardware.node(facts.role.text("instance_type")), find_count(facts, "gpus_per_pod")
    if now is None or not gpus:
        return
    others = (
        offer
        for offer in offers.list_offers(facts.role.available, now.cloud)
        if (offer.cloud, offer.accelerator) == (now.cloud, now.accelerator)
        and offer.node_gpus >= gpus
        and _find_network(offer.instance_type) > (now.network_bytes_per_s or 0)
        and offer.cost_usd_per_hour is not None
    )
    for offer in sorted(
        others, key=lambda offer: ((offer.cost_usd_per_hour or 0) / offer.node_gpus, offer.instance_type)
    ):
        speed = units.human(_find_network(offer.instance_type), "bytes_per_s")
        yield Candidate(f"{offer.instance_type}, {speed} between machines", {"instance_type": offer.instance_type})
    card = hardware.accelerator(now.accelerator)
    for product, _ in rank_by_price(card, facts.role) if card else ():
        other = offers.find_cheapest(facts.role.available, product.id, gpus, now.cloud)
        faster = other and _find_network(other.instance_type) > (now.network_bytes_per_s or 0)
        if product.id != now.accelerator and other and faster:
            yield Candidate(f"{gpus} × {product.name} in {other.instance_type}", {"accelerator": product.id})


def _find_network(instance_type: str) -> float:
    node = hardware.node(instance_type)
    return (node.network_bytes_per_s if node else None) or 0


@generates("max_num_seqs")
def _propose_concurrency(facts: Facts) -> Iterator[Candidate]:
    """Yield fewer concurrent sequences for faster tokens, then more for higher throughput."""
    now = find_count(facts, "max_num_seqs")
    if not now:
        return
    if (wanted := _count_group_sequences(facts)) > now:
        yield Candidate(f"up to {wanted} concurrent sequences", {"max_num_seqs": wanted}, "more time per token")
    for share in (2, 4, 8):
        if now >= share:
            yield Candidate(
                f"at most {now // share} concurrent sequences", {"max_num_seqs": now // share}, "lower total throughput"
            )
    for multiple in (2, 4):
        yield Candidate(
            f"up to {now * multiple} concurrent sequences", {"max_num_seqs": now * multiple}, "more time per token"
        )


def _count_group_sequences(facts: Facts) -> int:
    """Return the sequences that each group must run for the present or planned load; 0 if none is
    declared.
    """
    wanted, replicas, groups = (
        facts.expected(name) for name in ("grown_concurrency", "service_replicas", "sequence_groups")
    )
    if not isinstance(wanted, int | float) or not isinstance(replicas, int | float) or not isinstance(groups, int):
        return 0
    return math.ceil(wanted / (replicas * groups)) if replicas and groups else 0
