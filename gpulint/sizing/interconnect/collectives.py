"""Collectives: the bandwidth that groups of ranks achieve over the links between them, and the
nominal one.
"""

from __future__ import annotations

from gpulint.catalog import hardware
from gpulint.sizing.interconnect._groups import count_ranks_per_node, find_link_kind, group_nominal_bytes_per_s


def tensor_nominal_bytes_per_s(
    tensor_medium: str | None,
    tensor_parallel: int,
    gpus_per_pod: float,
    rail_oversubscription: float,
    link_bytes_per_s: float | None = None,
    link_domain_gpus: int | None = None,
    host_link_bytes_per_s: float | None = None,
    network_bytes_per_s_per_gpu: float | None = None,
    link: str | None = None,
) -> float:
    """Nominal bus bandwidth per GPU and direction between tensor-parallel ranks.

    direct: link, in a mesh link · (n − 1) / (domain − 1); host: host link;
    network: share of the GPU · ranks in one node / oversubscription; twice that, at most the link, between two nodes
    whose switches add up (a tree over two nodes sends each byte once where a ring sends it twice)

    Args:
        tensor_medium: what connects them. tensor_parallel: ranks n.
        gpus_per_pod: GPUs of a node's pod. link_bytes_per_s, link_domain_gpus: of the direct link.
        host_link_bytes_per_s: of the host's bus [bytes/s].
        network_bytes_per_s_per_gpu: of the node's network [bytes/s]. rail_oversubscription: of the switches above.
        link: direct link of the accelerator; None where not known.
    Returns:
        [bytes/s]; infinite for one rank.

    >>> tensor_nominal_bytes_per_s("nvlink4", 2, 8, 1, 450e9, 8) / 1e9
    450.0
    >>> tensor_nominal_bytes_per_s("xgmi", 2, 8, 1, 448e9, 8) / 1e9  # one of seven links
    64.0
    >>> efa = (8, 1, 450e9, 8, 63e9, 50e9, "nvlink4")
    >>> tensor_nominal_bytes_per_s("efa", 16, *efa) / 1e9, tensor_nominal_bytes_per_s("efa", 32, *efa) / 1e9
    (450.0, 400.0)

    Source: nccl-tests, doc/PERFORMANCE.md; NCCL 2.18 release notes (NVLSTree);
        AMD ROCm blog "Understanding RCCL Bandwidth and xGMI Performance on MI300X".
    """
    nominal = group_nominal_bytes_per_s(
        tensor_medium,
        tensor_parallel,
        1,
        gpus_per_pod,
        rail_oversubscription,
        link_bytes_per_s,
        link_domain_gpus,
        host_link_bytes_per_s,
        network_bytes_per_s_per_gpu,
    )
    doubles = _reduces_in_switches(tensor_medium, tensor_parallel, gpus_per_pod, link)
    return max(nominal, min(2 * nominal, link_bytes_per_s or 0)) if doubles else nominal


def _reduces_in_switches(medium: str | None, ranks: int, gpus_per_pod: float, link: str | None) -> bool:
    """Return whether the ranks fill two nodes whose direct links add up in their switches."""
    sold = hardware.link(link or "")
    fills_two_nodes = ranks == 2 * count_ranks_per_node(ranks, 1, gpus_per_pod)
    return find_link_kind(medium) == "network" and fills_two_nodes and sold is not None and sold.reduces


