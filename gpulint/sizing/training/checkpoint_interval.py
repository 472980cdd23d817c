"""Saving: how often a run writes a checkpoint, and what the saving and failures in between cost."""

from __future__ import annotations

import math


def checkpoint_interval_s(save_steps: int | None, step_s: float) -> float:
    """Time between two checkpoints.

    checkpoint_interval_s = save_steps · step_s

    Args:
        save_steps: optimizer steps between two checkpoints, else None. step_s: time of one step [s].
    Returns:
        [s]

    >>> checkpoint_interval_s(500, 4.0) / 60
    33.333333333333336

    Source: definition.
    """
    if save_steps is None:
        raise LookupError("the number of steps between two checkpoints is not stated")
    return save_steps * step_s


def checkpoint_stall(checkpoint_write_s: float, checkpoint_interval_s: float, checkpoint_in_background: bool) -> float:
    """Share of a run's time in which it waits for its checkpoints.

    checkpoint_stall = checkpoint_write_s / (checkpoint_interval_s + checkpoint_write_s)
                     = max(0, checkpoint_write_s − checkpoint_interval_s) / checkpoint_write_s, in the background

    Args:
        checkpoint_write_s: of one checkpoint [s]. checkpoint_interval_s: between two [s].
        checkpoint_in_background: the run goes on while a copy in host memory is written.
    Returns:
        [ratio]
    Validity: the copy to host memory, seconds at most, is left out; a save in the background waits for the one before. Slow
        writing and slow steps coincide in the worst scenario, although slow writing with fast steps would be worse.

    >>> round(checkpoint_stall(98.0, 1800.0, False), 3), checkpoint_stall(98.0, 1800.0, True)
    (0.052, 0.0)

    Source: Eisenman et al., Check-N-Run, 2022, section 2; PyTorch blog, Reducing Model Checkpointing Times by Over 10x with
        PyTorch Distributed Asynchronous Checkpointing, 2024.
    """
    if checkpoint_in_background:
        return max(0.0, checkpoint_write_s - checkpoint_interval_s) / checkpoint_write_s
    return checkpoint_write_s / (checkpoint_interval_s + checkpoint_write_s)


def repeated_share(checkpoint_interval_s: float, mean_time_between_failures_s: float) -> float:
    """Share of a run's time that repeats work lost to failures.

    repeated_share = 1 − x / (exp(x) − 1), x = checkpoint_interval_s / mean_time_between_failures_s; about x / 2 while x is small

    Args:
        checkpoint_interval_s: between two checkpoints [s]. mean_time_between_failures_s: of the run [s].
    Returns:
        [ratio]
    Validity: failures come at random, and a restart goes on from the last checkpoint at once; its own time comes on top.

    >>> round(repeated_share(3600.0, 36000.0), 3), round(repeated_share(36000.0, 36000.0), 2)
    (0.049, 0.42)

    Source: Daly, A higher order estimate of the optimum checkpoint interval for restart dumps, 2006, section 2.
    """
    intervals = checkpoint_interval_s / mean_time_between_failures_s
    return 1 - intervals / math.expm1(min(intervals, _CERTAIN))


_CERTAIN = 600.0
"""Intervals in the time between failures beyond which no run ever reaches its next checkpoint, and floats end."""
