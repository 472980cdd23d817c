"""Parallelism: what a layout occupies, and what does not divide."""

from __future__ import annotations

import math


def stage_share(layers: int, pipeline_parallel: int) -> float:
    """Share of the layers on the fullest pipeline stage.

    stage_share = ceil(layers / pp) / layers

    Args:
        layers: of the network. pipeline_parallel: stages.
    Returns:
        ratio

    >>> stage_share(61, 2)  # DeepSeek-V3 in two stages: 31 and 30 layers
    0.5081967213114754

    Source: vLLM, distributed/utils.py, get_pp_indices.
    """
    return math.ceil(layers / pipeline_parallel) / layers


def parallel_size(tensor_parallel: int, pipeline_parallel: int, data_parallel: int) -> int:
    """GPUs that the parallelism of one instance occupies.

    parallel_size = tp · pp · dp

    Args:
        tensor_parallel, pipeline_parallel, data_parallel: ranks. Expert parallelism reuses them.
    Returns:
        GPUs.

    >>> parallel_size(8, 2, 1)
    16

    Source: vLLM, docs/serving/parallelism_scaling.md.
    """
    return tensor_parallel * pipeline_parallel * data_parallel


def spare_gpus(gpus_per_replica: int, parallel_size: int) -> int:
    """GPUs of an instance that its parallelism does not occupy; negative when some are missing.

    spare_gpus = gpus_per_replica − parallel_size

    Args:
        gpus_per_replica: GPUs given. parallel_size: GPUs occupied.
    Returns:
        GPUs.

    >>> spare_gpus(8, 4)
    4

    Source: definition.
    """
    return gpus_per_replica - parallel_size


def heads_remainder(attention_heads: int, tensor_parallel: int) -> int:
    """Query heads left over after division by tensor parallel.

    heads_remainder = attention_heads mod tp

    Args:
        attention_heads: of the network. tensor_parallel: ranks.
    Returns:
        heads; an engine that shards by heads refuses anything but 0.

    >>> heads_remainder(28, 8)  # Qwen2.5-7B on eight ranks
    4

    Source: vLLM, config/model.py, verify_with_parallel_config.
    """
    return attention_heads % tensor_parallel


def kv_heads_remainder(kv_heads: int, kv_lora_rank: int | None, tensor_parallel: int) -> int:
    """Key and value heads left over after division, or ranks left over after replication.

    kv_heads_remainder = kv_heads mod tp if tp ≤ kv_heads, else tp mod kv_heads; 0 for MLA

    Args:
        kv_heads: of the network. kv_lora_rank: set for MLA, whose cache is not divided. tensor_parallel: ranks.
    Returns:
        heads or ranks.

    >>> kv_heads_remainder(8, None, 16), kv_heads_remainder(8, None, 6), kv_heads_remainder(1, None, 4)
    (0, 2, 0)

    Source: vLLM, model_executor/layers/linear.py, QKVParallelLinear.
    """
    if kv_lora_rank:
        return 0
    return kv_heads % tensor_parallel if tensor_parallel <= kv_heads else tensor_parallel % kv_heads
