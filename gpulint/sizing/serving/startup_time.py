"""Start-up: the time until a server answers."""

from __future__ import annotations


def start_up_s(weight_load_s: float, engine_start_s: float) -> float:
    """Time from the start of the container until its server answers.

    start_up_s = weight_load_s + engine_start_s

    Args:
        weight_load_s: reading of the weights into the GPUs [s].
        engine_start_s: imports, compilation, profiling and graph capture [s].
    Returns:
        [s]; a download from a hub, and a node that first pulls the image, come on top.

    >>> round(start_up_s(117.0, 44))
    161

    Source: start-up logs of vLLM 0.19 (llm-d-incubation/llm-d-planner d3121e0): Qwen2.5-72B took 175 s.
    """
    return weight_load_s + engine_start_s
