"""TensorRT-LLM's memory rule: its KV cache takes a share of what is free after the model has loaded
and run once.
"""

from __future__ import annotations

import math


def weight_format(
    checkpoint_quantization: str | None, quantization: str | None, weight_dtype: str, checkpoint_dtype: str
) -> str:
    """Number format of the weights in memory.

    The checkpoint's own quantisation, else the one asked for when the engine is built, else 16 bits.

    Args:
        checkpoint_quantization, quantization, weight_dtype, checkpoint_dtype: as stated.
    Returns:
        a name of the catalog's quantisation table.

    >>> weight_format("fp8", None, "auto", "bfloat16"), weight_format(None, None, "auto", "bfloat16")
    ('fp8', 'bfloat16')
    >>> weight_format(None, "fp8", "auto", "bfloat16")
    'fp8'

    Source: TensorRT-LLM, examples/quantization/README.md (quant_algo); docs.baseten.co/performance/engine-builder-config.
    """
    if checkpoint_quantization:
        return checkpoint_quantization
    if quantization in _AT_BUILD:
        return _AT_BUILD[quantization]
    if quantization:
        raise LookupError(f"the size of weights in {quantization} is not known")
    stated = checkpoint_dtype if weight_dtype == "auto" else weight_dtype
    if stated not in {"float16", "bfloat16"}:
        raise LookupError(f"the format that {stated} weights are converted to is not known")
    return stated


_AT_BUILD = {"fp8": "fp8", "nvfp4": "nvfp4", "fp4": "nvfp4", "w4a16_awq": "int4-g128", "w8a16": "int8"}


def bytes_per_activation(weight_dtype: str) -> float:
    """Bytes per unquantised value.

    Args:
        weight_dtype: as stated.
    Returns:
        [bytes]

    >>> bytes_per_activation("auto"), bytes_per_activation("float32")
    (2.0, 4.0)

    Source: IEEE 754-2019 binary16 and binary32; bfloat16 is as long as float16.
    """
    return 4.0 if weight_dtype == "float32" else 2.0


def bytes_per_kv_element(
    kv_cache_dtype: str,
    checkpoint_quantization: str | None,
    bytes_per_activation: float,
    checkpoint_kv_bytes: float | None = None,
) -> float:
    """Bytes per KV cache element, including scales.

    By the stated format; `auto` is that of the activations unless the checkpoint is quantised, then what its kind keeps.

    Args:
        kv_cache_dtype: as stated. checkpoint_quantization: of the checkpoint, else None. bytes_per_activation: [bytes].
        checkpoint_kv_bytes: of checkpoints of that format (fitted), None where nothing is known of them [bytes].
    Returns:
        [bytes]
    Validity: `auto` takes the format that a quantised checkpoint names for its KV cache, which its name does not tell.

    >>> bytes_per_kv_element("fp8", "fp8", 2), bytes_per_kv_element("auto", None, 2), bytes_per_kv_element("nvfp4", None, 2)
    (1.0, 2.0, 0.5625)

    Source: nvidia.github.io/TensorRT-LLM/latest/commands/trtllm-serve, --kv_cache_dtype; NVFP4: one 8-bit scale for 16 values.
    """
    if kv_cache_dtype in _KV_BYTES:
        return _KV_BYTES[kv_cache_dtype]
    if kv_cache_dtype == "auto" and checkpoint_quantization and checkpoint_kv_bytes:
        return checkpoint_kv_bytes
    if kv_cache_dtype != "auto" or checkpoint_quantization:
        raise LookupError("the format of the KV cache is declared by the checkpoint only")
    return float(bytes_per_activation)


_KV_BYTES = {"fp8": 1.0, "int8": 1.0, "nvfp4": 0.5625}


