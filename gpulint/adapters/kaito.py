"""KAITO: a Workspace or an InferenceSet names a machine type and the preset of a model; KAITO decides how it is spread."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from gpulint import catalog, hardware
from gpulint.adapters import kubernetes, pod
from gpulint.documents import Document, Path
from gpulint.repository import Repository
from gpulint.workload import Field, Origin, Role, Unknown, Workload

MENTIONS = ("kaito.sh",)

GROUP = "kaito.sh"
KINDS = frozenset({(GROUP, "Workspace"), (GROUP, "InferenceSet")})
MOUNTED = "KAITO mounts /dev/shm (kaito v0.12.0 pkg/utils/common_preset.go)"
SPREAD = Unknown("KAITO spreads the model over GPUs and nodes by its size")


def claims(document: Document) -> bool:
    data = document.data
    return isinstance(data, dict) and kubernetes.group_and_kind(data) in KINDS


def workloads(document: Document, repository: Repository) -> Iterator[Workload]:
    """A workspace states its parts at the top, a set in its template."""
    base: Path = ("spec", "template") if document.get(("kind",)) == "InferenceSet" else ()
    purpose = "training" if document.get((*base, "tuning")) else "inference"
    machine = _machine(document, base)
    roles = tuple(role.having(**machine) for role in pod.roles(document, (*base, "inference", "template", "spec"), {}))
    if preset := _preset(document, base):
        roles = (_role(document, base, {**machine, **preset}),)
    if roles:
        name = str(document.get(("metadata", "name")) or document.get(("kind",)))
        yield Workload(name, purpose, "kaito", document, (), tuple(_counted(role) for role in roles))


def _machine(document: Document, base: Path) -> dict[str, Field]:
    """The machine type, and the accelerators that it holds."""
    origin = Origin(document, (*base, "resource", "instanceType"))
    name = document.get(origin.path)
    node = hardware.node(name) if isinstance(name, str) else None
    if node is None:
        return {}
    return {"instance_type": Field(node.instance_type, (origin,)), "accelerator": Field(node.accelerator, (origin,))}


def _preset(document: Document, base: Path) -> dict[str, Field]:
    """The checkpoint of a preset: one of KAITO's own names, or an id of Hugging Face."""
    for part in ("inference", "tuning"):
        origin = Origin(document, (*base, part, "preset", "name"))
        name = document.get(origin.path)
        if isinstance(name, str):
            held = catalog.by("kaito_presets", "preset").get(name)
            known = held["checkpoint"] if held else name if "/" in name else None
            value = known or Unknown(f"the catalog does not know the preset {name}")
            return {"checkpoint": Field(value, (origin,))}
    return {}


def _role(document: Document, base: Path, fields: Mapping[str, Field]) -> Role:
    """The pod of a preset, which takes the GPUs of whole machines."""
    origin = Origin(document, (*base, "resource", "instanceType"))
    name = document.get(origin.path)
    node = hardware.node(name) if isinstance(name, str) else None
    count = Field(node.node_gpus, (origin,)) if node else Field(Unknown("the machines are not named"))
    if document.get((*base, "resource", "partition")):
        count = Field(Unknown("a part of the machine is asked for"))
    anchor = Origin(document, (*base, "inference", "preset", "name"))
    shared = Field(False, source=MOUNTED)
    return Role("preset", anchor, {**fields, "gpus_per_pod": count, "shared_memory_default": shared})


def _counted(role: Role) -> Role:
    spread = Field(SPREAD)
    return role.having(pods_per_replica=spread, replicas=spread, gpus_per_replica=spread)
