"""KV cache: the memory that each token of each running sequence takes."""

from __future__ import annotations

import math


def bytes_per_kv_element(kv_cache_dtype: str, bytes_per_activation: float, head_dim: int) -> float:
    """Bytes of one element of the KV cache, scales included.

    bytes_per_kv_element = bytes of the format + bytes of the scales of one head and token / head_dim

    Args:
        kv_cache_dtype: as the engine names it; `auto` follows the activations. bytes_per_activation: [bytes].
        head_dim: width of a head, over which a scale for each token and head is spread.
    Returns:
        [bytes]
    Validity: `fp8` and `int8` have scales for the whole tensor only. A checkpoint may bring its own format for `auto`.

    >>> bytes_per_kv_element("fp8_e4m3", 2, 128), bytes_per_kv_element("auto", 2, 128), bytes_per_kv_element("nvfp4", 2, 128)
    (1.0, 2.0, 0.5625)
    >>> bytes_per_kv_element("fp8_per_token_head", 2, 128)
    1.03125

    Source: vLLM, docs/features/quantization/quantized_kvcache.md and v1/kv_cache_interface.py, KVQuantMode; NVFP4: one
        8-bit scale for 16 values.
    """
    if kv_cache_dtype == "auto":
        return float(bytes_per_activation)
    if kv_cache_dtype in _WITH_HEAD_SCALE:
        return _WITH_HEAD_SCALE[kv_cache_dtype] + _SCALE_BYTES / head_dim
    if kv_cache_dtype not in _KV_BYTES:
        raise LookupError(f"the size of a {kv_cache_dtype} KV cache is not known")
    return _KV_BYTES[kv_cache_dtype]


_KV_BYTES = {
    **dict.fromkeys(("fp8", "fp8_e4m3", "fp8_e5m2", "fp8_inc", "fp8_ds_mla", "int8"), 1.0),
    **dict.fromkeys(("float16", "bfloat16", "half", "fp16", "bf16"), 2.0),
    **dict.fromkeys(("float32", "float", "fp32"), 4.0),
    **dict.fromkeys(("nvfp4", "fp4_e2m1"), 0.5625),
}
_WITH_HEAD_SCALE = {"int8_per_token_head": 1.0, "fp8_per_token_head": 1.0}
_SCALE_BYTES = 4


def kv_entry_bytes(
    kv_heads: int,
    head_dim: int,
    kv_lora_rank: int | None,
    qk_rope_head_dim: int | None,
    indexer_head_dim: int | None,
    latent_kv_cache: bool,
    bytes_per_kv_element: float,
    tensor_parallel: int,
    decode_context_parallel: int,
) -> float:
    """KV cache of one token in one full-attention layer on one GPU.

    kv_entry_bytes = 2 · max(1, kv_heads / tp) · head_dim · bytes / dcp           (MHA, GQA, MQA)
                   = (kv_lora_rank + qk_rope_head_dim) · bytes / dcp               (MLA, copied on every rank)
                   + (indexer_head_dim + 4) / dcp                                  (sparse-attention indexer, in 8 bits)

    Args:
        kv_heads, head_dim: of attention. kv_lora_rank, qk_rope_head_dim: of MLA, else None.
        indexer_head_dim: width of the indexer's key, else None.
        latent_kv_cache: the engine keeps MLA's compressed entry; early releases unpacked it into heads of 256.
        bytes_per_kv_element: [bytes]. tensor_parallel: ranks.
        decode_context_parallel: ranks that split the tokens of one sequence.
    Returns:
        [bytes]
    Validity: heads divide upwards, as the fullest rank holds the remainder. A sparse MLA cache in 8 bits keeps its rotary
        part in 16 and four scales: 656 bytes for a rank of 512.

    >>> kv_entry_bytes(8, 128, None, None, None, True, 2, 1, 1)  # Llama-3.1-8B
    4096.0
    >>> kv_entry_bytes(128, 128, 512, 64, None, True, 2, 8, 1)  # DeepSeek-V3, whatever the tensor parallelism
    1152.0
    >>> kv_entry_bytes(128, 128, 512, 64, 128, True, 1, 8, 1)  # DeepSeek-V3.2 with an FP8 cache: 656 + 132
    788.0
    >>> kv_entry_bytes(16, 192, 512, 64, None, False, 2, 1, 1) * 27  # DeepSeek-V2-Lite in vLLM 0.6: 35.42 GiB, 85,968 tokens
    442368.0

    Source: vLLM, v1/kv_cache_interface.py, AttentionSpec.page_size_bytes and MLAAttentionSpec, and
        model_executor/models/deepseek_v2.py, DeepseekV32IndexerCache; Ainslie et al., GQA, 2023; DeepSeek-AI, DeepSeek-V2,
        2024, section 2.1.
    """
    if kv_lora_rank and latent_kv_cache:
        latent = _sum_latent_entry(kv_lora_rank, qk_rope_head_dim or 0, indexer_head_dim, bytes_per_kv_element)
        return latent / decode_context_parallel
    width = _UNPACKED_HEAD_DIM if kv_lora_rank else head_dim
    return 2 * math.ceil(kv_heads / tensor_parallel) * width * bytes_per_kv_element / decode_context_parallel


