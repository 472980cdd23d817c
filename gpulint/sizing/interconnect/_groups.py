"""Groups of ranks: what connects them, and how fast that is.

These functions hold for every kind of parallelism. `facts.axes` makes formulas of them, such as
`shard_medium` and `context_bus_bytes_per_s`, with `group` replaced by the kind.
"""

from __future__ import annotations

import math

from gpulint.catalog import hardware
from gpulint.catalog.errors import MissingInput


def group_medium(
    group_ranks: float,
    group_stride: float,
    gpus_per_pod: float,
    joined_gpus: float | None = None,
    link: str | None = None,
    host_link: str | None = None,
    network_transport: str | None = None,
) -> str | None:
    """Medium that connects the ranks of a group.

    group_medium = direct link within its domain, else the host's bus within the node, else the network

    Args:
        group_ranks: ranks, group_stride GPUs apart. gpus_per_pod: GPUs of a node's pod. joined_gpus: by direct links.
        link, host_link, network_transport: of the accelerator and of the node; None where not known.
    Returns:
        an id of the catalog's links; None for one rank.

    >>> group_medium(8, 1, 8, 8, "nvlink4", "pcie5x16"), group_medium(4, 1, 4, 1, "none", "pcie4x16")
    ('nvlink4', 'pcie4x16')
    >>> group_medium(2, 8, 8, 8, "nvlink4", "pcie5x16", "infiniband"), group_medium(32, 1, 4, 72, "nvlink5")
    ('infiniband', 'nvlink5')

    Source: NCCL, src/graph/paths.cc: the path of the worst pair decides; Megatron-LM, core/parallel_state.py,
        order "tp-cp-ep-dp-pp"; pytorch/torchtitan b5bcd76c6 torchtitan/distributed/parallel_dims.py;
        vLLM, docs/serving/expert_parallel_deployment.md.
    """
    if group_ranks <= 1:
        return None
    span = math.ceil(group_ranks * group_stride)
    if joined_gpus is None:
        raise MissingInput("joined_gpus")
    if span <= joined_gpus:
        return link
    name, medium = ("host_link", host_link) if span <= gpus_per_pod else ("network_transport", network_transport)
    if not medium:
        raise MissingInput(name)
    return medium


def group_nominal_bytes_per_s(
    group_medium: str | None,
    group_ranks: float,
    group_stride: float,
    gpus_per_pod: float,
    rail_oversubscription: float,
    link_bytes_per_s: float | None = None,
    link_domain_gpus: int | None = None,
    host_link_bytes_per_s: float | None = None,
    network_bytes_per_s_per_gpu: float | None = None,
) -> float:
    """Nominal bus bandwidth per GPU and direction between the ranks of a group.

    direct: link, in a mesh link · (n − 1) / (domain − 1); host: host link;
    network: share of the GPU · ranks in one node / oversubscription

    Args:
        group_medium: what connects them. group_ranks: ranks n, group_stride GPUs apart.
        gpus_per_pod: GPUs of a node's pod. link_bytes_per_s, link_domain_gpus: of the direct link.
        host_link_bytes_per_s: of the host's bus [bytes/s].
        network_bytes_per_s_per_gpu: of the node's network [bytes/s]. rail_oversubscription: of the switches above.
    Returns:
        [bytes/s]; infinite for one rank.

    >>> group_nominal_bytes_per_s("infiniband", 2, 8, 8, 1, network_bytes_per_s_per_gpu=50e9) / 1e9
    50.0
    >>> group_nominal_bytes_per_s("roce", 16, 1, 8, 2, network_bytes_per_s_per_gpu=50e9) / 1e9
    200.0
    >>> group_nominal_bytes_per_s("efa", 64, 1, 8, 1, network_bytes_per_s_per_gpu=50e9) / 1e9  # DDP
    400.0
    >>> group_nominal_bytes_per_s("efa", 8, 8, 8, 1, network_bytes_per_s_per_gpu=50e9) / 1e9  # hybrid sharding
    50.0

    Source: nccl-tests, doc/PERFORMANCE.md; Zhao et al., PyTorch FSDP, 2023, section 3.2.2.
    """
    if group_medium is None:
        return math.inf
    kind = find_link_kind(group_medium)
    if kind == "direct":
        shape, domain = hardware.link(group_medium), link_domain_gpus
        is_mesh = shape is not None and shape.shape == "mesh" and domain is not None and domain > 1
        peers = (group_ranks - 1) / (domain - 1) if is_mesh and domain else 1.0
        return _require(link_bytes_per_s, "link_bytes_per_s") * min(peers, 1.0)
    if kind == "host":
        return _require(host_link_bytes_per_s, "host_link_bytes_per_s")
    share = _require(network_bytes_per_s_per_gpu, "network_bytes_per_s_per_gpu")
    return share * count_ranks_per_node(group_ranks, group_stride, gpus_per_pod) / rail_oversubscription


def group_bus_bytes_per_s(group_nominal_bytes_per_s: float, group_slowdown: float) -> float:
    """Achieved bus bandwidth per GPU and direction between the ranks of a group.

    group_bus_bytes_per_s = group_nominal_bytes_per_s / group_slowdown

    Args:
        group_nominal_bytes_per_s: on paper [bytes/s]. group_slowdown: against it (measured).
    Returns:
        [bytes/s]; infinite for one rank.

    >>> group_bus_bytes_per_s(400e9, 1.25) / 1e9
    320.0

    Source: measured rows of the catalog's collectives.
    """
    return group_nominal_bytes_per_s / group_slowdown


def count_ranks_per_node(ranks: float, stride: float, node_gpus: float) -> float:
    """Return how many ranks of a group share one node."""
    return max(1.0, min(ranks, node_gpus // stride))


def find_link_kind(medium: str | None) -> str:
    """Return the kind of a medium: direct, host or network; empty if there is none."""
    link = hardware.link(medium or "")
    return link.kind if link else ""


def _require(value: float | None, name: str) -> float:
    if not value:
        raise MissingInput(name)
    return value
