"""Training rates: the minimum time of a step and of a run, utilisation, tokens per second, and run
time.
"""

from __future__ import annotations

import math


def step_floor_s(
    matrix_step_flop: float,
    attention_step_flop: float,
    length_share: float,
    best_flop_per_s: float,
    world_size: int,
) -> float:
    """Minimum time of a training step: its arithmetic at the highest dense peak of its GPUs.

    step_floor_s = (matrix_step_flop · length_share + attention_step_flop · length_share²) / (best_flop_per_s · world_size)

    Args:
        matrix_step_flop, attention_step_flop: that a step of full sequences cannot do without [FLOP]. length_share: of their
        length that sequences fill (fitted; 1 where they are packed). best_flop_per_s: highest dense peak in any number
        format, since trainers take lower ones for single products [FLOP/s]. world_size: ranks.
    Returns:
        [s]

    >>> step_floor_s(15e15, 0.832e15, 1.0, 1979e12, 8)
    1.0

    Source: definition.
    """
    needed = matrix_step_flop * length_share + attention_step_flop * length_share**2
    return needed / (best_flop_per_s * world_size)


def mfu(counted_step_flop: float, step_s: float, half_flop_per_s: float, world_size: int) -> float:
    """Model FLOPs utilisation: the arithmetic of a training step relative to the dense 16-bit peak.
    The arithmetic is counted as usual, with the masked half of attention.

    mfu = counted_step_flop / (step_s · half_flop_per_s · world_size)

    Args:
        counted_step_flop: with the masked half of attention [FLOP]. step_s: [s]. half_flop_per_s: of a GPU [FLOP/s].
        world_size: ranks.
    Returns:
        [ratio]; runs in FP8 are compared with the 16-bit peak too, as Megatron-LM and torchtitan print it.

    >>> mfu(4e15, 1.0, 1000e12, 8)
    0.5

    Source: Chowdhery et al., PaLM, 2022, section 4.1 and appendix B.
    """
    return counted_step_flop / (step_s * half_flop_per_s * world_size)


def hfu(mfu: float, counted_step_flop: float, repeated_flop: float) -> float:
    """Hardware FLOPs utilisation: as MFU, but recomputation counts too.

    hfu = mfu · (counted_step_flop + repeated_flop) / counted_step_flop

    Args:
        mfu: ratio. counted_step_flop, repeated_flop: [FLOP].
    Returns:
        [ratio]

    >>> hfu(0.45, 3.0, 1.0)
    0.6

    Source: Chowdhery et al., PaLM, 2022, section 4.1; Korthikanti et al., 2022, section 6.3.
    """
    return mfu * (counted_step_flop + repeated_flop) / counted_step_flop


def training_tokens_per_s_per_gpu(step_tokens: float, step_s: float, world_size: int) -> float:
    """Tokens per second and GPU that a run trains on.

    training_tokens_per_s_per_gpu = step_tokens / (step_s · world_size)

    Args:
        step_tokens: [tokens]. step_s: [s]. world_size: ranks.
    Returns:
        [tokens/s]

    >>> training_tokens_per_s_per_gpu(4194304.0, 8.0, 64)
    8192.0

    Source: definition.
    """
    return step_tokens / (step_s * world_size)


def run_steps(max_steps: int | None, training_total_tokens: float | None, step_tokens: float) -> float:
    """Optimizer steps of the whole run.

    run_steps = max_steps, else ceil(training_total_tokens / step_tokens)

    Args:
        max_steps: as stated, else None. training_total_tokens: of the run [tokens], else None. step_tokens: [tokens].
    Returns:
        steps

    >>> run_steps(None, 15e12, 16777216.0), run_steps(1000, None, 1.0)
    (894070, 1000)

    Source: definition.
    """
    if max_steps is not None:
        return max_steps
    if training_total_tokens is None:
        raise LookupError("neither the steps nor the tokens of the run are stated")
    return math.ceil(training_total_tokens / step_tokens)


def training_run_s(run_steps: float, step_s: float, max_steps: int | None, length_share: float) -> float:
    """Time of the whole run, without checkpoints, evaluations and failures.

    training_run_s = run_steps · step_s, · length_share where the steps and not the tokens of the run are stated

    Args:
        run_steps: steps of full sequences. step_s: of one [s]. max_steps: as stated, else None. length_share: of their
        length that sequences fill (fitted; 1 where they are packed).
    Returns:
        [s]

    >>> training_run_s(1000, 2.5, 1000, 1.0), training_run_s(1000, 2.5, 1000, 0.5)
    (2500.0, 1250.0)

    Source: definition.
    """
    return run_steps * step_s * (1.0 if max_steps is None else length_share)


def training_floor_s(run_steps: float, step_floor_s: float) -> float:
    """Minimum time of the whole run.

    training_floor_s = run_steps · step_floor_s

    Args:
        run_steps: steps. step_floor_s: of one [s].
    Returns:
        [s]

    >>> training_floor_s(1000, 0.5)
    500.0

    Source: definition.
    """
    return run_steps * step_floor_s
