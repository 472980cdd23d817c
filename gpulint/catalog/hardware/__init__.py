"""Accelerators, nodes and servers of the catalog, looked up by exact name."""

from __future__ import annotations

import functools
from dataclasses import dataclass
from typing import NamedTuple

from gpulint import units
from gpulint.catalog import tables as catalog
from gpulint.report.model import Scenarios


@dataclass(frozen=True, slots=True)
class Accelerator:
    """One product: memory as drivers report it, dense peaks, link bandwidth per direction; None is not established."""

    id: str
    name: str
    vendor: str
    generation: str
    compute_capability: float | None
    driver_memory_bytes: int | None
    cuda_memory_bytes: int | None
    memory_bytes_per_s: float | None
    dense_bf16_flop_per_s: float | None
    dense_fp16_flop_per_s: float | None
    dense_fp8_flop_per_s: float | None
    dense_fp4_flop_per_s: float | None
    board_w: float | None
    link: str
    link_bytes_per_s: float | None
    link_domain_gpus: int | None
    host_link: str | None
    mig: bool
    unified_memory: bool
    source: str
    date: str

    @property
    def accelerator_name(self) -> str:
        """The name under its glossary entry."""
        return self.name

    @property
    def host_link_bytes_per_s(self) -> float | None:
        """Nominal bandwidth to the host, per direction; None where the link is not established."""
        found = link(self.host_link) if self.host_link else None
        return found.bytes_per_s if found else None

    @property
    def unified_memory_bytes(self) -> int | None:
        """What CUDA reports as total where the host's programs live in the same memory; None on a card of its own."""
        return self.cuda_memory_bytes if self.unified_memory else None


@dataclass(frozen=True, slots=True)
class Link:
    """One kind of connection: of what shape, its nominal bandwidth per GPU and direction, and how many GPUs it joins."""

    id: str
    name: str
    kind: str
    shape: str
    bytes_per_s: float | None
    domain_gpus: int | None
    nccl_bytes_per_s: float | None
    reduces: bool
    source: str
    date: str


class Measured(NamedTuple):
    """What groups on one medium achieve: nominal against achieved bandwidth, and latency, in the three scenarios."""

    slowdown: Scenarios[float]
    hop_s: Scenarios[float]
    source: str


@dataclass(frozen=True, slots=True)
class Node:
    """One machine type of a cloud: what it holds."""

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
        """Its list price where no region is stated; None is not established."""
        listed = next((one for one in list_prices(self.instance_type) if one.home), None)
        return listed.usd_per_hour if listed else None

    @property
    def network_kind(self) -> str | None:
        """The kind of network between machines of this type, an id of the catalog's links; None is not established."""
        return _NETWORK_KINDS.get(self.rdma.partition("-")[0], self.rdma) or None

    @property
    def gpudirect(self) -> bool | None:
        """Whether network cards read the memory of the GPUs themselves; None is not established."""
        return self.rdma not in ("none", "efa-without-gpudirect") if self.rdma else None


class ListPrice(NamedTuple):
    """What a whole machine costs in a region; `home` is the region that counts where none is stated."""

    region: str
    home: bool
    usd_per_hour: float | None
    spot_usd_per_hour: float | None
    source: str
    date: str


_NETWORK_KINDS = {"none": "tcp", "efa": "efa", "infiniband": "infiniband", "roce": "roce"}
"""The kind of network by the first word of a node's RDMA cell; others are whole."""


def accelerator(name: str) -> Accelerator | None:
    """The accelerator of that id."""
    return _accelerators().get(name)


def accelerators() -> tuple[Accelerator, ...]:
    """All accelerators of the catalog, by id."""
    return tuple(_accelerators().values())


def of_memory(memory_bytes: float) -> tuple[Accelerator, ...]:
    """The accelerators whose total memory is what CUDA reports; drivers differ by up to two hundredths of it."""
    totals = ((one, one.cuda_memory_bytes or one.driver_memory_bytes or 0) for one in accelerators())
    return tuple(one for one, total in totals if abs(total / memory_bytes - 1) <= _DRIVERS_DIFFER)


_DRIVERS_DIFFER = 0.02
"""T4: 14.56 to 14.74 GiB in public logs."""


def named(text: str) -> Accelerator | None:
    """The accelerator of an id, a listed short name or the product's name as reports print it, in either case."""
    wanted = text.lower()
    return accelerator(wanted) or accelerator(labels().get(("alias", text), "")) or _products().get(wanted)


def node(instance_type: str) -> Node | None:
    """The machine type of that name; SageMaker's `ml.` prefix names the same machine."""
    return _nodes().get(instance_type.removeprefix("ml."))


def nodes() -> tuple[Node, ...]:
    """All machine types of the catalog."""
    return tuple(_nodes().values())