def kv_bytes_per_token(
    layers: int,
    linear_attention_layers: int,
    sliding_layers: int,
    kv_heads: int,
    head_dim: int,
    kv_lora_rank: int | None,
    qk_rope_head_dim: int | None,
    bytes_per_kv_element: float,
    stage_share: float,
    tensor_parallel: int,
    data_parallel_attention: bool,
) -> float:
    """KV cache of one token on the fullest GPU.

    kv_bytes_per_token = layers · 2 · max(1, kv_heads / ranks) · head_dim · bytes · stage_share     (MHA, GQA, MQA)
                       = layers · (kv_lora_rank + qk_rope_head_dim) · bytes · stage_share           (MLA)

    Args:
        layers, linear_attention_layers, sliding_layers: counts. kv_heads, head_dim: of attention.
        kv_lora_rank, qk_rope_head_dim: of MLA, else None. bytes_per_kv_element: [bytes].
        stage_share: of the layers on the fullest stage. tensor_parallel: ranks.
        data_parallel_attention: each rank keeps all heads of its own sequences.
    Returns:
        [bytes]
    Validity: models whose layers all keep the whole sequence.

    >>> kv_bytes_per_token(32, 0, 0, 8, 128, None, None, 1, 1.0, 1, False) * 860320 / 2**30  # issue 6294: "52.51 GiB"
    52.509765625

    Source: TensorRT-LLM, tensorrt_llm/_torch/pyexecutor/resource_manager.py, get_cache_size_per_token.
    """
    if linear_attention_layers or sliding_layers:
        raise LookupError("the KV cache of sliding-window and linear-attention layers is not modelled")
    if kv_lora_rank:
        return layers * (kv_lora_rank + (qk_rope_head_dim or 0)) * bytes_per_kv_element * stage_share
    heads = kv_heads if data_parallel_attention else math.ceil(kv_heads / tensor_parallel)
    return layers * 2 * heads * head_dim * bytes_per_kv_element * stage_share


def attention_ranks(tensor_parallel: int, data_parallel_attention: bool) -> int:
    """Ranks that split the heads of one attention replica.

    attention_ranks = 1 with attention data parallelism, else tp

    Args:
        tensor_parallel: ranks. data_parallel_attention: each of them keeps all heads of its own sequences.
    Returns:
        ranks.

    >>> attention_ranks(8, True), attention_ranks(8, False)
    (1, 8)

    Source: TensorRT-LLM, docs/source/advanced/expert-parallelism.md and tensorrt_llm/llmapi (enable_attention_dp).
    """
    return 1 if data_parallel_attention else tensor_parallel


def sequence_groups(tensor_parallel: int, attention_ranks: int) -> int:
    """Attention replicas inside one instance; each decodes its own sequences.

    sequence_groups = tp / attention_ranks

    Args:
        tensor_parallel, attention_ranks: ranks.
    Returns:
        groups.

    >>> sequence_groups(8, 1), sequence_groups(8, 8)
    (8, 1)

    Source: as attention_ranks.
    """
    return tensor_parallel // attention_ranks


def kv_needed_bytes(kv_bytes_per_token: float, max_model_len: int, block_size: int) -> float:
    """KV cache of one sequence of maximum length on the fullest GPU.

    kv_needed_bytes = kv_bytes_per_token · max_model_len, in whole blocks

    Args:
        kv_bytes_per_token: [bytes]. max_model_len, block_size: [tokens]
    Returns:
        [bytes]
    Validity: where it does not fit, TensorRT-LLM shortens the longest sequence and goes on.

    >>> kv_needed_bytes(131072, 8190, 32) / 2**30
    1.0

    Source: TensorRT-LLM, tensorrt_llm/_torch/pyexecutor/resource_manager.py, KVCacheManager.
    """
    return kv_bytes_per_token * math.ceil(max_model_len / block_size) * block_size


