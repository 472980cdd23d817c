"""An architecture as readable text, and as a row of the catalog."""

from __future__ import annotations

import csv
import io

from gpulint import units
from gpulint.catalog import tables
from gpulint.catalog.architecture.model import Architecture
from gpulint.catalog.architecture.network import ArchitectureRecord
from gpulint.catalog.architecture.parts import PARTS

BYTES_OF_16_BITS = 2
SHAPE = (
    *("family", "layers", "encoder_layers", "hidden", "intermediate", "gated_mlp", "attention_heads", "kv_heads"),
    *("head_dim", "sliding_kv_heads", "sliding_head_dim", "kv_lora_rank", "qk_rope_head_dim", "indexer_head_dim"),
    *("vocab", "tied_embeddings", "trained_context", "encoder_tokens", "sliding_window", "sliding_layers"),
    *("kv_shared_layers", "linear_attention_layers", "state_elements", "experts", "experts_per_token", "moe_layers"),
    *("moe_intermediate", "moe_hidden", "shared_intermediate", "checkpoint_dtype", "checkpoint_quantization", "task"),
    "modality",
)
"""Fields in the order in which they are shown."""
RENAMED = {"dtype": "checkpoint_dtype"}
"""Columns of the catalog's table that the record calls something else."""


def render_text(network: ArchitectureRecord) -> str:
    """Return the shape, the parameters by part, and what one token and one sequence keep."""
    shape = network.architecture
    fields = [(name, getattr(shape, name)) for name in SHAPE]
    rows = [(name, _cell(value)) for name, value in fields if isinstance(value, bool) or value]
    rows += _describe_parts(network)
    rows += _describe_cache(shape)
    width = max(len(name) for name, _ in rows)
    return "\n".join([shape.id, *(f"{name:<{width}}  {cell}" for name, cell in rows)]) + "\n"


def _cell(value: object) -> str:
    return units.human(value, "")


def _describe_parts(network: ArchitectureRecord) -> list[tuple[str, str]]:
    shape, found = network.architecture, network.parts
    if found is None:
        return [("parameters", f"not counted: {network.uncounted}")]
    rows = [("parameters", _cell(shape.parameters))]
    rows += [(f"  {part}", _cell(found[part])) for part in PARTS if found[part]]
    if shape.active_parameters is not None:
        rows.append(("active_parameters", _cell(shape.active_parameters)))
    if shape.unquantised_parameters is not None:
        rows.append(("unquantised_parameters", _cell(shape.unquantised_parameters)))
    return rows


def _describe_cache(shape: Architecture) -> list[tuple[str, str]]:
    """Return the 16-bit KV cache of one token and the state of one sequence; nothing if layers
    share their KV cache.
    """
    rows = []
    full, sliding = kv_elements_per_token(shape)
    if full:
        rows.append(("KV cache of a token", f"{_bytes(full)} in 16 bits"))
    if sliding:
        rows.append(("KV cache in the window", f"{_bytes(sliding)} a token of the last {shape.sliding_window:,}"))
    if shape.state_elements:
        state = shape.state_elements * (shape.linear_attention_layers or 0)
        rows.append(("state of a sequence", f"{_cell(state)} elements"))
    return rows


def _bytes(elements: int) -> str:
    return units.human(elements * BYTES_OF_16_BITS, "bytes")


def kv_elements_per_token(shape: Architecture) -> tuple[int, int]:
    """Return the elements that one token adds to the KV cache, in full and in sliding layers.

    full = (layers − linear − sliding) · (rank + rope, or 2 · kv_heads · head_dim); sliding likewise with its own heads

    >>> kv_elements_per_token(Architecture("a", "llama", layers=32, kv_heads=8, head_dim=128))
    (65536, 0)
    """
    if shape.kv_shared_layers:
        return 0, 0
    sliding = shape.sliding_layers or 0
    full = (shape.layers or 0) - (shape.linear_attention_layers or 0) - sliding
    if shape.kv_lora_rank:
        return full * (shape.kv_lora_rank + (shape.qk_rope_head_dim or 0)), 0
    heads, width = shape.kv_heads or 0, shape.head_dim or 0
    narrow = 2 * (shape.sliding_kv_heads or heads) * (shape.sliding_head_dim or width)
    return full * 2 * heads * width, sliding * narrow


def render_row(network: ArchitectureRecord, source: str) -> str:
    """Return the header and the row of catalog/architectures.csv. The date is left to the person
    who read the source.
    """
    header = list(tables.rows("architectures")[0])
    cells = {name: _raw(getattr(network.architecture, RENAMED.get(name, name), None)) for name in header}
    cells["source"] = source
    text = io.StringIO()
    writer = csv.DictWriter(text, header, lineterminator="\n")
    writer.writeheader()
    writer.writerow(cells)
    return text.getvalue()


def _raw(value: object) -> str:
    if isinstance(value, bool):
        return "yes" if value else "no"
    return "" if value is None else str(value)
