"""Resource names: under which names device plugins offer GPUs to pods, from gpu_resources.csv."""

from __future__ import annotations

import functools
import re
from typing import NamedTuple

from gpulint.catalog import tables

TRIGGERS = ("gpu", "nvidia", "cuda", "amd.com/", "habana.ai/", "rocm", "/dev/kfd", "gaudi", "neuron", "accelerator")
"""Words of GPUs in general. The names of the table are trigger words as well."""


class Resource(NamedTuple):
    """A name, or the beginning of names where it ends in `*`, and what its amount counts.

    `counts` is gpus, slices (of MIG), shares (parts of a GPU's memory or processors) or other (no GPUs).
    `shared_by` is a pattern of the device plugin's configuration that hands one GPU to several pods.
    """

    name: str
    vendor: str
    counts: str
    shared_by: str


@functools.cache
def list_resources() -> tuple[Resource, ...]:
    """Return the rows of the table in their order: the first of a vendor is its usual one."""
    rows = tables.rows("gpu_resources")
    return tuple(Resource(row["name"], row["vendor"], row["counts"], row["shared_by"]) for row in rows)


@functools.cache
def find_name(vendor: str, ending: str = "") -> str:
    """Return the name under which a vendor's device plugin offers accelerators.

    >>> find_name("nvidia"), find_name("intel", "xe")
    ('nvidia.com/gpu', 'gpu.intel.com/xe')
    """
    mine = (resource.name.removesuffix("*") for resource in list_resources() if resource.vendor == vendor)
    return next(name for name in mine if name.endswith(ending))


@functools.cache
def slice_prefix() -> str:
    """Return what the names of MIG slices begin with; the profile follows."""
    return next(resource.name.removesuffix("*") for resource in list_resources() if resource.counts == "slices")


def find(name: str) -> Resource | None:
    """Return the row of a resource by its name.

    >>> find("nvidia.com/mig-1g.10gb").counts, find("cpu")
    ('slices', None)
    """
    return next((resource for resource in list_resources() if _is_name(resource, name)), None)


def _is_name(resource: Resource, name: str) -> bool:
    if resource.name.endswith("*"):
        return name.startswith(resource.name[:-1])
    return name == resource.name


def counts(name: str) -> str:
    """Return what the amount of a resource counts; empty for a resource that the table lacks."""
    resource = find(name)
    return resource.counts if resource else ""


def find_vendor(name: str) -> str:
    """Return whose device plugin offers resources of a name's domain; empty for an unknown domain."""
    domain = name.partition("/")[0]
    rows = list_resources()
    return next((resource.vendor for resource in rows if resource.name.partition("/")[0] == domain), "")


@functools.cache
def pattern(*counted: str) -> str:
    """Return a regular expression of the names whose amount counts one of these.

    >>> bool(re.fullmatch(pattern("gpus", "slices"), "nvidia.com/mig-1g.10gb"))
    True
    """
    names = (resource.name for resource in list_resources() if resource.counts in counted)
    return "|".join(re.escape(name).replace(r"\*", r"[\w.-]+") for name in names)
