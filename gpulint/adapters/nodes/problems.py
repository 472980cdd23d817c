"""Invalid node definitions: machine types, GPUs and MIG slices that do not fit together."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence

from gpulint.adapters import nodes as adapters_nodes
from gpulint.adapters.nodes import cluster_toolkit, kubernetes_pools, machine_types, mig_slices, parallel_cluster
from gpulint.adapters.nodes.terraform.modules import Spot
from gpulint.adapters.nodes.terraform.values import Modules
from gpulint.adapters.programs import replica
from gpulint.catalog import hardware, resource_names
from gpulint.source.documents import Document, Path, Problem
from gpulint.source.repository import Repository
from gpulint.workload import Field, Origin

STANDARD_IMAGE = re.compile(r"(?:AL2|BOTTLEROCKET)_(?:x86_64|ARM_64)(?:_FIPS)?|AL2023_(?:x86_64|ARM_64)_STANDARD")
"""EKS images that have a variant with NVIDIA's driver:
docs.aws.amazon.com/eks/latest/APIReference/API_Nodegroup.html.
"""
MACHINES = ("google_compute_instance", "google_compute_instance_template", "google_compute_region_instance_template")
SLICES = ("mig-devices",)
PROFILE = re.compile(r"(?<!\d)(\d++)g\.\d+gb")
COMPUTE_SLICES_MAX = 7
"""At most seven instances per GPU, each of one or more compute slices:
docs.nvidia.com/datacenter/tesla/mig-user-guide.
"""


def find_problems(document: Document, repository: Repository) -> Iterator[Problem]:
    """Yield the problems of one document, each with its location."""
    if document.format == "hcl":
        yield from _check_terraform(document, repository)
    elif cluster_toolkit.claims(document):
        yield from _check_blueprint(document)
    elif isinstance(document.data, dict) and isinstance(document.data.get("mig-configs"), dict):
        yield from _check_layouts(document)
    elif kubernetes_pools.is_eksctl(document):
        yield from _check_eksctl(document)
    elif parallel_cluster.claims(document):
        yield from _check_parallel_cluster(document)
    elif kubernetes_pools.KARPENTER.get(str(document.get(("apiVersion",)))) == document.get(("kind",)):
        yield from _check_karpenter(document)


def _build_problem(rule: str, message: str, origin: Origin, *related: tuple[str, Origin]) -> Problem:
    return Problem(rule, message, origin.location(), tuple((label, other.location()) for label, other in related))


# ---- machines and cards


def _check_terraform(document: Document, repository: Repository) -> Iterator[Problem]:
    from gpulint.adapters.nodes.terraform import google
    from gpulint.adapters.nodes.terraform import pools as terraform_pools

    files, own = adapters_nodes.find_code(document, repository)
    modules = terraform_pools.load_modules(files if own is not None else (*files, document))
    target = own or document
    for config in _list_configs(target, modules):
        machine = google.machine(config, modules)
        yield from _check_attached(machine.kind, machine.guest, machine.guests, machine.partition)
    for group in terraform_pools.groups(target, modules):
        yield from _check_driver(group.kinds, group.image)
        yield from _check_efa_support(group.kinds, group.efa)


def _list_configs(document: Document, modules: Modules) -> Iterator[Spot]:
    """Yield the blocks of a file that describe Google machines."""
    from gpulint.adapters.nodes.terraform import blocks
    from gpulint.adapters.nodes.terraform import pools as terraform_pools

    for kind in ("google_container_node_pool", "google_container_cluster"):
        for spot in terraform_pools.resources(document, kind, modules):
            yield from blocks.blocks(spot.descend("node_config"), modules)
    for kind in MACHINES:
        yield from terraform_pools.resources(document, kind, modules)


def _check_blueprint(document: Document) -> Iterator[Problem]:
    for source, path in cluster_toolkit.modules(document):
        if source in ("gke-node-pool", "vm-instance") or "nodeset" in source:
            machine = cluster_toolkit.field(document, (*path, "settings", "machine_type"))
            yield from _check_attached(machine, *cluster_toolkit.guests(document, path), None)


def _check_attached(
    machine: Field | None, guest: Field | None, count: Field | None, partition: Field | None
) -> Iterator[Problem]:
    """Yield conflicts between a Google machine type and its attached GPU."""
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
        yield from _check_pair(str(named["machine"]), str(named["guest"]), product, machine, guest, count)
    if partition is not None and isinstance(partition.value, str) and product is not None:
        yield from _check_profile(partition.value, product, partition.origins[0], place)


def _check_pair(
    machine: str, guest: str, product: str | None, kind: Field, attached: Field, count: Field | None
) -> Iterator[Problem]:
    node, place = hardware.node(machine), attached.origins[0]
    if machine_types.series(machine) == "none":
        message = f"{machine} takes no attached GPUs; {guest} needs {_describe_machines(product)}"
        yield _build_problem(
            "card-of-another-machine-type", message, place, (f"machine type {machine}", kind.origins[0])
        )
    elif node is not None and node.accelerator and product is not None and product != node.accelerator:
        message = f"{machine} has {node.node_gpus} × {_name_accelerator(node.accelerator)}, not {guest}"
        yield _build_problem(
            "card-of-another-machine-type", message, place, (f"machine type {machine}", kind.origins[0])
        )
    elif node is not None and count is not None and isinstance(count.value, int) and count.value > node.node_gpus:
        message = f"{count.value} GPUs are attached to {machine}, which has {node.node_gpus}"
        yield _build_problem(
            "more-cards-than-machine-holds", message, count.origins[0], (f"machine type {machine}", kind.origins[0])
        )


def _describe_machines(product: str | None) -> str:
    """Return the machine types that have a GPU, or else those that it can be attached to."""
    types = [
        node.instance_type for node in hardware.list_nodes() if node.cloud == "gcp" and node.accelerator == product
    ]
    return " or ".join(types[:2]) if types else "an n1 machine"


def _name_accelerator(product: str) -> str:
    card = hardware.accelerator(product)
    return card.name if card is not None else product


# ---- slices


def _check_profile(profile: str, product: str, origin: Origin, place: Origin) -> Iterator[Problem]:
    """Report a MIG profile that the GPU does not have."""
    if mig_slices.lacks(product, profile):
        message = f"{_name_accelerator(product)} has no MIG profile {profile}; {mig_slices.describe_profiles(product)}"
        yield _build_problem(
            "mig-profile-of-another-card", message, origin, (f"GPU {_name_accelerator(product)}", place)
        )


def _check_layouts(document: Document) -> Iterator[Problem]:
    """Report mig-parted layouts that are impossible on every GPU."""
    layouts = document.get(("mig-configs",))
    for name in layouts if isinstance(layouts, dict) else ():
        for at in replica.items(document, ("mig-configs", name)):
            path = (*at, *SLICES)
            wanted = document.get(path)
            counts = {
                str(key): value
                for key, value in (wanted.items() if isinstance(wanted, dict) else ())
                if isinstance(value, int) and not isinstance(value, bool)
            }
            if counts:
                yield from _check_layout(document, path, counts)


def _check_layout(document: Document, path: Path, counts: Mapping[str, int]) -> Iterator[Problem]:
    """Report a layout with more compute slices than any GPU has."""
    sizes = [(PROFILE.match(profile), count) for profile, count in counts.items()]
    used = sum(int(match[1]) * count for match, count in sizes if match)
    if used > COMPUTE_SLICES_MAX:
        listed = " + ".join(f"{count} × {profile}" for profile, count in counts.items())
        message = f"{listed} add up to {used} compute slices; no GPU has more than {COMPUTE_SLICES_MAX}"
        yield _build_problem("mig-layout-impossible", message, Origin(document, path, key=True))


# ---- images and requirements


def _check_driver(kinds: Sequence[Field], image: Field | None) -> Iterator[Problem]:
    """Report a node group that has only GPU machines but an EKS image without their driver."""
    nodes = [machine_types.find_machine_type(str(kind.value), "aws") for kind in kinds]
    gpu_nodes = [node for node in nodes if node is not None and node.accelerator]
    if image is None or not isinstance(image.value, str) or not gpu_nodes or len(gpu_nodes) < len(kinds):
        return
    if STANDARD_IMAGE.fullmatch(image.value):
        node = gpu_nodes[0]
        what = f"{node.instance_type} has {node.node_gpus} × {_name_accelerator(node.accelerator)}"
        message = f"{image.value} has no NVIDIA driver; {what}"
        related = (f"instance type {node.instance_type}", kinds[0].origins[0])
        yield _build_problem("node-image-without-driver", message, image.origins[0], related)


def _check_efa_support(kinds: Sequence[Field], efa: Field | None) -> Iterator[Problem]:
    """Report EFA interfaces on a machine type that has none."""
    for kind in kinds if efa is not None and efa.value is True else ():
        node = machine_types.find_machine_type(str(kind.value), "aws")
        if efa is not None and node is not None and node.rdma == "none":
            message = f"{node.instance_type} does not support EFA"
            related = (f"instance type {node.instance_type}", kind.origins[0])
            yield _build_problem("efa-on-machine-without-it", message, efa.origins[0], related)
            return


def _check_eksctl(document: Document) -> Iterator[Problem]:
    for group in ("managedNodeGroups", "nodeGroups"):
        for path in replica.items(document, (group,)):
            efa = Field(True, (Origin(document, (*path, "efaEnabled")),))
            if document.get((*path, "efaEnabled")) is True:
                yield from _check_efa_support(kubernetes_pools.read_machine_types(document, path), efa)


def _check_parallel_cluster(document: Document) -> Iterator[Problem]:
    for queue in replica.items(document, parallel_cluster.QUEUES):
        for path, types in parallel_cluster.compute_resources(document, queue):
            efa = (*path, "Efa", "Enabled")
            if document.get(efa) is True:
                yield from _check_efa_support(types, Field(True, (Origin(document, efa),)))
                yield from _check_placement_group(document, queue, path)
            else:
                yield from _check_efa_disabled(document, path, types)


def _check_efa_disabled(document: Document, path: Path, types: Sequence[Field]) -> Iterator[Problem]:
    """Report several machines of one type that has EFA, if EFA is not enabled."""
    most = document.get((*path, "MaxCount"))
    node = machine_types.find_machine_type(str(types[0].value), "aws") if len(types) == 1 else None
    if node is None or node.rdma != "efa" or node.node_gpus < 8 or most in (0, 1):
        return
    message = (
        f"{node.instance_type} has {node.node_nics or 'several'} EFA interfaces, but Efa is not enabled for its queue"
    )
    yield _build_problem("efa-off-on-cluster", message, types[0].origins[0])


def _check_placement_group(document: Document, queue: Path, path: Path) -> Iterator[Problem]:
    """Report nodes with EFA that no placement group keeps close together."""
    groups = [(*queue, "Networking", "PlacementGroup"), (*path, "Networking", "PlacementGroup")]
    stated = [placement_group for group in groups if isinstance(placement_group := document.get(group), dict)]
    placed = any(value is not None for placement_group in stated for value in placement_group.values())
    kinds = [str(document.get((*at, "CapacityType")) or "") for at in (queue, path)]
    reserved = any(document.get((*at, "CapacityReservationTarget")) for at in (queue, path))
    if not (placed or reserved or "CAPACITY_BLOCK" in kinds or document.get((*path, "MaxCount")) in (0, 1)):
        message = "EFA is enabled, but the queue has no placement group to keep its nodes close together"
        yield _build_problem("placement-group-missing", message, Origin(document, (*path, "Efa", "Enabled")))


def _check_karpenter(document: Document) -> Iterator[Problem]:
    """Report a GPU NodePool whose combined requirements no catalogued GPU machine meets."""
    path = (*kubernetes_pools.template(document), "requirements")
    demands = kubernetes_pools.requirements(document, path)
    restrictions = [
        restriction
        for restriction in demands
        if restriction.operator == "In" and restriction.key in kubernetes_pools.KEYS and restriction.values
    ]
    if not _is_gpu_pool(document, demands) or any(
        "$" in value for restriction in restrictions for value in restriction.values
    ):
        return
    if kubernetes_pools.find_uncatalogued(restrictions) or not any(
        restriction.key in kubernetes_pools.DECIDING for restriction in restrictions
    ):
        return
    if any(kubernetes_pools.meets(node, restrictions) for node in hardware.list_nodes() if node.cloud == "aws"):
        return
    stated = "; ".join(
        f"{restriction.key.rpartition('/')[2]} {' or '.join(sorted(restriction.values)[:4])}"
        for restriction in restrictions
    )
    message = f"no GPU machine type matches {stated}"
    yield _build_problem("requirements-without-gpu-machine", message, Origin(document, path, key=True))


def _is_gpu_pool(document: Document, demands: list[kubernetes_pools.Requirement]) -> bool:
    """Return True if a NodePool is meant for GPUs: its limits count them or its requirements name
    them.
    """
    limits = document.get(("spec", "limits"))
    inner = limits.get("resources") if isinstance(limits, dict) else None
    names = [*(limits if isinstance(limits, dict) else ()), *(inner if isinstance(inner, dict) else ())]
    return resource_names.find_name("nvidia") in map(str, names) or any("gpu-" in demand.key for demand in demands)
