"""LLM-Foundry: the YAML of Composer's training script."""

from __future__ import annotations

import sys
from collections.abc import Iterator, Mapping

from gpulint.adapters import trainers
from gpulint.adapters.claim import Claim
from gpulint.adapters.programs import unknown_settings
from gpulint.adapters.trainers import key_tables, llm_foundry_network
from gpulint.source.documents import Document, Problem
from gpulint.source.repository import Repository
from gpulint.workload import Field, Origin, Unknown, Workload

MENTIONS = ("global_train_batch_size", "device_train_microbatch_size")
READS = ("plain",)
CLAIMS = ("shape",)
ENGINE = "llm-foundry"


def claims(document: Document) -> Claim:
    """Claim a global batch with a model or data to load."""
    data = document.data
    if not isinstance(data, dict):
        return Claim.NONE
    return Claim.SHAPE.where(
        bool({"global_train_batch_size", "device_train_microbatch_size"} & data.keys())
        and bool({"model", "train_loader", "max_seq_len", "max_duration"} & data.keys())
    )


def kind(document: Document) -> str:
    return "LLM-Foundry configuration"


def problems(document: Document) -> Iterator[Problem]:
    yield from unknown_settings.problems(document, "llm-foundry")


def workloads(document: Document, repository: Repository) -> Iterator[Workload]:
    yield trainers.workload(sys.modules[__name__], document, repository)


def read_fields(document: Document, find: trainers.Find | None = None) -> Mapping[str, Field]:
    """Return batch, architecture and sharding of the run.

    The trainer chooses `auto` micro-batches as it runs.
    """
    fields = {
        **key_tables.read_fields(document, "llm-foundry", interpolated=True),
        **llm_foundry_network.find(document),
    }
    fields |= key_tables.find_context_extension(document, ("model", "config_overrides"))
    if document.get(("device_train_microbatch_size",)) == "auto":
        why = Unknown("the trainer finds the largest micro-batch that fits")
        fields["micro_batch_size"] = Field(why, (Origin(document, ("device_train_microbatch_size",)),))
    if isinstance(document.get(("fsdp_config",)), dict):
        fields |= trainers.read_fsdp(document, Origin(document, ("fsdp_config",), key=True), ("fsdp_config",))
    return fields
