"""What is wrong with nodes as a file describes them: cards and machines, slices and cards, that do not go together."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence

from gpulint.adapters import nodes as pools
from gpulint.adapters.nodes import cluster_toolkit as blueprint
from gpulint.adapters.nodes import kubernetes_pools as node_objects
from gpulint.adapters.nodes import machine_types as machines
from gpulint.adapters.nodes import mig_slices as slices
from gpulint.adapters.nodes import parallel_cluster
from gpulint.adapters.nodes.terraform.modules import Spot
from gpulint.adapters.nodes.terraform.values import Modules
from gpulint.adapters.programs import replica as instance
from gpulint.catalog import hardware
from gpulint.source.documents import Document, Path, Problem
from gpulint.source.repository import Repository
from gpulint.workload import Field, Origin

STANDARD_IMAGE = re.compile(r"(?:AL2|BOTTLEROCKET)_(?:x86_64|ARM_64)(?:_FIPS)?|AL2023_(?:x86_64|ARM_64)_STANDARD")
"""Images of EKS that have a sibling with NVIDIA's driver: docs.aws.amazon.com/eks/latest/APIReference/API_Nodegroup.html."""
MACHINES = ("google_compute_instance", "google_compute_instance_template", "google_compute_region_instance_template")
SLICES = ("mig-devices",)
PROFILE = re.compile(r"(\d+)g\.\d+gb")
COMPUTE_SLICES_MAX = 7
"""docs.nvidia.com/datacenter/tesla/mig-user-guide: at most seven instances on a card, each of one compute slice or more."""


def of(document: Document, repository: Repository) -> Iterator[Problem]:
    """Problems of one document, each at its place."""
    if document.format == "hcl":
        yield from _of_terraform(document, repository)
    elif blueprint.claims(document):
        yield from _of_blueprint(document)
    elif isinstance(document.data, dict) and isinstance(document.data.get("mig-configs"), dict):
        yield from _of_layouts(document)
    elif node_objects.is_eksctl(document):
        yield from _of_eksctl(document)
    elif parallel_cluster.claims(document):
        yield from _of_parallel_cluster(document)
    elif node_objects.KARPENTER.get(str(document.get(("apiVersion",)))) == document.get(("kind",)):
        yield from _of_karpenter(document)


def _problem(rule: str, message: str, origin: Origin, *related: tuple[str, Origin]) -> Problem:
    return Problem(rule, message, origin.location(), tuple((label, other.location()) for label, other in related))


# ---- machines and cards


def _of_terraform(document: Document, repository: Repository) -> Iterator[Problem]:
    from gpulint.adapters.nodes.terraform import google as terraform_google
    from gpulint.adapters.nodes.terraform import pools as terraform_pools

    found = tuple(one for one in pools.documents_of(document, repository) if one.format == "hcl")
    own = next((one for one in found if one.path == document.path), None)
    modules = terraform_pools.modules_of(found if own is not None else (*found, document))
    held = own or document
    for config in _configs(held, modules):
        of = terraform_google.machine(config, modules)
        yield from _attached(of.kind, of.guest, of.guests, of.partition)
    for group in terraform_pools.groups(held, modules):
        yield from _driverless(group.kinds, group.image)
        yield from _without_efa(group.kinds, group.efa)


def _configs(document: Document, modules: Modules) -> Iterator[Spot]:
    """The blocks of a file that describe machines of Google's."""
    from gpulint.adapters.nodes.terraform import blocks as terraform_parts
    from gpulint.adapters.nodes.terraform import pools as terraform_pools

    for kind in ("google_container_node_pool", "google_container_cluster"):
        for spot in terraform_pools.resources(document, kind, modules):
            yield from terraform_parts.blocks(spot.below("node_config"), modules)
    for kind in MACHINES:
        yield from terraform_pools.resources(document, kind, modules)


def _of_blueprint(document: Document) -> Iterator[Problem]:
    for source, path in blueprint.modules(document):
        if source in ("gke-node-pool", "vm-instance") or "nodeset" in source:
            machine = blueprint.field(document, (*path, "settings", "machine_type"))
            yield from _attached(machine, *blueprint.guests(document, path), None)


