"""Switches of the catalog, looked up by exact name."""

from __future__ import annotations

import functools
from dataclasses import dataclass

from gpulint import units
from gpulint.catalog import tables


@dataclass(frozen=True, slots=True)
class Switch:
    """One model: its ports at full speed, and their maximum number when split."""

    name: str
    switch_ports: int
    split_ports: int | None
    port_bytes_per_s: float
    cage: str
    network: str
    source: str
    date: str


def find_switch(text: str) -> Switch | None:
    """Return the switch with a listed name, in any case."""
    return _index_by_name().get(text.strip().lower())


@functools.cache
def list_switches() -> tuple[Switch, ...]:
    """Return all switches of the catalog."""
    return tuple(_read_switch(row) for row in tables.rows("switches"))


@functools.cache
def _index_by_name() -> dict[str, Switch]:
    rows = zip(tables.rows("switches"), list_switches(), strict=True)
    return {name.lower(): switch for row, switch in rows for name in (row["name"], *row["aliases"].split(";")) if name}


def _read_switch(row: tables.Row) -> Switch:
    return Switch(
        name=row["name"],
        switch_ports=int(row["ports"]),
        split_ports=units.count(row["split_ports"]),
        port_bytes_per_s=float(row["gbit_per_s"]) * units.GBIT,
        cage=row["cage"],
        network=row["network"],
        source=row["source"],
        date=row["date"],
    )
