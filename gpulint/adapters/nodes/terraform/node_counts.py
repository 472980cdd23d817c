"""Numbers of nodes in Terraform: fixed counts and the bounds of autoscaling.

hashicorp/terraform-provider-google, container_node_pool: `node_count`, `initial_node_count`,
`min_node_count` and `max_node_count` count the nodes of each zone, `total_min_node_count` and
`total_max_node_count` all nodes. A pool has the zones of its `node_locations`, else those of its cluster. A
regional cluster without `node_locations` has three zones, a zonal one has its own and those listed
(cloud.google.com/kubernetes-engine/docs/concepts/types-of-clusters).
terraform-google-modules/kubernetes-engine, cluster.tf: a pool scales from `min_count` (1) to `max_count` (100)
in each zone unless `autoscaling` is false; then it has `node_count` (1).
-aws, eks_node_group: `scaling_config` with `min_size`, `max_size` and `desired_size`;
terraform-aws-modules/eks, node_groups.tf: the same keys with the defaults 1 (0 if self-managed), 3 and 1.
-azurerm, kubernetes_cluster_node_pool: `node_count`, or `min_count` and `max_count`.
oracle/terraform-provider-oci, containerengine_node_pool: `node_config_details.size` over all domains.
-aws, autoscaling_group: `min_size`, `max_size` and `desired_capacity`.
nebius mk8s_v1_node_group: `fixed_node_count`, or `autoscaling` with `min_node_count` and `max_node_count`.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from gpulint.adapters.nodes import amounts
from gpulint.adapters.nodes.pool import Amount
from gpulint.adapters.nodes.terraform import blocks
from gpulint.adapters.nodes.terraform.modules import Spot
from gpulint.adapters.nodes.terraform.values import Modules
from gpulint.workload import Field, Unknown

ZONE = re.compile(r"[a-z]+-[a-z]+\d+-[a-z]")
CLUSTER = re.compile(r"google_container_cluster\.([\w-]+)")
REGION_ZONES = 3
GOOGLE_MODULE, EKS_MODULE = "terraform-google-modules/kubernetes-engine", "terraform-aws-modules/eks"
ONE = amounts.make_fixed(Field(1, source="one machine"))


# ---- Google


def read_gke(spot: Spot, cluster: Spot | None, modules: Modules) -> Amount:
    """Return the nodes of a GKE node pool in all its zones."""
    zones = _count_zones(spot, cluster, modules)
    start, stated = (modules.field(spot.descend(key)) for key in ("initial_node_count", "node_count"))
    scaling = spot.descend("autoscaling")
    items = modules.items(scaling)
    if spot.descend("dynamic", "autoscaling").value() is not None or isinstance(items, Unknown):
        place = spot.descend("dynamic", "autoscaling") if scaling.value() is None else scaling
        unknown = Field(Unknown("a dynamic block decides the autoscaling"), (place.origin(),))
        return Amount(unknown, unknown, None)
    if not items:
        return amounts.multiply(amounts.make_fixed(stated or start), zones)
    return _read_autoscaling(items[0], start or stated, zones, modules)


def _read_autoscaling(scaling: Spot, start: Field | None, zones: Field, modules: Modules) -> Amount:
    """Return the nodes that an `autoscaling` block permits, in all zones or in each of them."""
    least, most = (modules.field(scaling.descend(f"{end}_node_count")) for end in ("min", "max"))
    least_sum, most_sum = (modules.field(scaling.descend(f"total_{end}_node_count")) for end in ("min", "max"))
    nothing = amounts.make_default(0, "GKE")
    amount = amounts.multiply(amounts.make_range(least or nothing, most, start), zones)
    if least_sum is None and most_sum is None:
        return amount
    return amounts.make_range(least_sum or nothing, most_sum)._replace(start=amount.start)


def read_cluster(spot: Spot, modules: Modules) -> Spot | None:
    """Return the cluster that a node pool names if it is in the same folder."""
    match = CLUSTER.search(str(spot.descend("cluster").value()))
    folder = modules.find_folder(spot)
    for document in folder.documents if folder and match else ():
        if match and document.node(("resource", "google_container_cluster", match[1])) is not None:
            return Spot(document, ("resource", "google_container_cluster", match[1]))
    return None


def _count_zones(spot: Spot, cluster: Spot | None, modules: Modules) -> Field:
    """Return the number of zones that have the nodes of a pool."""
    listed = spot.descend("node_locations")
    if spot != cluster and listed.value() is not None:
        return _count_items(listed, modules)
    places = (cluster or spot, spot, *_find_providers(spot, modules))
    location = next((field for place in places if (field := _read_location(place, modules)) is not None), None)
    if location is None or isinstance(location.value, Unknown):
        reason = Unknown("the zones of the pool are not stated", amounts.AT_LEAST_ONE)
        return Field(reason, location.origins if location else ())
    shared = (cluster or spot).descend("node_locations")
    is_zone = ZONE.fullmatch(str(location.value)) is not None
    if shared.value() is None:
        return Field(1 if is_zone else REGION_ZONES, location.origins)
    count = _count_items(shared, modules)
    return amounts.add(count, Field(1, location.origins)) if is_zone else count


def _read_location(spot: Spot, modules: Modules) -> Field | None:
    keys = ("location", "zone", "region")
    return next((field for key in keys if (field := modules.field(spot.descend(key))) is not None), None)


def _find_providers(spot: Spot, modules: Modules) -> Iterator[Spot]:
    """Yield the folder's settings of Google's provider, whose location applies to blocks without one."""
    folder = modules.find_folder(spot)
    for document in folder.documents if folder else ():
        if isinstance(document.get(("provider", "google")), dict):
            yield Spot(document, ("provider", "google"))


def _count_items(listed: Spot, modules: Modules) -> Field:
    items = modules.items(listed)
    if isinstance(items, Unknown):
        return Field(Unknown(items.reason, amounts.AT_LEAST_ONE), (listed.origin(),))
    return Field(len(items), (listed.origin(),))


def read_gke_module(item: Spot, call: Spot, modules: Modules) -> Amount:
    """Return the nodes of one of the module's pools."""
    zones = _count_module_zones(item, call, modules)
    scaling = modules.field(item.descend("autoscaling"))
    start = modules.field(item.descend("initial_node_count"))
    if scaling is not None and isinstance(scaling.value, Unknown):
        return Amount(scaling, scaling, None)
    if scaling is not None and str(scaling.value).lower() == "false":
        stated = modules.field(item.descend("node_count"))
        return amounts.multiply(amounts.make_fixed(stated or amounts.make_default(1, GOOGLE_MODULE)), zones)
    least_sum, most_sum = (modules.field(item.descend(f"total_{end}_count")) for end in ("min", "max"))
    if least_sum is not None or most_sum is not None:
        return amounts.make_range(least_sum or amounts.make_default(0, "GKE"), most_sum)
    least, most = (modules.field(item.descend(f"{end}_count")) for end in ("min", "max"))
    least = least or amounts.make_default(1, GOOGLE_MODULE)
    return amounts.multiply(amounts.make_range(least, most or amounts.make_default(100, GOOGLE_MODULE), start), zones)


