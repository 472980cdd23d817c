"""LMDeploy's memory rule: the KV cache takes a share of what is free after the weights are loaded."""

from __future__ import annotations


def weight_format(
    checkpoint_quantization: str | None, quantization: str | None, weight_dtype: str, checkpoint_dtype: str
) -> str:
    """Number format of the weights in memory.

    The checkpoint's own quantisation, else the grouped 4-bit layout that `--model-format` names, else `--dtype`; `auto`
    keeps 16 bits and casts a float32 checkpoint down.

    Args:
        checkpoint_quantization, weight_dtype, checkpoint_dtype: as stated. quantization: `--model-format`, unless it is hf.
    Returns:
        a name of the catalog's quantisation table.

    >>> weight_format(None, None, "auto", "float32"), weight_format(None, "awq", "auto", "float16")
    ('float16', 'int4-g128')

    Source: LMDeploy v0.18.0, lmdeploy/messages.py, TurbomindEngineConfig; lmdeploy/turbomind/converter.py.
    """
    if checkpoint_quantization:
        return checkpoint_quantization
    if quantization in _GROUPED:
        return "int4-g128"
    if quantization:
        raise LookupError(f"--model-format {quantization} with a checkpoint that is not listed as quantised")
    if weight_dtype == "auto":
        return "float16" if checkpoint_dtype == "float32" else checkpoint_dtype
    return weight_dtype


_GROUPED = frozenset({"awq", "gptq"})


def bytes_per_activation() -> float:
    """Bytes per unquantised value.

    Two, as `--dtype` offers 16-bit formats only.

    Args:
        none.
    Returns:
        [bytes]

    >>> bytes_per_activation()
    2.0

    Source: LMDeploy v0.18.0, lmdeploy/cli/utils.py, dtype.
    """
    return 2.0


def bytes_per_kv_element(
    kv_cache_dtype: str, bytes_per_activation: float, head_dim: int, kv_lora_rank: int | None
) -> float:
    """Bytes per KV cache element.
    Integer formats add a scale and a zero point for each token and head.

    bytes_per_kv_element = bits / 8 + 4 / head_dim (int4, int8), 1 (fp8), else bytes_per_activation

    Args:
        kv_cache_dtype: as `--quant-policy` states it. bytes_per_activation: [bytes]. head_dim: width of a head.
        kv_lora_rank: of MLA, which the two backends keep in different layouts, else None.
    Returns:
        [bytes]

    >>> bytes_per_kv_element("int8", 2, 128, None), bytes_per_kv_element("int4", 2, 128, None)
    (1.03125, 0.53125)

    Source: LMDeploy v0.18.0, docs/en/quantization/kv_quant.md (per head and per token, asymmetric); lmdeploy/messages.py,
        QuantPolicy.
    """
    if kv_lora_rank is not None:
        raise LookupError("the two backends keep MLA's cache in different layouts")
    if kv_cache_dtype in _INTEGER:
        return _INTEGER[kv_cache_dtype] + 4 / head_dim
    return 1.0 if kv_cache_dtype.startswith("fp8") else float(bytes_per_activation)


_INTEGER = {"int8": 1.0, "int4": 0.5}


def max_model_len(trained_context: int) -> int:
    """Default maximum sequence length: the length that the checkpoint declares.

    Args:
        trained_context: [tokens]
    Returns:
        [tokens]

    >>> max_model_len(32768)
    32768

    Source: LMDeploy v0.16.0, lmdeploy/serve/core/async_engine.py and lmdeploy/turbomind/converter.py.
    """
    return trained_context


def memory_budget_bytes(device_memory_bytes: float) -> float:
    """Memory that the engine may use on one GPU: all of it.

    Args:
        device_memory_bytes: [bytes]
    Returns:
        [bytes]

    >>> memory_budget_bytes(80)
    80

    Source: LMDeploy v0.18.0, lmdeploy/pytorch/engine/executor/base.py: shares are of free memory only.
    """
    return device_memory_bytes


def prefill_buffer_bytes(
    max_num_batched_tokens: int, max_num_seqs: int, vocab: int, prefill_buffer_share: float
) -> float:
    """Memory that the PyTorch backend reserves for a prefill before it sizes the KV cache.

    prefill_buffer_bytes = share · (tokens + 2 · sequences) · vocab · 2

    Args:
        max_num_batched_tokens: of one prefill. max_num_seqs: sequences. vocab: entries.
        prefill_buffer_share: 0 for TurboMind, up to 1 for PyTorch, which halves the tokens where they do not fit (fitted).
    Returns:
        [bytes]
    Validity: which backend runs is decided by the model, even where `--backend turbomind` is stated.

    >>> prefill_buffer_bytes(8192, 128, 152064, 1) / 2**30  # Qwen2.5-7B on an L4
    2.392822265625

    Source: LMDeploy v0.18.0, lmdeploy/pytorch/engine/executor/base.py, _get_runtime_size.
    """
    return prefill_buffer_share * (max_num_batched_tokens + 2 * max_num_seqs) * vocab * 2


