"""GPT-NeoX: one of the YAML files of a run, which may have several; keys have `-` or `_`."""

from __future__ import annotations

import sys
from collections.abc import Iterator, Mapping
from dataclasses import replace

from gpulint.adapters import trainers
from gpulint.adapters.claim import Claim
from gpulint.adapters.programs import unknown_settings
from gpulint.adapters.trainers import gpt_neox_network, key_tables
from gpulint.engines.trainers import vocabulary
from gpulint.source.documents import Document, Problem
from gpulint.source.repository import Repository
from gpulint.workload import Field, Origin, Unknown, Workload

MENTIONS = ("pipe_parallel_size", "pipe-parallel-size", "model_parallel_size", "model-parallel-size")
READS = ("plain",)
CLAIMS = ("shape",)
ENGINE = "gpt-neox"
SEVERAL_FILES = True
"""deepy.py merges all files that the command names, in any order."""
SETTLES = frozenset(vocabulary.DECIDING) - {"optimizer", "activation_checkpointing", "training_kernels"}
"""What is decided without a key. Other files of a run can state the optimizer, recomputation and fused kernels;
GPT-NeoX has no adapters, quantised weights, compilation or interleaved stages."""
OTHERS = Unknown("another file of the run may state zero_optimization", "another object")
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
    """Return the settings, DeepSpeed's among them, and the network."""
    fields = {**key_tables.read_fields(document, "gpt-neox"), **gpt_neox_network.find(document)}
    stages = fields.get("pipeline_parallel")
    if stages is not None and stages.value == 0:
        fields["pipeline_parallel"] = replace(stages, value=1)  # 0 runs one stage without a pipeline engine
    stage = fields.setdefault("zero_stage", Field(OTHERS))
    fields["sharding"] = Field("deepspeed", stage.origins, source="" if stage.origins else "GPT-NeoX runs on DeepSpeed")
    fields |= _read_kernels(document)
    fields |= key_tables.find_half_formats(document, ("fp16", "enabled"), ("bf16", "enabled"))
    for name, dtype in (("fp16", "float16"), ("bf16", "bfloat16")):
        if document.get((name, "enabled")) is True:
            fields["training_dtype"] = Field(dtype, (Origin(document, (name, "enabled")),))
    return fields


def _read_kernels(document: Document) -> dict[str, Field]:
    """Return the kernels of attention, and whether those of the MLP are fused, if the file states them.

    The default counts only in a file with the settings of a run: other files can complete one with a network alone.
    """
    found: dict[str, Field] = {}
    kinds = gpt_neox_network.list_attention(document)
    place = gpt_neox_network.find_key(document, "attention_config")
    if place is not None and kinds:
        found["attention_backend"] = Field("flash" if kinds == {"flash"} else "eager", (place,))
    elif gpt_neox_network.find_key(document, "optimizer") is not None:
        found["attention_backend"] = Field("eager", source="default of GPT-NeoX: attention_config is global")
    place = gpt_neox_network.find_key(document, "bias_gelu_fusion")
    if place is not None and isinstance(fused := document.get(place.path), bool):
        found["training_kernels"] = Field("fused" if fused else "eager", (place,))
    return found
