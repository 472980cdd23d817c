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
from gpulint.source.documents import Document
from gpulint.source.repository import Repository
from gpulint.workload import Field, Origin, Unknown, Workload

MENTIONS = ("torchtune.",)
TRIGGERS = ("torchtune.", "_component_")
READS = ("plain",)
ENGINE = "torchtune"
RECIPES = ("recipes/configs/{name}.yaml",)
"""Source: torchtune _recipe_registry.py."""
ADAPTED = re.compile(r"\.q?(?:lora|dora)_")
"""The start of a builder's name if it adds adapters."""


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
    attention = key_tables.field(document, ("model", "lora_attn_modules"), "targets")
    if attention is not None and "lora_rank" in fields:
        fields["lora_targets"] = _read_targets(document, attention)
    return fields


def _find_checkpoint(document: Document) -> Field | None:
    """Return the checkpoint whose architecture the recipe builds; None if the builder is not listed."""
    builder = ADAPTED.sub(".", _find_component(document, "model"))
    listed = next((row for row in tables.rows("model_builders") if row["builder"] == builder), None)
    if listed is None:
        return None
    assumption = f"{builder.rpartition('.')[2]} builds the architecture of {listed['checkpoint']}"
    return Field(listed["checkpoint"], (Origin(document, ("model", "_component_")),), assumption=assumption)


def _read_targets(document: Document, attention: Field) -> Field:
    """Return the matrices that carry adapters. Those of the output head are not modelled."""
    if document.get(("model", "apply_lora_to_output")) is True:
        return Field(Unknown("the output head carries an adapter"), attention.origins)
    mlp = "gud" if document.get(("model", "apply_lora_to_mlp")) is True else ""
    return replace(attention, value=f"{attention.value}{mlp}") if isinstance(attention.value, str) else attention


def _find_component(document: Document, key: str) -> str:
    return str(document.get((key, "_component_")) or "")