def _attached(
    machine: Field | None, guest: Field | None, count: Field | None, partition: Field | None
) -> Iterator[Problem]:
    """What does not hold of a machine of Google's and the card that is attached to it."""
    named = {
        name: field.value
        for name, field in (("machine", machine), ("guest", guest))
        if field is not None and isinstance(field.value, str)
    }
    if guest is None or "guest" not in named or (count is not None and count.value == 0):
        return
    label = ("cloud.google.com/gke-accelerator", str(named["guest"]).removesuffix("-vws"))
    product = hardware.labels().get(label)
    place = guest.origins[0]
    if machine is not None and "machine" in named:
        yield from _together(str(named["machine"]), str(named["guest"]), product, machine, guest, count)
    if partition is not None and isinstance(partition.value, str) and product is not None:
        yield from _sliced(partition.value, product, partition.origins[0], place)


def _together(
    machine: str, guest: str, product: str | None, kind: Field, attached: Field, count: Field | None
) -> Iterator[Problem]:
    node, place = hardware.node(machine), attached.origins[0]
    if machines.series(machine) == "none":
        message = f"no GPU can be attached to {machine}; {guest} takes {_machines(product)}"
        yield _problem("card-of-another-machine-type", message, place, (f"{machine} here", kind.origins[0]))
    elif node is not None and node.accelerator and product is not None and product != node.accelerator:
        message = f"{machine} holds {node.node_gpus} × {_name(node.accelerator)}, not {guest}"
        yield _problem("card-of-another-machine-type", message, place, (f"{machine} here", kind.origins[0]))
    elif node is not None and count is not None and isinstance(count.value, int) and count.value > node.node_gpus:
        message = f"{count.value} cards are attached to {machine}, which holds {node.node_gpus}"
        yield _problem("more-cards-than-machine-holds", message, count.origins[0], (f"{machine} here", kind.origins[0]))


def _machines(product: str | None) -> str:
    """Where a card is to be had: the machine types that hold it, else those that it is attached to."""
    types = [node.instance_type for node in hardware.nodes() if node.cloud == "gcp" and node.accelerator == product]
    return " or ".join(types[:2]) if types else "an n1 machine"


def _name(product: str) -> str:
    card = hardware.accelerator(product)
    return card.name if card is not None else product


# ---- slices


def _sliced(profile: str, product: str, origin: Origin, place: Origin) -> Iterator[Problem]:
    """A slice that a card is not cut into."""
    if slices.lacks(product, profile):
        message = f"{_name(product)} has no MIG profile {profile}; {slices.listed(product)}"
        yield _problem("mig-profile-of-another-card", message, origin, ("the card here", place))


def _of_layouts(document: Document) -> Iterator[Problem]:
    """Layouts of mig-parted that no card can be cut into."""
    layouts = document.get(("mig-configs",))
    for name in layouts if isinstance(layouts, dict) else ():
        for at in instance.items(document, ("mig-configs", name)):
            path = (*at, *SLICES)
            wanted = document.get(path)
            counts = {
                str(key): value
                for key, value in (wanted.items() if isinstance(wanted, dict) else ())
                if isinstance(value, int) and not isinstance(value, bool)
            }
            if counts:
                yield from _layout(document, path, counts)


def _layout(document: Document, path: Path, counts: Mapping[str, int]) -> Iterator[Problem]:
    """More compute slices than a card has of any model."""
    sizes = [(PROFILE.match(profile), count) for profile, count in counts.items()]
    used = sum(int(match[1]) * count for match, count in sizes if match)
    if used > COMPUTE_SLICES_MAX:
        listed = " + ".join(f"{count} × {profile}" for profile, count in counts.items())
        message = f"{listed} are {used} compute slices; no card has more than {COMPUTE_SLICES_MAX}"
        yield _problem("mig-layout-impossible", message, Origin(document, path, key=True))


# ---- images and requirements


def _driverless(kinds: Sequence[Field], image: Field | None) -> Iterator[Problem]:
    """A node group of GPU machines, all of them, whose image of EKS has no driver for them."""
    found = [machines.of_type(str(kind.value), "aws") for kind in kinds]
    held = [node for node in found if node is not None and node.accelerator]
    if image is None or not isinstance(image.value, str) or not held or len(held) < len(kinds):
        return
    if STANDARD_IMAGE.fullmatch(image.value):
        node = held[0]
        what = f"{node.instance_type} holds {node.node_gpus} × {_name(node.accelerator)}"
        message = f"{image.value} has no NVIDIA driver; {what}"
        related = (f"{node.instance_type} here", kinds[0].origins[0])
        yield _problem("node-image-without-driver", message, image.origins[0], related)


