"""Links: what joins accelerators, on paper and as measured."""

from __future__ import annotations

import functools
from dataclasses import dataclass
from typing import NamedTuple

from gpulint import units
from gpulint.catalog import tables
from gpulint.report.model import Scenarios


@dataclass(frozen=True, slots=True)
class Link:
    """One kind of connection: its shape, nominal bandwidth per GPU and direction, and the GPUs it joins."""

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
    """What groups achieve on one medium: nominal bandwidth over achieved bandwidth, and latency."""

    slowdown: Scenarios[float]
    hop_s: Scenarios[float]
    source: str


def link(name: str) -> Link | None:
    """Find the link with an id."""
    return _links().get(name)


@functools.cache
def find_measurement(medium: str, operation: str, engine: str, ranks: int) -> Measured | None:
    """Find what a group of ranks achieves on a medium; an engine's own kernels come first."""
    found = {
        row["engine"]: row
        for row in tables.rows("collectives")
        if (row["medium"], row["operation"]) == (medium, operation)
        and engine in row["engine"].split(" ") + [engine] * (not row["engine"])
        and int(row["ranks_from"]) <= ranks <= int(row["ranks_until"] or ranks)
    }
    if not found:
        return None
    row = found[max(found)]
    return Measured(_scenarios(row, "slowdown"), _scenarios(row, "hop_s"), row["source"])


def _scenarios(row: tables.Row, quantity: str) -> Scenarios[float]:
    return Scenarios(*(float(row[f"{quantity}_{scenario}"]) for scenario in Scenarios._fields))


@functools.cache
def _links() -> dict[str, Link]:
    return {row["id"]: _link(row) for row in tables.rows("links")}


def _link(row: tables.Row) -> Link:
    per_link = units.scale(row["gb_per_s_per_link"], units.GB)
    nccl = units.scale(row["nccl_gb_per_s"], units.GB)
    return Link(
        id=row["id"],
        name=row["name"],
        kind=row["kind"],
        shape=row["shape"],
        bytes_per_s=per_link * int(row["links"]) if per_link else None,
        domain_gpus=units.count(row["domain_gpus"]),
        nccl_bytes_per_s=nccl * (int(row["links"]) if row["kind"] == "direct" else 1) if nccl else None,
        reduces=row["reduces"] == "yes",
        source=row["source"],
        date=row["date"],
    )
