"""Memory: what a GPU offers, what one instance needs of it, and what is left."""

from __future__ import annotations


def device_memory_bytes(
    slice_memory_bytes: int | None,
    cuda_memory_bytes: int | None,
    driver_memory_bytes: int | None,
    driver_reserved_bytes: float,
    unified_memory_bytes: int | None,
    host_share_bytes: float,
) -> float:
    """Memory that a process can use on the GPU or slice.

    device_memory_bytes = the slice's, else unified_memory_bytes − host_share_bytes, else what CUDA reports,
                          else driver_memory_bytes − driver_reserved_bytes

    Args:
        slice_memory_bytes: of the MIG slice, else None [bytes]. cuda_memory_bytes: measured total, else None [bytes].
        driver_memory_bytes: total of nvidia-smi, else None [bytes]. driver_reserved_bytes: kept from CUDA (fitted) [bytes].
        unified_memory_bytes: CUDA total of a part that shares its memory with the host, else None [bytes].
        host_share_bytes: of such memory, what the host's programs hold (fitted) [bytes].
    Returns:
        [bytes]
    Validity: never the number on the label: an "80 GB" H100 offers 79.1 GiB.

    >>> round(device_memory_bytes(None, None, 81559 * 2**20, 0.45 * 2**30, None, 0) / 2**30, 1)
    79.2
    >>> device_memory_bytes(None, 121.69, None, 0, 121.69, 19.69)  # DGX Spark: CUDA's total and what is free at boot
    102.0

    Source: CUDA out-of-memory messages and nvidia-smi of the same GPUs (MLPerf Training v5.1 logs);
        MiaAI-Lab/GLM-5.3-Flash-EXL3-2x-DGX-Sparks issue 47 (2026-08-30): 101.3 to 102.2 of 121.69 GiB free, headless.
    """
    if slice_memory_bytes is not None:
        return slice_memory_bytes
    if unified_memory_bytes is not None:
        return unified_memory_bytes - host_share_bytes
    if cuda_memory_bytes is not None:
        return cuda_memory_bytes
    if driver_memory_bytes is None:
        raise LookupError("the catalog has no memory for this accelerator")
    return driver_memory_bytes - driver_reserved_bytes


def required_bytes_per_gpu(loaded_bytes_per_gpu: float, reserve_bytes: float, kv_needed_bytes: float) -> float:
    """Weights, reserve and the KV cache of one sequence of maximum length on the fullest GPU.

    required_bytes_per_gpu = loaded_bytes_per_gpu + reserve_bytes + kv_needed_bytes

    Args:
        loaded_bytes_per_gpu, reserve_bytes, kv_needed_bytes: [bytes]
    Returns:
        [bytes]

    >>> required_bytes_per_gpu(15.0, 2.0, 16.0)
    33.0

    Source: vLLM, v1/worker/gpu_worker.py, determine_available_memory, and v1/core/kv_cache_utils.py.
    """
    return loaded_bytes_per_gpu + reserve_bytes + kv_needed_bytes


def serving_peak_bytes(loaded_bytes_per_gpu: float, reserve_bytes: float, kv_cache_bytes: float) -> float:
    """Memory of a server on the fullest GPU after its KV cache is allocated.

    serving_peak_bytes = loaded_bytes_per_gpu + reserve_bytes + kv_cache_bytes

    Args:
        loaded_bytes_per_gpu, reserve_bytes, kv_cache_bytes: [bytes]
    Returns:
        [bytes]

    >>> serving_peak_bytes(15.0, 2.0, 54.0)
    71.0

    Source: definition.
    """
    return loaded_bytes_per_gpu + reserve_bytes + kv_cache_bytes


def serving_device_bytes(serving_peak_bytes: float, outside_bytes: float, device_memory_bytes: float) -> float:
    """Memory that the driver reports as used by a server on the fullest GPU.

    serving_device_bytes = min(serving_peak_bytes + outside_bytes, device_memory_bytes)

    Args:
        serving_peak_bytes: inside the engine's budget [bytes]. outside_bytes: besides it [bytes].
        device_memory_bytes: of the GPU [bytes].
    Returns:
        [bytes]

    >>> round(serving_device_bytes(42.12, 1.9, 44.34), 2)  # vLLM with 0.95 of two L40S: nvidia-smi printed 44.18
    44.02

    Source: definition.
    """
    return min(serving_peak_bytes + outside_bytes, device_memory_bytes)


def headroom_bytes(memory_budget_bytes: float, required_bytes_per_gpu: float) -> float:
    """Memory of the budget left on one GPU; negative if the model does not fit.

    headroom_bytes = memory_budget_bytes − required_bytes_per_gpu

    Args:
        memory_budget_bytes, required_bytes_per_gpu: [bytes]
    Returns:
        [bytes]

    >>> headroom_bytes(71.2, 33.0)
    38.2

    Source: definition.
    """
    return memory_budget_bytes - required_bytes_per_gpu


def weight_headroom_bytes(memory_budget_bytes: float, weight_bytes_per_gpu: float) -> float:
    """Memory of a server's budget that the weights alone leave on one GPU.

    weight_headroom_bytes = memory_budget_bytes − weight_bytes_per_gpu

    Args:
        memory_budget_bytes, weight_bytes_per_gpu: [bytes]
    Returns:
        [bytes]

    >>> weight_headroom_bytes(71.2, 131.4) < 0  # Llama-3.1-70B on one H100 80GB
    True

    Source: definition.
    """
    return memory_budget_bytes - weight_bytes_per_gpu


