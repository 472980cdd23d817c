"""What Unsloth's `fast_inference` tells vLLM: sequences and tokens of a step, from the room it expects for the KV cache.

unslothai/unsloth-zoo ce232d6c unsloth_zoo/vllm_utils.py, approximate_vllm_memory_usage and load_vllm, and its history
(tiers of 2025-02 to 2025-11, one sequence for networks that see since 2afbcc19 of 2025-09-16, lower tiers since 2025-11-30).
"""

from __future__ import annotations

from gpulint import units
from gpulint.catalog import tables as catalog_tables
from gpulint.catalog.architecture import Architecture

LOWER = (0, 12)
"""First vLLM that is served with the lower tiers (0.12.0 came out on 2025-12-03)."""
ONE_IMAGE = (0, 9, 2)
"""First vLLM that is served one sequence of a network that sees (a log of Unsloth 2025.9.6 has vLLM 0.9.2)."""
IN_STEPS = (0, 10)
STEP_TOKENS = 2048
"""Steps of vLLM's default since 2025-09-22 (661df44e), before that of the longest sequence."""
SEQUENCES = ((2, 128), (4, 160), (8, 192), (12, 224), (16, 256), (24, 288), (40, 320), (48, 226), (80, 368))
MOST_SEQUENCES = 400
"""Above 80 GiB."""
LOWER_TIERS = (
    *((2, 2048, 8), (4, 2048, 16), (8, 4096, 32), (12, 4096, 48), (16, 6144, 64), (24, 6144, 80)),
    *((40, 8192, 96), (48, 8192, 112), (80, 8192, 128)),
)
MOST = (8192, 256)
IMAGE_TOKENS = 8192
NO_ROOM = 256
"""The length that Unsloth falls back to where it expects no room at all."""
SMALLER: dict[str, float] = {"bitsandbytes": 16 / 5, "fp8": 8 / 5}
"""How much smaller Unsloth takes quantised matrices to be."""


def stated(
    shape: Architecture,
    release: str,
    memory_bytes: float,
    share: float,
    length: int,
    quantization: str | None,
    rank: int,
) -> dict[str, int]:
    """`max_num_seqs` and `max_num_batched_tokens` as Unsloth sets them."""
    version = catalog_tables.release(release) or LOWER
    room = (memory_bytes * share - expected_bytes(shape, quantization, rank)) / units.GIB if length != NO_ROOM else 0.0
    seen = shape.modality not in (None, "text") and version >= ONE_IMAGE
    if version >= LOWER:
        tokens, sequences = next(((most, many) for up, most, many in LOWER_TIERS if room <= up), MOST)
    else:
        tokens = STEP_TOKENS if version >= IN_STEPS else length
        sequences = next((many for up, many in SEQUENCES if room <= up), MOST_SEQUENCES)
    if seen:
        tokens, sequences = max(IMAGE_TOKENS, length), 1
    return {"max_num_seqs": sequences, "max_num_batched_tokens": tokens}


def expected_bytes(shape: Architecture, quantization: str | None, rank: int) -> float:
    """The network and its adapters as Unsloth estimates them."""
    hidden, layers, mlp = shape.hidden or 0, shape.layers or 0, shape.intermediate or 0
    keys = hidden // (shape.attention_heads or 1) * (shape.kv_heads or 1)
    matrices = 2 * layers * (hidden * 2 * (hidden + keys) + 3 * hidden * mlp)
    tables = 2 * (shape.vocab or 0) * hidden * (1 if shape.tied_embeddings else 2)
    adapters = 2 * layers * rank * (6 * hidden + 2 * keys + 2 * hidden + 3 * mlp + hidden)
    return matrices / SMALLER.get(quantization or "", 1) + tables + adapters
