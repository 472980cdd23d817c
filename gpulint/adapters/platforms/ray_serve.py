"""Ray Serve: configuration files of Serve and of Anyscale services whose applications run Ray Serve LLM."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from gpulint.adapters.claim import Claim
from gpulint.adapters.objects import pod_templates
from gpulint.adapters.operators import ray
from gpulint.catalog import hardware
from gpulint.source.documents import Document, Path
from gpulint.source.repository import Repository
from gpulint.workload import Field, Origin, Role, Workload

MENTIONS = ("model_loading_config",)
TRIGGERS = ("model_loading_config",)
READS = ("plain",)
CLAIMS = ("shape",)

MACHINES: Path = ("compute_config",)
NODES = ("worker_nodes", "worker_node_types", "worker_groups")
"""Keys of the machines of an Anyscale compute configuration, by release (docs.anyscale.com/reference/compute-config-api)."""


def claims(document: Document) -> Claim:
    data = document.data
    return Claim.SHAPE.where(isinstance(data, dict) and next(ray.list_configurations(document), None) is not None)


def kind(document: Document) -> str:
    return "Ray Serve configuration"


def workloads(document: Document, repository: Repository) -> Iterator[Workload]:
    """Yield each application with the configurations of the models that it serves."""
    machine = _find_machine(document)
    for application in pod_templates.items(document, ("applications",)):
        found = list(ray.list_configurations_of(document, application))
        roles = tuple(_build_role(document, path, len(found) > 1, machine) for path in found)
        if roles:
            name = str(document.get((*application, "name")) or document.get(("name",)) or "Ray Serve")
            yield Workload(name, "inference", "ray_serve", document, application, roles)


def _build_role(document: Document, path: Path, is_one_of_several: bool, machine: dict[str, Field]) -> Role:
    """Return a configuration on the machines of its service; one of several is named by its key, unless they are a list."""
    role = ray.build_role(document, path, None)
    if is_one_of_several and isinstance(path[-1], str):
        role = replace(role, name=path[-1].removesuffix("_config"))
    stated = role.value("accelerator")
    return role if isinstance(stated, str) else role.having(**machine)


def _find_machine(document: Document) -> dict[str, Field]:
    """Return the accelerator of the only machine type with GPUs that a compute configuration states."""
    found: dict[str, Field] = {}
    for key in NODES:
        for at in pod_templates.items(document, (*MACHINES, key)):
            origin = Origin(document, (*at, "instance_type"))
            node = hardware.node(str(document.get(origin.path)))
            if node is not None and node.accelerator:
                found[node.accelerator] = Field(node.accelerator, (origin,))
    return {"accelerator": next(iter(found.values()))} if len(found) == 1 else {}
