"""Rented: the accelerators that a platform hands out by a name of its own, as `A100-80GB:8` of SkyPilot."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from gpulint.catalog import hardware
from gpulint.catalog import tables as catalog
from gpulint.workload import Field, Origin, Unknown, Value

DECIDED = "queue or partition"


class Choice(NamedTuple):
    """One accelerator that a request leaves: its name and count, each with its place."""

    name: str
    place: Origin
    gpus: Value | Unknown
    counted: tuple[Origin, ...] = ()


def product(platforms: Sequence[str], name: str) -> str | None:
    """The catalog's accelerator of a platform's name: by the first table that has it, else by the name everyone uses."""
    wanted = name.strip().lower()
    tables = {(row["platform"], row["profile"].lower()): row for row in catalog.rows("resource_profiles")}
    row = next((tables[platform, wanted] for platform in platforms if (platform, wanted) in tables), None)
    if row is not None:
        return row["accelerator"] or None
    found = hardware.named(name.strip())
    return found.id if found else None


def fields(platform: str, choices: Sequence[Choice], cloud: str = "") -> dict[str, Field]:
    """Count and product of a request that may leave several; a cloud of its own may mean another product by a name."""
    counts = {one.gpus for one in choices}
    places = tuple(one.place for one in choices)
    counted = tuple(origin for one in choices for origin in one.counted) or places
    count = counts.pop() if len(counts) == 1 else Unknown("the choices differ in their count", DECIDED)
    found = {"gpus_per_pod": Field(count, counted)}
    if isinstance(count, float):
        found["gpus_per_pod"] = Field(Unknown("a share of a card is asked for", DECIDED), counted)
    products = {product((f"{platform} {cloud}", platform), one.name) for one in choices}
    names = ", ".join(dict.fromkeys(one.name for one in choices))
    known = products.pop() if len(products) == 1 else None
    several = len({one.name for one in choices}) > 1
    why = Unknown(f"one of {names}", DECIDED) if several else Unknown(f"which product {names} is")
    found["accelerator"] = Field(known or why, places)
    return {**found, **_least(choices, (f"{platform} {cloud}", platform))} if several else found


def _least(choices: Sequence[Choice], platforms: Sequence[str]) -> dict[str, Field]:
    """The choice with the least memory over all its GPUs, where the catalog knows every one of them."""
    rooms: list[tuple[int, Choice]] = []
    for one in choices:
        name = product(platforms, one.name)
        held = hardware.accelerator(name) if name else None
        each = (held.driver_memory_bytes or held.cuda_memory_bytes) if held else None
        if each is None or not isinstance(one.gpus, int):
            return {}
        rooms.append((each * one.gpus, one))
    room, least = min(rooms, key=lambda pair: pair[0])
    said = least.name if least.gpus == 1 else f"{least.gpus} × {least.name}"
    return {"least_candidate": Field(said, (least.place,)), "least_candidate_bytes": Field(room, (least.place,))}
