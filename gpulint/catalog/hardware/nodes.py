"""Nodes: the machine types of clouds, what they hold and what they cost."""

from __future__ import annotations

import functools
from dataclasses import dataclass
from typing import NamedTuple

from gpulint import units
from gpulint.catalog import tables


@dataclass(frozen=True, slots=True)
class Node:
    """One machine type of a cloud and what it holds."""

    instance_type: str
    cloud: str
    accelerator: str
    node_gpus: int
    cpu_cores: float | None
    host_memory_bytes: int | None
    network_bytes_per_s: float | None
    rdma: str
    node_nics: int | None
    node_link: str
    arm: bool
    source: str

    @property
    def cost_usd_per_hour(self) -> float | None:
        """List price in the home region; None if it is not established."""
        listed = next((price for price in list_prices(self.instance_type) if price.home), None)
        return listed.usd_per_hour if listed else None

    @property
    def node_memory_bytes(self) -> int | None:
        """Host memory of the machine; None if it is not established."""
        return self.host_memory_bytes

    @property
    def network_kind(self) -> str | None:
        """Network between machines of this type, an id of the catalog's links; None if not established."""
        return _NETWORK_KINDS.get(self.rdma.partition("-")[0], self.rdma) or None

    @property
    def gpudirect(self) -> bool | None:
        """Whether network cards read GPU memory directly; None if it is not established."""
        return self.rdma not in ("none", "efa-without-gpudirect") if self.rdma else None


class ListPrice(NamedTuple):
    """Price of a whole machine in a region; `home` marks the region that counts if none is stated."""

    region: str
    home: bool
    usd_per_hour: float | None
    spot_usd_per_hour: float | None
    source: str
    date: str


_NETWORK_KINDS = {"none": "tcp", "efa": "efa", "infiniband": "infiniband", "roce": "roce"}
"""The kind of network by the first word of a node's RDMA cell; other cells name it in full."""


def node(instance_type: str) -> Node | None:
    """Find the machine type with a name; SageMaker's prefix `ml.` names the same machine."""
    return _nodes().get(instance_type.removeprefix("ml."))


def list_nodes() -> tuple[Node, ...]:
    """Return all machine types of the catalog."""
    return tuple(_nodes().values())


def is_cloud(name: str) -> bool:
    """Whether the catalog lists machine types of a cloud."""
    return any(machine.cloud == name for machine in list_nodes())


@functools.cache
def list_prices(instance_type: str) -> tuple[ListPrice, ...]:
    """Return the list prices of a machine type by region; none if they are not established."""
    return tuple(_list_price(row) for row in _price_rows().get(instance_type, ()))


@functools.cache
def list_priced_regions() -> frozenset[tuple[str, str]]:
    """Return the cloud and name of each region whose list prices the catalog has."""
    return frozenset(
        (machine.cloud, row["region"])
        for machine in list_nodes()
        for row in _price_rows().get(machine.instance_type, ())
    )


def cheapest(accelerator_id: str, gpus: int, cloud: str | None = None) -> Node | None:
    """Find the cheapest machine type with enough of an accelerator and the x86 CPU most images need."""
    fitting = [
        machine
        for machine in list_nodes()
        if machine.accelerator == accelerator_id
        and machine.node_gpus >= gpus
        and machine.cost_usd_per_hour is not None
        and cloud in (None, machine.cloud)
        and not machine.arm
    ]
    return min(fitting, key=lambda machine: (machine.cost_usd_per_hour, machine.instance_type), default=None)


def holding(accelerator_id: str, gpus: int, cloud: str) -> tuple[Node, ...]:
    """Find the machine types of a cloud that hold at least this many of an accelerator."""
    large_enough = (machine for machine in list_nodes() if machine.node_gpus >= gpus)
    return tuple(machine for machine in large_enough if (machine.accelerator, machine.cloud) == (accelerator_id, cloud))


def cloud_of(label: str, value: str) -> str | None:
    """Find the cloud of a node label by its key or its instance type; None if any cloud uses it."""
    if machine := node(value):
        return machine.cloud
    domain = label.split("/", 1)[0]
    return next((cloud for suffix, cloud in _CLOUD_DOMAINS.items() if domain.endswith(suffix)), None)


_CLOUD_DOMAINS = {"cloud.google.com": "gcp", "k8s.aws": "aws", "amazonaws.com": "aws", "azure.com": "azure"}


@functools.cache
def _price_rows() -> dict[str, list[tables.Row]]:
    found: dict[str, list[tables.Row]] = {}
    for row in tables.rows("prices"):
        found.setdefault(row["instance_type"], []).append(row)
    return found


@functools.cache
def _nodes() -> dict[str, Node]:
    return {row["instance_type"]: _node(row) for row in tables.rows("nodes")}


def _node(row: tables.Row) -> Node:
    return Node(
        instance_type=row["instance_type"],
        cloud=row["cloud"],
        accelerator=row["accelerator"],
        node_gpus=units.count(row["gpus"]) or 0,
        cpu_cores=units.scale(row["vcpus"], 1),
        host_memory_bytes=units.scale_to_bytes(row["memory_gib"], units.GIB),
        network_bytes_per_s=units.scale(row["network_gbit_per_s"], units.GBIT),
        rdma=row["rdma"],
        node_nics=units.count(row["nics"]),
        node_link=row["link"],
        arm=row["cpu"] == "arm64",
        source=row["source"],
    )


def _list_price(row: tables.Row) -> ListPrice:
    return ListPrice(
        region=row["region"],
        home=row["home"] == "yes",
        usd_per_hour=units.scale(row["usd_per_hour"], 1),
        spot_usd_per_hour=units.scale(row["spot_usd_per_hour"], 1),
        source=row["source"],
        date=row["date"],
    )
