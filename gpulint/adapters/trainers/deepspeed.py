"""DeepSpeed: a configuration file with its batch, number format and ZeRO stage.

It is JSON, and may be nested in files of other trainers.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator, Mapping

from gpulint.adapters import trainers
from gpulint.adapters.claim import Claim
from gpulint.adapters.programs import unknown_settings
from gpulint.adapters.trainers import key_tables
from gpulint.source.documents import Document, Path, Problem
from gpulint.source.repository import Repository
from gpulint.workload import Field, Origin, Unknown, Workload

MENTIONS = ("zero_optimization", "train_micro_batch_size_per_gpu", "train_batch_size")
READS = ("plain",)
CLAIMS = ("guess",)
ENGINE = ""
OWN = frozenset(
    {
        *(
            "zero_optimization",
            "train_micro_batch_size_per_gpu",
            "train_batch_size",
            "bf16",
            "fp16",
            "zero_allow_untrusted",
        ),
        *("wall_clock_breakdown", "steps_per_print", "gradient_clipping", "activation_checkpointing", "comms_logger"),
        *("prescale_gradients", "tensorboard", "flops_profiler", "compression_training", "data_efficiency", "aio"),
    }
)
OPTIMIZERS: Mapping[str, str] = {
    **dict.fromkeys(("adam", "adamw", "onebitadam", "zerooneadam"), "adamw"),
    "lion": "lion",
    "sgd": "sgd",
}
"""deepspeed.ai/docs/config-json optimizer.type; deepspeed/runtime/config.py DEEPSPEED_OPTIMIZERS. Adam keeps two moments."""
OFFLOADED = frozenset({"optimizer_offload", "parameter_offload"})
STAGE_OF_WEIGHTS = 3
"""The stage that shards the weights, and can offload them."""
FORMATS = (("fp16", "float16"), ("bf16", "bfloat16"), ("bfloat16", "bfloat16"))


def claims(document: Document) -> Claim:
    """Claim a mapping with keys of DeepSpeed's configuration.

    It is a guess: trainers that wrap DeepSpeed accept its keys among their own.
    """
    data = document.data
    return Claim.GUESS.where(isinstance(data, dict) and _is_configuration(data))


def kind(document: Document) -> str:
    return "DeepSpeed configuration"


def problems(document: Document) -> Iterator[Problem]:
    yield from unknown_settings.problems(document, "deepspeed")


def workloads(document: Document, repository: Repository) -> Iterator[Workload]:
    """Yield a run whose program and architecture are unknown."""
    yield trainers.workload(sys.modules[__name__], document, repository)


def read_fields(document: Document, find: trainers.Find | None = None) -> Mapping[str, Field]:
    return read_mapping(document, ())


def read_mapping(document: Document, root: Path) -> Mapping[str, Field]:
    """Return the fields of a mapping as DeepSpeed's configuration; the trainer decides `auto`."""
    fields = key_tables.read_fields(document, "deepspeed", root)
    formats = [dtype for name, dtype in FORMATS if document.get((*root, name, "enabled")) is True]
    if formats:
        name = next(name for name, dtype in FORMATS if document.get((*root, name, "enabled")) is True)
        fields["training_dtype"] = Field(formats[0], (Origin(document, (*root, name, "enabled")),))
    bfloat = "bf16" if document.node((*root, "bf16")) is not None else "bfloat16"
    fields |= key_tables.find_half_formats(document, (*root, "fp16", "enabled"), (*root, bfloat, "enabled"))
    kind_path = (*root, "optimizer", "type")
    optimizer = OPTIMIZERS.get(str(document.get(kind_path)).lower())
    if optimizer is not None:
        fields["optimizer"] = Field(optimizer, (Origin(document, kind_path),))
    stage = fields.get("zero_stage")
    if stage is not None:
        fields["sharding"] = Field("deepspeed", stage.origins)
    return fields | settle_offload(fields)


def settle_offload(fields: Mapping[str, Field]) -> dict[str, Field]:
    """Return what a file that offloads one of the two, weights or optimizer, keeps on the GPU.

    Nothing is offloaded by default, and the weights are only in stage 3 (deepspeed/runtime/zero/config.py).
    """
    stage = fields.get("zero_stage", Field(None)).value
    if not OFFLOADED & fields.keys():
        return {}
    settled = {name: Field(False, source="default of DeepSpeed") for name in OFFLOADED - fields.keys()}
    if isinstance(stage, int) and stage < STAGE_OF_WEIGHTS:
        origins = fields.get("parameter_offload", Field(None)).origins
        settled["parameter_offload"] = Field(False, origins, source=f"stage {stage} keeps the weights on the GPU")
    return settled


def read_setting(document: Document, path: tuple[str | int, ...], find: trainers.Find) -> Iterator[tuple[str, Field]]:
    """Yield the fields of a key with DeepSpeed's configuration, or with the name of its file."""
    value = document.get(path)
    if isinstance(value, dict):
        yield from read_mapping(document, path).items()
    elif isinstance(value, str) and value:
        yield "deepspeed_config", Field(value, (Origin(document, path),))
        file = find(value)
        if file is not None and claims(file):
            named = Field(value, (Origin(document, path),))
            yield from ((name, trainers.add_reference(field, named)) for name, field in read_fields(file, find).items())
        else:
            yield (
                "zero_stage",
                Field(Unknown("DeepSpeed's configuration states it", "another object"), (Origin(document, path),)),
            )


def _is_configuration(data: Mapping[str, object]) -> bool:
    zero = data.get("zero_optimization")
    if isinstance(zero, dict) and len(OWN & data.keys()) >= 2:
        return True
    if "train_micro_batch_size_per_gpu" in data:
        return len(OWN & data.keys()) >= 2
    return "train_batch_size" in data and len(OWN & data.keys()) >= 3