def _sum_latent_entry(rank: int, rotary: int, indexer_head_dim: int | None, bytes_per_element: float) -> float:
    """Return the bytes of MLA's compressed entry and of the indexer's key."""
    latent = (rank + rotary) * bytes_per_element
    if not indexer_head_dim:
        return latent
    scales = rank / _SCALED_VALUES * _SCALE_BYTES
    sparse = rank + scales + 2 * rotary if bytes_per_element == 1 else latent
    return sparse + indexer_head_dim + _SCALE_BYTES


_UNPACKED_HEAD_DIM = 256
"""vLLM v0.6.0, model_executor/models/deepseek_v2.py, pads query, key and value of MLA to 256."""
_SCALED_VALUES = 128


def sliding_kv_entry_bytes(
    kv_entry_bytes: float,
    sliding_kv_heads: int | None,
    sliding_head_dim: int | None,
    kv_heads: int,
    head_dim: int,
    bytes_per_kv_element: float,
    tensor_parallel: int,
    decode_context_parallel: int,
) -> float:
    """KV cache of one token in one sliding-window layer on one GPU.

    sliding_kv_entry_bytes = 2 · max(1, heads / tp) · width · bytes / dcp, with the sliding layers' own heads and width;
                             kv_entry_bytes where they have none

    Args:
        kv_entry_bytes: of a full layer [bytes]. sliding_kv_heads, sliding_head_dim: of the sliding layers, else None.
        kv_heads, head_dim: of the full ones. bytes_per_kv_element: [bytes]. tensor_parallel, decode_context_parallel: ranks.
    Returns:
        [bytes]

    >>> sliding_kv_entry_bytes(4096.0, None, None, 8, 128, 2, 1, 1)
    4096.0
    >>> sliding_kv_entry_bytes(8192.0, 16, 256, 4, 512, 2, 1, 1)  # Gemma-4-31B: 16 heads of 256 besides 4 of 512
    16384.0

    Source: vLLM, v1/kv_cache_interface.py, SlidingWindowSpec.
    """
    if sliding_kv_heads is None and sliding_head_dim is None:
        return kv_entry_bytes
    heads = math.ceil((sliding_kv_heads or kv_heads) / tensor_parallel)
    return 2 * heads * (sliding_head_dim or head_dim) * bytes_per_kv_element / decode_context_parallel


def full_kv_layers(layers: int, linear_attention_layers: int, sliding_layers: int, kv_shared_layers: int) -> int:
    """Full-attention layers that have a KV cache of their own.

    full_kv_layers = (layers − linear_attention_layers − sliding_layers) · (1 − kv_shared_layers / layers)

    Args:
        layers, linear_attention_layers, sliding_layers: counts. kv_shared_layers: those that reuse another layer's cache.
    Returns:
        layers.
    Validity: layers that share are taken from both kinds in proportion, as they are in Gemma 3n.

    >>> full_kv_layers(62, 0, 52, 0)  # Gemma-3-27B: one full layer to five sliding ones
    10
    >>> full_kv_layers(35, 0, 28, 15)  # Gemma-3n-E4B: of 7 full layers the last 3 share
    4

    Source: vLLM, model_executor/models/gemma3n.py, kv_sharing_target_layer_name.
    """
    return round((layers - linear_attention_layers - sliding_layers) * (1 - kv_shared_layers / layers))