def _without_efa(kinds: Sequence[Field], efa: Field | None) -> Iterator[Problem]:
    """Interfaces for EFA on a machine type that has none."""
    for kind in kinds if efa is not None and efa.value is True else ():
        node = machines.of_type(str(kind.value), "aws")
        if efa is not None and node is not None and node.rdma == "none":
            message = f"{node.instance_type} has no EFA"
            related = (f"{node.instance_type} here", kind.origins[0])
            yield _problem("efa-on-machine-without-it", message, efa.origins[0], related)
            return


def _of_eksctl(document: Document) -> Iterator[Problem]:
    for group in ("managedNodeGroups", "nodeGroups"):
        for path in instance.items(document, (group,)):
            efa = Field(True, (Origin(document, (*path, "efaEnabled")),))
            if document.get((*path, "efaEnabled")) is True:
                yield from _without_efa(node_objects.kinds(document, path), efa)


def _of_parallel_cluster(document: Document) -> Iterator[Problem]:
    for queue in instance.items(document, parallel_cluster.QUEUES):
        for path, types in parallel_cluster.compute_resources(document, queue):
            efa = (*path, "Efa", "Enabled")
            if document.get(efa) is True:
                yield from _without_efa(types, Field(True, (Origin(document, efa),)))
                yield from _unplaced(document, queue, path)
            else:
                yield from _efa_off(document, path, types)


def _efa_off(document: Document, path: Path, types: Sequence[Field]) -> Iterator[Problem]:
    """Several machines of one type, built for EFA, on which it is not switched on."""
    most = document.get((*path, "MaxCount"))
    node = machines.of_type(str(types[0].value), "aws") if len(types) == 1 else None
    if node is None or node.rdma != "efa" or node.node_gpus < 8 or most in (0, 1):
        return
    message = (
        f"{node.instance_type} has {node.node_nics or 'several'} EFA interfaces, and Efa is not enabled for its queue"
    )
    yield _problem("efa-off-on-cluster", message, types[0].origins[0])


def _unplaced(document: Document, queue: Path, path: Path) -> Iterator[Problem]:
    """Nodes with EFA of which nothing says that they are to stand together."""
    groups = [(*queue, "Networking", "PlacementGroup"), (*path, "Networking", "PlacementGroup")]
    placed = any(isinstance(one := document.get(group), dict) and one for group in groups)
    kinds = [str(document.get((*at, "CapacityType")) or "") for at in (queue, path)]
    reserved = any(document.get((*at, "CapacityReservationTarget")) for at in (queue, path))
    if not (placed or reserved or "CAPACITY_BLOCK" in kinds or document.get((*path, "MaxCount")) in (0, 1)):
        message = "EFA is enabled, and no placement group keeps the nodes of the queue together"
        yield _problem("placement-group-missing", message, Origin(document, (*path, "Efa", "Enabled")))


def _of_karpenter(document: Document) -> Iterator[Problem]:
    """A NodePool for GPUs whose requirements, taken together, no GPU machine of the catalog meets."""
    path = (*node_objects.template(document), "requirements")
    demands = node_objects.requirements(document, path)
    told = [one for one in demands if one.operator == "In" and one.key in node_objects.KEYS and one.values]
    if not _for_gpus(document, demands) or any("$" in value for one in told for value in one.values):
        return
    if node_objects.strange(told) or not any(one.key in node_objects.DECIDING for one in told):
        return
    if any(node_objects.meets(node, told) for node in hardware.nodes() if node.cloud == "aws"):
        return
    stated = "; ".join(f"{one.key.rpartition('/')[2]} {' or '.join(sorted(one.values)[:4])}" for one in told)
    message = f"no GPU machine has {stated}"
    yield _problem("requirements-without-gpu-machine", message, Origin(document, path, key=True))


def _for_gpus(document: Document, demands: list[node_objects.Requirement]) -> bool:
    """Whether a NodePool is meant for GPUs: its limits count them, or its requirements speak of them."""
    limits = document.get(("spec", "limits"))
    inner = limits.get("resources") if isinstance(limits, dict) else None
    names = [*(limits if isinstance(limits, dict) else ()), *(inner if isinstance(inner, dict) else ())]
    return any(str(name) == "nvidia.com/gpu" for name in names) or any("gpu-" in one.key for one in demands)
