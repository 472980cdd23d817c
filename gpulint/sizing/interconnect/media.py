"""Links: over what the ranks of each kind of parallelism reach one another, and how fast that is on paper.

Ranks lie in the order of Megatron-LM: tensor innermost, then context, then data, with pipeline stages outermost. A group of
n ranks at a stride of s spans s · n GPUs in a row, and uses the widest medium that connects all of them.
"""

from __future__ import annotations

import math

from gpulint.catalog import hardware
from gpulint.catalog.errors import MissingInput


def joined_gpus(
    link: str,
    link_domain_gpus: int,
    nvlink_bridge: bool,
    gpus_per_pod: float,
    node_link: str | None = None,
    node_gpus: int | None = None,
) -> float:
    """Consecutive GPUs that direct links definitely connect where this role runs.

    joined_gpus = link_domain_gpus, at most those of one pod; whole where a domain spans nodes (NVL72)

    Args:
        link: direct link of the accelerator. link_domain_gpus: that one domain of it spans; 1 where bridges are an option.
        nvlink_bridge: a bridge is stated. gpus_per_pod: of one pod, which may be a part of a node.
        node_link, node_gpus: of the machine type, or None.
    Returns:
        GPUs; 1 where there is no direct link. A bridge connects two.
    Validity: pods of one instance may lie on one node, where links connect them too; nothing in a spec promises it.

    >>> joined_gpus("nvlink4", 8, False, 8), joined_gpus("nvlink4", 8, False, 4), joined_gpus("nvlink5", 72, False, 4)
    (8, 4, 72)
    >>> joined_gpus("nvlink4-bridge", 1, False, 2), joined_gpus("nvlink4-bridge", 1, True, 2)
    (1, 2)
    >>> joined_gpus("nvlink3", 8, False, 16, "nvlink3", 16)  # a2-megagpu-16g
    16

    Source: NVIDIA, A100 PCIe and H100 PCIe product briefs: "NVLink bridge support"; Google Cloud, A2 machine series.
    """
    sold = hardware.link(link)
    if sold is not None and sold.shape == "pair":
        bridged = nvlink_bridge or node_link == link
        return min(sold.domain_gpus or 1, gpus_per_pod) if bridged else 1
    if link_domain_gpus > _NODE_MAX:
        return link_domain_gpus
    switched = node_gpus if node_link == link and sold is not None and sold.shape == "switch" else None
    return min(max(link_domain_gpus, switched or 0), gpus_per_pod)


_NODE_MAX = 16
"""The most GPUs that one node of the catalog holds; a larger link domain spans nodes."""


def network_bytes_per_s_per_gpu(network_bytes_per_s: float, gpus_per_pod: float, node_gpus: int | None = None) -> float:
    """Network bandwidth of the node per GPU and direction.

    network_bytes_per_s_per_gpu = network_bytes_per_s / GPUs of the node

    Args:
        network_bytes_per_s: of the node, per direction [bytes/s]. gpus_per_pod: of the pod, where the machine type is unknown.
        node_gpus: of the machine type, or None.
    Returns:
        [bytes/s]

    >>> network_bytes_per_s_per_gpu(400e9, 8) / 1e9  # p5.48xlarge: 3,200 Gb/s for eight GPUs
    50.0

    Source: definition.
    """
    return network_bytes_per_s / max(node_gpus or gpus_per_pod, 1)


def network_known(network_bytes_per_s: float | None = None) -> bool:
    """Whether the machine type, an override or the settings state the node's network bandwidth.

    network_known = network_bytes_per_s is known

    Args:
        network_bytes_per_s: of the node, per direction [bytes/s]; None where not known.
    Returns:
        flag

    >>> network_known(400e9), network_known()
    (True, False)

    Source: definition.
    """
    return network_bytes_per_s is not None


def rail_oversubscription(network_oversubscription: float, rail_optimized: bool | None) -> float:
    """Oversubscription of the switches above the leaf for collectives between nodes.

    rail_oversubscription = 1 where each network card of a node leads to a switch of its own, else network_oversubscription

    Args:
        network_oversubscription: what nodes can send against what the switches above carry. rail_optimized: as stated, else None.
    Returns:
        [ratio]
    Validity: for groups of as many nodes as one set of rail switches connects (32 in NVIDIA's reference design). An all-to-all
        leaves the rails in any case.

    >>> rail_oversubscription(2, True), rail_oversubscription(2, None)
    (1.0, 2)

    Source: NVIDIA, DGX SuperPOD reference architecture (H100): rail-optimised full fat tree, 32 nodes a scalable unit; Wang et
        al., Rail-only (2023), section 3: almost all traffic of large language models stays in its rail.
    """
    return 1.0 if rail_optimized else network_oversubscription


