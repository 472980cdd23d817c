"""LitGPT: the YAML of `litgpt finetune` and `litgpt pretrain`."""

from __future__ import annotations

import sys
from collections.abc import Iterator, Mapping

from gpulint.adapters import trainers
from gpulint.adapters.claim import Claim
from gpulint.adapters.programs import unknown_settings
from gpulint.adapters.trainers import key_tables
from gpulint.source.documents import Document, Problem
from gpulint.source.repository import Repository
from gpulint.workload import Field, Origin, Unknown, Workload

MENTIONS = ("micro_batch_size",)
READS = ("plain",)
CLAIMS = ("shape",)
ENGINE = "litgpt"
TRAIN = frozenset(
    {"save_interval", "log_interval", "global_batch_size", "micro_batch_size", "lr_warmup_steps", "epochs"}
)


def claims(document: Document) -> Claim:
    """Claim a `train` section of LitGPT with a checkpoint or the name of a model."""
    data = document.data
    train = data.get("train") if isinstance(data, dict) else None
    if not isinstance(data, dict) or not isinstance(train, dict):
        return Claim.NONE
    return Claim.SHAPE.where(
        len(TRAIN & train.keys()) >= 3
        and bool({"checkpoint_dir", "model_name", "initial_checkpoint_dir"} & data.keys())
    )


def kind(document: Document) -> str:
    return "LitGPT configuration"


def problems(document: Document) -> Iterator[Problem]:
    yield from unknown_settings.problems(document, "litgpt")


def workloads(document: Document, repository: Repository) -> Iterator[Workload]:
    yield trainers.workload(sys.modules[__name__], document, repository)


def read_fields(document: Document, find: trainers.Find | None = None) -> Mapping[str, Field]:
    """Return batch, machines and adapters of the run.

    `checkpoints/ORG/NAME` is LitGPT's checkpoint folder.
    """
    fields = key_tables.read_fields(document, "litgpt")
    for key in ("checkpoint_dir", "initial_checkpoint_dir"):
        path = document.get((key,))
        if isinstance(path, str) and path.startswith("checkpoints/"):
            fields["checkpoint"] = Field(path.removeprefix("checkpoints/").rstrip("/"), (Origin(document, (key,)),))
    letters = _read_lora_targets(document)
    if letters is not None and "lora_rank" in fields:
        fields["lora_targets"] = letters
    if document.get(("quantize",)):
        fields["quantization"] = _read_quantization(document)
    return fields


def _read_lora_targets(document: Document) -> Field | None:
    """Return the letters of the matrices that carry adapters. Each has its own switch."""
    switches = {"lora_query": "q", "lora_key": "k", "lora_value": "v", "lora_projection": "o", "lora_mlp": "gud"}
    on = [(name, letters) for name, letters in switches.items() if document.get((name,)) is True]
    origins = tuple(Origin(document, (name,)) for name, _ in on)
    if document.get(("lora_head",)) is True:
        return Field(Unknown("the output head carries an adapter"), (Origin(document, ("lora_head",)),))
    return Field("".join(letters for _, letters in on), origins) if on else None


def _read_quantization(document: Document) -> Field:
    words = str(document.get(("quantize",)))
    methods = {"bnb.nf4": "nf4", "bnb.nf4-dq": "nf4-double"}
    return Field(methods.get(words, Unknown(f"{words} is not modelled")), (Origin(document, ("quantize",)),))
