"""Weights over all GPUs of a replica: the least that each GPU must hold, whatever the layout."""

from __future__ import annotations


def spread_weight_bytes(weight_bytes: float, gpus_per_replica: int, cpu_offload_bytes: float | None = None) -> float:
    """Least weights that one GPU holds if a replica divides them evenly over all of its GPUs.

    spread_weight_bytes = max(0, weight_bytes / gpus_per_replica − cpu_offload_bytes)

    Args:
        weight_bytes: of the whole model [bytes]. gpus_per_replica: GPUs.
        cpu_offload_bytes: kept in host memory for each GPU; None where no engine is known, which counts as 0 [bytes].
    Returns:
        [bytes]
    Validity: a lower bound; copies of a model on several GPUs and uneven layouts hold more.

    >>> spread_weight_bytes(141107412992, 2, 0)  # Llama-3.1-70B on two GPUs
    70553706496.0

    Source: definition.
    """
    return max(0.0, weight_bytes / gpus_per_replica - (cpu_offload_bytes or 0))


def spread_headroom_bytes(device_memory_bytes: float, spread_weight_bytes: float) -> float:
    """Memory that evenly divided weights leave on one GPU; negative if no layout holds them.

    spread_headroom_bytes = device_memory_bytes − spread_weight_bytes

    Args:
        device_memory_bytes, spread_weight_bytes: [bytes]
    Returns:
        [bytes]

    >>> spread_headroom_bytes(79.2, 65.7)
    13.5

    Source: definition.
    """
    return device_memory_bytes - spread_weight_bytes


def spread_headroom(spread_headroom_bytes: float, device_memory_bytes: float) -> float:
    """Share of a GPU's memory that evenly divided weights leave.

    spread_headroom = spread_headroom_bytes / device_memory_bytes

    Args:
        spread_headroom_bytes, device_memory_bytes: [bytes]
    Returns:
        [ratio]

    >>> spread_headroom(20.0, 80.0)
    0.25

    Source: definition.
    """
    return spread_headroom_bytes / device_memory_bytes
