"""Start-up: how long a server takes until it answers."""

from __future__ import annotations


def start_up_s(
    weight_bytes: float, pods_per_replica: int, weight_read_s_per_byte: float, engine_start_s: float
) -> float:
    """Time from the start of the container until its server answers.

    start_up_s = weight_bytes / pods_per_replica · weight_read_s_per_byte + engine_start_s

    Args:
        weight_bytes: weights of the whole network [bytes]. pods_per_replica: pods that share the reading.
        weight_read_s_per_byte: time to read one byte into the cards of a pod [s/byte].
        engine_start_s: imports, compilation, profiling and graph capture [s].
    Returns:
        [s]; a download from a hub, and a node that first pulls the image, come on top.
    Validity: copies of the network in one pod are read once; the others come from the page cache.

    >>> round(start_up_s(141e9, 1, 8.3e-10, 44))
    161

    Source: start-up logs of vLLM 0.19 (llm-d-incubation/llm-d-planner d3121e0): Qwen2.5-72B took 175 s.
    """
    return weight_bytes / pods_per_replica * weight_read_s_per_byte + engine_start_s