def is_cloud(name: str) -> bool:
    """Whether the catalog lists machine types of a cloud."""
    return any(one.cloud == name for one in nodes())


@functools.cache
def list_prices(instance_type: str) -> tuple[ListPrice, ...]:
    """The list prices of a machine type, by region; none where they are not established."""
    return tuple(_list_price(row) for row in _listed().get(instance_type, ()))


@functools.cache
def priced_regions() -> frozenset[tuple[str, str]]:
    """The clouds' regions whose list prices the catalog has."""
    return frozenset((one.cloud, row["region"]) for one in nodes() for row in _listed().get(one.instance_type, ()))


def link(name: str) -> Link | None:
    """The link of that id."""
    return _links().get(name)


@functools.cache
def measured(medium: str, operation: str, engine: str, ranks: int) -> Measured | None:
    """What a group of that many ranks achieves on a medium, with an engine's own kernels where it has some."""
    found = {
        row["engine"]: row
        for row in catalog.rows("collectives")
        if (row["medium"], row["operation"]) == (medium, operation)
        and engine in row["engine"].split(" ") + [engine] * (not row["engine"])
        and int(row["ranks_from"]) <= ranks <= int(row["ranks_until"] or ranks)
    }
    if not found:
        return None
    row = found[max(found)]
    return Measured(_scenarios(row, "slowdown"), _scenarios(row, "hop_s"), row["source"])


def _scenarios(row: catalog.Row, quantity: str) -> Scenarios[float]:
    return Scenarios(*(float(row[f"{quantity}_{scenario}"]) for scenario in Scenarios._fields))


def cheapest(accelerator_id: str, gpus: int, cloud: str | None = None) -> Node | None:
    """The cheapest priced machine type that holds that many of one accelerator beside x86 processors, as most images need."""
    fitting = [
        machine
        for machine in nodes()
        if machine.accelerator == accelerator_id
        and machine.node_gpus >= gpus
        and machine.cost_usd_per_hour is not None
        and cloud in (None, machine.cloud)
        and not machine.arm
    ]
    return min(fitting, key=lambda machine: (machine.cost_usd_per_hour, machine.instance_type), default=None)


def holding(accelerator_id: str, gpus: int, cloud: str) -> tuple[Node, ...]:
    """The machine types of a cloud that hold at least that many of one accelerator."""
    listed = ((machine.accelerator, machine.cloud, machine) for machine in nodes() if machine.node_gpus >= gpus)
    return tuple(machine for held, where, machine in listed if (held, where) == (accelerator_id, cloud))


def cloud_of(label: str, value: str) -> str | None:
    """The cloud that a node label belongs to, by its key or, of an instance type, by its value; None when any may."""
    if machine := node(value):
        return machine.cloud
    domain = label.split("/", 1)[0]
    return next((cloud for suffix, cloud in _CLOUD_DOMAINS.items() if domain.endswith(suffix)), None)


_CLOUD_DOMAINS = {"cloud.google.com": "gcp", "k8s.aws": "aws", "amazonaws.com": "aws", "azure.com": "azure"}


def slice_memory_bytes(profile: str, accelerator_id: str | None) -> tuple[int, ...]:
    """Memory of a MIG profile on one accelerator, or on each that has it, ascending."""
    found = {
        units.in_bytes(row["memory_gib"], units.GIB)
        for row in catalog.rows("mig_profiles")
        if row["profile"] == profile and accelerator_id in (None, row["accelerator"])
    }
    return tuple(sorted(memory for memory in found if memory is not None))


def slice_share_of(quantity: str, profile: str, card: Accelerator) -> float | None:
    """The share of a card's bandwidth or peak that a MIG slice of it has; None of a quantity that is not shared out.

    Bandwidth goes with memory, arithmetic with compute slices: NVIDIA, Multi-Instance GPU user guide, partitioning.
    """
    found = [row for row in catalog.rows("mig_profiles") if (row["accelerator"], row["profile"]) == (card.id, profile)]
    if not found:
        return None
    if quantity == "memory_bytes_per_s" and card.cuda_memory_bytes:
        return min(1.0, (units.in_bytes(found[0]["memory_gib"], units.GIB) or 0) / card.cuda_memory_bytes)
    if quantity.endswith("_flop_per_s"):
        return int(found[0]["compute_slices"]) / int(found[0]["compute_slices_total"])
    return None


def slices(accelerator_id: str) -> tuple[tuple[str, int], ...]:
    """The MIG profiles of an accelerator with their memory, smallest first."""
    found = [
        (row["profile"], units.in_bytes(row["memory_gib"], units.GIB) or 0)
        for row in catalog.rows("mig_profiles")
        if row["accelerator"] == accelerator_id
    ]
    return tuple(sorted(found, key=lambda pair: (pair[1], pair[0])))


