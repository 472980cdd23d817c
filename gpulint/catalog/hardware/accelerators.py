"""Accelerators: the products of the catalog, found by exact name."""

from __future__ import annotations

import functools
from dataclasses import dataclass

from gpulint import units
from gpulint.catalog import tables
from gpulint.catalog.hardware.links import link


@dataclass(frozen=True, slots=True)
class Accelerator:
    """One product. None is a value that is not established.

    Memory is what drivers report, peaks are dense, and link bandwidth is per direction.
    """

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
        """The product's name; the glossary calls it so."""
        return self.name

    @property
    def host_link_bytes_per_s(self) -> float | None:
        """Nominal bandwidth to the host, per direction; None if the link is not established."""
        found = link(self.host_link) if self.host_link else None
        return found.bytes_per_s if found else None

    @property
    def unified_memory_bytes(self) -> int | None:
        """Total memory that CUDA reports, if the host shares it; None on a discrete accelerator."""
        return self.cuda_memory_bytes if self.unified_memory else None


def accelerator(name: str) -> Accelerator | None:
    """Find the accelerator with an id."""
    return _accelerators().get(name)


def list_accelerators() -> tuple[Accelerator, ...]:
    """Return all accelerators of the catalog, in the order of the table."""
    return tuple(_accelerators().values())


def find_by_memory(memory_bytes: float) -> tuple[Accelerator, ...]:
    """Find the accelerators with this total memory, as CUDA reports it."""
    totals = (
        (product, product.cuda_memory_bytes or product.driver_memory_bytes or 0) for product in list_accelerators()
    )
    return tuple(product for product, total in totals if abs(total / memory_bytes - 1) <= DRIVER_TOLERANCE)


DRIVER_TOLERANCE = 0.02
"""Share by which drivers differ in the total that they report: T4, 14.56 to 14.74 GiB in public logs."""


def find_accelerator(text: str) -> Accelerator | None:
    """Find an accelerator by its id, a listed short name, or the product's name in either case."""
    wanted = text.lower()
    return accelerator(wanted) or accelerator(labels().get(("alias", text), "")) or _products().get(wanted)


def find_family(text: str) -> tuple[str, ...]:
    """Find the accelerators that a name may mean that several products share; none for any other name.

    >>> find_family("gh200"), find_family("h100")
    (('gh200-144gb', 'gh200-96gb'), ())
    """
    return _families().get(text.lower().replace("_", "-"), ())


def list_families() -> tuple[str, ...]:
    """Return all names that several products share."""
    return tuple(_families())


@functools.cache
def labels() -> dict[tuple[str, str], str]:
    """Return the accelerator id of each exact pair of label key and label value."""
    return {(row["key"], row["value"]): row["accelerator"] for row in tables.rows("accelerator_labels")}


@functools.cache
def list_driver_names() -> frozenset[str]:
    """Return every product name that NVIDIA's drivers print."""
    return frozenset(row["name"] for row in tables.rows("product_names"))


@functools.cache
def product_labels() -> frozenset[str]:
    """Return every product name that NVIDIA's drivers print, with dashes as in a node label."""
    return frozenset(name.replace(" ", "-") for name in list_driver_names())


@functools.cache
def _accelerators() -> dict[str, Accelerator]:
    return {row["id"]: _accelerator(row) for row in tables.rows("accelerators")}


@functools.cache
def _families() -> dict[str, tuple[str, ...]]:
    found: dict[str, tuple[str, ...]] = {}
    for row in tables.rows("accelerator_families"):
        found[row["name"]] = (*found.get(row["name"], ()), row["accelerator"])
    return found


@functools.cache
def _products() -> dict[str, Accelerator]:
    return {product.name.lower(): product for product in list_accelerators()}


def _accelerator(row: tables.Row) -> Accelerator:
    return Accelerator(
        id=row["id"],
        name=row["name"],
        vendor=row["vendor"],
        generation=row["generation"],
        compute_capability=units.scale(row["compute_capability"], 1),
        driver_memory_bytes=units.scale_to_bytes(row["driver_memory_mib"], units.MIB),
        cuda_memory_bytes=units.scale_to_bytes(row["cuda_memory_gib"], units.GIB),
        memory_bytes_per_s=units.scale(row["bandwidth_gb_per_s"], units.GB),
        dense_bf16_flop_per_s=units.scale(row["dense_bf16_tflops"], units.TERA),
        dense_fp16_flop_per_s=units.scale(row["dense_fp16_tflops"], units.TERA),
        dense_fp8_flop_per_s=units.scale(row["dense_fp8_tflops"], units.TERA),
        dense_fp4_flop_per_s=units.scale(row["dense_fp4_tflops"], units.TERA),
        board_w=units.scale(row["board_w"], 1),
        link=row["link"],
        link_bytes_per_s=units.scale(row["link_gb_per_s_per_direction"], units.GB),
        link_domain_gpus=units.count(row["link_domain_gpus"]),
        host_link=row["host_link"] or None,
        mig=row["mig"] == "yes",
        unified_memory=row["unified_memory"] == "yes",
        source=row["source"],
        date=row["date"],
    )
