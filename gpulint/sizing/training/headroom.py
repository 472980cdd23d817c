"""Training headroom: what a run's indispensable memory leaves of a GPU if the optimizer's paged
state moves out.
"""

from __future__ import annotations


def pageable_bytes(optimizer: str, optimizer_state_bytes: float) -> float:
    """Optimizer state that the driver may move to host memory when the GPU is full.

    pageable_bytes = optimizer_state_bytes with a paged optimizer, else 0

    Args:
        optimizer: its name. optimizer_state_bytes: on one GPU [bytes].
    Returns:
        [bytes]
    Validity: a 32-bit master copy, where one is kept, is counted as paged too.

    >>> pageable_bytes("paged-adamw-8bit", 16e9), pageable_bytes("adamw-8bit", 16e9)
    (16000000000.0, 0.0)

    Source: Dettmers et al., QLoRA, 2023, section 3, Paged Optimizers; bitsandbytes documentation, Paged optimizers.
    """
    return optimizer_state_bytes if optimizer.startswith("paged-") else 0.0


def unadapted_weight_bytes(
    stage_parameters: float,
    lora_rank: int | None,
    quantization: str | None,
    parameter_bytes: int,
    frozen_bytes_per_parameter: float,
    sharding_stage: int,
    shard_share: float,
    parameter_offload: bool,
) -> float:
    """Base weights that stay on one GPU with any adapters, gradients and optimizer.

    unadapted_weight_bytes = stage_parameters · (frozen bytes with LoRA, else parameter_bytes) · (shard_share in stage 3),
                             0 where they are offloaded

    Args:
        stage_parameters: of one rank before sharding. lora_rank: None without LoRA. quantization: of the base at load.
        parameter_bytes, frozen_bytes_per_parameter: of one weight that is trained, and of one that is not [bytes].
        sharding_stage, shard_share: what is sharded, and the share that is kept.
        parameter_offload: weights are kept in host memory.
    Returns:
        [bytes]

    >>> unadapted_weight_bytes(70e9, 16, None, 2, 2.0, 0, 1.0, False)  # Llama-3.1-70B below adapters of any kind
    140000000000.0
    >>> unadapted_weight_bytes(8e9, None, None, 4, 0.0, 3, 1 / 8, False)
    4000000000.0

    Source: Rajbhandari et al., ZeRO, 2020, section 5.3; Hu et al., LoRA, 2021, section 4.1.
    """
    if lora_rank is None and quantization is not None:
        raise LookupError(f"weights in {quantization} cannot be trained directly, and no LoRA rank is stated")
    if parameter_offload:
        return 0.0
    width = parameter_bytes if lora_rank is None else frozen_bytes_per_parameter
    return stage_parameters * width * (shard_share if sharding_stage >= 3 else 1)


def training_weight_room_bytes(
    device_memory_bytes: float, unadapted_weight_bytes: float, training_context_bytes: float
) -> float:
    """Memory that the base weights leave on a GPU; negative if no way to train them fits.

    training_weight_room_bytes = device_memory_bytes − unadapted_weight_bytes − training_context_bytes

    Args:
        device_memory_bytes: that a process can use [bytes]. unadapted_weight_bytes: of the model [bytes].
        training_context_bytes: CUDA and communication (fitted) [bytes].
    Returns:
        [bytes]

    >>> training_weight_room_bytes(80.0, 140.0, 0.5)
    -60.5

    Source: definition.
    """
    return device_memory_bytes - unadapted_weight_bytes - training_context_bytes


def training_state_room_bytes(training_state_headroom_bytes: float, pageable_bytes: float) -> float:
    """Memory left on a GPU besides the unpageable states; negative if no micro-batch fits.

    training_state_room_bytes = training_state_headroom_bytes + pageable_bytes

    Args:
        training_state_headroom_bytes: besides all states [bytes]. pageable_bytes: of them that may leave the GPU [bytes].
    Returns:
        [bytes]

    >>> training_state_room_bytes(-10.0, 4.0)
    -6.0

    Source: definition.
    """
    return training_state_headroom_bytes + pageable_bytes


def training_room_bytes(training_headroom_bytes: float, pageable_bytes: float) -> float:
    """Memory left on a GPU at the peak of a training step; negative if the step does not fit.

    training_room_bytes = training_headroom_bytes + pageable_bytes

    Args:
        training_headroom_bytes: besides all that a step needs [bytes]. pageable_bytes: of it that may leave the GPU [bytes].
    Returns:
        [bytes]

    >>> training_room_bytes(-10.0, 16.0)
    6.0

    Source: definition.
    """
    return training_headroom_bytes + pageable_bytes


def training_state_room(training_state_room_bytes: float, device_memory_bytes: float) -> float:
    """Memory that model states leave on a GPU, as a share of it.

    training_state_room = training_state_room_bytes / device_memory_bytes

    Args:
        training_state_room_bytes, device_memory_bytes: [bytes]
    Returns:
        [ratio]

    >>> training_state_room(20.0, 80.0)
    0.25

    Source: definition.
    """
    return training_state_room_bytes / device_memory_bytes


def training_room(training_room_bytes: float, device_memory_bytes: float) -> float:
    """Memory left at the peak of a training step, as a share of the GPU.

    training_room = training_room_bytes / device_memory_bytes

    Args:
        training_room_bytes, device_memory_bytes: [bytes]
    Returns:
        [ratio]

    >>> training_room(20.0, 80.0)
    0.25

    Source: definition.
    """
    return training_room_bytes / device_memory_bytes