def expert_nominal_bytes_per_s(
    expert_medium: str | None,
    expert_ranks: int,
    expert_stride: int,
    gpus_per_pod: float,
    network_oversubscription: float,
    link_bytes_per_s: float | None = None,
    link_domain_gpus: int | None = None,
    host_link_bytes_per_s: float | None = None,
    network_bytes_per_s_per_gpu: float | None = None,
) -> float:
    """Nominal bus bandwidth per GPU and direction between expert-parallel ranks.

    as tensor_nominal_bytes_per_s, at a stride of expert_stride; over the network a rank sends only what leaves its node:
    share of the GPU · (n − 1) / (n − ranks in one node) / oversubscription

    Args:
        expert_medium: what connects them. expert_ranks: ranks, expert_stride apart.
        gpus_per_pod: GPUs of a node's pod. link_bytes_per_s, link_domain_gpus: of the direct link.
        host_link_bytes_per_s: of the host's bus [bytes/s].
        network_bytes_per_s_per_gpu: of the node's network [bytes/s]. network_oversubscription: of the switches above.
    Returns:
        [bytes/s]; infinite for one rank.

    >>> expert_nominal_bytes_per_s("nvlink4", 8, 1, 8, 1, 450e9, 8) / 1e9
    450.0
    >>> expert_nominal_bytes_per_s("roce", 16, 1, 8, 1, network_bytes_per_s_per_gpu=50e9) / 1e9  # 86.7 measured
    93.75

    Source: oracle-quickstart, nccl-tests of MI355X (all-to-all among two nodes); nccl-tests, doc/PERFORMANCE.md.
    """
    nominal = group_nominal_bytes_per_s(
        expert_medium,
        expert_ranks,
        expert_stride,
        gpus_per_pod,
        network_oversubscription,
        link_bytes_per_s,
        link_domain_gpus,
        host_link_bytes_per_s,
        network_bytes_per_s_per_gpu,
    )
    together = count_ranks_per_node(expert_ranks, expert_stride, gpus_per_pod)
    over_network = expert_ranks > together and find_link_kind(expert_medium) == "network"
    return nominal / together * (expert_ranks - 1) / (expert_ranks - together) if over_network else nominal


def pipeline_nominal_bytes_per_s(
    pipeline_medium: str | None,
    rail_oversubscription: float,
    link_bytes_per_s: float | None = None,
    link_domain_gpus: int | None = None,
    host_link_bytes_per_s: float | None = None,
    network_bytes_per_s_per_gpu: float | None = None,
) -> float:
    """Nominal bandwidth from one GPU of a pipeline stage to its neighbour in the next stage.

    as tensor_nominal_bytes_per_s for two ranks in different nodes: a GPU sends over its own share of the network

    Args:
        pipeline_medium: what connects them. link_bytes_per_s, link_domain_gpus: of the direct link [bytes/s].
        host_link_bytes_per_s: of the host's bus [bytes/s]. network_bytes_per_s_per_gpu: of the node's network [bytes/s].
        rail_oversubscription: of the switches above.
    Returns:
        [bytes/s]; infinite for one stage.

    >>> pipeline_nominal_bytes_per_s("xgmi", 1, 448e9, 8) / 1e9
    64.0

    Source: definition.
    """
    rates = (link_bytes_per_s, link_domain_gpus, host_link_bytes_per_s, network_bytes_per_s_per_gpu)
    return group_nominal_bytes_per_s(pipeline_medium, 2, 1, 1, rail_oversubscription, *rates)


def pipeline_bytes_per_s(pipeline_nominal_bytes_per_s: float, pipeline_slowdown: float) -> float:
    """Achieved bandwidth from one GPU of a pipeline stage to its neighbour in the next stage.

    pipeline_bytes_per_s = pipeline_nominal_bytes_per_s / pipeline_slowdown

    Args:
        pipeline_nominal_bytes_per_s: on paper [bytes/s]. pipeline_slowdown: against it (measured).
    Returns:
        [bytes/s]; infinite for one stage.

    >>> round(pipeline_bytes_per_s(450e9, 1.14) / 1e9)  # two H200: 396 measured
    395

    Source: measured rows of the catalog's collectives; ml-engineering, network/README.md (nvbandwidth).
    """
    return pipeline_nominal_bytes_per_s / pipeline_slowdown


def host_copy_bytes_per_s(host_link_bytes_per_s: float, host_copy_slowdown: float) -> float:
    """Achieved copy bandwidth per direction between pinned host memory and one accelerator.

    host_copy_bytes_per_s = host_link_bytes_per_s / host_copy_slowdown

    Args:
        host_link_bytes_per_s: on paper [bytes/s]. host_copy_slowdown: against it (fitted).
    Returns:
        [bytes/s]

    >>> round(host_copy_bytes_per_s(63e9, 1.14) / 1e9, 1)  # H200: 55.4 measured
    55.3

    Source: ml-engineering, network/README.md (nvbandwidth on an H200).
    """
    return host_link_bytes_per_s / host_copy_slowdown
