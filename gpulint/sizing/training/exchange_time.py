"""Training communication: the time of a step's traffic on its links, what hides it, and pipeline
bubbles.
"""

from __future__ import annotations

import math

from gpulint.catalog.errors import MissingInput
from gpulint.sizing.interconnect import _bandwidth


def tensor_traffic_s(
    tensor_traffic_bytes: float,
    layers: int,
    pipeline_parallel: int,
    accumulations: float,
    tensor_parallel: int,
    tensor_bus_bytes_per_s: float,
    tensor_hop_s: float,
) -> float:
    """Time of a training step's tensor-parallel communication if nothing else runs.

    tensor_traffic_s = calls · collective(tensor_traffic_bytes / calls), calls = 4 · layers / pp · accumulations

    Args:
        tensor_traffic_bytes: that one rank sends [bytes]. layers, pipeline_parallel: of the model, and stages.
        accumulations: micro-batches of a step. tensor_parallel: ranks. tensor_bus_bytes_per_s, tensor_hop_s: what those
        ranks achieve between each other [bytes/s], [s].
    Returns:
        [s]

    >>> tensor_traffic_s(360e9, 32, 1, 1.0, 8, 360e9, 0.0), tensor_traffic_s(0.0, 32, 1, 1.0, 1, 360e9, 0.0)
    (1.0, 0.0)

    Source: Shoeybi et al., Megatron-LM, 2019, section 3.
    """
    calls = 4 * layers / max(1, pipeline_parallel) * accumulations
    return _collectives_s(tensor_traffic_bytes, calls, tensor_parallel, tensor_bus_bytes_per_s, tensor_hop_s)


def data_traffic_s(
    data_traffic_bytes: float,
    copy_traffic_bytes: float,
    sharding_stage: int,
    state_ranks: int,
    state_copies: int,
    layers: int,
    pipeline_parallel: int,
    accumulations: float,
    shard_bus_bytes_per_s: float,
    shard_hop_s: float,
    copy_bus_bytes_per_s: float,
    copy_hop_s: float,
    gather_excess: float,
) -> float:
    """Time of a training step's data-parallel communication of weights and gradients if nothing else runs.

    data_traffic_s = (calls · collective(inside a replica / calls) + collectives between replicas) · gather_excess
        calls = 3 · layers / pp · accumulations in stage 3, else layers / pp

    Args:
        data_traffic_bytes, copy_traffic_bytes: that one rank sends, and of it between whole copies [bytes]. sharding_stage:
        what is sharded. state_ranks, state_copies: ranks of one set of the states, and its replicas. layers,
        pipeline_parallel: of the model, and stages. accumulations: micro-batches of a step. shard_bus_bytes_per_s,
        shard_hop_s, copy_bus_bytes_per_s, copy_hop_s: what the ranks of one set achieve between each other, and those of
        different sets [bytes/s], [s]. gather_excess: against that (fitted).
    Returns:
        [s]

    >>> round(data_traffic_s(100e9, 0.0, 3, 8, 1, 32, 1, 1.0, 50e9, 0.0, math.inf, 0.0, 1.0), 3)
    2.0

    Source: Rajbhandari et al., ZeRO, 2020, section 7; Zhao et al., PyTorch FSDP, 2023, section 3.2.2.
    """
    blocks = layers / max(1, pipeline_parallel)
    calls = blocks * (3 * accumulations if sharding_stage >= 3 else 1)
    kept = data_traffic_bytes - copy_traffic_bytes
    inside = _collectives_s(kept, calls, state_ranks, shard_bus_bytes_per_s, shard_hop_s)
    between = _collectives_s(copy_traffic_bytes, blocks, state_copies, copy_bus_bytes_per_s, copy_hop_s)
    return (inside + between) * gather_excess


def pipeline_traffic_s(
    handed_bytes: float,
    pipeline_batches: float,
    virtual_stages: int,
    pipeline_parallel: int,
    pipeline_bytes_per_s: float,
    pipeline_hop_s: float,
) -> float:
    """Time of one stage's transfers of micro-batches and gradients in a training step if nothing else runs.

    pipeline_traffic_s = 2 · pipeline_batches · virtual_stages · send(handed_bytes); 0 with one stage

    Args:
        handed_bytes: for one micro-batch [bytes]. pipeline_batches: micro-batches of a step. virtual_stages: parts on each
        stage. pipeline_parallel: stages. pipeline_bytes_per_s, pipeline_hop_s: between two stages [bytes/s], [s].
    Returns:
        [s]

    >>> pipeline_traffic_s(50e9, 2.0, 1, 4, 50e9, 0.0), pipeline_traffic_s(0.0, 2.0, 1, 1, 50e9, 1.0)
    (4.0, 0.0)

    Source: Narayanan et al., Efficient Large-Scale Language Model Training on GPU Clusters, 2021, section 3.2.
    """
    if pipeline_parallel <= 1:
        return 0.0
    if math.isinf(pipeline_bytes_per_s):
        raise MissingInput("network_bytes_per_s")
    return 2 * pipeline_batches * virtual_stages * _bandwidth.send_s(handed_bytes, pipeline_bytes_per_s, pipeline_hop_s)


