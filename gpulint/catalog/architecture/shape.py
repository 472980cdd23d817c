"""The shape of a model, and its parameters by part if the family is not known."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from typing import NamedTuple

from gpulint.catalog.architecture import parts
from gpulint.catalog.architecture.parts import Parts

NORMS = 2
"""Norms of a layer, before the attention and before the MLP; one more precedes the output head."""


@dataclass(frozen=True, slots=True)
class Architecture:
    """The shape of a model. Counts are bare, `parameters` is exact, and None means that the model
    has no such part.
    """

    id: str
    family: str
    parameters: int | None = None
    active_parameters: int | None = None
    layers: int | None = None
    hidden: int | None = None
    intermediate: int | None = None
    gated_mlp: bool | None = None
    attention_heads: int | None = None
    kv_heads: int | None = None
    head_dim: int | None = None
    vocab: int | None = None
    tied_embeddings: bool | None = None
    trained_context: int | None = None
    sliding_window: int | None = None
    sliding_layers: int | None = None
    linear_attention_layers: int | None = None
    kv_lora_rank: int | None = None
    qk_rope_head_dim: int | None = None
    experts: int | None = None
    experts_per_token: int | None = None
    moe_layers: int | None = None
    moe_intermediate: int | None = None
    shared_intermediate: int | None = None
    sliding_kv_heads: int | None = None
    sliding_head_dim: int | None = None
    kv_shared_layers: int | None = None
    state_elements: int | None = None
    encoder_layers: int | None = None
    encoder_tokens: int | None = None
    encoder_parameters: int | None = None
    indexer_head_dim: int | None = None
    checkpoint_dtype: str | None = None
    checkpoint_quantization: str | None = None
    unquantised_parameters: int | None = None
    stored_bytes: int | None = None
    stored_formats: str | None = None
    task: str | None = None
    modality: str | None = None
    named_parameters: float | None = None
    format_assumed: str | None = None
    source: str = ""

    @property
    def is_known(self) -> bool:
        """Whether the shape is known, not only a parameter count read from a name."""
        return self.layers is not None

    @property
    def network_task(self) -> str | None:
        """What the model is for, under its name in the glossary; a workload has its own task."""
        return self.task

    @property
    def rotary_positions(self) -> int | None:
        """Positions that the checkpoint declares; they only set the length of a table."""
        return self.trained_context


class Resolution(NamedTuple):
    """An architecture and how it was found; `assumption` is text for the report if the step is not
    exact.
    """

    architecture: Architecture | None
    how: str
    assumption: str = ""


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
        experts = parts.times(parts.mlp(hidden, shape.moe_intermediate, gated, part=parts.EXPERTS), shape.experts)
        shared = parts.mlp(hidden, shape.shared_intermediate or 0, gated)
        router = parts.linear(parts.ROUTERS, hidden, shape.experts)
        found += parts.times(experts + shared + router, sparse)
    return found
