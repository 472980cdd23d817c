"""GPT-NeoX: one of the YAML files of a run, which may have several; keys have `-` or `_`."""

from __future__ import annotations

import sys
from collections.abc import Iterator, Mapping

from gpulint.adapters import trainers
from gpulint.adapters.claim import Claim
from gpulint.adapters.programs import unknown_settings
from gpulint.adapters.trainers import key_tables
from gpulint.source.documents import Document, Problem
from gpulint.source.repository import Repository
from gpulint.workload import Field, Origin, Workload

MENTIONS = ("pipe_parallel_size", "pipe-parallel-size", "model_parallel_size", "model-parallel-size")
READS = ("plain",)
CLAIMS = ("shape",)
ENGINE = "gpt-neox"
SEVERAL_FILES = True
"""deepy.py merges all files that the command names, in any order."""
SETTLES = frozenset({"virtual_stages"})
"""GPT-NeoX has no interleaved stages, so this is decided without a key."""
OWN = frozenset(
    {
        *("pipe_parallel_size", "model_parallel_size", "num_layers", "hidden_size", "num_attention_heads", "pos_emb"),
        *("train_micro_batch_size_per_gpu", "no_weight_tying", "gpt_j_residual", "zero_optimization", "train_iters"),
    }
)


ALONE = frozenset(
    {
        *("pipe_parallel_size", "train_micro_batch_size_per_gpu", "zero_optimization", "pos_emb", "no_weight_tying"),
        *("gpt_j_residual", "attention_config"),
    }
)
"""Keys that Megatron's settings, which have the other keys, do not have."""


def claims(document: Document) -> Claim:
    """Claim a document with a parallel size and the architecture or batch of a run.

    The keys must be at the top level.
    """
    data = document.data
    if not isinstance(data, dict) or "apiVersion" in data:
        return Claim.NONE
    keys = {str(key).replace("-", "_") for key in data}
    return Claim.SHAPE.where(
        bool({"pipe_parallel_size", "model_parallel_size"} & keys) and len(OWN & keys) >= 3 and bool(ALONE & keys)
    )


def kind(document: Document) -> str:
    return "GPT-NeoX configuration"


def problems(document: Document) -> Iterator[Problem]:
    yield from unknown_settings.problems(document, "gpt-neox")


def workloads(document: Document, repository: Repository) -> Iterator[Workload]:
    yield trainers.workload(sys.modules[__name__], document, repository)


def read_fields(document: Document, find: trainers.Find | None = None) -> Mapping[str, Field]:
    """Return the settings, DeepSpeed's among them."""
    fields = key_tables.read_fields(document, "gpt-neox")
    if (stage := fields.get("zero_stage")) is not None:
        fields["sharding"] = Field("deepspeed", stage.origins)
    fields |= key_tables.find_half_formats(document, ("fp16", "enabled"), ("bf16", "enabled"))
    for name, dtype in (("fp16", "float16"), ("bf16", "bfloat16")):
        if document.get((name, "enabled")) is True:
            fields["training_dtype"] = Field(dtype, (Origin(document, (name, "enabled")),))
    return fields