def expert_traffic_s(
    expert_traffic_bytes: float,
    moe_layers: int,
    pipeline_parallel: int,
    accumulations: float,
    expert_parallel_size: int | None,
    expert_bus_bytes_per_s: float,
    expert_hop_s: float,
) -> float:
    """Time in a training step for tokens to reach experts on other ranks and return if nothing else runs.

    expert_traffic_s = calls · collective(expert_traffic_bytes / calls), calls = 4 · moe_layers / pp · accumulations

    Args:
        expert_traffic_bytes: that one rank sends [bytes]. moe_layers, pipeline_parallel: with routed experts, and stages.
        accumulations: micro-batches of a step. expert_parallel_size: ranks, else None. expert_bus_bytes_per_s,
        expert_hop_s: what those ranks achieve between each other [bytes/s], [s].
    Returns:
        [s]

    >>> expert_traffic_s(90e9, 48, 1, 1.0, 8, 45e9, 0.0), expert_traffic_s(0.0, 0, 1, 1.0, None, 45e9, 1.0)
    (2.0, 0.0)

    Source: Lepikhin et al., GShard, 2020, section 3.2.
    """
    if not expert_traffic_bytes:
        return 0.0
    calls = 4 * moe_layers / max(1, pipeline_parallel) * accumulations
    return _collectives_s(expert_traffic_bytes, calls, expert_parallel_size or 1, expert_bus_bytes_per_s, expert_hop_s)


def context_traffic_s(
    context_traffic_bytes: float,
    layers: int,
    pipeline_parallel: int,
    accumulations: float,
    context_ranks: int,
    context_bus_bytes_per_s: float,
    context_hop_s: float,
) -> float:
    """Time of a training step's ring exchange of keys and values between context-parallel ranks.
    Nothing else runs during it.

    context_traffic_s = calls · collective(context_traffic_bytes / calls), calls = 3 · layers / pp · accumulations

    Args:
        context_traffic_bytes: that one rank sends [bytes]. layers, pipeline_parallel: of the model, and stages.
        accumulations: micro-batches of a step. context_ranks: of a sequence. context_bus_bytes_per_s, context_hop_s: what
        those ranks achieve between each other [bytes/s], [s].
    Returns:
        [s]

    >>> context_traffic_s(45e9, 32, 1, 1.0, 2, 45e9, 0.0), context_traffic_s(0.0, 32, 1, 1.0, 1, 45e9, 1.0)
    (1.0, 0.0)

    Source: Liu et al., Ring Attention, 2023, section 3.
    """
    calls = 3 * layers / max(1, pipeline_parallel) * accumulations
    return _collectives_s(context_traffic_bytes, calls, context_ranks, context_bus_bytes_per_s, context_hop_s)


def offload_traffic_s(offload_traffic_bytes: float, host_copy_bytes_per_s: float | None = None) -> float:
    """Time in which one rank moves a training step's offloaded data to and from host memory.
    Nothing else runs during it.

    offload_traffic_s = offload_traffic_bytes / host_copy_bytes_per_s

    Args:
        offload_traffic_bytes: in the busier direction [bytes]. host_copy_bytes_per_s: that one GPU achieves [bytes/s].
    Returns:
        [s]

    >>> offload_traffic_s(50e9, 25e9)
    2.0

    Source: Ren et al., ZeRO-Offload, 2021, section 4.
    """
    if not offload_traffic_bytes:
        return 0.0
    if host_copy_bytes_per_s is None:
        raise MissingInput("host_copy_bytes_per_s")
    return offload_traffic_bytes / host_copy_bytes_per_s


