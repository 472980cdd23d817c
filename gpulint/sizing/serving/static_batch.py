"""Generation without a server: one static batch in plain PyTorch, its peak memory and what is left."""

from __future__ import annotations

JOINED = frozenset({"falcon", "mpt", "gpt-neox", "bloom", "gpt-2", "starcoder", "phi-3"})
"""Families whose checkpoints have queries, keys and values in one matrix."""


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


def generation_held_bytes(
    generation_weight_bytes: float,
    library_workspace_bytes: float,
    generation_cache_bytes: float,
    decode_work_bytes: float,
) -> float:
    """Tensors on one GPU while the last tokens are generated.

    generation_held_bytes = weights + workspace + complete cache + decode_work_bytes

    Args:
        generation_weight_bytes, library_workspace_bytes, generation_cache_bytes, decode_work_bytes: [bytes]
    Returns:
        [bytes]

    >>> generation_held_bytes(10, 0, 4, 1)
    15

    Source: QwenLM/Qwen3 docs/source/getting_started/speed_benchmark.md: Qwen3-8B takes 15,947 MB at 1 token and 20,267 at 30,720,
        which is its KV cache more and nothing of the prompt's work.
    """
    return generation_weight_bytes + library_workspace_bytes + generation_cache_bytes + decode_work_bytes


def generation_peak_bytes(
    generation_held_bytes: float,
    generation_weight_bytes: float,
    library_workspace_bytes: float,
    load_excess_bytes: float,
    prompt_cache_bytes: float,
    prompt_work_bytes: float,
) -> float:
    """Peak memory of tensors on one GPU while a batch is generated.

    generation_peak_bytes = max( weights + workspace + load_excess_bytes
                                 weights + workspace + prompt_cache_bytes + prompt_work_bytes
                                 generation_held_bytes )

    Args:
        generation_held_bytes: at the end [bytes]. generation_weight_bytes, library_workspace_bytes: that stay [bytes].
        load_excess_bytes, prompt_cache_bytes, prompt_work_bytes: of loading and of the prompt [bytes].
    Returns:
        [bytes]

    >>> generation_peak_bytes(15, 10, 0, 0, 2, 3), generation_peak_bytes(15, 10, 0, 0, 4, 3)
    (15, 17)

    Source: definition; the tables named under its terms.
    """
    moving = max(load_excess_bytes, prompt_cache_bytes + prompt_work_bytes)
    return max(generation_held_bytes, generation_weight_bytes + library_workspace_bytes + moving)


def head_copy_bytes(
    tied_embeddings: bool,
    unties_embeddings: bool,
    vocab: int,
    hidden: int,
    weight_format: str,
    bytes_per_weight: float,
    bytes_per_activation: float,
    tensor_parallel: int,
) -> float:
    """Separate output head that a program keeps although the checkpoint shares one table.

    head_copy_bytes = vocab · hidden · bytes_per_weight / tp for a tied table that is untied, else 0; in 16 bits besides FP8

    Args:
        tied_embeddings: of the checkpoint. unties_embeddings: the program has a matrix of its own. vocab, hidden: of the table.
        weight_format: in memory. bytes_per_weight, bytes_per_activation: [bytes]. tensor_parallel: ranks.
    Returns:
        [bytes]

    >>> round(head_copy_bytes(True, True, 65024, 4544, "bfloat16", 2, 2, 1) / 1e9, 2)  # falcon-7b in litgpt: 14.5 of 13.84 GB
    0.59

    Source: Lightning-AI/litgpt 26857050 litgpt/model.py, GPT.lm_head; tutorials/quantize.md: falcon-7b takes 14.50 GB.
    """
    if not (tied_embeddings and unties_embeddings):
        return 0.0
    width = bytes_per_activation if weight_format == "fp8-block" else bytes_per_weight
    return vocab * hidden * width / tensor_parallel


