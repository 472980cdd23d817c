"""Transceivers and ready-made cables of the catalog, looked up by exact name."""

from __future__ import annotations

import functools
from collections.abc import Mapping
from dataclasses import dataclass

from gpulint import units
from gpulint.catalog import tables as catalog
from gpulint.catalog.errors import MissingInput

GRADES = ("om3", "om4", "om5", "os2")
"""The grades of fibre for which the catalog has a reach."""


@dataclass(frozen=True, slots=True)
class Optic:
    """One product or standard; the links of its `ports` share its rate, and a ready-made cable has a length of its own."""

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


def named(text: str) -> Optic | None:
    """The transceiver or cable of a listed name, in either case."""
    return _by_name().get(text.strip().lower())


def listed(text: str, quantity: str) -> Optic:
    """The transceiver or cable of that name; where the catalog has none, the quantity that named it is not known."""
    found = named(text)
    if found is None:
        raise MissingInput(quantity)
    return found


@functools.cache
def optics() -> tuple[Optic, ...]:
    """All transceivers and cables of the catalog."""
    return tuple(_optic(row) for row in catalog.rows("optics"))


@functools.cache
def _by_name() -> dict[str, Optic]:
    rows = zip(catalog.rows("optics"), optics(), strict=True)
    return {name.lower(): one for row, one in rows for name in (row["name"], *_several(row["aliases"]))}


def _optic(row: catalog.Row) -> Optic:
    return Optic(
        name=row["name"],
        kind=row["kind"],
        vendor=row["vendor"],
        line_bytes_per_s=float(row["gbit_per_s"]) * units.GBIT,
        ports=int(row["ports"]),
        lanes=units.count(row["lanes"]),
        signal=row["signal"],
        fibre=row["fibre"],
        reach_m=_by_grade(row, "m"),
        loss_db=_by_grade(row, "db"),
        length_m=units.scaled(row["length_m"], 1),
        connectors=_several(row["connectors"]),
        polish=row["polish"],
        form_factor=row["form_factor"],
        ends=row["ends"],
        networks=_several(row["networks"]),
        source=row["source"],
        date=row["date"],
    )


def _by_grade(row: catalog.Row, unit: str) -> dict[str, float]:
    """The cells of a row that hold a figure for each grade of fibre."""
    cells = {grade.upper(): row[f"{grade}_{unit}"] for grade in GRADES}
    return {grade: float(cell) for grade, cell in cells.items() if cell}


def _several(cell: str) -> tuple[str, ...]:
    return tuple(cell.split(";")) if cell else ()
