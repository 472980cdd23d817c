"""State exchange: the ranks that shard one set of states, the replicas of that set, and their
bandwidths.
"""

from __future__ import annotations

from gpulint.sizing.interconnect import collectives, media


def state_ranks(sharding_stage: int, shard_ranks: int, training_copies: int, context_ranks: int) -> int:
    """Ranks that hold one set of the states of a model-parallel part.

    state_ranks = shard_ranks, at most training_copies · cp; 1 where nothing is sharded

    Args:
        sharding_stage: what is sharded. shard_ranks: over how many. training_copies, context_ranks: ranks of a run.
    Returns:
        ranks

    >>> state_ranks(3, 8, 64, 1), state_ranks(0, 64, 64, 1)
    (8, 1)

    Source: Zhao et al., PyTorch FSDP, 2023, section 3.2.
    """
    return min(shard_ranks, training_copies * context_ranks) if sharding_stage else 1


def state_copies(state_ranks: int, training_copies: int, context_ranks: int) -> int:
    """Replicas of the states. Their gradients are summed between the ranks with the same part.

    state_copies = training_copies · cp / state_ranks

    Args:
        state_ranks: ranks of one set. training_copies, context_ranks: ranks of a run.
    Returns:
        copies

    >>> state_copies(8, 64, 1), state_copies(64, 64, 1)
    (8, 1)

    Source: Zhao et al., PyTorch FSDP, 2023, section 3.2.2.
    """
    return training_copies * context_ranks // state_ranks


def shard_medium(
    state_ranks: int,
    tensor_parallel: int,
    gpus_per_pod: float,
    joined_gpus: float | None = None,
    link: str | None = None,
    host_link: str | None = None,
    network_transport: str | None = None,
) -> str | None:
    """Medium that connects the ranks that shard one set of states.
    A hybrid group inside a node uses the node's links.

    shard_medium: as tensor_medium, at a stride of tp

    Args:
        state_ranks: ranks, tensor_parallel apart. gpus_per_pod: GPUs of a node's pod. joined_gpus: by direct links.
        link, host_link, network_transport: of the accelerator and of the node; None where not known.
    Returns:
        an id of the catalog's links; None for one rank.

    >>> shard_medium(8, 1, 8, 8, "nvlink4", "pcie5x16", "tcp"), shard_medium(64, 1, 8, 8, "nvlink4", "pcie5x16", "tcp")
    ('nvlink4', 'tcp')

    Source: pytorch/torchtitan b5bcd76c6 torchtitan/distributed/parallel_dims.py (pp, dp_replicate, dp_shard, cp, tp).
    """
    wires = (joined_gpus, link, host_link, network_transport)
    return media.context_medium(state_ranks, tensor_parallel, gpus_per_pod, *wires)


def copy_medium(
    state_copies: int,
    state_ranks: int,
    tensor_parallel: int,
    gpus_per_pod: float,
    joined_gpus: float | None = None,
    link: str | None = None,
    host_link: str | None = None,
    network_transport: str | None = None,
) -> str | None:
    """Medium that connects the ranks that hold the same part in different state replicas.

    copy_medium: as tensor_medium, at a stride of tp · state_ranks

    Args:
        state_copies: replicas, state_ranks · tensor_parallel apart. gpus_per_pod: GPUs of a node's pod.
        joined_gpus: by direct links.
        link, host_link, network_transport: of the accelerator and of the node; None where not known.
    Returns:
        an id of the catalog's links; None for one replica.

    >>> copy_medium(8, 8, 1, 8, 8, "nvlink4", "pcie5x16", "tcp"), copy_medium(8, 1, 1, 8, 8, "nvlink4")
    ('tcp', 'nvlink4')

    Source: pytorch/torchtitan b5bcd76c6 torchtitan/distributed/parallel_dims.py (pp, dp_replicate, dp_shard, cp, tp).
    """
    wires = (joined_gpus, link, host_link, network_transport)
    return media.context_medium(state_copies, tensor_parallel * state_ranks, gpus_per_pod, *wires)


