"""Optics: transceivers and ready-made cables of the catalog, looked up by exact name."""

from __future__ import annotations

import functools
from collections.abc import Mapping
from dataclasses import dataclass

from gpulint import units
from gpulint.catalog import tables
from gpulint.catalog.errors import MissingInput

GRADES = ("om3", "om4", "om5", "os2")
"""The grades of fibre for which the catalog has a reach."""


@dataclass(frozen=True, slots=True)
class Transceiver:
    """One product or standard.

    The links of its `ports` share its rate, and a ready-made cable has a length.
    """

    name: str
    kind: str
    vendor: str
    line_bytes_per_s: float
    ports: int
    lanes: int | None
    signal: str
    fibre: str
    reach_m: Mapping[str, float]
    loss_db: Mapping[str, float]
    length_m: float | None
    connectors: tuple[str, ...]
    polish: str
    form_factor: str
    ends: str
    networks: tuple[str, ...]
    source: str
    date: str

    @property
    def port_bytes_per_s(self) -> float:
        """The rate of one of its links."""
        return self.line_bytes_per_s / self.ports


def find_optic(text: str) -> Transceiver | None:
    """Return the transceiver or cable with a listed name, in any case."""
    return _index_by_name().get(text.strip().lower())


def require_optic(text: str, quantity: str) -> Transceiver:
    """Return the transceiver or cable with that name; raise MissingInput with the quantity if the
    catalog has none.
    """
    found = find_optic(text)
    if found is None:
        raise MissingInput(quantity)
    return found


@functools.cache
def optics() -> tuple[Transceiver, ...]:
    """Return all transceivers and cables of the catalog."""
    return tuple(_read_optic(row) for row in tables.rows("optics"))


@functools.cache
def _index_by_name() -> dict[str, Transceiver]:
    rows = zip(tables.rows("optics"), optics(), strict=True)
    return {name.lower(): optic for row, optic in rows for name in (row["name"], *_split_cell(row["aliases"]))}


def _read_optic(row: tables.Row) -> Transceiver:
    return Transceiver(
        name=row["name"],
        kind=row["kind"],
        vendor=row["vendor"],
        line_bytes_per_s=float(row["gbit_per_s"]) * units.GBIT,
        ports=int(row["ports"]),
        lanes=units.count(row["lanes"]),
        signal=row["signal"],
        fibre=row["fibre"],
        reach_m=_read_grades(row, "m"),
        loss_db=_read_grades(row, "db"),
        length_m=units.scale(row["length_m"], 1),
        connectors=_split_cell(row["connectors"]),
        polish=row["polish"],
        form_factor=row["form_factor"],
        ends=row["ends"],
        networks=_split_cell(row["networks"]),
        source=row["source"],
        date=row["date"],
    )


def _read_grades(row: tables.Row, unit: str) -> dict[str, float]:
    """Return the cells of a row that have a figure for each grade of fibre."""
    cells = {grade.upper(): row[f"{grade}_{unit}"] for grade in GRADES}
    return {grade: float(cell) for grade, cell in cells.items() if cell}


def _split_cell(cell: str) -> tuple[str, ...]:
    return tuple(cell.split(";")) if cell else ()
