"""GKE node pools in Terraform, and Google machines with their attached GPUs.

hashicorp/terraform-provider-google (container_node_pool, container_cluster, compute_instance) and
terraform-google-modules/kubernetes-engine.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import NamedTuple

from gpulint.adapters.nodes import amounts, machine_types
from gpulint.adapters.nodes.pool import Pool
from gpulint.adapters.nodes.terraform import blocks, node_counts
from gpulint.adapters.nodes.terraform.modules import Spot
from gpulint.adapters.nodes.terraform.values import Modules
from gpulint.adapters.pods.taints import Taint
from gpulint.catalog import hardware
from gpulint.workload import Field, Unknown

GKE_NAME = "cloud.google.com/gke-nodepool"


class Machine(NamedTuple):
    """A machine of one block: its type, and the attached GPU with its count and slice."""

    spot: Spot
    kind: Field | None
    guest: Field | None
    guests: Field | None
    partition: Field | None
    sharing: Field | None = None


def machine(config: Spot, modules: Modules) -> Machine:
    """Return the machine of a `node_config`, or of an instance with the same keys."""
    kind = modules.field(config.descend("machine_type"))
    listed = config.descend("guest_accelerator")
    guests = modules.items(listed)
    if config.descend("dynamic", "guest_accelerator").value() is not None:
        guests = Unknown("a dynamic block attaches the GPUs")
    if isinstance(guests, Unknown):
        unknown = Field(guests, (listed.origin(),))
        return Machine(config, kind, unknown, unknown, None)
    if not guests:
        return Machine(config, kind, None, None, None)
    partition = modules.field(guests[0].descend("gpu_partition_size"))
    blank = partition is not None and partition.value == ""
    return Machine(
        config,
        kind,
        modules.field(guests[0].descend("type")),
        modules.field(guests[0].descend("count")),
        None if blank else partition,
        _read_sharing(guests[0], modules),
    )


def _read_sharing(guest: Spot, modules: Modules) -> Field | None:
    """Return how GKE shares the GPUs of a pool: by time-slicing or MPS."""
    for settings in blocks.blocks(guest.descend("gpu_sharing_config"), modules):
        stated = modules.field(settings.descend("gpu_sharing_strategy"))
        named = str(stated.value) if stated is not None and isinstance(stated.value, str) else "shared"
        return Field(named, (settings.origin(),))
    return None


def pool(spot: Spot, modules: Modules) -> Iterator[Pool]:
    yield from _read_pool(spot, modules, node_counts.read_cluster(spot, modules))


def _read_pool(spot: Spot, modules: Modules, of: Spot | None) -> Iterator[Pool]:
    """Yield the pool of a block, in a cluster whose block may be known."""
    for config in blocks.blocks(spot.descend("node_config"), modules):
        built = _build_gke_pool(spot, config, modules.field(spot.descend("name")), modules)
        yield built._replace(amount=node_counts.read_gke(spot, of, modules))


def cluster(spot: Spot, modules: Modules) -> Iterator[Pool]:
    removed = modules.field(spot.descend("remove_default_node_pool"))
    if removed is None or removed.value is False:
        for config in blocks.blocks(spot.descend("node_config"), modules):
            built = _build_gke_pool(spot, config, Field("default-pool", source="GKE"), modules)
            yield built._replace(amount=node_counts.read_gke(spot, spot, modules))
    for inner in blocks.blocks(spot.descend("node_pool"), modules):
        yield from _read_pool(inner, modules, spot)


def limits(spot: Spot, modules: Modules) -> Iterator[Pool]:
    """Yield the GPUs of each type up to which a cluster creates node pools itself (`cluster_autoscaling`)."""
    for scaling in blocks.blocks(spot.descend("cluster_autoscaling"), modules):
        for limit in blocks.blocks(scaling.descend("resource_limits"), modules):
            kind, least, most = (modules.field(limit.descend(key)) for key in ("resource_type", "minimum", "maximum"))
            if kind is not None and kind.value not in ("cpu", "memory"):
                card, _ = machine_types.find_accelerator(None, kind, None, "gcp")
                amount = amounts.make_range(least or amounts.make_default(0, "GKE"), most)
                name = f"{blocks.read_name(None, spot)} auto-provisioning"
                yield Pool(name, spot.name(), {}, card, amount=amount._replace(of_gpus=True))


def instance(spot: Spot, modules: Modules) -> Iterator[Pool]:
    """Yield a machine outside of pools."""
    name = modules.field(spot.descend("name"))
    built = _build_pool(spot, machine(spot, modules), name, {}, (), True)
    yield built._replace(amount=node_counts.ONE)


def _build_gke_pool(spot: Spot, config: Spot, name: Field | None, modules: Modules) -> Pool:
    own, unknown = blocks.read_labels(config.descend("labels"), modules)
    tainted = blocks.read_taints(config.descend("taint"), modules)
    return _build_pool(spot, machine(config, modules), name, own, tainted, unknown)


def _build_pool(
    spot: Spot,
    of: Machine,
    name: Field | None,
    own: Mapping[str, frozenset[str]],
    tainted: tuple[Taint, ...],
    is_open: bool,
) -> Pool:
    """Return a GKE pool with the labels that GKE sets itself:
    cloud.google.com/kubernetes-engine/docs/concepts/node-pools.
    """
    guest = of.guest if not _has_guest_gpus(of.kind) else None
    card, count = machine_types.find_accelerator(of.kind, guest, of.guests, "gcp")
    labels = dict(own)
    if card.value is not None:
        blocks.set_label(labels, "cloud.google.com/gke-accelerator", of.guest)
        blocks.set_label(labels, "cloud.google.com/gke-gpu-partition-size", of.partition)
    if of.guest is None and isinstance(card.value, str):
        labels["cloud.google.com/gke-accelerator"] = _find_label_values(card.value)
    blocks.set_label(labels, GKE_NAME, name)
    blocks.set_label(labels, "node.kubernetes.io/instance-type", of.kind)
    blocks.set_label(labels, "beta.kubernetes.io/instance-type", of.kind)
    boards = count
    if of.partition is not None or of.sharing is not None:
        shared = of.partition or of.sharing
        count = Field(Unknown("the GPUs are shared"), shared.origins if shared else ())
    is_open = is_open or not isinstance(name.value if name else None, str)
    pool = Pool(
        blocks.read_name(name, spot),
        spot.name(),
        labels,
        card,
        count,
        blocks.find_listed_type(of.kind),
        tainted,
        is_open,
    )
    cut = of.partition if of.partition is None or isinstance(of.partition.value, str) else None
    return pool._replace(naming=(GKE_NAME,), mig_profile=cut, sharing=of.sharing, boards=boards)


def _has_guest_gpus(kind: Field | None) -> bool:
    """Return True if a machine type has the GPUs that its `guest_accelerator` repeats."""
    node = machine_types.find_machine_type(str(kind.value), "gcp") if kind is not None else None
    return node is not None and bool(node.accelerator)


def _find_label_values(product: str) -> frozenset[str]:
    """Return the values of GKE's label for an accelerator, which its nodes carry in any case."""
    key = "cloud.google.com/gke-accelerator"
    return frozenset(value for (label, value), named in hardware.labels().items() if label == key and named == product)


def module(spot: Spot, modules: Modules) -> Iterator[Pool]:
    listed = modules.items(spot.descend("node_pools"))
    shared, hidden = blocks.read_labels(spot.descend("node_pools_labels", "all"), modules)
    for item in () if isinstance(listed, Unknown) else listed:
        name = modules.field(item.descend("name"))
        guest, count = (modules.field(item.descend(key)) for key in ("accelerator_type", "accelerator_count"))
        if guest is not None and (guest.value == "" or (count is not None and count.value == 0)):
            guest = count = None
        of = Machine(item, modules.field(item.descend("machine_type")), guest, count, None)
        own, unknown = blocks.read_labels(spot.descend("node_pools_labels", str(name.value if name else "")), modules)
        open_map = isinstance(spot.descend("node_pools_labels").value(), str)
        tainted = blocks.read_taints(spot.descend("node_pools_taints", str(name.value if name else "")), modules)
        built = _build_pool(item, of, name, {**shared, **own}, tainted, unknown or hidden or open_map)
        yield built._replace(amount=node_counts.read_gke_module(item, spot, modules))
