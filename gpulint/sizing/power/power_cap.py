"""Power caps: what a lower power limit of each GPU leaves of a server's load, and what it costs in
speed.
"""

from __future__ import annotations


def serving_clock_share(board_w: float, power_cap_w: float | None, serving_power_exponent: float) -> float:
    """Share of an LLM server's throughput that remains under a lowered power limit.

    serving_clock_share = min(1, power_cap_w / board_w) ^ serving_power_exponent

    Component: server
    Args:
        board_w: power of the board [W]. power_cap_w: limit that is set, else None [W].
        serving_power_exponent: how throughput follows the limit (fitted).
    Returns:
        [ratio]
    Validity: from 0.5 to 1 of the board's power. Decoding small batches draws less than half of the board, and no limit
        above that costs it anything; full batches and prompts follow the clock.

    >>> serving_clock_share(700.0, None, 0.6), round(serving_clock_share(700.0, 450.0, 0.6), 2)
    (1.0, 0.77)

    Source: MLCommons, MLPerf Inference v4.1, closed/NVIDIA/configs: throughput with and without power_limit; Ma et al., The
        Illusion of Power Capping in LLM Decode, 2026: 137 to 300 W of 700 W while an H200 decodes.
    """
    return 1.0 if power_cap_w is None else min(1.0, power_cap_w / board_w) ** serving_power_exponent


def serving_cost_of_cap(serving_clock_share: float) -> float:
    """Share of serving throughput that a power cap costs.

    serving_cost_of_cap = 1 − serving_clock_share

    Component: server
    Args:
        serving_clock_share: that is left (ratio).
    Returns:
        [ratio]

    >>> round(serving_cost_of_cap(0.8), 2)
    0.2

    Source: definition.
    """
    return 1 - serving_clock_share


def training_cost_of_cap(clock_share: float) -> float:
    """Share of training speed that a power cap costs while matrix products are the bottleneck.

    training_cost_of_cap = 1 − clock_share

    Component: server
    Args:
        clock_share: that is left (ratio).
    Returns:
        [ratio]

    >>> round(training_cost_of_cap(0.85), 2)
    0.15

    Source: definition; torchtitan's benchmarks on H100 held to 500 W.
    """
    return 1 - clock_share
