"""Generation without a server: one static batch in plain PyTorch, its peak memory and what is left."""

from __future__ import annotations


def generation_attention(attention_backend: str | None, default_attention: str) -> str:
    """Attention kernels that a static batch uses.

    Args:
        attention_backend: as stated, else None. default_attention: of the program.
    Returns:
        eager, sdpa or flash.

    >>> generation_attention(None, "sdpa"), generation_attention("flash", "sdpa")
    ('sdpa', 'flash')

    Source: huggingface/transformers 5.23.0, modeling_utils.py, attn_implementation.
    """
    return attention_backend or default_attention


def generated_length(prompt_tokens: int, new_tokens: int, cache_tokens: int | None) -> int:
    """Tokens per sequence that the KV cache holds at the end of generation.

    generated_length = max(prompt_tokens + new_tokens, cache_tokens) where a cache is allocated at once

    Args:
        prompt_tokens, new_tokens: of one sequence [tokens]. cache_tokens: of an allocated cache as stated, else None.
    Returns:
        [tokens]

    >>> generated_length(30720, 2048, None), generated_length(6, 200, 8192)
    (32768, 8192)

    Source: huggingface/transformers 5.23.0, cache_utils.py, DynamicCache; pytorch/ao 054717eb
        torchao/_models/llama/generate.py, cache_size.
    """
    return cache_tokens or prompt_tokens + new_tokens


def sequence_cache_bytes(
    full_kv_layers: int,
    sliding_kv_layers: int,
    kv_entry_bytes: float,
    sliding_kv_entry_bytes: float,
    stage_share: float,
    state_bytes: float,
    sliding_window: int | None,
    kv_lora_rank: int | None,
    generated_length: int,
) -> float:
    """KV cache of one complete sequence on the fullest GPU.

    sequence_cache_bytes = (full · entry · length + sliding · entry · min(length, window)) · stage_share + state

    Args:
        full_kv_layers, sliding_kv_layers: counts. kv_entry_bytes, sliding_kv_entry_bytes: of one layer and token [bytes].
        stage_share: of the layers on the fullest GPU. state_bytes: of linear-attention layers [bytes].
        sliding_window: [tokens] or None. kv_lora_rank: of MLA. generated_length: [tokens]
    Returns:
        [bytes]
    Validity: not for MLA, which these programs unpack into heads of two widths.

    >>> sequence_cache_bytes(28, 0, 4096, 4096, 1.0, 0, None, None, 6144) / 2**20  # Qwen3-0.6B: 672 MiB more at 6,144 tokens
    672.0

    Source: QwenLM/Qwen3 docs/source/getting_started/speed_benchmark.md: 1,394 MB at 1 token of input, 2,066 MB at 6,144.
    """
    if kv_lora_rank:
        raise LookupError("the program's KV cache of MLA is not modelled")
    window = min(generated_length, sliding_window or generated_length)
    tokens = full_kv_layers * kv_entry_bytes * generated_length + sliding_kv_layers * sliding_kv_entry_bytes * window
    return tokens * stage_share + state_bytes


def generation_cache_bytes(sequence_cache_bytes: float, batch_size: int) -> float:
    """KV cache of the whole complete batch on the fullest GPU.

    generation_cache_bytes = sequence_cache_bytes · batch_size

    Args:
        sequence_cache_bytes: of one sequence [bytes]. batch_size: sequences.
    Returns:
        [bytes]

    >>> generation_cache_bytes(2.0, 8)
    16.0

    Source: definition.
    """
    return sequence_cache_bytes * batch_size


