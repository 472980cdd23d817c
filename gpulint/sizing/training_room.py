"""Room in training: what a card has left of what a run cannot do without, its optimizer's paged state aside."""

from __future__ import annotations


def pageable_bytes(optimizer: str, optimizer_state_bytes: float) -> float:
    """Optimizer state that the driver may move to host memory when the card is full.

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


def training_state_room_bytes(training_state_headroom_bytes: float, pageable_bytes: float) -> float:
    """What a card has left beside the states that cannot leave it; negative when no micro-batch fits.

    training_state_room_bytes = training_state_headroom_bytes + pageable_bytes

    Args:
        training_state_headroom_bytes: beside all states [bytes]. pageable_bytes: of them that may leave the card [bytes].
    Returns:
        [bytes]

    >>> training_state_room_bytes(-10.0, 4.0)
    -6.0

    Source: definition.
    """
    return training_state_headroom_bytes + pageable_bytes


def training_room_bytes(training_headroom_bytes: float, pageable_bytes: float) -> float:
    """What a card has left at the fullest moment of a step; negative when the step does not fit.

    training_room_bytes = training_headroom_bytes + pageable_bytes

    Args:
        training_headroom_bytes: beside all that a step needs [bytes]. pageable_bytes: of it that may leave the card [bytes].
    Returns:
        [bytes]

    >>> training_room_bytes(-10.0, 16.0)
    6.0

    Source: definition.
    """
    return training_headroom_bytes + pageable_bytes


def training_room(training_room_bytes: float, device_memory_bytes: float) -> float:
    """What a card has left at the fullest moment of a step, as a share of it.

    training_room = training_room_bytes / device_memory_bytes

    Args:
        training_room_bytes, device_memory_bytes: [bytes]
    Returns:
        ratio

    >>> training_room(20.0, 80.0)
    0.25

    Source: definition.
    """
    return training_room_bytes / device_memory_bytes