def network_transport(network_kind: str, rdma_switched_off: str | None) -> str:
    """How ranks on different nodes communicate: over the node's network, or over TCP sockets.

    network_transport = tcp where a variable keeps NCCL off the RDMA devices, else network_kind

    Args:
        network_kind: of the node. rdma_switched_off: the variable, else None.
    Returns:
        an id of the catalog's links.

    >>> network_transport("infiniband", None), network_transport("infiniband", "NCCL_IB_DISABLE")
    ('infiniband', 'tcp')

    Source: NCCL documentation, environment variables: NCCL_IB_DISABLE, NCCL_NET.
    """
    return "tcp" if rdma_switched_off else network_kind


def data_ranks(task: str, data_parallel: int | None = None, training_copies: int | None = None) -> float:
    """Data-parallel ranks, including those that shard the states.

    data_ranks = training_copies in training, data_parallel in inference

    Args:
        task: inference or training. data_parallel: of an engine. training_copies: of a training run.
    Returns:
        ranks.

    >>> data_ranks("training", None, 16), data_ranks("inference", 1, None)
    (16, 1)

    Source: definition.
    """
    name = "training_copies" if task == "training" else "data_parallel"
    ranks = training_copies if task == "training" else data_parallel
    if ranks is None:
        raise MissingInput(name)
    return ranks


def context_ranks(context_parallel: int | None) -> int:
    """Ranks that split the tokens of one sequence.

    context_ranks = context_parallel, or 1

    Args:
        context_parallel: as stated, else None.
    Returns:
        ranks.

    >>> context_ranks(None), context_ranks(2)
    (1, 2)

    Source: definition.
    """
    return context_parallel or 1


def expert_stride(task: str, tensor_parallel: int, expert_tensor_parallel: int | None) -> int:
    """Distance in GPUs between two neighbouring expert-parallel ranks.

    expert_stride = 1 in inference; in training the ranks that share one expert

    Args:
        task: inference or training. tensor_parallel: ranks. expert_tensor_parallel: as stated, else None: tensor_parallel.
    Returns:
        GPUs.

    >>> expert_stride("inference", 8, None), expert_stride("training", 4, None), expert_stride("training", 4, 1)
    (1, 4, 1)

    Source: Megatron-LM, core/parallel_state.py, the generator of expert groups; vLLM, expert_parallel_deployment.md.
    """
    return 1 if task != "training" else expert_tensor_parallel or tensor_parallel


def stage_stride(task: str, tensor_parallel: int, context_ranks: int, data_ranks: float | None = None) -> float:
    """Distance in GPUs between two neighbouring pipeline stages.

    stage_stride = tp · cp · dp in training, tp · cp in inference, whose copies lie outside

    Args:
        task: inference or training. tensor_parallel, context_ranks: ranks. data_ranks: of a training run.
    Returns:
        GPUs.

    >>> stage_stride("inference", 8, 1, 4), stage_stride("training", 8, 1, 4)
    (8, 32)

    Source: Megatron-LM, core/parallel_state.py, order "tp-cp-ep-dp-pp"; vLLM, distributed/parallel_state.py.
    """
    if task != "training":
        return tensor_parallel * context_ranks
    if data_ranks is None:
        raise MissingInput("data_ranks")
    return tensor_parallel * context_ranks * data_ranks


def tensor_medium(
    tensor_parallel: int,
    gpus_per_pod: float,
    joined_gpus: float | None = None,
    link: str | None = None,
    host_link: str | None = None,
    network_transport: str | None = None,
) -> str | None:
    """Medium that connects the tensor-parallel ranks.

    tensor_medium = direct link within its domain, else the host's bus within the node, else the network

    Args:
        tensor_parallel: ranks, next to one another. gpus_per_pod: GPUs of a node's pod. joined_gpus: by direct links.
        link, host_link, network_transport: of the accelerator and of the node; None where not known.
    Returns:
        an id of the catalog's links; None for one rank.

    >>> tensor_medium(8, 8, 8, "nvlink4", "pcie5x16"), tensor_medium(4, 4, 1, "none", "pcie4x16")
    ('nvlink4', 'pcie4x16')
    >>> tensor_medium(16, 8, 8, "nvlink4", "pcie5x16", "efa")
    'efa'

    Source: NCCL, src/graph/paths.cc: the path of the worst pair decides.
    """
    return _medium(tensor_parallel, 1, gpus_per_pod, joined_gpus, link, host_link, network_transport)