def shard_nominal_bytes_per_s(
    shard_medium: str | None,
    state_ranks: int,
    tensor_parallel: int,
    gpus_per_pod: float,
    rail_oversubscription: float,
    link_bytes_per_s: float | None = None,
    link_domain_gpus: int | None = None,
    host_link_bytes_per_s: float | None = None,
    network_bytes_per_s_per_gpu: float | None = None,
) -> float:
    """Nominal bus bandwidth per GPU and direction between the ranks that shard one set of states.

    as tensor_nominal_bytes_per_s, at a stride of tp

    Args:
        shard_medium: what connects them. state_ranks: ranks, tensor_parallel apart.
        gpus_per_pod: GPUs of a node's pod. link_bytes_per_s, link_domain_gpus: of the direct link.
        host_link_bytes_per_s: of the host's bus [bytes/s].
        network_bytes_per_s_per_gpu: of the node's network [bytes/s]. rail_oversubscription: of the switches above.
    Returns:
        [bytes/s]; infinite for one rank.

    >>> shard_nominal_bytes_per_s("infiniband", 64, 1, 8, 1, network_bytes_per_s_per_gpu=50e9) / 1e9
    400.0

    Source: nccl-tests, doc/PERFORMANCE.md.
    """
    rates = (link_bytes_per_s, link_domain_gpus, host_link_bytes_per_s, network_bytes_per_s_per_gpu)
    placed = (state_ranks, tensor_parallel, gpus_per_pod, rail_oversubscription)
    return collectives.context_nominal_bytes_per_s(shard_medium, *placed, *rates)


def copy_nominal_bytes_per_s(
    copy_medium: str | None,
    state_copies: int,
    state_ranks: int,
    tensor_parallel: int,
    gpus_per_pod: float,
    rail_oversubscription: float,
    link_bytes_per_s: float | None = None,
    link_domain_gpus: int | None = None,
    host_link_bytes_per_s: float | None = None,
    network_bytes_per_s_per_gpu: float | None = None,
) -> float:
    """Nominal bus bandwidth per GPU and direction between state replicas.

    as tensor_nominal_bytes_per_s, at a stride of tp · state_ranks: all ranks of a node sum up their parts at once, so each
    has its share of the network

    Args:
        copy_medium: what connects them. state_copies: copies, state_ranks · tensor_parallel apart.
        gpus_per_pod: GPUs of a node's pod. link_bytes_per_s, link_domain_gpus: of the direct link.
        host_link_bytes_per_s: of the host's bus [bytes/s].
        network_bytes_per_s_per_gpu: of the node's network [bytes/s]. rail_oversubscription: of the switches above.
    Returns:
        [bytes/s]; infinite for one replica.

    >>> copy_nominal_bytes_per_s("efa", 8, 8, 1, 8, 1, network_bytes_per_s_per_gpu=50e9) / 1e9  # hybrid sharding
    50.0
    >>> copy_nominal_bytes_per_s("efa", 64, 1, 1, 8, 1, network_bytes_per_s_per_gpu=50e9) / 1e9  # DDP
    400.0

    Source: nccl-tests, doc/PERFORMANCE.md; Zhao et al., PyTorch FSDP, 2023, section 3.2.2.
    """
    rates = (link_bytes_per_s, link_domain_gpus, host_link_bytes_per_s, network_bytes_per_s_per_gpu)
    placed = (state_copies, tensor_parallel * state_ranks, gpus_per_pod, rail_oversubscription)
    return collectives.context_nominal_bytes_per_s(copy_medium, *placed, *rates)


def shard_bus_bytes_per_s(shard_nominal_bytes_per_s: float, shard_slowdown: float) -> float:
    """Achieved bus bandwidth per GPU and direction between the ranks that shard one set of states.

    shard_bus_bytes_per_s = shard_nominal_bytes_per_s / shard_slowdown

    Args:
        shard_nominal_bytes_per_s: on paper [bytes/s]. shard_slowdown: against it (measured).
    Returns:
        [bytes/s]; infinite for one rank.

    >>> shard_bus_bytes_per_s(400e9, 1.25) / 1e9
    320.0

    Source: measured rows of the catalog's collectives.
    """
    return shard_nominal_bytes_per_s / shard_slowdown


def copy_bus_bytes_per_s(copy_nominal_bytes_per_s: float, copy_slowdown: float) -> float:
    """Achieved bus bandwidth per GPU and direction between state replicas.

    copy_bus_bytes_per_s = copy_nominal_bytes_per_s / copy_slowdown

    Args:
        copy_nominal_bytes_per_s: on paper [bytes/s]. copy_slowdown: against it (measured).
    Returns:
        [bytes/s]; infinite for one replica.

    >>> copy_bus_bytes_per_s(50e9, 1.25) / 1e9
    40.0

    Source: measured rows of the catalog's collectives.
    """
    return copy_nominal_bytes_per_s / copy_slowdown
