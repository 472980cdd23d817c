"""Parameters of a model's modules, by part: matrices and convolutions at their module, vectors
among the norms.
"""

from __future__ import annotations

from collections import Counter
from typing import NamedTuple

EMBEDDINGS, HEAD = "embeddings", "output head"
ATTENTION, LINEAR_ATTENTION, MLP = "attention", "linear attention", "MLP"
EXPERTS, ROUTERS, VECTORS = "experts", "routers", "norms and biases"
ENCODER, TOWERS, OTHER = "encoder", "towers", "other"
PARTS = (EMBEDDINGS, ATTENTION, LINEAR_ATTENTION, MLP, EXPERTS, ROUTERS, VECTORS, OTHER, ENCODER, TOWERS, HEAD)
"""The parts of a count, in the order in which they are shown."""

Parts = Counter[str]
"""Parameters by part."""


class State(NamedTuple):
    """A layer that keeps a recurrent state: its parameters, and the state elements of one sequence."""

    parts: Parts
    elements: int


def times(parts: Parts, factor: int) -> Parts:
    """Return the parts of `factor` equal layers."""
    return Counter({name: count * factor for name, count in parts.items()})


def linear(part: str, inputs: int, outputs: int, bias: bool = False) -> Parts:
    """Return inputs · outputs, plus outputs for the bias."""
    return Counter({part: inputs * outputs, VECTORS: outputs if bias else 0})


def vectors(*widths: int) -> Parts:
    """Return the sum of the widths of norms, biases and scales."""
    return Counter({VECTORS: sum(widths)})


def mlp(hidden: int, width: int, gated: bool, bias: bool = False, part: str = MLP) -> Parts:
    """Return the up, down and, when gated, gate matrices."""
    up = linear(part, hidden, width, bias)
    return times(up, 2 if gated else 1) + linear(part, width, hidden, bias)


def attention(
    hidden: int, heads: int, kv_heads: int, head_dim: int, qkv_bias: bool = False, out_bias: bool = False
) -> Parts:
    """Return the query, key, value and output projections."""
    queries, keys = heads * head_dim, kv_heads * head_dim
    projected = linear(ATTENTION, hidden, queries + 2 * keys, qkv_bias)
    return projected + linear(ATTENTION, queries, hidden, out_bias)


def latent_attention(
    hidden: int, heads: int, query_rank: int | None, rank: int, nope: int, rope: int, value: int, bias: bool = False
) -> Parts:
    """Return multi-head latent attention: low-rank keys and values, and low-rank queries if there
    is a rank.
    """
    query = heads * (nope + rope)
    if query_rank:
        queries = linear(ATTENTION, hidden, query_rank, bias) + linear(ATTENTION, query_rank, query)
        queries += vectors(query_rank)
    else:
        queries = linear(ATTENTION, hidden, query)
    keys = linear(ATTENTION, hidden, rank + rope, bias) + linear(ATTENTION, rank, heads * (nope + value))
    return queries + keys + vectors(rank) + linear(ATTENTION, heads * value, hidden, bias)


def indexer(hidden: int, query_rank: int, heads: int, head_dim: int) -> Parts:
    """Return the sparse-attention indexer: queries, one key with a LayerNorm, and a weight per
    head.
    """
    return (
        linear(ATTENTION, query_rank, heads * head_dim)
        + linear(ATTENTION, hidden, head_dim + heads)
        + vectors(2 * head_dim)
    )


def mamba(inner: int, hidden: int, state: int, kernel: int, rank: int, conv_bias: bool, bias: bool) -> State:
    """Return Mamba 1: in and out projections, a convolution, and a selective scan with its own A, D
    and time step.
    """
    found = linear(LINEAR_ATTENTION, hidden, 2 * inner, bias) + linear(LINEAR_ATTENTION, inner, hidden, bias)
    found += linear(LINEAR_ATTENTION, inner, rank + 2 * state) + linear(LINEAR_ATTENTION, rank, inner, True)
    found += Counter({LINEAR_ATTENTION: kernel * inner}) + vectors(inner * state, inner, inner if conv_bias else 0)
    return State(found, inner * state + (kernel - 1) * inner)


def mamba2(
    hidden: int,
    heads: int,
    head_dim: int,
    groups: int,
    state: int,
    kernel: int,
    conv_bias: bool,
    bias: bool,
    norm: bool,
) -> State:
    """Return Mamba-2: one projection for all inputs, a convolution over x, B and C, heads with a
    scalar A, D and time step.
    """
    inner = heads * head_dim
    convolved = inner + 2 * groups * state
    found = linear(LINEAR_ATTENTION, hidden, inner + convolved + heads, bias)
    found += linear(LINEAR_ATTENTION, inner, hidden, bias) + Counter({LINEAR_ATTENTION: kernel * convolved})
    found += vectors(3 * heads, convolved if conv_bias else 0, inner if norm else 0)
    return State(found, inner * state + (kernel - 1) * convolved)


def delta_net(hidden: int, key_heads: int, value_heads: int, key_dim: int, value_dim: int, kernel: int) -> State:
    """Gated DeltaNet (Qwen3-Next): queries, keys, values and a gate, two scalars a value head, a convolution, a norm."""
    keys, values = key_heads * key_dim, value_heads * value_dim
    convolved = 2 * keys + values
    found = linear(LINEAR_ATTENTION, hidden, convolved + values + 2 * value_heads)
    found += linear(LINEAR_ATTENTION, values, hidden) + Counter({LINEAR_ATTENTION: kernel * convolved})
    found += vectors(2 * value_heads, value_dim)
    return State(found, value_heads * key_dim * value_dim + (kernel - 1) * convolved)


def kimi_delta(hidden: int, heads: int, head_dim: int, kernel: int) -> State:
    """Kimi Delta Attention: queries, keys and values, each convolved, and low-rank forget and output gates."""
    width = heads * head_dim
    found = linear(LINEAR_ATTENTION, hidden, 3 * width + heads) + linear(LINEAR_ATTENTION, width, hidden)
    gate = linear(LINEAR_ATTENTION, hidden, head_dim) + linear(LINEAR_ATTENTION, head_dim, width)
    found += times(gate, 2) + Counter({LINEAR_ATTENTION: 3 * kernel * width}) + vectors(width, heads, head_dim)
    return State(found, heads * head_dim * head_dim + (kernel - 1) * 3 * width)


def lightning(hidden: int, heads: int, head_dim: int) -> State:
    """Lightning attention (MiniMax-Text-01): queries, keys and values, an output gate and a norm."""
    width = heads * head_dim
    found = linear(LINEAR_ATTENTION, hidden, 4 * width) + linear(LINEAR_ATTENTION, width, hidden) + vectors(width)
    return State(found, heads * head_dim * head_dim)


def short_convolution(hidden: int, kernel: int, bias: bool) -> State:
    """The gated short convolution of LFM2."""
    found = linear(LINEAR_ATTENTION, hidden, 3 * hidden, bias) + linear(LINEAR_ATTENTION, hidden, hidden, bias)
    found += Counter({LINEAR_ATTENTION: kernel * hidden}) + vectors(hidden if bias else 0)
    return State(found, (kernel - 1) * hidden)
