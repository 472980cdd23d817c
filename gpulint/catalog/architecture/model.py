"""An architecture as a record, and how it was found."""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple


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
    moe_hidden: int | None = None
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
        """Whether the network is known, not only a parameter count read from a name; some are counted as a whole."""
        return self.layers is not None or self.is_whole

    @property
    def is_whole(self) -> bool:
        """Whether the network is counted as a whole: its layers are in no table."""
        return self.layers is None and self.parameters is not None and self.named_parameters is None

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
