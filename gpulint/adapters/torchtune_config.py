"""torchtune: the YAML of a recipe, whose `_component_` keys name what is built."""

from __future__ import annotations

import sys
from collections.abc import Iterator, Mapping
from dataclasses import replace

from gpulint.adapters import configured, settings
from gpulint.documents import Document
from gpulint.repository import Repository
from gpulint.workload import Field, Unknown, Workload

MENTIONS = ("torchtune.",)
READS = ("plain",)
ENGINE = "torchtune"


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
    attention = settings.field(document, ("model", "lora_attn_modules"), "targets")
    if attention is not None and "lora_rank" in found:
        found["lora_targets"] = _targets(document, attention)
    return found


def _targets(document: Document, attention: Field) -> Field:
    """The matrices of the attention that carry adapters, and those of the MLP; the output head is not modelled."""
    if document.get(("model", "apply_lora_to_output")) is True:
        return Field(Unknown("the output head carries an adapter"), attention.origins)
    mlp = "gud" if document.get(("model", "apply_lora_to_mlp")) is True else ""
    return replace(attention, value=f"{attention.value}{mlp}") if isinstance(attention.value, str) else attention


def _component(document: Document, key: str) -> str:
    return str(document.get((key, "_component_")) or "")
