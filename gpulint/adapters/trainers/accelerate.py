"""Accelerate: the file of `accelerate launch --config_file`.

It states processes, machines, the number format and the sharding of training states.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator, Mapping

from gpulint.adapters import trainers
from gpulint.adapters.claim import Claim
from gpulint.adapters.programs import unknown_settings
from gpulint.adapters.trainers import deepspeed, key_tables
from gpulint.source.documents import Document, Problem
from gpulint.source.repository import Repository
from gpulint.workload import Field, Origin, Unknown, Workload

MENTIONS = ("distributed_type", "num_processes")
TRIGGERS = ("distributed_type", "num_processes", "compute_environment")
READS = ("plain",)
CLAIMS = ("shape",)
ENGINE = ""
OWN = frozenset(
    {
        *(
            "distributed_type",
            "num_processes",
            "num_machines",
            "compute_environment",
            "machine_rank",
            "mixed_precision",
        ),
        *("main_training_function", "rdzv_backend", "same_network", "use_cpu", "fsdp_config", "deepspeed_config"),
    }
)
ON_GPUS = frozenset({"NO", "MULTI_GPU", "MULTI_XPU", "DEEPSPEED", "FSDP", "MEGATRON_LM"})


def claims(document: Document) -> Claim:
    """Claim a document with `distributed_type` and another key of Accelerate's."""
    data = document.data
    return Claim.SHAPE.where(isinstance(data, dict) and "distributed_type" in data and len(OWN & data.keys()) >= 2)


def kind(document: Document) -> str:
    return "Accelerate configuration"


def problems(document: Document) -> Iterator[Problem]:
    yield from unknown_settings.problems(document, "accelerate")


def workloads(document: Document, repository: Repository) -> Iterator[Workload]:
    """Yield one run of a program that the file does not name."""
    if _runs_on_gpus(document):
        yield trainers.workload(sys.modules[__name__], document, repository)


def read_fields(document: Document, find: trainers.Find) -> Mapping[str, Field]:
    """Return the processes per machine, the machines and the sharding of training states."""
    fields = key_tables.read_fields(document, "accelerate")
    if document.get(("parallelism_config",)) is None and str(document.get(("distributed_type",))) != "MEGATRON_LM":
        alone = Field(1, source="default of accelerate")
        fields |= {"tensor_parallel": alone, "pipeline_parallel": alone, "context_parallel": alone}
    machines = fields.get("pods_per_replica") or Field(1, source="default of accelerate")
    if (whole := fields.pop("processes", None)) is not None:
        fields["processes_per_pod"] = _divide_processes(whole, machines)
    how = str(document.get(("distributed_type",)) or "").upper()
    place = Origin(document, ("distributed_type",))
    if how == "DEEPSPEED":
        fields = {**fields, "sharding": Field("deepspeed", (place,)), **_read_deepspeed(document, find)}
    elif how == "FSDP":
        fields |= trainers.read_fsdp(document, place, ("fsdp_config",))
    elif how == "NO":
        fields |= {"sharding": Field("none", (place,)), "processes_per_pod": Field(1, (place,))}
    elif how.startswith("MULTI"):
        fields["sharding"] = Field("ddp", (place,))
    return fields


def processes(document: Document) -> Field | None:
    """Return the processes of all machines together."""
    return key_tables.read_fields(document, "accelerate").get("processes")


def _runs_on_gpus(document: Document) -> bool:
    how = str(document.get(("distributed_type",)) or "NO").upper()
    return how in ON_GPUS and document.get(("use_cpu",)) not in (True, "true")


def _divide_processes(whole: Field, machines: Field) -> Field:
    """Divide the processes of all machines evenly over them."""
    if not isinstance(whole.value, int) or not isinstance(machines.value, int):
        unknown = whole if not isinstance(whole.value, int) else machines
        return Field(
            unknown.value if isinstance(unknown.value, Unknown) else Unknown("the count is not a whole number"),
            unknown.origins,
        )
    if whole.value % machines.value:
        return Field(Unknown("the processes do not divide evenly over the machines"), whole.origins)
    return Field(whole.value // machines.value, (*whole.origins, *machines.origins))


def _read_deepspeed(document: Document, find: trainers.Find) -> dict[str, Field]:
    fields = key_tables.read_fields(document, "accelerate deepspeed")
    path = ("deepspeed_config", "deepspeed_config_file")
    if document.get(path):
        fields = {**fields, **dict(deepspeed.read_setting(document, path, find))}
    return fields | deepspeed.settle_offload(fields)