def activation_bytes(
    max_num_batched_tokens: int,
    hidden: int,
    intermediate: int,
    moe_intermediate: int | None,
    modality: str,
    tensor_parallel: int,
    bytes_per_activation: float,
    prefill_hidden_multiple: float,
    prefill_intermediate_multiple: float,
    activation_slack_bytes: float,
) -> float:
    """Peak of the profiled forward pass on one GPU.

    activation_bytes = T · B · (k_i · intermediate / tp + k_h · hidden) + slack

    Args:
        max_num_batched_tokens: T [tokens]. hidden, intermediate: widths. moe_intermediate: of routed experts, else None.
        modality: text, vision or audio. tensor_parallel: ranks. bytes_per_activation: B [bytes].
        prefill_hidden_multiple, prefill_intermediate_multiple: k_h, k_i (fitted). activation_slack_bytes: (fitted) [bytes]
    Returns:
        [bytes]
    Validity: dense models on text with the PyTorch backend; a built engine fixes its activations when it is built.

    >>> round(activation_bytes(23552, 4096, 14336, None, "text", 1, 2, 4.2, 3, 0) / 2**30, 2)
    2.64

    Source: TensorRT-LLM, tensorrt_llm/_torch/pyexecutor/_util.py, KvCacheCreator.
    """
    if moe_intermediate or modality != "text":
        raise LookupError("the activations of routed experts, images and audio are not modelled")
    widths = prefill_intermediate_multiple * intermediate / tensor_parallel + prefill_hidden_multiple * hidden
    return max_num_batched_tokens * bytes_per_activation * widths + activation_slack_bytes


def reserve_bytes(activation_bytes: float, graph_bytes: float, non_torch_bytes: float) -> float:
    """Memory that the profiling run holds besides the weights on one GPU.
    CUDA graphs are captured before the KV cache is sized.

    reserve_bytes = activation_bytes + graph_bytes + non_torch_bytes

    Args:
        activation_bytes, graph_bytes, non_torch_bytes: [bytes]
    Returns:
        [bytes]

    >>> reserve_bytes(2.75, 1.0, 0.75)
    4.5

    Source: TensorRT-LLM, tensorrt_llm/_torch/pyexecutor/_util.py: peak memory is that of PyTorch and all outside of it.
    """
    return activation_bytes + graph_bytes + non_torch_bytes


def kv_cache_bytes(
    kv_cache_free_fraction: float, device_memory_bytes: float, loaded_bytes_per_gpu: float, reserve_bytes: float
) -> float:
    """KV cache on one GPU; negative if even the weights and the profiling run exceed its memory.

    kv_cache_bytes = kv_cache_free_fraction · (device_memory_bytes − loaded_bytes_per_gpu − reserve_bytes)

    Args:
        kv_cache_free_fraction: share of what is free. device_memory_bytes, loaded_bytes_per_gpu, reserve_bytes: [bytes]
    Returns:
        [bytes]

    >>> round(kv_cache_bytes(0.9, 119.70, 63.52, 113.65 - 0.56 - 63.52), 2)  # gpt-oss-120b on a DGX Spark: "5.95 GiB"
    5.95

    Source: TensorRT-LLM, tensorrt_llm/_torch/pyexecutor/_util.py; start-up log of 1.1.0rc3 (2025-12-20): total 119.70,
        peak 113.65, of which 0.56 a provisional KV cache.
    """
    return kv_cache_free_fraction * (device_memory_bytes - loaded_bytes_per_gpu - reserve_bytes)


def memory_budget_bytes(
    kv_cache_free_fraction: float, device_memory_bytes: float, loaded_bytes_per_gpu: float, reserve_bytes: float
) -> float:
    """Memory on one GPU for weights, profiling run and KV cache together.

    memory_budget_bytes = loaded + reserve + kv_cache_free_fraction · (device_memory_bytes − loaded − reserve)

    Args:
        as of kv_cache_bytes.
    Returns:
        [bytes]

    >>> memory_budget_bytes(0.9, 80.0, 20.0, 10.0)
    75.0

    Source: TensorRT-LLM, docs/source/reference/memory.md.
    """
    held = loaded_bytes_per_gpu + reserve_bytes
    return held + kv_cache_free_fraction * (device_memory_bytes - held)
