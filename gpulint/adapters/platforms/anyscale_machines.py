"""Anyscale machines: the nodes with GPUs that a compute configuration of a job or a service states.

docs.anyscale.com/reference/compute-config-api: `head_node` and `worker_nodes` name a machine type of the cloud, and
`min_nodes` to `max_nodes` of it run.
"""

from __future__ import annotations

from typing import NamedTuple

from gpulint.adapters.objects import pod_templates
from gpulint.catalog import hardware
from gpulint.source.documents import Document, Path
from gpulint.workload import Field, Origin, Unknown

MACHINES: Path = ("compute_config",)
WORKERS = ("worker_nodes", "worker_node_types", "worker_groups")
"""Keys of the workers, by release."""
HEADS = ("head_node", "head_node_type")


class Machine(NamedTuple):
    """A machine type with GPUs: its accelerator, its GPUs, and how many of it run."""

    accelerator: Field
    gpus: Field
    nodes: Field
    type: Field


def find(document: Document, at: Path = MACHINES) -> Machine | None:
    """Return the only machine type with GPUs of a compute configuration; its head counts if no worker has GPUs."""
    places = [path for key in WORKERS for path in pod_templates.items(document, (*at, key))]
    found = [machine for path in places if (machine := _read(document, path)) is not None]
    if not found:
        heads = [(*at, key) for key in HEADS]
        found = [machine._replace(nodes=ONE) for path in heads if (machine := _read(document, path)) is not None]
    types = {machine.type.value for machine in found}
    if len(types) != 1:
        return None
    return found[0] if len(found) == 1 else found[0]._replace(nodes=SEVERAL)


ONE = Field(1, source="one head node")
SEVERAL = Field(Unknown("several groups of workers have this machine type", "another object"))


def _read(document: Document, path: Path) -> Machine | None:
    origin = Origin(document, (*path, "instance_type"))
    node = hardware.node(str(document.get(origin.path)))
    if node is None or not node.accelerator:
        return None
    places = (origin,)
    type_ = Field(node.instance_type, places)
    return Machine(Field(node.accelerator, places), Field(node.node_gpus, places), _count(document, path), type_)


def _count(document: Document, path: Path) -> Field:
    least, most = (document.get((*path, key)) for key in ("min_nodes", "max_nodes"))
    origins = tuple(Origin(document, (*path, key)) for key in ("min_nodes", "max_nodes"))
    if isinstance(least, int) and least == most and least > 0:
        return Field(least, origins)
    stated = tuple(origin for origin in origins if document.get(origin.path) is not None)
    return Field(Unknown("Anyscale scales the nodes", "another object"), stated)
