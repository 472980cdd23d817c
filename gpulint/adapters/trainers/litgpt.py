"""LitGPT: the YAML of `litgpt finetune` and `litgpt pretrain`."""

from __future__ import annotations

import sys
from collections.abc import Iterator, Mapping

from gpulint.adapters import trainers as configured
from gpulint.adapters.programs import unknown_settings as misstated
from gpulint.adapters.trainers import key_tables as settings
from gpulint.source.documents import Document, Problem
from gpulint.source.repository import Repository
from gpulint.workload import Field, Origin, Unknown, Workload

MENTIONS = ("micro_batch_size",)
READS = ("plain",)
ENGINE = "litgpt"
TRAIN = frozenset(
    {"save_interval", "log_interval", "global_batch_size", "micro_batch_size", "lr_warmup_steps", "epochs"}
)


def claims(document: Document) -> bool:
    """`train` settings of LitGPT beside a checkpoint or a network's name."""
    data = document.data
    train = data.get("train") if isinstance(data, dict) else None
    if not isinstance(data, dict) or not isinstance(train, dict):
        return False
    return len(TRAIN & train.keys()) >= 3 and bool(
        {"checkpoint_dir", "model_name", "initial_checkpoint_dir"} & data.keys()
    )


def kind(document: Document) -> str:
    return "LitGPT configuration"


def problems(document: Document) -> Iterator[Problem]:
    yield from misstated.problems(document, "litgpt")


def workloads(document: Document, repository: Repository) -> Iterator[Workload]:
    yield configured.workload(sys.modules[__name__], document, repository)


def stated(document: Document, find: configured.Find | None = None) -> Mapping[str, Field]:
    """The run's batch, machines and adapters; `checkpoints/OWNER/NAME` is where LitGPT keeps a checkpoint."""
    found = settings.stated(document, "litgpt")
    for key in ("checkpoint_dir", "initial_checkpoint_dir"):
        path = document.get((key,))
        if isinstance(path, str) and path.startswith("checkpoints/"):
            found["checkpoint"] = Field(path.removeprefix("checkpoints/").rstrip("/"), (Origin(document, (key,)),))
    letters = _letters(document)
    if letters is not None and "lora_rank" in found:
        found["lora_targets"] = letters
    if document.get(("quantize",)):
        found["quantization"] = _quantised(document)
    return found


def _letters(document: Document) -> Field | None:
    """The matrices that carry adapters, one switch each."""
    switches = {"lora_query": "q", "lora_key": "k", "lora_value": "v", "lora_projection": "o", "lora_mlp": "gud"}
    on = [(name, letters) for name, letters in switches.items() if document.get((name,)) is True]
    origins = tuple(Origin(document, (name,)) for name, _ in on)
    if document.get(("lora_head",)) is True:
        return Field(Unknown("the output head carries an adapter"), (Origin(document, ("lora_head",)),))
    return Field("".join(letters for _, letters in on), origins) if on else None


def _quantised(document: Document) -> Field:
    words = str(document.get(("quantize",)))
    known = {"bnb.nf4": "nf4", "bnb.nf4-dq": "nf4-double"}
    return Field(known.get(words, Unknown(f"{words} is not modelled")), (Origin(document, ("quantize",)),))
