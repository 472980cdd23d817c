"""Accelerate: the file of `accelerate launch --config_file`: processes, machines, number format, sharing of states."""

from __future__ import annotations

import sys
from collections.abc import Iterator, Mapping

from gpulint.adapters import trainers as configured
from gpulint.adapters.programs import unknown_settings as misstated
from gpulint.adapters.trainers import key_tables as settings
from gpulint.source.documents import Document, Problem
from gpulint.source.repository import Repository
from gpulint.workload import Field, Origin, Unknown, Workload

MENTIONS = ("distributed_type", "num_processes")
READS = ("plain",)
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


def claims(document: Document) -> bool:
    """A kind of distribution with another key of Accelerate's."""
    data = document.data
    return isinstance(data, dict) and "distributed_type" in data and len(OWN & data.keys()) >= 2


def kind(document: Document) -> str:
    return "Accelerate configuration"


def problems(document: Document) -> Iterator[Problem]:
    yield from misstated.problems(document, "accelerate")


def workloads(document: Document, repository: Repository) -> Iterator[Workload]:
    """A run of a program that the file does not name."""
    if _on_gpus(document):
        yield configured.workload(sys.modules[__name__], document, repository)


def stated(document: Document, find: configured.Find) -> Mapping[str, Field]:
    """Processes of a machine, machines, and the sharing of states."""
    found = settings.stated(document, "accelerate")
    if document.get(("parallelism_config",)) is None and str(document.get(("distributed_type",))) != "MEGATRON_LM":
        alone = Field(1, source="default of accelerate")
        found |= {"tensor_parallel": alone, "pipeline_parallel": alone, "context_parallel": alone}
    machines = found.get("pods_per_replica") or Field(1, source="default of accelerate")
    if (whole := found.pop("processes", None)) is not None:
        found["processes_per_pod"] = _each(whole, machines)
    how = str(document.get(("distributed_type",)) or "").upper()
    place = Origin(document, ("distributed_type",))
    if how == "DEEPSPEED":
        found = {**found, "sharding": Field("deepspeed", (place,)), **_deepspeed(document, find)}
    elif how == "FSDP":
        found |= configured.fsdp(document, place, ("fsdp_config",))
    elif how == "NO":
        found |= {"sharding": Field("none", (place,)), "processes_per_pod": Field(1, (place,))}
    elif how.startswith("MULTI"):
        found["sharding"] = Field("ddp", (place,))
    return found


def processes(document: Document) -> Field | None:
    """The processes of all machines together."""
    return settings.stated(document, "accelerate").get("processes")


def _on_gpus(document: Document) -> bool:
    how = str(document.get(("distributed_type",)) or "NO").upper()
    return how in ON_GPUS and document.get(("use_cpu",)) not in (True, "true")


def _each(whole: Field, machines: Field) -> Field:
    """Processes of each machine: those of all, shared out evenly."""
    if not isinstance(whole.value, int) or not isinstance(machines.value, int):
        unknown = whole if not isinstance(whole.value, int) else machines
        return Field(
            unknown.value if isinstance(unknown.value, Unknown) else Unknown("no whole number"), unknown.origins
        )
    if whole.value % machines.value:
        return Field(Unknown("the processes do not divide over the machines"), whole.origins)
    return Field(whole.value // machines.value, (*whole.origins, *machines.origins))


def _deepspeed(document: Document, find: configured.Find) -> dict[str, Field]:
    found = settings.stated(document, "accelerate deepspeed")
    path = ("deepspeed_config", "deepspeed_config_file")
    if document.get(path):
        found = {**found, **dict(configured.deepspeed_fields(document, path, find))}
    return found
