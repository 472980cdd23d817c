"""torchtitan: the TOML of a training run."""

from __future__ import annotations

import sys
from collections.abc import Iterator, Mapping

from gpulint.adapters import trainers
from gpulint.adapters.claim import Claim
from gpulint.adapters.trainers import key_tables
from gpulint.catalog.architecture import builders
from gpulint.source.documents import Document
from gpulint.source.repository import Repository
from gpulint.workload import Field, Origin, Unknown, Workload

MENTIONS = ("[training]", "[parallelism]", "parallelism]", "[job]")
TRIGGERS = ("[training]", "parallelism")
READS = ("plain",)
CLAIMS = ("shape",)
ENGINE = "torchtitan"
TABLES = frozenset({"job", "profiling", "metrics", "model", "optimizer", "lr_scheduler", "training", "parallelism"})


def claims(document: Document) -> Claim:
    """Claim TOML with torchtitan's tables, or of a program that adopted them."""
    data = document.data
    if document.format != "toml" or not isinstance(data, dict) or len(TABLES & data.keys()) < 3:
        return Claim.NONE
    model = data.get("model")
    return Claim.SHAPE.where(
        "parallelism" in data or "training" in data or (isinstance(model, dict) and "parallelism" in model)
    )


def kind(document: Document) -> str:
    return "torchtitan configuration" if _is_own(document) else "training TOML"


def workloads(document: Document, repository: Repository) -> Iterator[Workload]:
    if _is_own(document):
        yield trainers.workload(sys.modules[__name__], document, repository)


def read_fields(document: Document, find: trainers.Find | None = None) -> Mapping[str, Field]:
    """Return batch, parallelism and recomputation of the run."""
    fields = key_tables.read_fields(document, "torchtitan")
    flavour = document.get(("model", "flavor"))
    if isinstance(flavour, str):
        fields.setdefault("checkpoint", _find_checkpoint(document, flavour))
    return fields


def _find_checkpoint(document: Document, flavour: str) -> Field:
    """Return the checkpoint with the network of a flavour, or that the trainer builds one of its own."""
    place = (Origin(document, ("model", "flavor")),)
    listed = builders.find_checkpoint(ENGINE, f"{document.get(('model', 'name'))}.{flavour}")
    if listed is None:
        return Field(Unknown(f"the trainer's own architecture {flavour}", "own program"), place)
    return Field(listed, place, assumption=builders.explain(flavour, listed), basis="stated")


def _is_own(document: Document) -> bool:
    """Return True for torchtitan itself, by its name for the sequences of a rank, now or earlier."""
    older = document.get(("training", "batch_size")) is not None and document.get(("parallelism",)) is not None
    return older or document.get(("training", "local_batch_size")) is not None
