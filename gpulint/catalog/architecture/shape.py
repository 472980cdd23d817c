"""The shape of a model, and its parameters by part if the family is not known."""

from __future__ import annotations

from collections import Counter

from gpulint.catalog.architecture import parts
from gpulint.catalog.architecture.model import Architecture
from gpulint.catalog.architecture.parts import Parts

NORMS = 2
"""Norms of a layer, before the attention and before the MLP; one more precedes the output head."""


def count_parameters(shape: Architecture) -> Parts | None:
    """Return all parameters by part; None if the shape is not a plain-attention decoder or is
    incomplete.

    Biases, norms on queries and keys, and learned positions are left out: what a shape does not tell, below 0.5 %.
    """
    layers, hidden, heads, kv_heads = shape.layers, shape.hidden, shape.attention_heads, shape.kv_heads
    if not (layers and hidden and heads and kv_heads and shape.vocab) or _is_mixed(shape):
        return None
    width = shape.head_dim or hidden // heads
    mlps = _count_mlps(shape, layers, hidden)
    if mlps is None:
        return None
    tables = Counter(
        {parts.EMBEDDINGS: shape.vocab * hidden, parts.HEAD: 0 if shape.tied_embeddings else shape.vocab * hidden}
    )
    attention = parts.times(parts.attention(hidden, heads, kv_heads, width, False, False), layers)
    return attention + mlps + tables + parts.vectors((NORMS * layers + 1) * hidden)


def _is_mixed(shape: Architecture) -> bool:
    """Return whether some layers are of another kind: latent attention, states, two stacks, other
    window widths.
    """
    others = (shape.kv_lora_rank, shape.linear_attention_layers, shape.encoder_layers, shape.state_elements)
    return any((*others, shape.sliding_head_dim, shape.sliding_kv_heads, shape.kv_shared_layers))


def _count_mlps(shape: Architecture, layers: int, hidden: int) -> Parts | None:
    """Return the MLPs of the dense layers, and the experts, shared experts and routers of the
    others.
    """
    sparse = (shape.moe_layers or 0) if shape.experts else 0
    gated = bool(shape.gated_mlp)
    found: Parts = Counter()
    if sparse < layers:
        if not shape.intermediate:
            return None
        found += parts.times(parts.mlp(hidden, shape.intermediate, gated), layers - sparse)
    if sparse:
        if not (shape.experts and shape.moe_intermediate):
            return None
        inner = shape.moe_hidden or hidden
        experts = parts.times(parts.mlp(inner, shape.moe_intermediate, gated, part=parts.EXPERTS), shape.experts)
        shared = parts.mlp(hidden, shape.shared_intermediate or 0, gated)
        router = parts.linear(parts.ROUTERS, hidden, shape.experts)
        found += parts.times(experts + shared + router, sparse)
    return found