def context_medium(
    context_ranks: int,
    tensor_parallel: int,
    gpus_per_pod: float,
    joined_gpus: float | None = None,
    link: str | None = None,
    host_link: str | None = None,
    network_transport: str | None = None,
) -> str | None:
    """Medium that connects the context-parallel ranks.

    context_medium: as tensor_medium, at a stride of tp

    Args:
        context_ranks: ranks, tensor_parallel apart. gpus_per_pod: GPUs of a node's pod. joined_gpus: by direct links.
        link, host_link, network_transport: of the accelerator and of the node; None where not known.
    Returns:
        an id of the catalog's links; None for one rank.

    >>> context_medium(2, 8, 8, 8, "nvlink4", "pcie5x16", "infiniband")
    'infiniband'

    Source: Megatron-LM, core/parallel_state.py, order "tp-cp-ep-dp-pp".
    """
    return _medium(context_ranks, tensor_parallel, gpus_per_pod, joined_gpus, link, host_link, network_transport)


def data_medium(
    data_ranks: float,
    tensor_parallel: int,
    context_ranks: int,
    gpus_per_pod: float,
    joined_gpus: float | None = None,
    link: str | None = None,
    host_link: str | None = None,
    network_transport: str | None = None,
) -> str | None:
    """Medium that connects the data-parallel ranks.

    data_medium: as tensor_medium, at a stride of tp · cp

    Args:
        data_ranks: ranks, tensor_parallel · context_ranks apart. gpus_per_pod: GPUs of a node's pod.
        joined_gpus: by direct links.
        link, host_link, network_transport: of the accelerator and of the node; None where not known.
    Returns:
        an id of the catalog's links; None for one rank.

    >>> data_medium(2, 8, 1, 8, 8, "nvlink4", "pcie5x16", "roce"), data_medium(8, 1, 1, 8, 8, "xgmi")
    ('roce', 'xgmi')

    Source: Megatron-LM, core/parallel_state.py, order "tp-cp-ep-dp-pp".
    """
    stride = tensor_parallel * context_ranks
    return _medium(data_ranks, stride, gpus_per_pod, joined_gpus, link, host_link, network_transport)


def expert_medium(
    expert_ranks: int,
    expert_stride: int,
    gpus_per_pod: float,
    joined_gpus: float | None = None,
    link: str | None = None,
    host_link: str | None = None,
    network_transport: str | None = None,
) -> str | None:
    """Medium that connects the expert-parallel ranks.

    expert_medium: as tensor_medium, at a stride of expert_stride

    Args:
        expert_ranks: ranks, expert_stride apart. gpus_per_pod: GPUs of a node's pod. joined_gpus: by direct links.
        link, host_link, network_transport: of the accelerator and of the node; None where not known.
    Returns:
        an id of the catalog's links; None for one rank.

    >>> expert_medium(16, 1, 8, 8, "nvlink4", "pcie5x16", "infiniband"), expert_medium(32, 1, 4, 72, "nvlink5")
    ('infiniband', 'nvlink5')

    Source: vLLM, docs/serving/expert_parallel_deployment.md; Megatron-LM, core/parallel_state.py.
    """
    return _medium(expert_ranks, expert_stride, gpus_per_pod, joined_gpus, link, host_link, network_transport)


def pipeline_medium(
    pipeline_parallel: int,
    stage_stride: float,
    gpus_per_pod: float,
    joined_gpus: float | None = None,
    link: str | None = None,
    host_link: str | None = None,
    network_transport: str | None = None,
) -> str | None:
    """Medium of the slowest transfer between neighbouring pipeline stages.

    pipeline_medium: as tensor_medium, at a stride of stage_stride

    Args:
        pipeline_parallel: stages, stage_stride apart. gpus_per_pod: GPUs of a node's pod. joined_gpus: by direct links.
        link, host_link, network_transport: of the accelerator and of the node; None where not known.
    Returns:
        an id of the catalog's links; None for one stage.

    >>> pipeline_medium(2, 8, 8, 8, "nvlink4", "pcie5x16", "tcp"), pipeline_medium(4, 1, 4, 1, "none", "pcie4x16")
    ('tcp', 'pcie4x16')

    Source: Megatron-LM, core/parallel_state.py, order "tp-cp-ep-dp-pp".
    """
    return _medium(pipeline_parallel, stage_stride, gpus_per_pod, joined_gpus, link, host_link, network_transport)


def _medium(
    ranks: float,
    stride: float,
    node_ranks: float,
    joined: float | None,
    link: str | None,
    host_link: str | None,
    network_transport: str | None,
) -> str | None:
    """Return the medium that connects ranks at a stride: direct links, the host's bus, or the
    network.
    """
    if ranks <= 1:
        return None
    span = math.ceil(ranks * stride)
    if joined is None:
        raise MissingInput("joined_gpus")
    if span <= joined:
        return link
    name, medium = ("host_link", host_link) if span <= node_ranks else ("network_transport", network_transport)
    if not medium:
        raise MissingInput(name)
    return medium