def sliding_kv_layers(layers: int, sliding_layers: int, kv_shared_layers: int) -> int:
    """Sliding-window layers that have a KV cache of their own.

    sliding_kv_layers = sliding_layers · (1 − kv_shared_layers / layers)

    Args:
        layers, sliding_layers: counts. kv_shared_layers: those that reuse another layer's cache.
    Returns:
        layers.

    >>> sliding_kv_layers(62, 52, 0), sliding_kv_layers(35, 28, 15)  # Gemma-3-27B, Gemma-3n-E4B
    (52, 16)

    Source: vLLM, model_executor/models/gemma3n.py, kv_sharing_target_layer_name.
    """
    return round(sliding_layers * (1 - kv_shared_layers / layers))


def kv_bytes_per_token(
    full_kv_layers: int,
    sliding_kv_layers: int,
    kv_entry_bytes: float,
    sliding_kv_entry_bytes: float,
    stage_share: float,
) -> float:
    """KV cache of one token on the fullest GPU, before any sliding window is full.

    kv_bytes_per_token = (full · kv_entry_bytes + sliding · sliding_kv_entry_bytes) · stage_share

    Args:
        full_kv_layers, sliding_kv_layers: counts. kv_entry_bytes, sliding_kv_entry_bytes: of one layer [bytes].
        stage_share: of the layers on the fullest pipeline stage.
    Returns:
        [bytes]

    >>> kv_bytes_per_token(32, 0, 4096.0, 4096.0, 1.0)  # Llama-3.1-8B: 128 KiB
    131072.0
    >>> kv_bytes_per_token(61, 0, 1152.0, 1152.0, 1.0)  # DeepSeek-V3
    70272.0

    Source: vLLM, v1/kv_cache_interface.py, AttentionSpec.page_size_bytes.
    """
    return (full_kv_layers * kv_entry_bytes + sliding_kv_layers * sliding_kv_entry_bytes) * stage_share


def state_bytes(
    linear_attention_layers: int,
    state_elements: int,
    state_element_bytes: float,
    stage_share: float,
    tensor_parallel: int,
) -> float:
    """Recurrent state of one sequence on the fullest GPU.

    state_bytes = linear_attention_layers · state_elements · state_element_bytes · stage_share / tp

    Args:
        linear_attention_layers: layers that keep a state. state_elements: of one layer.
        state_element_bytes: 16 or 32 bits (fitted) [bytes]. stage_share: of the layers on the fullest pipeline stage.
        tensor_parallel: ranks that share the heads of the state.
    Returns:
        [bytes]; the same for every length.

    >>> round(state_bytes(36, 548864, 2, 1.0, 1) / 2**20, 1)  # Qwen3-Next-80B: 36 layers of 32 · 128 · 128 + 3 · 8192
    37.7

    Source: vLLM, model_executor/layers/mamba/mamba_utils.py, MambaStateShapeCalculator.
    """
    return linear_attention_layers * state_elements * state_element_bytes * stage_share / tensor_parallel