def load_excess_bytes(
    engine: str,
    quantization: str | None,
    joins_projections: bool,
    family: str,
    hidden: int,
    attention_heads: int,
    kv_heads: int,
    head_dim: int,
    layers: int,
    vocab: int,
    bytes_per_weight: float,
    bytes_per_activation: float,
    stage_share: float,
    tensor_parallel: int,
) -> float:
    """Memory that loading needs beyond the weights.
    Merged projections exist twice, and some tables wait for their conversion.

    load_excess_bytes = layers · hidden · (queries + 2 · keys) · bytes_per_weight · stage_share / tp where they are joined
                      = 2 · vocab · hidden · B where litgpt quantises as it loads, else 0

    Args:
        engine: litgpt quantises as it loads. quantization: as asked for, else None. joins_projections: queries, keys and values
        become one matrix after loading. family: of the model; some checkpoints have them as one. hidden, attention_heads,
        kv_heads, head_dim, layers, vocab: shape. bytes_per_weight, bytes_per_activation: B [bytes].
        stage_share: of the layers. tensor_parallel: ranks.
    Returns:
        [bytes]

    >>> round(load_excess_bytes("autoawq", None, True, "llama", 5120, 40, 40, 128, 40, 32000, 0.51953125, 2, 1.0, 1) / 2**30, 2)
    1.52

    Source: casper-hansen/AutoAWQ v0.1.6 awq/models/llama.py, LlamaFuser; README: 8.47 GB for Llama-2-13B at 64 tokens, of which
        6.75 weights; Lightning-AI/litgpt tutorials/quantize.md: falcon-7b takes 1.2 GB more than its weights in each format.
    """
    if engine == "litgpt" and quantization:
        return 2 * vocab * hidden * bytes_per_activation
    if not joins_projections or family in JOINED:
        return 0.0
    width = (attention_heads + 2 * kv_heads) * head_dim
    return layers * hidden * width * bytes_per_weight * stage_share / tensor_parallel


def generation_reserved_bytes(
    generation_peak_bytes: float,
    generation_cache: str,
    generation_cache_bytes: float,
    prompt_work_bytes: float,
    prompt_excess: float,
    cache_growth_excess: float,
    legacy_cache: bool,
    generation_held_bytes: float,
    generation_slack_bytes: float,
) -> float:
    """Memory that PyTorch's allocator reserves at the peak of generation.

    generation_reserved_bytes = generation_peak_bytes + generation_slack_bytes
                                + (prompt_excess · prompt_work_bytes + cache_growth_excess · cache) where the cache is grown

    Args:
        generation_peak_bytes: of tensors [bytes]. generation_cache: grown or allocated. generation_cache_bytes: complete [bytes].
        prompt_work_bytes: [bytes]. prompt_excess: blocks of it that stay (fitted).
        cache_growth_excess: freed pieces of a cache that was rebuilt for each token (fitted).
        legacy_cache, generation_held_bytes: a peak that is reached while tokens are generated has a second cache already [bytes].
        generation_slack_bytes: partly filled segments, graphs and what conversion left (fitted) [bytes].
    Returns:
        [bytes]

    >>> generation_reserved_bytes(16.0, "grown", 1.0, 0, 0.3, 1.0, False, 16.0, 0.5)
    17.5
    >>> generation_reserved_bytes(17.0, "grown", 1.0, 0, 0.3, 1.0, True, 17.0, 0.5)
    17.5

    Source: QwenLM/Qwen README, profiles of Qwen-7B at 512 to 8,192 tokens: each costs twice its KV cache.
    """
    if generation_cache != "grown":
        return generation_peak_bytes + generation_slack_bytes
    twice = legacy_cache and generation_held_bytes >= generation_peak_bytes
    pieces = max(0.0, cache_growth_excess - 1) if twice else cache_growth_excess
    freed = prompt_excess * prompt_work_bytes + pieces * generation_cache_bytes
    return generation_peak_bytes + freed + generation_slack_bytes


def generation_device_bytes(generation_reserved_bytes: float, generation_context_bytes: float) -> float:
    """Memory that the driver reports as used by one process at the peak.

    generation_device_bytes = generation_reserved_bytes + generation_context_bytes

    Args:
        generation_reserved_bytes: that the allocator holds [bytes].
        generation_context_bytes: CUDA and libraries (fitted) [bytes].
    Returns:
        [bytes]

    >>> generation_device_bytes(16.0, 0.5)
    16.5

    Source: PyTorch documentation, CUDA semantics, memory management.
    """
    return generation_reserved_bytes + generation_context_bytes


