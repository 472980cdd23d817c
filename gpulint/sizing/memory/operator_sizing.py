"""Operator sizing: how many GPUs and machines an operator takes for a model, by its own rule."""

from __future__ import annotations

import math

from gpulint.units.constants import GIB


def kaito_gpus(
    weight_bytes: float,
    device_memory_bytes: float,
    gpus_per_pod: int,
    kaito_context_tokens: int | None,
    layers: int,
    kv_heads: int,
    head_dim: int,
    kv_lora_rank: int | None,
    qk_rope_head_dim: int | None,
) -> int:
    """GPUs that KAITO takes for the weights of a preset.

    kaito_gpus = floor(1.02 · weight_bytes · 1.05 / (0.84 · memory − 2.3 GiB − tokens · B / gpus_per_pod)) + 1
    B = 2 · layers · (2 · kv_heads · head_dim, or kv_lora_rank + qk_rope_head_dim)

    Args:
        weight_bytes: of the model [bytes]. device_memory_bytes: of one GPU [bytes]. gpus_per_pod: of one machine.
        kaito_context_tokens: sequence that KAITO counts, None where it starts nothing [tokens].
        layers, kv_heads, head_dim: of the network.
        kv_lora_rank, qk_rope_head_dim: of a compressed KV entry, else None.
    Returns:
        GPUs.
    Validity: KAITO counts the files on disk and the memory on the label, which is up to 2 % more.

    >>> kaito_gpus(689e9, 79.2 * 2**30, 8, 2048, 61, 128, 128, 512, 64)  # DeepSeek-R1 on H100 80GB
    11

    Source: kaito-project/kaito 056b828 (2026-08-21) pkg/workspace/estimator/nodesestimator/estimator.go.
    """
    if kaito_context_tokens is None:
        raise LookupError("KAITO does not start this program")
    latent = kv_lora_rank is not None
    entry = (kv_lora_rank or 0) + (qk_rope_head_dim or 0) if latent else 2 * kv_heads * head_dim
    reserve = _RESERVE_BYTES + kaito_context_tokens * _BYTES_PER_VALUE * layers * entry / gpus_per_pod
    left = (_MEMORY_SHARE * device_memory_bytes - reserve) / (1 + _RESERVE_OF_WEIGHTS)
    if left <= 0:
        raise LookupError("KAITO refuses a GPU whose memory the overhead fills")
    return math.floor(weight_bytes * _WEIGHT_EXPANSION / left) + 1


def kaito_nodes(kaito_gpus: int, gpus_per_pod: int) -> int:
    """Machines that KAITO takes for one replica of a preset.

    kaito_nodes = ceil(kaito_gpus / gpus_per_pod)

    Args:
        kaito_gpus: for the weights. gpus_per_pod: of one machine.
    Returns:
        machines.

    >>> kaito_nodes(11, 8)
    2

    Source: kaito-project/kaito 056b828 (2026-08-21) pkg/workspace/estimator/nodesestimator/estimator.go.
    """
    return math.ceil(kaito_gpus / gpus_per_pod)


_MEMORY_SHARE = 0.84
_WEIGHT_EXPANSION = 1.02
_RESERVE_BYTES = 2.3 * GIB
_RESERVE_OF_WEIGHTS = 0.05
_BYTES_PER_VALUE = 2