def headroom(headroom_bytes: float, memory_budget_bytes: float) -> float:
    """Share of the memory budget that is left.

    headroom = headroom_bytes / memory_budget_bytes

    Args:
        headroom_bytes, memory_budget_bytes: [bytes]
    Returns:
        [ratio]

    >>> headroom(20.0, 80.0)
    0.25

    Source: definition.
    """
    return headroom_bytes / memory_budget_bytes


def outside_budget_bytes(device_memory_bytes: float, memory_budget_bytes: float) -> float:
    """Memory of one GPU outside the engine's budget.

    outside_budget_bytes = device_memory_bytes − memory_budget_bytes

    Args:
        device_memory_bytes, memory_budget_bytes: [bytes]
    Returns:
        [bytes]

    >>> outside_budget_bytes(80.0, 72.0)
    8.0

    Source: definition.
    """
    return device_memory_bytes - memory_budget_bytes


def lora_share(lora_bytes: float, memory_budget_bytes: float) -> float:
    """LoRA adapter slots as a share of the budget of one GPU.

    lora_share = lora_bytes / memory_budget_bytes

    Args:
        lora_bytes, memory_budget_bytes: [bytes]
    Returns:
        [ratio]

    >>> lora_share(4.0, 80.0)
    0.05

    Source: definition.
    """
    return lora_bytes / memory_budget_bytes


def single_gpu_share(
    weight_bytes: float,
    kv_needed_bytes: float,
    reserve_bytes: float,
    tensor_parallel: int,
    pipeline_parallel: int,
    memory_budget_bytes: float,
) -> float:
    """Share of one GPU's budget that the whole instance would need without parallelism.

    single_gpu_share = (weight_bytes + kv_needed_bytes · tp · pp + reserve_bytes) / memory_budget_bytes

    Args:
        weight_bytes: of the model [bytes]. kv_needed_bytes, reserve_bytes: on one of the present GPUs [bytes].
        tensor_parallel, pipeline_parallel: ranks of the present layout. memory_budget_bytes: of one GPU [bytes].
    Returns:
        [ratio]
    Validity: an upper bound: replicated KV heads are counted once for each rank, and the communication buffers of the
        present layout stay in the reserve.

    >>> round(single_gpu_share(4.67, 0.02, 3.0, 8, 1, 71.2), 2)  # gemma-2b on an H100 80GB
    0.11

    Source: definition.
    """
    return (weight_bytes + kv_needed_bytes * tensor_parallel * pipeline_parallel + reserve_bytes) / memory_budget_bytes


def fitting_tensor_parallel(
    weight_bytes: float,
    kv_needed_bytes: float,
    reserve_bytes: float,
    tensor_parallel: int,
    pipeline_parallel: int,
    memory_budget_bytes: float,
) -> int:
    """Smallest tensor-parallel size (a power of two) at which the model fits.
    The weights and one sequence of maximum length must fit.

    min n = 2^k with (weight_bytes + kv_needed_bytes · tp · pp) / n + reserve_bytes ≤ memory_budget_bytes

    Args:
        as of single_gpu_share.
    Returns:
        GPUs; 0 when no number up to 1024 does.

    >>> fitting_tensor_parallel(131.4, 0.3125, 3.0, 8, 1, 71.2)  # Llama-3.1-70B, 8,192 tokens, H100 80GB
    2

    Source: definition.
    """
    for exponent in range(11):
        needed = (weight_bytes + kv_needed_bytes * tensor_parallel * pipeline_parallel) / 2**exponent
        if needed + reserve_bytes <= memory_budget_bytes:
            return int(2**exponent)
    return 0


def offloaded_bytes(cpu_offload_bytes: float, weight_bytes: float, stage_share: float, tensor_parallel: int) -> float:
    """Weights per GPU that stay in host memory.

    offloaded_bytes = min(cpu_offload_bytes, weight_bytes · stage_share / tp)

    Args:
        cpu_offload_bytes: as stated for each GPU [bytes]. weight_bytes: of the whole model [bytes].
        stage_share: of the layers on the fullest stage. tensor_parallel: ranks.
    Returns:
        [bytes]

    >>> offloaded_bytes(32.0, 0.25, 1.0, 1)  # gpt2 with 32 GiB allowed
    0.25

    Source: vLLM, model_executor/models/utils.py, maybe_offload_to_cpu.
    """
    return min(cpu_offload_bytes, weight_bytes * stage_share / tensor_parallel)


def host_needed_bytes(
    cpu_offload_bytes: float, swap_space_bytes: float, host_kv_bytes: float, gpus_per_pod: float
) -> float:
    """Host memory that offloaded weights, swap space and KV tiers pin in one pod.

    host_needed_bytes = (cpu_offload_bytes + swap_space_bytes) · gpus_per_pod + host_kv_bytes

    Args:
        cpu_offload_bytes, swap_space_bytes: for each GPU [bytes]. host_kv_bytes: for the pod [bytes].
        gpus_per_pod: GPUs.
    Returns:
        [bytes]
    Validity: what is stated; an offload larger than the weights is not filled. Weights that are read through memory and the
        processes themselves come on top.

    >>> host_needed_bytes(0, 4, 60, 2)
    68

    Source: vLLM, config/offload.py (`cpu_offload_gb`: for each GPU) and config/cache.py (`swap_space`: for each GPU;
        `kv_offloading_size`: over all ranks).
    """
    return (cpu_offload_bytes + swap_space_bytes) * gpus_per_pod + host_kv_bytes
