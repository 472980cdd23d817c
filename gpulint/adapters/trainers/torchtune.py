"""torchtune: the YAML of a recipe, whose `_component_` keys name what is built."""

from __future__ import annotations

import re
import sys
from collections.abc import Iterator, Mapping
from dataclasses import replace

from gpulint.adapters import trainers as configured
from gpulint.adapters.trainers import key_tables as settings
from gpulint.catalog import tables as catalog
from gpulint.source.documents import Document
from gpulint.source.repository import Repository
from gpulint.workload import Field, Origin, Unknown, Workload

MENTIONS = ("torchtune.",)
READS = ("plain",)
ENGINE = "torchtune"
ADAPTED = re.compile(r"\.q?(?:lora|dora)_")
"""What stands before a builder's name where it adds adapters."""


def claims(document: Document) -> bool:
    """A recipe that builds something of torchtune's."""
    data = document.data
    return isinstance(data, dict) and any(_component(document, str(key)).startswith("torchtune.") for key in data)


def kind(document: Document) -> str:
    return "torchtune configuration"


def workloads(document: Document, repository: Repository) -> Iterator[Workload]:
    """A recipe that trains; others generate, evaluate or quantise."""
    if document.get(("batch_size",)) is not None and document.get(("optimizer",)) is not None:
        yield configured.workload(sys.modules[__name__], document, repository)


def stated(document: Document, find: configured.Find | None = None) -> Mapping[str, Field]:
    """The recipe's settings."""
    found = settings.stated(document, "torchtune", interpolated=True)
    if (built := _built(document)) is not None:
        found["checkpoint"] = built
    attention = settings.field(document, ("model", "lora_attn_modules"), "targets")
    if attention is not None and "lora_rank" in found:
        found["lora_targets"] = _targets(document, attention)
    return found


def _built(document: Document) -> Field | None:
    """The checkpoint of whose shape the recipe builds its network; None where the builder is none of the listed ones."""
    builder = ADAPTED.sub(".", _component(document, "model"))
    listed = next((row for row in catalog.rows("model_builders") if row["builder"] == builder), None)
    if listed is None:
        return None
    said = f"{builder.rpartition('.')[2]} builds a network of the shape of {listed['checkpoint']}"
    return Field(listed["checkpoint"], (Origin(document, ("model", "_component_")),), assumption=said)


def _targets(document: Document, attention: Field) -> Field:
    """The matrices of the attention that carry adapters, and those of the MLP; the output head is not modelled."""
    if document.get(("model", "apply_lora_to_output")) is True:
        return Field(Unknown("the output head carries an adapter"), attention.origins)
    mlp = "gud" if document.get(("model", "apply_lora_to_mlp")) is True else ""
    return replace(attention, value=f"{attention.value}{mlp}") if isinstance(attention.value, str) else attention


def _component(document: Document, key: str) -> str:
    return str(document.get((key, "_component_")) or "")