def reserve_bytes(
    device_memory_bytes: float,
    loaded_bytes_per_gpu: float,
    non_torch_bytes: float,
    prefill_buffer_bytes: float,
    kv_cache_free_fraction: float,
    engine_version: str | None,
) -> float:
    """Memory for neither weights nor KV cache.
    It covers the CUDA context, communication, and the share left free for activations.

    reserve_bytes = non_torch_bytes + free − kv_cache_free_fraction · (free − prefill_buffer_bytes)
                    device_memory_bytes · (1 − kv_cache_free_fraction) − loaded_bytes_per_gpu          before 0.2.2
    free = device_memory_bytes − loaded_bytes_per_gpu − non_torch_bytes

    Args:
        device_memory_bytes, loaded_bytes_per_gpu, prefill_buffer_bytes: [bytes]. non_torch_bytes: (fitted) [bytes].
        kv_cache_free_fraction: share of free memory. engine_version: until 0.2.1 it is of all the GPU's memory.
    Returns:
        [bytes]
    Validity: before 0.2.2 a share that weights and context leave no room for cannot be allocated: the reserve then exceeds
        what is left by what is lacking.

    >>> round(reserve_bytes(80, 20, 1, 0, 0.8, None), 1), reserve_bytes(80, 20, 1, 0, 0.5, "0.1.0")
    (12.8, 20.0)
    >>> reserve_bytes(80, 50, 1, 0, 0.5, "0.1.0")  # 11 too much
    41.0

    Source: LMDeploy v0.18.0, lmdeploy/pytorch/engine/executor/base.py, _update_num_gpu_blocks; v0.16.0,
        src/turbomind/turbomind.cc, CreateEngine; v0.2.1 src/turbomind/models/llama/BlockManager.cc, GetBlockCount.
    """
    if _is_before_0_2_2(engine_version):
        left = device_memory_bytes * (1 - kv_cache_free_fraction) - loaded_bytes_per_gpu
        lacking = non_torch_bytes - left
        return left if lacking <= 0 else device_memory_bytes - loaded_bytes_per_gpu + lacking
    free = device_memory_bytes - loaded_bytes_per_gpu - non_torch_bytes
    return non_torch_bytes + free - kv_cache_free_fraction * (free - prefill_buffer_bytes)


def _is_before_0_2_2(engine_version: str | None) -> bool:
    """Return whether a release is definitely older than 0.2.2; an unknown release is not."""
    numbers = (engine_version or "").split(".")[:3]
    return all(part.isdigit() for part in numbers) and [int(part) for part in numbers] < [0, 2, 2]


def kv_cache_bytes(
    memory_budget_bytes: float,
    loaded_bytes_per_gpu: float,
    reserve_bytes: float,
    linear_attention_layers: int,
    speculative: str | None,
) -> float:
    """Memory of the KV cache on one GPU.

    kv_cache_bytes = memory_budget_bytes − loaded_bytes_per_gpu − reserve_bytes

    Args:
        memory_budget_bytes, loaded_bytes_per_gpu, reserve_bytes: [bytes]. linear_attention_layers: their states are taken
            out first, for as many sequences as may run. speculative: the draft shares the memory.
    Returns:
        [bytes]

    >>> round(kv_cache_bytes(80, 20, 12.8, 0, None), 1)  # 0.8 of the 59 that are free
    47.2

    Source: LMDeploy v0.18.0, lmdeploy/pytorch/engine/executor/base.py, update_configs.
    """
    if linear_attention_layers or speculative:
        raise LookupError("the memory of recurrent states and drafts is not modelled")
    return memory_budget_bytes - loaded_bytes_per_gpu - reserve_bytes


def parallel_size(tensor_parallel: int) -> int:
    """GPUs that one instance occupies, without data or context parallelism.

    Args:
        tensor_parallel: ranks.
    Returns:
        GPUs.

    >>> parallel_size(4)
    4

    Source: LMDeploy v0.16.0, lmdeploy/pytorch/config.py, DistConfig.
    """
    return tensor_parallel


def required_bytes_per_gpu(
    loaded_bytes_per_gpu: float, reserve_bytes: float, kv_needed_bytes: float, kv_cache_bytes: float
) -> float:
    """Weights, reserve and the KV cache of the longest sequence that the cache admits.

    required_bytes_per_gpu = loaded_bytes_per_gpu + reserve_bytes + min(kv_needed_bytes, max(0, kv_cache_bytes))

    Args:
        loaded_bytes_per_gpu, reserve_bytes: [bytes]. kv_needed_bytes: of one sequence of the longest length, which the
            engine shortens to what the cache holds [bytes]. kv_cache_bytes: of the cache [bytes].
    Returns:
        [bytes]

    >>> required_bytes_per_gpu(15, 1, 16, 4), required_bytes_per_gpu(15, 1, 16, -2)
    (20, 16)

    Source: LMDeploy v0.10.0, src/turbomind/models/llama/LlamaBatch.cc: "`session_len` truncated".
    """
    return loaded_bytes_per_gpu + reserve_bytes + min(kv_needed_bytes, max(0, kv_cache_bytes))
