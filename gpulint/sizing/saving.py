"""Saving: how often a run writes a checkpoint, and what waiting for it and failing between two of them cost."""

from __future__ import annotations


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
        raise LookupError("how many steps lie between two checkpoints is not stated")
    return save_steps * step_s


def checkpoint_stall(checkpoint_write_s: float, checkpoint_interval_s: float, checkpoint_in_background: bool) -> float:
    """Share of a run's time in which it waits for its checkpoints.

    checkpoint_stall = checkpoint_write_s / (checkpoint_interval_s + checkpoint_write_s)
                     = max(0, checkpoint_write_s − checkpoint_interval_s) / checkpoint_write_s, in the background

    Args:
        checkpoint_write_s: of one checkpoint [s]. checkpoint_interval_s: between two [s].
        checkpoint_in_background: the run goes on while a copy in host memory is written.
    Returns:
        ratio
    Validity: the copy to host memory, seconds at most, is left out; a save in the background waits for the one before. Slow
        writing and slow steps meet in the adverse world, which is not the worst one.

    >>> round(checkpoint_stall(98.0, 1800.0, False), 3), checkpoint_stall(98.0, 1800.0, True)
    (0.052, 0.0)

    Source: Eisenman et al., Check-N-Run, 2022, section 2; PyTorch blog, Reducing Model Checkpointing Times by Over 10x with
        PyTorch Distributed Asynchronous Checkpointing, 2024.
    """
    if checkpoint_in_background:
        return max(0.0, checkpoint_write_s - checkpoint_interval_s) / checkpoint_write_s
    return checkpoint_write_s / (checkpoint_interval_s + checkpoint_write_s)


def repeated_share(checkpoint_interval_s: float, mean_time_between_failures_s: float) -> float:
    """Share of a run's time that repeats what failures undid.

    repeated_share = checkpoint_interval_s / (2 · mean_time_between_failures_s)

    Args:
        checkpoint_interval_s: between two checkpoints [s]. mean_time_between_failures_s: of the run [s].
    Returns:
        ratio
    Validity: below one half; a failure undoes half an interval on average, the restart itself comes on top.

    >>> repeated_share(3600.0, 36000.0)
    0.05

    Source: Young, 1974.
    """
    return checkpoint_interval_s / (2 * mean_time_between_failures_s)
