"""Ollama's memory rule: as llama.cpp, with as many layers on the GPUs as fit and a context that
depends on GPU size.
"""

from __future__ import annotations

from gpulint import units
from gpulint.sizing.engines import llama_cpp


def weight_format(checkpoint_quantization: str | None, quantization: str | None) -> str:
    """Number format of the weights in memory: the type of the model's GGUF blob.

    Args:
        checkpoint_quantization: of the checkpoint that was converted. quantization: the type of the tag.
    Returns:
        a name of the catalog's quantisation table.

    >>> weight_format(None, "gguf-q4_k_m")
    'gguf-q4_k_m'

    Source: ollama v0.32.15, fs/ggml.
    """
    return llama_cpp.weight_format(checkpoint_quantization, quantization)


def bytes_per_activation() -> float:
    """Bytes per value of a projector.

    Args:
        none.
    Returns:
        [bytes]

    >>> bytes_per_activation()
    2.0

    Source: as llama.cpp.
    """
    return llama_cpp.bytes_per_activation()


def weight_bytes(
    weight_format: str,
    parameters: float,
    encoder_parameters: int,
    expert_parameters: int,
    bytes_per_weight: float,
    bytes_per_activation: float,
) -> float:
    """All weights of the model in memory, including the vision tower.

    weight_bytes = (parameters − encoder_parameters) · b + encoder_parameters · B

    Args:
        as of llama.cpp.
    Returns:
        [bytes]

    >>> round(weight_bytes("gguf-q4_k_m", 8030261248, 0, 0, 0.6118, 2) / 2**30, 2)  # Llama-3.1-8B: a file of 4.58 GiB
    4.58

    Source: XiongjieDai/GPU-Benchmarks-on-LLM-Inference, README (4.58).
    """
    return llama_cpp.weight_bytes(
        weight_format, parameters, encoder_parameters, False, expert_parameters, bytes_per_weight, bytes_per_activation
    )


def weight_bytes_per_gpu(
    weight_bytes: float,
    vocab: int,
    hidden: int,
    tied_embeddings: bool,
    bytes_per_weight: float,
    stage_share: float,
    device_memory_bytes: float,
) -> float:
    """Weights on the fullest GPU. They never exceed what it holds.

    weight_bytes_per_gpu = min(loaded_bytes_per_gpu, device_memory_bytes)

    Args:
        as of loaded_bytes_per_gpu. device_memory_bytes: [bytes]
    Returns:
        [bytes]

    >>> weight_bytes_per_gpu(40.0, 0, 0, False, 0.6, 1.0, 22.0)
    22.0

    Source: ollama v0.32.15, llm/llama_server.go; v0.7.0, llm/memory.go.
    """
    placed = loaded_bytes_per_gpu(weight_bytes, vocab, hidden, tied_embeddings, bytes_per_weight, stage_share)
    return min(placed, device_memory_bytes)


def loaded_bytes_per_gpu(
    weight_bytes: float, vocab: int, hidden: int, tied_embeddings: bool, bytes_per_weight: float, stage_share: float
) -> float:
    """Weights of all layers on the fullest GPU, whether or not it can hold them.

    loaded_bytes_per_gpu = (weight_bytes − embedding) · stage_share

    Args:
        weight_bytes: of the whole model [bytes]. vocab, hidden, tied_embeddings: of the embedding table, which stays
            with the CPU; a tied one is needed twice. bytes_per_weight: [bytes]. stage_share: of the layers on the fullest GPU.
    Returns:
        [bytes]

    >>> loaded_bytes_per_gpu(40.0, 0, 0, False, 0.6, 0.5)
    20.0

    Source: as llama.cpp.
    """
    embedding = 0.0 if tied_embeddings else vocab * hidden * bytes_per_weight
    return (weight_bytes - embedding) * stage_share


def unplaced_bytes(
    weight_bytes: float,
    embedding_parameters: int,
    bytes_per_weight: float,
    parallel_size: int,
    device_memory_bytes: float,
) -> float:
    """Weights that do not fit on the GPUs of one instance; 0 if all fit.
    The CPU computes with them.

    unplaced_bytes = weight_bytes − embeddings − parallel_size · device_memory_bytes, at least 0

    Args:
        as of llama.cpp.
    Returns:
        [bytes]

    >>> unplaced_bytes(40.0, 2, 0.5, 1, 22.0)
    17.0

    Source: ollama documentation, FAQ, the column PROCESSOR of `ollama ps`.
    """
    return llama_cpp.unplaced_bytes(
        weight_bytes, embedding_parameters, bytes_per_weight, parallel_size, device_memory_bytes, 0
    )


def bytes_per_kv_element(kv_cache_dtype: str) -> float:
    """Bytes per KV cache element.

    Args:
        kv_cache_dtype: `OLLAMA_KV_CACHE_TYPE`: f16, q8_0 or q4_0.
    Returns:
        [bytes]
    Validity: a quantised type holds only with flash attention; without it Ollama keeps 16 bits.

    >>> bytes_per_kv_element("q4_0")
    0.5625

    Source: ollama v0.32.15, envconfig/config.go; as llama.cpp.
    """
    return llama_cpp.bytes_per_kv_element(kv_cache_dtype)