def decode_work_bytes(
    attention_heads: int,
    kv_heads: int,
    head_dim: int,
    decode_copy_bytes: float,
    allocated_mask: bool,
    legacy_cache: bool,
    generation_cache_bytes: float,
    generation_cache: str,
    layers: int,
    stage_share: float,
    tensor_parallel: int,
    batch_size: int,
    generated_length: int,
    vocab: int,
) -> float:
    """Working memory of a decoding step beyond weights and KV cache when the cache is complete.

    decode_work_bytes = batch · length · heads / tp · head_dim · decode_copy_bytes + length² (a mask of the whole cache)
                        + cache / (2 · layers) (keys of one layer while one more is joined to them) + 12 · batch · vocab
                        + cache instead, where the one of the step before lives until the new one is complete

    Args:
        attention_heads, kv_heads, head_dim: shape. decode_copy_bytes: of copies of one layer's keys and values for every query
        head (fitted) [bytes]. allocated_mask: the program keeps a mask for the whole cache. legacy_cache: the cache of the
        step before lives until the next is complete. generation_cache_bytes: [bytes]
        generation_cache: grown or allocated. layers: of the model. stage_share: of them. tensor_parallel: ranks.
        batch_size: sequences. generated_length: of each [tokens]. vocab: entries; logits, their 32-bit copy and softmax.
    Returns:
        [bytes]

    >>> round(decode_work_bytes(32, 8, 128, 16, True, False, 17179869184, "allocated", 32, 1.0, 1, 1, 131072, 128256) / 1e9, 1)
    25.8

    Source: pytorch/ao 054717eb torchao/_models/llama/generate.py (mathematical attention while decoding) and model.py
        (repeat_interleave, tril of cache_size²); benchmark_results.txt: 59.27 GB at a cache of 131,072 tokens, of which
        16.06 weights and 17.18 cache; QwenLM/Qwen3 branch v1.5 hf_infer.rst: Qwen1.5-7B takes 16.90 GiB at 2,049 tokens, of
        which 14.38 weights, 0.50 rotary tables and 1.00 cache.
    """
    if generation_cache == "grown" and kv_heads == attention_heads:
        decode_copy_bytes = 0
    copied = batch_size * generated_length * attention_heads / tensor_parallel * head_dim * decode_copy_bytes
    mask = generated_length**2 if allocated_mask else 0
    joined = generation_cache_bytes / (2 * layers * stage_share) if generation_cache == "grown" else 0.0
    if legacy_cache:
        joined = generation_cache_bytes
    return copied + mask + joined + 12 * batch_size * vocab


def generation_weight_bytes(
    weight_bytes_per_gpu: float,
    weight_ratio: float,
    head_copy_bytes: float,
    layer_rotary_bytes: float,
    dequantised_bytes: float,
) -> float:
    """Weights on one GPU as the program keeps them, with the tables that it adds.

    generation_weight_bytes = weight_bytes_per_gpu · weight_ratio + head_copy_bytes + layer_rotary_bytes + dequantised_bytes

    Args:
        weight_bytes_per_gpu: on the fullest GPU [bytes]. weight_ratio: of the layout in memory (fitted).
        head_copy_bytes, layer_rotary_bytes, dequantised_bytes: [bytes]
    Returns:
        [bytes]

    >>> generation_weight_bytes(14.0, 1.0, 0.5, 0.25, 0)
    14.75

    Source: definition.
    """
    return weight_bytes_per_gpu * weight_ratio + head_copy_bytes + layer_rotary_bytes + dequantised_bytes


def dequantised_bytes(
    architecture: str,
    engine: str,
    bytes_per_weight: float,
    hidden: int,
    intermediate: int | None,
    shared_intermediate: int | None,
    bytes_per_activation: float,
) -> float:
    """Buffer for the largest matrix in 16 bits, kept by 4-bit GPTQ kernels in Transformers.

    dequantised_bytes = hidden · max(intermediate, shared_intermediate) · B for a release of that name, else 0

    Args:
        architecture: the release's name. engine: only Transformers. bytes_per_weight: 4-bit formats alone.
        hidden, intermediate, shared_intermediate: widths. bytes_per_activation: B [bytes].
    Returns:
        [bytes]

    >>> round(dequantised_bytes("Qwen/Qwen2.5-7B-Instruct-GPTQ-Int4", "transformers", 0.52, 3584, 18944, None, 2) / 2**30, 2)
    0.13

    Source: QwenLM/Qwen3 branches v2.0 and v2.5 speed_benchmark.rst: GPTQ-Int4 takes 0.03, 0.13, 0.14, 0.27 and 0.48 GiB more
        than AWQ of 1.5B, 7B, 14B, 32B and 72B at every length, which are their widest matrices.
    """
    if engine != "transformers" or bytes_per_weight >= 0.9 or "gptq" not in architecture.lower().split("-"):
        return 0.0
    return hidden * max(intermediate or 0, shared_intermediate or 0) * bytes_per_activation


def layer_rotary_bytes(
    rotary_per_layer: bool,
    layers: int,
    stage_share: float,
    trained_context: int | None,
    head_dim: int,
    bytes_per_activation: float,
) -> float:
    """Rotary embedding tables that the layers keep on one GPU.

    layer_rotary_bytes = layers · stage_share · 2 · trained_context · head_dim · B where each layer has one, else 0

    Args:
        rotary_per_layer: each layer has a table. layers: of the model. stage_share: of them. trained_context: [tokens]
        head_dim: width of a head. bytes_per_activation: B [bytes].
    Returns:
        [bytes]

    >>> layer_rotary_bytes(True, 28, 1.0, 32768, 128, 2) / 2**30  # Qwen2-1.5B: 3.44 GiB of which 2.88 are weights
    0.4375

    Source: huggingface/transformers v4.44.2 models/qwen2/modeling_qwen2.py; QwenLM/Qwen3 branch v2.0 speed_benchmark.rst.
    """
    if not rotary_per_layer or trained_context is None:
        return 0.0
    return layers * stage_share * 2 * trained_context * head_dim * bytes_per_activation