def exposed_communication_s(
    compute_s: float,
    attention_s: float,
    accumulations: float,
    sharding_stage: int,
    data_traffic_s: float,
    tensor_traffic_s: float,
    expert_traffic_s: float,
    context_traffic_s: float,
    pipeline_traffic_s: float,
    offload_traffic_s: float,
    overlap_cost: float,
    tensor_exposed_share: float,
    expert_exposed_share: float,
    pipeline_exposed_share: float,
) -> float:
    """Time of a training step lost to communication: waiting, or slower computation because of it.

    exposed_communication_s = data(alongside compute_s in stage 3, else the last backward pass) + context(alongside
        attention_s) + offload(alongside compute_s) + shares of tensor, expert and pipeline traffic,
        x(alongside w) = overlap_cost · min(x, w) + max(0, x − w)

    Args:
        compute_s, attention_s: alongside which traffic may run [s]. accumulations: micro-batches of a step. sharding_stage:
        what is sharded. data_traffic_s, tensor_traffic_s, expert_traffic_s, context_traffic_s, pipeline_traffic_s,
        offload_traffic_s: alone [s]. overlap_cost: slowing of the arithmetic, as a share of what is hidden (fitted).
        tensor_exposed_share, expert_exposed_share, pipeline_exposed_share: of traffic between dependent products (fitted).
    Returns:
        [s]

    >>> exposed_communication_s(10.0, 1.0, 1.0, 3, 4.0, 1.0, 0.0, 0.0, 0.0, 0.0, 0.125, 1.0, 1.0, 1.0)
    1.5

    Source: Zhao et al., PyTorch FSDP, 2023, section 3.3; Li et al., PyTorch Distributed, 2020, section 3.2.3.
    """
    beside = compute_s if sharding_stage >= 3 else 2 / 3 * compute_s / accumulations
    hidden = _time_overlap(data_traffic_s, beside, overlap_cost) + _time_overlap(
        context_traffic_s, attention_s, overlap_cost
    )
    between = tensor_exposed_share * tensor_traffic_s + expert_exposed_share * expert_traffic_s
    handed = pipeline_exposed_share * pipeline_traffic_s
    return hidden + between + handed + _time_overlap(offload_traffic_s, compute_s, overlap_cost)


def bubble_ratio(
    pipeline_parallel: int, virtual_stages: int, pipeline_batches: float, pipeline_schedule: str | None
) -> float:
    """Idle time of the stages of a pipeline relative to their work.

    bubble_ratio = (pp − 1) / (v · m) · (1, a third with zero-bubble H1, 0 with zero-bubble 2p and V)

    Args:
        pipeline_parallel: stages. virtual_stages: v, parts of the model on each. pipeline_batches: m, micro-batches of a
        step. pipeline_schedule: 1f1b, gpipe, interleaved, zb-h1, zb-2p, zb-v, else None (1f1b).
    Returns:
        [ratio]

    >>> bubble_ratio(8, 1, 28.0, None), bubble_ratio(8, 4, 28.0, None), bubble_ratio(1, 1, 4.0, None)
    (0.25, 0.0625, 0.0)

    Source: Narayanan et al., 2021, section 2.2; Qi et al., Zero Bubble Pipeline Parallelism, 2023, section 2 and table 2.
    """
    name = (pipeline_schedule or "1f1b").lower()
    if pipeline_parallel <= 1:
        return 0.0
    if name not in _BUBBLES:
        raise LookupError(f"the pipeline bubble of the schedule {pipeline_schedule} is not listed")
    return (pipeline_parallel - 1) / (virtual_stages * pipeline_batches) * _BUBBLES[name]


_BUBBLES = {
    **dict.fromkeys(("1f1b", "gpipe", "interleaved", "interleaved1f1b", "loopedbfs"), 1.0),
    **dict.fromkeys(("zb-h1", "interleavedzerobubble"), 1 / 3),
    **dict.fromkeys(("zb-2p", "zb-v", "zbvzerobubble", "dualpipev"), 0.0),
}
"""What is left of 1F1B's waiting by schedule, also in PyTorch's names (torch/distributed/pipelining/schedules.py)."""


def _collectives_s(carried_bytes: float, calls: float, ranks: int, bus_bytes_per_s: float, hop_s: float) -> float:
    """Return the time of equal consecutive collectives that send this many bytes over one rank's
    link.
    """
    if ranks <= 1 or not carried_bytes:
        return 0.0
    if math.isinf(bus_bytes_per_s):
        raise MissingInput("network_bytes_per_s")
    payload = carried_bytes / calls * ranks / (ranks - 1)
    return calls * _bandwidth.all_gather_s(payload, ranks, bus_bytes_per_s, hop_s)


def _time_overlap(alone_s: float, beside_s: float, cost: float) -> float:
    """Return the cost of traffic that overlaps with arithmetic: a slowdown while it is hidden, and
    all that exceeds the arithmetic.
    """
    return cost * min(alone_s, beside_s) + max(0.0, alone_s - beside_s)