def kv_needed_bytes(
    full_kv_layers: int,
    sliding_kv_layers: int,
    kv_entry_bytes: float,
    sliding_kv_entry_bytes: float,
    stage_share: float,
    state_bytes: float,
    max_model_len: int,
    sliding_window: int | None,
    max_num_batched_tokens: int,
    block_size: int,
) -> float:
    """KV cache and state of one sequence of maximum length on the fullest GPU.

    kv_needed_bytes = (full · kv_entry_bytes · max_model_len
                       + sliding · sliding_kv_entry_bytes · min(max_model_len, window + batch)) · stage_share + state_bytes

    Args:
        full_kv_layers, sliding_kv_layers: counts. kv_entry_bytes, sliding_kv_entry_bytes: of one layer and token [bytes].
        stage_share: of the layers on the fullest pipeline stage. state_bytes: of linear-attention layers [bytes].
        max_model_len: [tokens]. sliding_window: [tokens] or None.
        max_num_batched_tokens: a window also keeps what is in flight [tokens].
        block_size: the cache is allocated in blocks [tokens].
    Returns:
        [bytes]
    Validity: engines without a per-layer cache manager charge sliding layers the full length: then this is a lower bound.

    >>> kv_needed_bytes(32, 0, 4096, 4096, 1.0, 0, 131072, None, 2048, 16) / 2**30  # Llama-3.1-8B at its full 131,072 tokens
    16.0
    >>> kv_needed_bytes(1, 1, 1, 1, 1.0, 0, 8192, 1024, 1024, 16) / kv_needed_bytes(2, 0, 1, 1, 1.0, 0, 8192, None, 0, 16)
    0.625

    Source: vLLM, v1/kv_cache_interface.py, FullAttentionSpec and SlidingWindowSpec.max_memory_usage_bytes.
    """
    length = _whole_blocks(max_model_len, block_size)
    window = _whole_blocks(sliding_window + max_num_batched_tokens, block_size) if sliding_window else length
    full = full_kv_layers * kv_entry_bytes * length
    return (full + sliding_kv_layers * sliding_kv_entry_bytes * min(length, window)) * stage_share + state_bytes


def _whole_blocks(tokens: int, block_size: int) -> int:
    return math.ceil(tokens / block_size) * block_size


def kv_cache_tokens(kv_cache_bytes: float, kv_needed_bytes: float, max_model_len: int) -> int:
    """Tokens that the KV cache holds, in sequences of maximum length.

    kv_cache_tokens = kv_cache_bytes / kv_needed_bytes · max_model_len

    Args:
        kv_cache_bytes: memory of the cache [bytes]. kv_needed_bytes: of one longest sequence [bytes].
        max_model_len: [tokens]
    Returns:
        [tokens]; what vLLM prints as "GPU KV cache size".

    >>> kv_cache_tokens(54 * 2**30, 16 * 2**30, 131072)
    442368

    Source: vLLM, v1/core/kv_cache_utils.py, get_max_concurrency_for_kv_cache_config.
    """
    return max(0, int(kv_cache_bytes / kv_needed_bytes * max_model_len)) if kv_needed_bytes else 0


def full_length_sequences(kv_cache_bytes: float, kv_needed_bytes: float) -> float:
    """Sequences of maximum length that the KV cache holds at once.

    full_length_sequences = kv_cache_bytes / kv_needed_bytes

    Args:
        kv_cache_bytes: memory of the cache [bytes]. kv_needed_bytes: of one longest sequence [bytes].
    Returns:
        sequences; below 1 not even one.

    >>> full_length_sequences(54 * 2**30, 16 * 2**30)  # vLLM: "Maximum concurrency for 131,072 tokens per request: 3.38x"
    3.375

    Source: vLLM, v1/core/kv_cache_utils.py, get_max_concurrency_for_kv_cache_config.
    """
    if not kv_needed_bytes:
        raise LookupError("the architecture keeps no KV cache")
    return max(0.0, kv_cache_bytes / kv_needed_bytes)


def kv_copies(
    kv_heads: int,
    kv_lora_rank: int | None,
    latent_kv_cache: bool,
    tensor_parallel: int,
    decode_context_parallel: int,
) -> float:
    """Tensor-parallel ranks that store the same KV entries.

    kv_copies = tp / dcp for MLA's compressed entry, max(1, tp / kv_heads) / dcp otherwise; at least 1

    Args:
        kv_heads: of the model. kv_lora_rank: set for MLA. latent_kv_cache: the engine keeps MLA's compressed entry.
        tensor_parallel: ranks. decode_context_parallel: ranks that split the tokens of one sequence.
    Returns:
        copies.

    >>> kv_copies(8, None, True, 16, 1), kv_copies(8, None, True, 4, 1), kv_copies(128, 512, True, 8, 1)
    (2.0, 1.0, 8.0)
    >>> kv_copies(128, 512, True, 8, 8)
    1.0

    Source: vLLM, model_executor/layers/linear.py, QKVParallelLinear, and docs/serving/context_parallel_deployment.md.
    """
    copies = tensor_parallel if kv_lora_rank and latent_kv_cache else tensor_parallel / kv_heads
    return max(1.0, max(1.0, copies) / decode_context_parallel)
