"""The typical shape of a dense decoder of which only the size is known."""

from __future__ import annotations

import functools
import json
import math

from gpulint.catalog.architecture.model import Architecture

WIDTH_PER_LAYER = 128
"""Hidden size by number of layers: 4,096 by 32 in Llama 3 8B, 8,192 by 80 in 70B."""
HEAD = 128
HEADS_PER_KV_HEAD = 4
MLP_RATIO = 3.5
"""Intermediate size by hidden size of Llama 3 8B and 70B; the MLP has three matrices."""
VOCABULARY = 128_256
STEP = 128
"""Hidden sizes that are tried."""
HIDDEN_MAX = 65_536


@functools.cache
def build_typical(parameters: float) -> Architecture | None:
    """Return a decoder of about so many parameters in the proportions of Llama 3; None if none comes within a tenth.

    Args:
        parameters: [count]

    >>> round(build_typical(8.03e9).parameters / 1e9, 1), build_typical(8.03e9).hidden, build_typical(1e6)
    (8.0, 4096, None)

    Source: meta-llama/Llama-3.1-8B and 70B, config.json.
    """
    from gpulint.catalog import architecture

    _, hidden = min(
        (abs(_count_layers(parameters, hidden) - hidden / WIDTH_PER_LAYER), hidden) for hidden in _list_hidden()
    )
    layers = max(1, round(_count_layers(parameters, hidden)))
    heads = hidden // HEAD
    config = {
        "model_type": "llama",
        "architectures": ["LlamaForCausalLM"],
        "hidden_size": hidden,
        "num_hidden_layers": layers,
        "num_attention_heads": heads,
        "num_key_value_heads": max(1, heads // HEADS_PER_KV_HEAD),
        "head_dim": HEAD,
        "intermediate_size": int(MLP_RATIO * hidden),
        "vocab_size": VOCABULARY,
        "tie_word_embeddings": False,
        "torch_dtype": "bfloat16",
        "hidden_act": "silu",
        "max_position_embeddings": 131_072,
    }
    shape = architecture.read_config(f"a decoder of {parameters / 1e9:g} billion parameters", json.dumps(config))
    found = shape.parameters if shape else None
    return shape if found and math.isclose(found, parameters, rel_tol=0.1) else None


def _list_hidden() -> range:
    return range(2 * STEP, HIDDEN_MAX, STEP)


def _count_layers(parameters: float, hidden: int) -> float:
    """Return the layers of this width that hold the parameters beside the two tables of the vocabulary."""
    matrices = 2 + 2 / HEADS_PER_KV_HEAD + 3 * MLP_RATIO
    return (parameters - 2 * VOCABULARY * hidden) / (matrices * hidden**2)
