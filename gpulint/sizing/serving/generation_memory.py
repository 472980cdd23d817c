"""Generation without a server: what the library keeps, reserves and leaves free."""

from __future__ import annotations

from gpulint.catalog.family_traits import has_trait


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
    if not joins_projections or has_trait(family, "one_qkv_matrix"):
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
