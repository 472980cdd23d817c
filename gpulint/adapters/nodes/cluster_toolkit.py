"""Blueprints of Google's Cluster Toolkit: GKE node pools and Slurm partitions.

A partition uses node sets. Sources: GoogleCloudPlatform/cluster-toolkit v1.6x, docs/blueprints.md;
modules/compute/gke-node-pool, community/modules/compute/schedmd-slurm-gcp-v6-nodeset and
-partition. Their variables.tf have the defaults of the numbers of nodes and of the machine type. A setting
that a module leaves out has the value of the deployment variable of that name; a deployment file can set it.
"""

from __future__ import annotations

import posixpath
import re
from collections.abc import Iterable, Iterator

from gpulint.adapters.claim import Claim
from gpulint.adapters.nodes import amounts, machine_types
from gpulint.adapters.nodes.pool import Amount, Pool
from gpulint.adapters.programs import replica
from gpulint.source import excess
from gpulint.source.documents import Document, Path
from gpulint.source.repository import Repository
from gpulint.workload import Field, Origin, Unknown, Workload

MENTIONS = ("deployment_groups", "blueprint_name")
FILE_WORDS = (r"deployment_groups\s*:", r"terraform_backend_defaults\s*:")
READS = ("plain",)
CLAIMS = ("shape",)
VARIABLE = re.compile(r"\$\(vars\.(\w+)\)")
DEPTH_MAX = 8
PROGRAM = "Cluster Toolkit"
DEFAULT_TYPE = "c2-standard-60"
DYNAMIC_MOST, POOL_MOST = 10, 1000
"""Nodes that a node set and a GKE node pool add at most if their settings state no number."""


def claims(document: Document) -> Claim:
    data = document.data
    return Claim.SHAPE.where(isinstance(data, dict) and isinstance(data.get("deployment_groups"), list))


def kind(document: Document) -> str:
    return "Cluster Toolkit blueprint"


def workloads(document: Document, repository: Repository) -> Iterator[Workload]:
    """Yield nothing: a blueprint describes a cluster and runs no workload."""
    yield from ()


def pools(documents: Iterable[Document]) -> Iterator[Pool]:
    """Yield the pools of all blueprints among the documents."""
    for document in documents:
        if claims(document):
            yield from _read_blueprint(document)


def inventory(documents: Iterable[Document]) -> Iterator[Pool]:
    """Yield node pools, node sets and machines, each once, whichever partitions use them."""
    listed = list(documents)
    for document in listed:
        variables = _find_deployments(document, listed) if claims(document) else ()
        for source, path in modules(document) if claims(document) else ():
            amount = _read_amount(document, source, path)
            if amount is not None:
                yield _read_machines(document, path, amount)._replace(basis=variables)


def _find_deployments(document: Document, documents: Iterable[Document]) -> tuple[Origin, ...]:
    """Return the variables of the deployment files beside a blueprint."""
    folder = posixpath.dirname(document.path)
    beside = (other for other in documents if posixpath.dirname(other.path) == folder and not claims(other))
    return tuple(Origin(other, ("vars",)) for other in beside if isinstance(other.get(("vars",)), dict))


def _read_amount(document: Document, source: str, path: Path) -> Amount | None:
    """Return the number of nodes of a module; None if it has none."""
    if source == "gke-node-pool":
        return _read_pool_amount(document, path)
    if "nodeset" in source:
        return _read_nodeset_amount(document, path)
    if source == "vm-instance":
        return amounts.make_fixed(_setting(document, path, "instance_count") or amounts.make_default(1, PROGRAM))
    return None


def _setting(document: Document, path: Path, key: str) -> Field | None:
    """Return a setting of a module, or else the deployment variable of its name."""
    return field(document, (*path, "settings", key)) or field(document, ("vars", key))


def modules(document: Document) -> Iterator[tuple[str, Path]]:
    """Yield the last word of each module's source, and the path of the module."""
    for group in replica.items(document, ("deployment_groups",)):
        for path in replica.items(document, (*group, "modules")):
            yield posixpath.basename(str(document.get((*path, "source"))).partition("?")[0]), path


def _read_blueprint(document: Document) -> Iterator[Pool]:
    listed = list(modules(document))
    by_id = {str(document.get((*path, "id"))): (source, path) for source, path in listed}
    for source, path in listed:
        if source == "gke-node-pool":
            yield _read_node_pool(document, path)
        elif source.endswith("-partition"):
            name = field(document, (*path, "settings", "partition_name"))
            used = document.get((*path, "use"))
            for module in used if isinstance(used, list) else ():
                kind, inner = by_id.get(str(module), ("", ()))
                if "nodeset" in kind and name is not None and isinstance(name.value, str):
                    yield _read_partition(document, name.value, path, inner)


def _read_node_pool(document: Document, path: Path) -> Pool:
    accelerator, count, machine = _read_machine(document, path)
    name = _name_pool(document, path, machine)
    labels = {}
    if name is not None and isinstance(name.value, str):
        labels["cloud.google.com/gke-nodepool"] = frozenset({name.value})
    guest = field(document, (*path, "settings", "guest_accelerator", 0, "type"))
    if guest is not None and isinstance(guest.value, str):
        labels["cloud.google.com/gke-accelerator"] = frozenset({guest.value})
    if machine is not None and isinstance(machine.value, str):
        labels["node.kubernetes.io/instance-type"] = frozenset({machine.value})
    called = str(document.get((*path, "id")))
    pool = Pool(called, Origin(document, (*path, "id")), labels, accelerator, count, _keep_listed(machine), (), True)
    return pool._replace(naming=("cloud.google.com/gke-nodepool",))


