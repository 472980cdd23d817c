"""torchtune: the YAML of a recipe, whose `_component_` keys name what is built."""

from __future__ import annotations

import re
import sys
from collections.abc import Iterator, Mapping
from dataclasses import replace

from gpulint.adapters import trainers
from gpulint.adapters.claim import Claim
from gpulint.adapters.trainers import key_tables
from gpulint.catalog import tables
from gpulint.catalog.architecture import builders
from gpulint.engines.trainers import vocabulary
from gpulint.source.documents import Document
from gpulint.source.repository import Repository
from gpulint.workload import Field, Origin, Unknown, Workload

MENTIONS = ("torchtune.",)
TRIGGERS = ("torchtune.", "_component_")
READS = ("plain",)
ENGINE = "torchtune"
RECIPES = ("recipes/configs/{name}.yaml",)
"""Source: torchtune _recipe_registry.py."""
SETTLES = frozenset(vocabulary.DECIDING)
"""A recipe holds every setting of its run; commands override it by key."""
ADAPTED = re.compile(r"\.(?P<quantised>q?)(?:lora|dora)_")
"""The start of a builder's name if it adds adapters."""
FUSED = frozenset({"adam", "adamw"})
"""Optimizers of PyTorch with a fused step."""
QUANTISED = "nf4-double"
"""Base weights of QLoRA: NF4 with 8-bit scales (pytorch/ao torchao/dtypes/nf4tensor.py, to_nf4)."""
LOSSES: Mapping[str, str] = {
    "CrossEntropyLoss": "plain",
    "CEWithChunkedOutputLoss": "chunked",
    "LinearCrossEntropyLoss": "fused",
}
"""Losses by the last part of their component (torchtune/modules/loss)."""
OTHER_NETWORKS = ("ref_checkpointer", "teacher_model", "teacher_checkpointer", "reward_checkpointer", "grpo_samples")
"""Keys of recipes that keep a second network beside the trained one, or generate with it."""


def claims(document: Document) -> Claim:
    """Claim a recipe that builds torchtune's components."""
    data = document.data
    return Claim.EXACT.where(
        isinstance(data, dict) and any(_find_component(document, str(key)).startswith("torchtune.") for key in data)
    )


def kind(document: Document) -> str:
    return "torchtune configuration"


def workloads(document: Document, repository: Repository) -> Iterator[Workload]:
    """Yield a recipe that trains. Others generate, evaluate or quantise."""
    if document.get(("batch_size",)) is not None and document.get(("optimizer",)) is not None:
        yield trainers.workload(sys.modules[__name__], document, repository)


def read_fields(document: Document, find: trainers.Find | None = None) -> Mapping[str, Field]:
    """Return the recipe's settings."""
    fields = key_tables.read_fields(document, "torchtune", interpolated=True)
    if (built := _find_checkpoint(document)) is not None:
        fields["checkpoint"] = built
    fields |= {**_read_optimizer(document), **_read_adapters(document, fields)}
    if (loss := LOSSES.get(_find_component(document, "loss").rpartition(".")[2])) is not None:
        fields["loss_kernel"] = Field(loss, (Origin(document, ("loss", "_component_")),))
    offload = key_tables.field(document, ("enable_activation_offloading",), "word:true=true")
    if offload is not None and document.get(("enable_activation_checkpointing",)) is True:
        fields["activation_checkpointing"] = Field("offloaded", offload.origins)
    if (name := next((name for name in OTHER_NETWORKS if document.get((name,)) is not None), None)) is not None:
        why = Unknown(f"what {name} adds to the trained network is not modelled")
        fields["trainable_parameters"] = Field(why, (Origin(document, (name,), key=True),))
    return fields


def _read_optimizer(document: Document) -> dict[str, Field]:
    """Return the optimizer, whether its step is one kernel, and whether it runs in the backward pass."""
    name = _find_component(document, "optimizer").rpartition(".")[2].lower()
    if not name:
        return {}
    place: tuple[Origin, ...] = (Origin(document, ("optimizer", "_component_")),)
    found = key_tables.OPTIMIZERS.get(name)
    if found is None:
        return {"optimizer": Field(Unknown(f"the optimizer {name} is not listed"), place)}
    optimizer = found or name
    if document.get(("optimizer", "fused")) is True and optimizer in FUSED:
        optimizer, place = f"{optimizer}-fused", (*place, Origin(document, ("optimizer", "fused")))
    if document.get(("optimizer_in_bwd",)) is True:
        optimizer, place = f"{optimizer}-in-backward", (*place, Origin(document, ("optimizer_in_bwd",)))
    return {"optimizer": Field(optimizer, place)}


def _read_adapters(document: Document, fields: Mapping[str, Field]) -> dict[str, Field]:
    """Return the matrices that carry adapters, and the format of the base weights."""
    found: dict[str, Field] = {}
    if "lora_rank" not in fields:
        return found
    attention = key_tables.field(document, ("model", "lora_attn_modules"), "targets")
    if attention is not None:
        found["lora_targets"] = _read_targets(document, attention)
    builder = ADAPTED.search(_find_component(document, "model"))
    if document.get(("model", "quantize_base")) is True or (builder is not None and builder["quantised"]):
        key = "quantize_base" if document.get(("model", "quantize_base")) is True else "_component_"
        found["quantization"] = Field(QUANTISED, (Origin(document, ("model", key)),))
    return found


def _find_checkpoint(document: Document) -> Field | None:
    """Return the checkpoint whose architecture the recipe builds; None if the builder is not listed."""
    builder = ADAPTED.sub(".", _find_component(document, "model"))
    listed = next((row for row in tables.rows("model_builders") if row["builder"] == builder), None)
    if listed is None:
        return None
    assumption = builders.explain(builder.rpartition(".")[2], listed["checkpoint"])
    return Field(
        listed["checkpoint"], (Origin(document, ("model", "_component_")),), assumption=assumption, basis="stated"
    )


def _read_targets(document: Document, attention: Field) -> Field:
    """Return the matrices that carry adapters. Those of the output head are not modelled."""
    if document.get(("model", "apply_lora_to_output")) is True:
        return Field(Unknown("the output head carries an adapter", choices=vocabulary.ADAPTED), attention.origins)
    mlp = "gud" if document.get(("model", "apply_lora_to_mlp")) is True else ""
    return replace(attention, value=f"{attention.value}{mlp}") if isinstance(attention.value, str) else attention


def _find_component(document: Document, key: str) -> str:
    return str(document.get((key, "_component_")) or "")