def _count_module_zones(item: Spot, call: Spot, modules: Modules) -> Field:
    """Return the number of zones of a pool: its own, those of the cluster, or three in a region."""
    own = modules.field(item.descend("node_locations"))
    if own is not None and own.value:
        if isinstance(own.value, Unknown):
            return Field(Unknown(own.value.reason, amounts.AT_LEAST_ONE), own.origins)
        return Field(len(str(own.value).split(",")), own.origins)
    listed = call.descend("zones")
    if listed.value() is not None and modules.items(listed) != ():
        return _count_items(listed, modules)
    return Field(REGION_ZONES, source=f"default of {GOOGLE_MODULE}")


# ---- other clouds


def read_eks(spot: Spot, modules: Modules) -> Amount:
    """Return the nodes of an EKS node group."""
    for scaling in blocks.blocks(spot.descend("scaling_config"), modules):
        keys = ("min_size", "max_size", "desired_size")
        return amounts.make_range(*(modules.field(scaling.descend(key)) for key in keys))
    return Amount(None, None)


def read_autoscaling(spot: Spot, modules: Modules) -> Amount:
    """Return the machines of an Auto Scaling group."""
    keys = ("min_size", "max_size", "desired_capacity")
    return amounts.make_range(*(modules.field(spot.descend(key)) for key in keys))


def read_eks_module(group: Spot, shared: Spot, least: int, modules: Modules) -> Amount:
    """Return the nodes of one of the module's groups, whose keys may be in the defaults of all groups."""
    defaults = {"min_size": least, "max_size": 3, "desired_size": 1}
    return amounts.make_range(
        *(
            modules.field(group.descend(key))
            or modules.field(shared.descend(key))
            or amounts.make_default(number, EKS_MODULE)
            for key, number in defaults.items()
        )
    )


def read_aks(spot: Spot, modules: Modules) -> Amount:
    """Return the nodes of an AKS node pool."""
    least, most, start = (modules.field(spot.descend(key)) for key in ("min_count", "max_count", "node_count"))
    if most is None and least is None:
        return amounts.make_fixed(start)
    return amounts.make_range(least, most, start)


def read_oke(spot: Spot, modules: Modules) -> Amount:
    """Return the nodes of an OKE node pool."""
    for details in blocks.blocks(spot.descend("node_config_details"), modules):
        return amounts.make_fixed(modules.field(details.descend("size")))
    return Amount(None, None)


def read_nebius(spot: Spot, modules: Modules) -> Amount:
    """Return the nodes of a Nebius node group."""
    fixed = modules.field(spot.descend("fixed_node_count"))
    if fixed is not None:
        return amounts.make_fixed(fixed)
    ends = (modules.field(spot.descend("autoscaling", f"{end}_node_count")) for end in ("min", "max"))
    return amounts.make_range(*ends)