def _read_pool_amount(document: Document, path: Path) -> Amount:
    """Return the nodes of all node pools of a module. A static number counts in each zone."""
    fixed = _setting(document, path, "static_node_count")
    if fixed is not None:
        zones: Path = (*path, "settings", "zones")
        at: Path = zones if document.get(zones) is not None else ("vars", "zones")
        amount = amounts.multiply(amounts.make_fixed(fixed), _count_zones(document, at))
    else:
        least, most = (_setting(document, path, f"autoscaling_total_{end}_nodes") for end in ("min", "max"))
        least = least or amounts.make_default(0, PROGRAM)
        amount = amounts.make_range(least, most or amounts.make_default(POOL_MOST, PROGRAM))
    pools = _setting(document, path, "num_node_pools") or _setting(document, path, "num_slices")
    return amounts.multiply(amount, amounts.read_number(pools) or amounts.make_default(1, PROGRAM))


def _count_zones(document: Document, path: Path) -> Field:
    """Return the number of zones of a node pool. A pool without its own has those of its cluster."""
    value = document.get(path)
    match = VARIABLE.fullmatch(value) if isinstance(value, str) else None
    listed = document.get(("vars", match[1])) if match else value
    origins = () if value is None else (Origin(document, path),)
    if isinstance(listed, list) and listed:
        return Field(len(listed), origins)
    return Field(Unknown("the number of zones is not stated", amounts.AT_LEAST_ONE), origins)


def _name_pool(document: Document, path: Path, machine: Field | None) -> Field | None:
    """Return the name of a node pool: as set, else its machine type and the module's id.

    Several pools of one module have numbered names, which are unknown.
    """
    if any(document.get((*path, "settings", key), 1) != 1 for key in ("num_node_pools", "num_slices")):
        return None
    stated = field(document, (*path, "settings", "name"))
    if stated is not None or machine is None or not isinstance(machine.value, str):
        return stated
    module = re.sub(r"[^a-z0-9-]", "", str(document.get((*path, "id"))).lower())
    return Field(f"{machine.value}-{module}", (Origin(document, (*path, "id")),))


def _read_partition(document: Document, name: str, path: Path, inner: Path) -> Pool:
    accelerator, count, machine = _read_machine(document, inner)
    origin = Origin(document, (*path, "settings", "partition_name"))
    return Pool(name, origin, {"partition": frozenset({name})}, accelerator, count, _keep_listed(machine), (), True)


def _read_nodeset_amount(document: Document, path: Path) -> Amount:
    """Return the nodes of a node set: static ones, and those that it adds when jobs wait."""
    static, dynamic = (
        amounts.read_number(_setting(document, path, key)) for key in ("node_count_static", "node_count_dynamic_max")
    )
    static = static or amounts.make_default(0, PROGRAM)
    most = amounts.add(static, dynamic or amounts.make_default(DYNAMIC_MOST, PROGRAM))
    return amounts.make_range(static, most, static)


def _read_machines(document: Document, path: Path, amount: Amount) -> Pool:
    """Return the machines of a module by its id."""
    stated = _setting(document, path, "machine_type") or Field(DEFAULT_TYPE, source=f"default of {PROGRAM}")
    accelerator, count, machine = _resolve_machine(document, path, stated)
    origin = Origin(document, (*path, "id"))
    labels = {"node.kubernetes.io/instance-type": frozenset({str(stated.value)})}
    pool = Pool(str(document.get((*path, "id"))), origin, labels, accelerator, count, _keep_listed(machine))
    return pool._replace(amount=amount)


def _read_machine(document: Document, path: Path) -> tuple[Field, Field | None, Field | None]:
    """Return the accelerator, count and machine type of a module's settings."""
    return _resolve_machine(document, path, field(document, (*path, "settings", "machine_type")))


def _resolve_machine(document: Document, path: Path, machine: Field | None) -> tuple[Field, Field | None, Field | None]:
    guest, count = guests(document, path)
    holds = machine is not None and machine_types.find_machine_type(str(machine.value), "gcp") is not None
    accelerator, held_count = machine_types.find_accelerator(
        machine, None if holds else guest, None if holds else count, "gcp"
    )
    return accelerator, held_count, machine


def guests(document: Document, path: Path) -> tuple[Field | None, Field | None]:
    """Return the type and count of the GPUs that a module attaches."""
    at = (*path, "settings", "guest_accelerator", 0)
    guest, count = (field(document, (*at, key)) for key in ("type", "count"))
    if count is not None and isinstance(count.value, str) and count.value.isdecimal():
        count = Field(int(count.value), count.origins)
    return guest, count


def field(document: Document, path: Path, depth: int = 0) -> Field | None:
    """Return a setting as text, resolved through the blueprint's variables.

    Any other expression is unknown.
    """
    value = document.get(path)
    if value is None or isinstance(value, dict | list):
        return None
    origin = (Origin(document, path),)
    text = str(value)
    match = VARIABLE.fullmatch(text)
    if match and not excess.is_over(
        depth + 1, DEPTH_MAX, "variables refer to variables more than {} deep", document.path
    ):
        setting = field(document, ("vars", match[1]), depth + 1)
        if setting is None:
            return Field(Unknown(f"{match[1]} is set when the blueprint is deployed", "caller's variable"), origin)
        return Field(setting.value, (*setting.origins, *origin))
    if "$(" in text or "((" in text:
        return Field(Unknown(f"{text} is computed"), origin)
    return Field(text, origin)


def _keep_listed(machine: Field | None) -> Field | None:
    """Return the machine type if the catalog lists it."""
    return machine if machine is not None and machine_types.find_machine_type(str(machine.value), "gcp") else None
