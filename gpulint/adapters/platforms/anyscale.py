"""Anyscale: the command of a job on the machines that its compute configuration states, and such configurations alone.

docs.anyscale.com/reference/job-api and /compute-config-api. A service lists applications of Ray Serve and is read as such.
"""

from __future__ import annotations

import posixpath
from collections.abc import Iterator

from gpulint.adapters.claim import Claim
from gpulint.adapters.operators import ray
from gpulint.adapters.platforms import anyscale_machines, task
from gpulint.adapters.programs import replica
from gpulint.source.documents import Document, Path
from gpulint.source.repository import Repository
from gpulint.workload import Field, Origin, Role, Unknown, Workload

MENTIONS = ("compute_config", "worker_nodes", "worker_node_types", "head_node")
TRIGGERS = ("compute_config", "worker_nodes:", "worker_node_types:")
READS = ("plain",)
CLAIMS = ("shape",)

ENTRYPOINT: Path = ("entrypoint",)
CONFIG: Path = ("compute_config",)
NODES = "instance_type"


def claims(document: Document) -> Claim:
    """Claim a job, or the machines of a cluster."""
    data = document.data
    if not isinstance(data, dict) or "applications" in data:
        return Claim.NONE
    is_job = isinstance(document.get(ENTRYPOINT), str) and "compute_config" in data
    return Claim.SHAPE.where(is_job or _is_configuration(document))


def kind(document: Document) -> str:
    return "Anyscale compute configuration" if _is_configuration(document) else "Anyscale job"


def workloads(document: Document, repository: Repository) -> Iterator[Workload]:
    """Yield the run of a job whose machines have GPUs; a compute configuration alone runs nothing."""
    machine = anyscale_machines.find(document) if not _is_configuration(document) else None
    if machine is None:
        return
    gpus = replica.product(machine.gpus, machine.nodes)
    fields = {
        "accelerator": machine.accelerator,
        "instance_type": machine.type,
        "gpus_per_pod": machine.gpus,
        "pods_per_replica": machine.nodes,
        "gpus_per_replica": gpus,
        "replicas": Field(1, source="one run"),
        "engine": Field(Unknown("the program decides what runs", "own program"), (Origin(document, ENTRYPOINT),)),
    }
    name = str(document.get(("name",)) or posixpath.basename(document.path).partition(".")[0])
    roles = tuple(ray.apply_entrypoint(document, ENTRYPOINT, [Role(name, Origin(document, ENTRYPOINT), fields)]))
    yield Workload(name, task.purpose(roles), "anyscale", document, (), roles)


def machines(document: Document) -> Iterator[Path]:
    """Yield the place of the machine type with GPUs of a compute configuration."""
    machine = anyscale_machines.find(document, ()) if _is_configuration(document) else None
    if machine is not None:
        yield machine.type.origins[0].path


def _is_configuration(document: Document) -> bool:
    """Return whether a file is a compute configuration: a head and workers, each with a machine type."""
    data = document.data
    keys = [
        key for key in (*anyscale_machines.WORKERS, *anyscale_machines.HEADS) if isinstance(data, dict) and key in data
    ]
    head = any(document.get((key, NODES)) is not None for key in anyscale_machines.HEADS)
    workers = any(document.get((key, 0, NODES)) is not None for key in anyscale_machines.WORKERS)
    return bool(keys) and (head or workers)
