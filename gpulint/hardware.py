"""Accelerators and nodes of the catalog, looked up by exact name."""

from __future__ import annotations

import functools
from dataclasses import dataclass

from gpulint import catalog, units


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
    dense_fp8_flop_per_s: float | None
    dense_fp4_flop_per_s: float | None
    board_w: float | None
    link: str
    link_bytes_per_s: float | None
    link_domain_gpus: int | None
    mig: bool
    unified_memory: bool
    source: str
    date: str

    @property
    def accelerator_name(self) -> str:
        """The name under its glossary entry."""
        return self.name

    @property
    def unified_memory_bytes(self) -> int | None:
        """What CUDA reports as total where the host's programs live in the same memory; None on a card of its own."""
        return self.cuda_memory_bytes if self.unified_memory else None


@dataclass(frozen=True, slots=True)
class Node:
    """One machine type of a cloud: what it holds and its dated list price."""

    instance_type: str
    cloud: str
    accelerator: str
    node_gpus: int
    cpu_cores: float | None
    host_memory_bytes: int | None
    network_bytes_per_s: float | None
    rdma: str
    cost_usd_per_hour: float | None
    price_region: str
    price_date: str
    source: str


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


def cheapest(accelerator_id: str, gpus: int, cloud: str | None = None) -> Node | None:
    """The cheapest priced machine type that holds that many of one accelerator."""
    fitting = [
        machine
        for machine in nodes()
        if machine.accelerator == accelerator_id
        and machine.node_gpus >= gpus
        and machine.cost_usd_per_hour is not None
        and cloud in (None, machine.cloud)
    ]
    return min(fitting, key=lambda machine: (machine.cost_usd_per_hour, machine.instance_type), default=None)


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


def slices(accelerator_id: str) -> tuple[tuple[str, int], ...]:
    """The MIG profiles of an accelerator with their memory, smallest first."""
    found = [
        (row["profile"], units.in_bytes(row["memory_gib"], units.GIB) or 0)
        for row in catalog.rows("mig_profiles")
        if row["accelerator"] == accelerator_id
    ]
    return tuple(sorted(found, key=lambda pair: (pair[1], pair[0])))


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
        dense_fp8_flop_per_s=units.scaled(row["dense_fp8_tflops"], units.TERA),
        dense_fp4_flop_per_s=units.scaled(row["dense_fp4_tflops"], units.TERA),
        board_w=units.scaled(row["board_w"], 1),
        link=row["link"],
        link_bytes_per_s=units.scaled(row["link_gb_per_s_per_direction"], units.GB),
        link_domain_gpus=units.count(row["link_domain_gpus"]),
        mig=row["mig"] == "yes",
        unified_memory=row["unified_memory"] == "yes",
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
        cost_usd_per_hour=units.scaled(row["price_usd_per_hour"], 1),
        price_region=row["price_region"],
        price_date=row["price_date"],
        source=row["source"],
    )
