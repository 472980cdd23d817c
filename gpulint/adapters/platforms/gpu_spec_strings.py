"""Rented: a platform's own names for its accelerators, such as `A100-80GB:8` of SkyPilot."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from gpulint.catalog import hardware
from gpulint.catalog import tables as catalog_tables
from gpulint.workload import Field, Origin, Unknown, Value

DECIDED = "queue or partition"


class Choice(NamedTuple):
    """One accelerator that a request allows: its name and count, each with its location."""

    name: str
    place: Origin
    gpus: Value | Unknown
    counted: tuple[Origin, ...] = ()


def product(platforms: Sequence[str], name: str) -> str | None:
    """Return the accelerator of a platform's name: by the first table that has it, else by its usual
    name.
    """
    wanted = name.strip().lower()
    tables = {(row["platform"], row["profile"].lower()): row for row in catalog_tables.rows("resource_profiles")}
    row = next((tables[platform, wanted] for platform in platforms if (platform, wanted) in tables), None)
    if row is not None:
        return row["accelerator"] or None
    accelerator = hardware.find_accelerator(name.strip())
    return accelerator.id if accelerator else None


def fields(platform: str, choices: Sequence[Choice], cloud: str = "") -> dict[str, Field]:
    """Return count and accelerator of a request with several choices.

    Some clouds have their own names.
    """
    counts = {choice.gpus for choice in choices}
    places = tuple(choice.place for choice in choices)
    counted = tuple(origin for choice in choices for origin in choice.counted) or places
    count = counts.pop() if len(counts) == 1 else Unknown("the choices differ in their count", DECIDED)
    request = {"gpus_per_pod": Field(count, counted)}
    if isinstance(count, float):
        request["gpus_per_pod"] = Field(Unknown("a share of a GPU is requested", DECIDED), counted)
    products = {product((f"{platform} {cloud}", platform), choice.name) for choice in choices}
    names = ", ".join(dict.fromkeys(choice.name for choice in choices))
    several = len({choice.name for choice in choices}) > 1
    known = tuple(sorted(filter(None, products)))
    accelerator = known[0] if len(products) == 1 and known else None
    request["accelerator"] = Field(accelerator or _explain_open(names, several, known), places)
    return {**request, **_find_smallest(choices, (f"{platform} {cloud}", platform))} if several else request


def _explain_open(names: str, several: bool, known: tuple[str, ...]) -> Unknown:
    """Return why the accelerator is not known, with the choices if the catalog has all of them."""
    if not several:
        return Unknown(f"the accelerator {names} is not known")
    return Unknown(f"one of {names}", DECIDED, choices=known if len(known) == len(names.split(", ")) else ())


def _find_smallest(choices: Sequence[Choice], platforms: Sequence[str]) -> dict[str, Field]:
    """Return the choice with the least total GPU memory, if the catalog knows all choices."""
    totals: list[tuple[int, Choice]] = []
    for choice in choices:
        name = product(platforms, choice.name)
        accelerator = hardware.accelerator(name) if name else None
        gpu_bytes = (accelerator.driver_memory_bytes or accelerator.cuda_memory_bytes) if accelerator else None
        if gpu_bytes is None or not isinstance(choice.gpus, int):
            return {}
        totals.append((gpu_bytes * choice.gpus, choice))
    total, smallest = min(totals, key=lambda pair: pair[0])
    title = smallest.name if smallest.gpus == 1 else f"{smallest.gpus} × {smallest.name}"
    return {
        "least_candidate": Field(title, (smallest.place,)),
        "least_candidate_bytes": Field(total, (smallest.place,)),
    }
