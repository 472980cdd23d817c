"""Checkpoints: their size, the time to write one, and what saving and failures cost a run."""

from __future__ import annotations

import math


def checkpoint_bytes(
    trainable_parameters: float,
    parameter_bytes: int,
    adapter_bytes: int,
    lora_rank: int | None,
    optimizer_bytes_per_parameter: float,
    checkpoint_contents: str,
) -> float:
    """Size of one checkpoint of a run as it is written.

    checkpoint_bytes = trainable_parameters · (bytes of a trained weight + optimizer_bytes_per_parameter)
                     = trainable_parameters · bytes of a trained weight, where the weights alone are saved

    Args:
        trainable_parameters: that the run trains, all of them without LoRA.
        parameter_bytes, adapter_bytes: of one trained weight, without and with LoRA [bytes]. lora_rank: None without LoRA.
        optimizer_bytes_per_parameter: moments and master copy [bytes]. checkpoint_contents: resumable or weights.
    Returns:
        [bytes]
    Validity: gradients are not saved, nor is the frozen base below adapters. A second copy of the weights in 16 bits that some
        trainers write besides the state (stage3_gather_16bit_weights_on_model_save) comes on top.

    >>> checkpoint_bytes(70e9, 2, 4, None, 12, "resumable") / 1e9  # 14 bytes a parameter
    980.0
    >>> checkpoint_bytes(4194304, 2, 4, 8, 8, "weights") / 1e6  # adapters of rank 8 on q and v of Llama-2-7B: 16.8 MB
    16.777216

    Source: Narayanan et al., Efficient Large-Scale Language Model Training on GPU Clusters Using Megatron-LM, 2021, section
        5.10 (13.8 TB for 1008 billion parameters); BigScience, BLOOM model card (2.3 TB with optimizer state, 329 GB of weights).
    """
    weight = parameter_bytes if lora_rank is None else adapter_bytes
    state = optimizer_bytes_per_parameter if checkpoint_contents == "resumable" else 0
    return trainable_parameters * (weight + state)


def checkpoint_write_s(checkpoint_bytes: float, storage_write_bytes_per_s: float) -> float:
    """Time to write one checkpoint.

    checkpoint_write_s = checkpoint_bytes / storage_write_bytes_per_s

    Args:
        checkpoint_bytes: of one checkpoint [bytes]. storage_write_bytes_per_s: of the volume [bytes/s].
    Returns:
        [s]
    Validity: the volume holds the writers up, not their network cards or the copy to host memory.

    >>> round(checkpoint_write_s(13.8e12, 273e9))  # a trillion parameters on Selene, at 40 % of its peak
    51
    >>> round(checkpoint_write_s(980e9, 10e9))
    98

    Source: Narayanan et al., 2021, section 5.10.
    """
    return checkpoint_bytes / storage_write_bytes_per_s


def mean_time_between_failures_s(world_size: int, failures_per_gpu_s: float) -> float:
    """Mean time between unexpected interruptions of a run.

    mean_time_between_failures_s = 1 / (world_size · failures_per_gpu_s)

    Args:
        world_size: GPUs of the run. failures_per_gpu_s: interruptions of one GPU's share of a run in a second (fitted) [1/s].
    Returns:
        [s]
    Validity: fabric, hosts and software count with the GPUs; a machine that is taken back (spot) does not.

    >>> round(mean_time_between_failures_s(16384, 419 / (54 * 24 * 3600) / 16384) / 3600, 2)  # Llama 3: 419 in 54 days
    3.09

    Source: Llama Team, The Llama 3 Herd of Models, 2024, section 3.3.4, table 5; Kokolis et al., Revisiting Reliability in
        Large-Scale Machine Learning Research Clusters, 2024, section 3.
    """
    return 1 / (world_size * failures_per_gpu_s)


def checkpoint_optimum_s(checkpoint_write_s: float, mean_time_between_failures_s: float) -> float:
    """Checkpoint interval that minimises the time lost to saving and to repeated work together.

    checkpoint_optimum_s = sqrt(2 · checkpoint_write_s · mean_time_between_failures_s)

    Args:
        checkpoint_write_s: of one checkpoint [s]. mean_time_between_failures_s: of the run [s].
    Returns:
        [s]
    Validity: writing is short against the time between failures; the optimum is flat, a factor of two costs a quarter more.

    >>> round(checkpoint_optimum_s(60, 356400) / 3600, 1)  # 512 GPUs, one failure in 99 hours
    1.8

    Source: Young, A First Order Approximation to the Optimum Checkpoint Interval, 1974; Daly, 2006.
    """
    return math.sqrt(2 * checkpoint_write_s * mean_time_between_failures_s)


def kept_checkpoints(checkpoints_kept: int | None, save_steps: int | None, max_steps: int | None) -> int | None:
    """Checkpoints on the volume at the end of a run.

    kept_checkpoints = min(checkpoints_kept + 1, floor(max_steps / save_steps)), without a bound the latter

    Args:
        checkpoints_kept: bound on them as stated, else None. save_steps: steps between two, else None.
        max_steps: steps of the run, else None.
    Returns:
        checkpoints; None where neither a bound nor the length of the run is stated
    Validity: the oldest goes only after the newest is whole, so that one more than the bound lies there.

    >>> kept_checkpoints(None, 500, 10000), kept_checkpoints(2, 500, 10000), kept_checkpoints(None, 500, None)
    (20, 3, None)

    Source: huggingface/transformers 5.23.0 trainer.py, _rotate_checkpoints after the save.
    """
    written = max_steps // save_steps if max_steps and save_steps else None
    if checkpoints_kept is None:
        return written
    return checkpoints_kept + 1 if written is None else min(checkpoints_kept + 1, written)


def kept_checkpoint_bytes(kept_checkpoints: int | None, checkpoint_bytes: float) -> float | None:
    """Space that the checkpoints of a run take on their volume at its end.

    kept_checkpoint_bytes = kept_checkpoints · checkpoint_bytes

    Args:
        kept_checkpoints: that lie there, else None. checkpoint_bytes: of one [bytes].
    Returns:
        [bytes]; None where their number is not known

    >>> kept_checkpoint_bytes(20, 112e9) / 1e12
    2.24

    Source: definition.
    """
    return None if kept_checkpoints is None else kept_checkpoints * checkpoint_bytes
