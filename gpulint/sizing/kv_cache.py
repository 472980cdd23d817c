"""KV cache: the memory that each token of each running sequence keeps."""

from __future__ import annotations

import math


def bytes_per_kv_element(kv_cache_dtype: str, bytes_per_activation: float) -> float:
    """Bytes of one element of the KV cache.

    Args:
        kv_cache_dtype: as the engine names it; `auto` follows the activations.
        bytes_per_activation: [bytes]
    Returns:
        [bytes]

    >>> bytes_per_kv_element("fp8_e4m3", 2), bytes_per_kv_element("auto", 2)
    (1.0, 2.0)

    Source: vLLM, docs/features/quantization/quantized_kvcache.md.
    """
    return 1.0 if kv_cache_dtype.startswith(("fp8", "int8")) else float(bytes_per_activation)


def kv_bytes_per_token(
    layers: int,
    linear_attention_layers: int,
    kv_heads: int,
    head_dim: int,
    kv_lora_rank: int | None,
    qk_rope_head_dim: int | None,
    latent_kv_cache: bool,
    bytes_per_kv_element: float,
    tensor_parallel: int,
    pipeline_parallel: int,
    decode_context_parallel: int,
) -> float:
    """KV cache of one token on the fullest GPU, while no window has filled.

    kv_bytes_per_token = kv_layers / pp · 2 · max(1, kv_heads / tp) · head_dim · bytes / dcp  (MHA, GQA, MQA)
                       = kv_layers / pp · (kv_lora_rank + qk_rope_head_dim) · bytes / dcp     (MLA, copied on every rank)

    Args:
        layers, linear_attention_layers: of the network; linear-attention layers keep a state instead.
        kv_heads, head_dim: of attention. kv_lora_rank, qk_rope_head_dim: of MLA, else None.
        latent_kv_cache: the engine keeps MLA's compressed entry; early releases unpacked it into heads of 256.
        bytes_per_kv_element: [bytes]. tensor_parallel, pipeline_parallel: ranks.
        decode_context_parallel: ranks that share out the tokens of one sequence.
    Returns:
        [bytes]
    Validity: both divisions round up, as the fullest rank holds the remainder.

    >>> kv_bytes_per_token(32, 0, 8, 128, None, None, True, 2, 1, 1, 1)  # Llama-3.1-8B: 128 KiB
    131072.0
    >>> kv_bytes_per_token(61, 0, 128, 128, 512, 64, True, 2, 8, 1, 1)  # DeepSeek-V3, whatever the tensor parallelism
    70272.0
    >>> kv_bytes_per_token(27, 0, 16, 192, 512, 64, False, 2, 1, 1, 1)  # DeepSeek-V2-Lite in vLLM 0.6: 35.42 GiB, 85,968 tokens
    442368.0

    Source: vLLM, v1/kv_cache_interface.py, AttentionSpec.page_size_bytes and MLAAttentionSpec; Ainslie et al., GQA,
        2023; DeepSeek-AI, DeepSeek-V2, 2024, section 2.1.
    """
    kv_layers = math.ceil((layers - linear_attention_layers) / pipeline_parallel)
    if kv_lora_rank and latent_kv_cache:
        return kv_layers * (kv_lora_rank + (qk_rope_head_dim or 0)) * bytes_per_kv_element / decode_context_parallel
    heads = math.ceil(kv_heads / tensor_parallel)
    width = _UNPACKED_HEAD_DIM if kv_lora_rank else head_dim
    return kv_layers * 2 * heads * width * bytes_per_kv_element / decode_context_parallel


def kv_needed_bytes(
    kv_bytes_per_token: float,
    max_model_len: int,
    layers: int,
    linear_attention_layers: int,
    sliding_layers: int,
    sliding_window: int | None,
    max_num_batched_tokens: int,
    block_size: int,
) -> float:
    """KV cache of one sequence of the longest length on the fullest GPU.

    kv_needed_bytes = kv_bytes_per_token · (full · max_model_len + sliding · min(max_model_len, window + batch)) / kv_layers

    Args:
        kv_bytes_per_token: [bytes]. max_model_len: [tokens]. layers, linear_attention_layers, sliding_layers: counts.
        sliding_window: [tokens] or None. max_num_batched_tokens: a window also keeps what is in flight [tokens].
        block_size: the cache is handed out in blocks [tokens].
    Returns:
        [bytes]
    Validity: hybrid networks also keep one state for each sequence, not counted (a few MiB to tens of MiB).
        Engines without a per-layer cache manager charge sliding layers the full length: then this is a lower bound.

    >>> kv_needed_bytes(131072, 131072, 32, 0, 0, None, 2048, 16) / 2**30  # Llama-3.1-8B at its full 131,072 tokens
    16.0
    >>> full, windowed = kv_needed_bytes(2, 8192, 2, 0, 0, None, 0, 16), kv_needed_bytes(2, 8192, 2, 0, 1, 1024, 1024, 16)
    >>> windowed / full
    0.625

    Source: vLLM, v1/kv_cache_interface.py, FullAttentionSpec and SlidingWindowSpec.max_memory_usage_bytes.
    """
    kv_layers = layers - linear_attention_layers
    if kv_layers == 0:
        return 0.0
    length = _blocks(max_model_len, block_size)
    windowed = min(length, _blocks(sliding_window + max_num_batched_tokens, block_size)) if sliding_window else length
    return kv_bytes_per_token * ((kv_layers - sliding_layers) * length + sliding_layers * windowed) / kv_layers


def kv_cache_tokens(kv_cache_bytes: float, kv_needed_bytes: float, max_model_len: int) -> int:
    """Tokens that the KV cache holds, in sequences of the longest length.

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


_UNPACKED_HEAD_DIM = 256
"""vLLM v0.6.0, model_executor/models/deepseek_v2.py, pads query, key and value of MLA to 256."""


def _blocks(tokens: int, block_size: int) -> int:
    return math.ceil(tokens / block_size) * block_size