def generation_total_bytes(
    generation_peak_bytes: float,
    generation_weight_bytes: float,
    weight_bytes_per_gpu: float,
    generation_cache_bytes: float,
    weight_bytes: float,
    cpu_offload_bytes: float,
    stage_share: float,
    tensor_parallel: int,
    pipeline_parallel: int,
) -> float:
    """Sum of the tensor peaks of all GPUs.

    generation_total_bytes = weights + cache / stage_share · tp + GPUs · (peak − weights and cache of the fullest)

    Args:
        generation_peak_bytes, generation_weight_bytes, weight_bytes_per_gpu, generation_cache_bytes: of the fullest GPU [bytes].
        weight_bytes: of the whole model [bytes]. cpu_offload_bytes: kept in host memory [bytes].
        stage_share: of the layers on the fullest GPU. tensor_parallel, pipeline_parallel: ranks.
    Returns:
        [bytes]

    >>> generation_total_bytes(12, 6, 6, 4, 10, 0, 0.5, 1, 2)
    22.0

    Source: QwenLM/Qwen3 examples/speed-benchmark/speed_benchmark_transformers.py adds up max_memory_allocated of all GPUs.
    """
    gpus = tensor_parallel * pipeline_parallel
    work = max(0.0, generation_peak_bytes - generation_weight_bytes - generation_cache_bytes)
    tables = gpus * (generation_weight_bytes - weight_bytes_per_gpu)
    cache = generation_cache_bytes / stage_share * tensor_parallel
    return max(0.0, weight_bytes - cpu_offload_bytes) + tables + cache + gpus * work


def generation_total_reserved_bytes(
    generation_total_bytes: float,
    generation_reserved_bytes: float,
    generation_peak_bytes: float,
    tensor_parallel: int,
    pipeline_parallel: int,
) -> float:
    """Sum of what the allocators of all GPUs reserve at the peak.

    generation_total_reserved_bytes = generation_total_bytes + GPUs · (reserved − peak of one)

    Args:
        generation_total_bytes, generation_reserved_bytes, generation_peak_bytes: [bytes]
        tensor_parallel, pipeline_parallel: ranks.
    Returns:
        [bytes]

    >>> generation_total_reserved_bytes(22.0, 13.0, 12.0, 1, 2)
    24.0

    Source: definition.
    """
    excess = generation_reserved_bytes - generation_peak_bytes
    return generation_total_bytes + tensor_parallel * pipeline_parallel * excess


def generation_headroom_bytes(
    device_memory_bytes: float,
    generation_peak_bytes: float,
    weight_bytes_per_gpu: float,
    generation_context_bytes: float,
    spills: bool,
) -> float:
    """Memory left on one GPU; negative if the batch does not fit.

    generation_headroom_bytes = device_memory_bytes − generation_peak_bytes − generation_context_bytes

    Args:
        device_memory_bytes: that a process can use [bytes]. generation_peak_bytes, weight_bytes_per_gpu: of tensors [bytes].
        generation_context_bytes: CUDA and libraries (fitted) [bytes]. spills: layers that do not fit go to host memory.
    Returns:
        [bytes]

    >>> generation_headroom_bytes(39.5, 17.0, 15.0, 0.5, False)
    22.0

    Source: PyTorch documentation, CUDA semantics: cached blocks are freed before an allocation fails.
    """
    generation_weight_headroom_bytes(device_memory_bytes, weight_bytes_per_gpu, generation_context_bytes, spills)
    return device_memory_bytes - generation_peak_bytes - generation_context_bytes


def generation_weight_headroom_bytes(
    device_memory_bytes: float, weight_bytes_per_gpu: float, generation_context_bytes: float, spills: bool
) -> float:
    """Memory that the weights leave on one GPU; negative if no batch fits.

    generation_weight_headroom_bytes = device_memory_bytes − weight_bytes_per_gpu − generation_context_bytes

    Args:
        device_memory_bytes: that a process can use [bytes]. weight_bytes_per_gpu: on the fullest GPU [bytes].
        generation_context_bytes: CUDA and libraries (fitted) [bytes]. spills: layers that do not fit go to host memory.
    Returns:
        [bytes]

    >>> generation_weight_headroom_bytes(39.5, 77.9, 0.5, False) < 0  # falcon-40b on an A100 40GB
    True

    Source: definition.
    """
    left = device_memory_bytes - weight_bytes_per_gpu - generation_context_bytes
    if spills and left < 0:
        raise LookupError("the loader decides how many layers stay in host memory")
    return left
