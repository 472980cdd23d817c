"""torchtune: the YAML of a recipe, whose `_component_` keys name what is built."""

from __future__ import annotations

import sys
from collections.abc import Iterator, Mapping

from gpulint.adapters import configured, settings
from gpulint.documents import Document
from gpulint.repository import Repository
from gpulint.workload import Field, Workload

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
    return settings.stated(document, "torchtune", interpolated=True)


def _component(document: Document, key: str) -> str:
    return str(document.get((key, "_component_")) or "")
