"""Training rates: the floor of a step and of a run, utilisation, tokens a second, and the time of the whole run."""

from __future__ import annotations

import math


def step_floor_s(step_flop: float, best_flop_per_s: float, world_size: int) -> float:
    """Time that a step takes at least: its arithmetic at the highest dense peak of all cards, and nothing else.

    step_floor_s = step_flop / (best_flop_per_s · world_size)

    Args:
        step_flop: that a step cannot do without [FLOP]. best_flop_per_s: highest dense peak in any number format, since trainers
        take lower ones for single products [FLOP/s]. world_size: ranks.
    Returns:
        [s]

    >>> step_floor_s(15.832e15, 1979e12, 8)
    1.0

    Source: definition.
    """
    return step_flop / (best_flop_per_s * world_size)


def mfu(counted_step_flop: float, step_s: float, dense_bf16_flop_per_s: float | None, world_size: int) -> float:
    """Model FLOPs utilisation: the arithmetic a step needs, as it is usually counted, against the dense 16-bit peak.

    mfu = counted_step_flop / (step_s · dense_bf16_flop_per_s · world_size)

    Args:
        counted_step_flop: with the masked half of attention [FLOP]. step_s: [s]. dense_bf16_flop_per_s: of a card [FLOP/s].
        world_size: ranks.
    Returns:
        ratio; runs in FP8 are held against the 16-bit peak too, as Megatron-LM and torchtitan print it.

    >>> mfu(4e15, 1.0, 1000e12, 8)
    0.5

    Source: Chowdhery et al., PaLM, 2022, section 4.1 and appendix B.
    """
    if dense_bf16_flop_per_s is None:
        raise LookupError("the catalog has no dense 16-bit peak of the card")
    return counted_step_flop / (step_s * dense_bf16_flop_per_s * world_size)


def hfu(mfu: float, counted_step_flop: float, repeated_flop: float) -> float:
    """Hardware FLOPs utilisation: as MFU, with what is computed again.

    hfu = mfu · (counted_step_flop + repeated_flop) / counted_step_flop

    Args:
        mfu: ratio. counted_step_flop, repeated_flop: [FLOP].
    Returns:
        ratio

    >>> hfu(0.45, 3.0, 1.0)
    0.6

    Source: Chowdhery et al., PaLM, 2022, section 4.1; Korthikanti et al., 2022, section 6.3.
    """
    return mfu * (counted_step_flop + repeated_flop) / counted_step_flop


def training_tokens_per_s_per_gpu(step_tokens: float, step_s: float, world_size: int) -> float:
    """Tokens that a run trains on in a second, for each of its GPUs.

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


def training_run_s(run_steps: float, step_s: float) -> float:
    """Time of the whole run, without checkpoints, evaluations and failures.

    training_run_s = run_steps · step_s

    Args:
        run_steps: steps. step_s: [s].
    Returns:
        [s]

    >>> training_run_s(1000, 2.5)
    2500.0

    Source: definition.
    """
    return run_steps * step_s


def training_floor_s(run_steps: float, step_floor_s: float) -> float:
    """Time that the whole run takes at least.

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
