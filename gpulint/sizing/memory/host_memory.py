"""Host: what a container may use besides its GPUs, and how several engines share one GPU."""

from __future__ import annotations


def card_memory_utilization(
    gpu_memory_utilization: float, earlier_memory_utilization: float | None, earlier_engines: int
) -> float:
    """Share of a GPU's memory taken by this engine and those started before it.

    card_memory_utilization = own share + the shares stated for the earlier ones, or own share each where none is stated

    Args:
        gpu_memory_utilization: own share. earlier_memory_utilization: sum of the earlier ones' shares, else None.
        earlier_engines: engines started before.
    Returns:
        [ratio]; above 1 this engine finds less free memory than it is given.

    >>> card_memory_utilization(0.9, None, 1), card_memory_utilization(0.5, 0.4, 1), card_memory_utilization(0.9, 0.0, 0)
    (1.8, 0.9, 0.9)

    Source: vLLM, v1/worker/utils.py, request_memory: the share is of the total and must be free at start.
    """
    if earlier_memory_utilization is None:
        return gpu_memory_utilization * (1 + earlier_engines)
    return gpu_memory_utilization + earlier_memory_utilization


def host_weight_share(
    host_memory_bytes: float | None, weight_bytes_per_gpu: float, ranks_per_pod: float
) -> float | None:
    """Memory limit of the container relative to the weights that pass through it.

    host_weight_share = host_memory_bytes / (weight_bytes_per_gpu · ranks_per_pod)

    Args:
        host_memory_bytes: limit, else None [bytes]. weight_bytes_per_gpu: [bytes]. ranks_per_pod: ranks.
    Returns:
        [ratio]; None without a limit.

    >>> host_weight_share(7.0, 15.9, 1) < 0.5
    True

    Source: Linux, Documentation/admin-guide/cgroup-v2.rst, memory.max counts the page cache of mapped files.
    """
    held = weight_bytes_per_gpu * ranks_per_pod
    return None if host_memory_bytes is None or not held else host_memory_bytes / held


def ranks_per_pod(parallel_size: int, gpus_per_pod: float) -> float:
    """Ranks of the engine that run in one pod.

    ranks_per_pod = min(parallel_size, gpus_per_pod)

    Args:
        parallel_size: GPUs that the instance occupies. gpus_per_pod: GPUs of one pod.
    Returns:
        ranks; each keeps a CPU core busy.

    >>> ranks_per_pod(1, 2), ranks_per_pod(16, 8)
    (1, 8)

    Source: vLLM, docs/configuration/optimization.md, CPU resources for GPU deployments.
    """
    return min(parallel_size, gpus_per_pod)