def slices_per_card(profile: str, accelerator_id: str) -> int | None:
    """How many slices of a MIG profile one accelerator is cut into at most; None where it has none of them."""
    for row in catalog.rows("mig_profiles"):
        if (row["accelerator"], row["profile"]) == (accelerator_id, profile):
            return units.count(row["max_instances"])
    return None


@functools.cache
def labels() -> dict[tuple[str, str], str]:
    """Exact (label key, label value) → accelerator id."""
    return {(row["key"], row["value"]): row["accelerator"] for row in catalog.rows("accelerator_labels")}


@functools.cache
def product_labels() -> frozenset[str]:
    """Every product name that NVIDIA's drivers print, as a node label writes it: with dashes."""
    return frozenset(row["name"].replace(" ", "-") for row in catalog.rows("product_names"))


@functools.cache
def _accelerators() -> dict[str, Accelerator]:
    return {row["id"]: _accelerator(row) for row in catalog.rows("accelerators")}


@functools.cache
def _products() -> dict[str, Accelerator]:
    return {one.name.lower(): one for one in accelerators()}


@functools.cache
def _links() -> dict[str, Link]:
    return {row["id"]: _link(row) for row in catalog.rows("links")}


@functools.cache
def _listed() -> dict[str, list[catalog.Row]]:
    found: dict[str, list[catalog.Row]] = {}
    for row in catalog.rows("prices"):
        found.setdefault(row["instance_type"], []).append(row)
    return found


@functools.cache
def _nodes() -> dict[str, Node]:
    return {row["instance_type"]: _node(row) for row in catalog.rows("nodes")}


def _accelerator(row: catalog.Row) -> Accelerator:
    return Accelerator(
        id=row["id"],
        name=row["name"],
        vendor=row["vendor"],
        generation=row["generation"],
        compute_capability=units.scaled(row["compute_capability"], 1),
        driver_memory_bytes=units.in_bytes(row["driver_memory_mib"], units.MIB),
        cuda_memory_bytes=units.in_bytes(row["cuda_memory_gib"], units.GIB),
        memory_bytes_per_s=units.scaled(row["bandwidth_gb_per_s"], units.GB),
        dense_bf16_flop_per_s=units.scaled(row["dense_bf16_tflops"], units.TERA),
        dense_fp16_flop_per_s=units.scaled(row["dense_fp16_tflops"], units.TERA),
        dense_fp8_flop_per_s=units.scaled(row["dense_fp8_tflops"], units.TERA),
        dense_fp4_flop_per_s=units.scaled(row["dense_fp4_tflops"], units.TERA),
        board_w=units.scaled(row["board_w"], 1),
        link=row["link"],
        link_bytes_per_s=units.scaled(row["link_gb_per_s_per_direction"], units.GB),
        link_domain_gpus=units.count(row["link_domain_gpus"]),
        host_link=row["host_link"] or None,
        mig=row["mig"] == "yes",
        unified_memory=row["unified_memory"] == "yes",
        source=row["source"],
        date=row["date"],
    )


def _link(row: catalog.Row) -> Link:
    each = units.scaled(row["gb_per_s_per_link"], units.GB)
    nccl = units.scaled(row["nccl_gb_per_s"], units.GB)
    return Link(
        id=row["id"],
        name=row["name"],
        kind=row["kind"],
        shape=row["shape"],
        bytes_per_s=each * int(row["links"]) if each else None,
        domain_gpus=units.count(row["domain_gpus"]),
        nccl_bytes_per_s=nccl * (int(row["links"]) if row["kind"] == "direct" else 1) if nccl else None,
        reduces=row["reduces"] == "yes",
        source=row["source"],
        date=row["date"],
    )


def _node(row: catalog.Row) -> Node:
    return Node(
        instance_type=row["instance_type"],
        cloud=row["cloud"],
        accelerator=row["accelerator"],
        node_gpus=units.count(row["gpus"]) or 0,
        cpu_cores=units.scaled(row["vcpus"], 1),
        host_memory_bytes=units.in_bytes(row["memory_gib"], units.GIB),
        network_bytes_per_s=units.scaled(row["network_gbit_per_s"], units.GBIT),
        rdma=row["rdma"],
        node_nics=units.count(row["nics"]),
        node_link=row["link"],
        arm=row["cpu"] == "arm64",
        source=row["source"],
    )


def _list_price(row: catalog.Row) -> ListPrice:
    return ListPrice(
        region=row["region"],
        home=row["home"] == "yes",
        usd_per_hour=units.scaled(row["usd_per_hour"], 1),
        spot_usd_per_hour=units.scaled(row["spot_usd_per_hour"], 1),
        source=row["source"],
        date=row["date"],
    )