def kv_needed_bytes(
    full_kv_layers: int,
    sliding_kv_layers: int,
    kv_entry_bytes: float,
    sliding_kv_entry_bytes: float,
    stage_share: float,
    state_bytes: float,
    max_model_len: int,
    trained_context: int,
    max_num_seqs: int,
    sliding_window: int | None,
    uniform_kv_cache: bool,
    max_num_batched_tokens: int,
    block_size: int,
) -> float:
    """KV cache allocated for all concurrent requests on the fullest GPU.

    kv_needed_bytes = as of llama.cpp, for max_num_seqs pools of min(max_model_len, trained_context) tokens

    Args:
        as of llama.cpp. trained_context: of the checkpoint; Ollama shortens a longer context to it [tokens].
    Returns:
        [bytes]

    >>> kv_needed_bytes(32, 0, 4096, 4096, 1.0, 0, 262144, 8192, 2, None, False, 512, 256) / 2**30  # Llama-3-8B, two at once
    2.0

    Source: ollama v0.32.15, llm/llama_server.go (-c is NumCtx · numParallel) and server/sched.go, effectiveContext.
    """
    length = min(max_model_len, trained_context)
    layers = full_kv_layers + sliding_kv_layers or 1
    pool = (full_kv_layers, sliding_kv_layers, kv_entry_bytes, sliding_kv_entry_bytes, layers, layers + 1, stage_share)
    rest = (sliding_window, uniform_kv_cache, max_num_batched_tokens, block_size)
    return llama_cpp.kv_needed_bytes(*pool, state_bytes, length, max_num_seqs, False, *rest)


def memory_budget_bytes(device_memory_bytes: float) -> float:
    """Memory that the engine may use on one GPU: all that is free.

    Args:
        device_memory_bytes: [bytes]
    Returns:
        [bytes]

    >>> memory_budget_bytes(22.0)
    22.0

    Source: ollama v0.32.15, server/sched.go.
    """
    return device_memory_bytes


def activation_bytes(
    max_num_batched_tokens: int,
    vocab: int,
    hidden: int,
    intermediate: int,
    sampler_bytes_per_logit: float,
    activation_slack_bytes: float,
) -> float:
    """Compute buffer of one GPU for one physical batch, with flash attention.

    activation_bytes = as of llama.cpp

    Args:
        as of llama.cpp.
    Returns:
        [bytes]

    >>> activation_bytes(512, 151936, 2048, 11008, 4, 0) / 2**20
    296.75

    Source: as llama.cpp.
    """
    return llama_cpp.activation_bytes(
        max_num_batched_tokens, 0, vocab, hidden, intermediate, 0, "on", sampler_bytes_per_logit, activation_slack_bytes
    )


def reserve_bytes(activation_bytes: float, non_torch_bytes: float) -> float:
    """Compute buffer, CUDA context and libraries on one GPU.

    reserve_bytes = activation_bytes + non_torch_bytes

    Args:
        activation_bytes, non_torch_bytes: [bytes]
    Returns:
        [bytes]

    >>> reserve_bytes(0.3, 0.45)
    0.75

    Source: as llama.cpp.
    """
    return llama_cpp.reserve_bytes(activation_bytes, non_torch_bytes)


def kv_cache_bytes(
    memory_budget_bytes: float, loaded_bytes_per_gpu: float, reserve_bytes: float, kv_needed_bytes: float
) -> float:
    """Memory left for the KV cache on one GPU.
    It is at least what the cache needs, because layers move to the CPU otherwise.

    kv_cache_bytes = max(kv_needed_bytes, memory_budget_bytes − loaded_bytes_per_gpu − reserve_bytes)

    Args:
        memory_budget_bytes, loaded_bytes_per_gpu, reserve_bytes, kv_needed_bytes: [bytes]
    Returns:
        [bytes]

    >>> kv_cache_bytes(22.0, 20.0, 1.0, 4.0)
    4.0

    Source: ollama v0.32.15, llm/llama_server.go.
    """
    return max(kv_needed_bytes, memory_budget_bytes - loaded_bytes_per_gpu - reserve_bytes)


def required_bytes_per_gpu(
    loaded_bytes_per_gpu: float,
    reserve_bytes: float,
    kv_needed_bytes: float,
    max_model_len: int,
    max_model_len_fitted: bool,
) -> float:
    """Weights, reserve and KV cache on the fullest GPU.
    What exceeds its memory goes to the CPU.

    required_bytes_per_gpu = loaded_bytes_per_gpu + reserve_bytes + kv_needed_bytes

    Args:
        as of llama.cpp. max_model_len_fitted: a context that nothing states may be shortened.
    Returns:
        [bytes]

    >>> required_bytes_per_gpu(20.0, 1.0, 16.0, 131072, False)
    37.0

    Source: ollama v0.32.15, server/sched.go, reduceAutoNumCtxForLoadOOM.
    """
    return llama_cpp.required_bytes_per_gpu(
        loaded_bytes_per_gpu, reserve_bytes, kv_needed_bytes, max_model_len, max_model_len_fitted
    )


def device_class(device_memory_bytes: float, gpus_per_pod: int) -> str:
    """Size class of all GPUs together, which sets the engine's default context.

    From 47 GiB, from 23 GiB, and all others.

    Args:
        device_memory_bytes: of one [bytes]. gpus_per_pod: GPUs.
    Returns:
        a condition word of the table of defaults.
    Validity: since 0.15.5; OLLAMA_GPU_OVERHEAD is taken off first.

    >>> device_class(22.03 * 2**30, 1), device_class(22.03 * 2**30, 2), device_class(79.1 * 2**30, 1)
    ('other', 'vram-ge-23gib', 'vram-ge-47gib')

    Source: ollama v0.15.5 and v0.32.15, server/routes.go.
    """
    total = device_memory_bytes * gpus_per_pod
    if total >= 47 * units.GIB:
        return "vram-ge-47gib"
    return "vram-ge-23gib" if total >= 23 * units.GIB else "other"
