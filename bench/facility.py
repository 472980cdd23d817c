"""How far gpulint's facts about rooms agree with what vendors, tables and data-centre texts publish.

    python bench/facility.py [ROWS] [--all]

Rows: tests/known_answers/rooms.csv, gathered before anything computed them; each states a Facility as it would be written, and
one published value. It is met where gpulint's fact is within 2 % of it; a row that is not has its reason in the column
`difference`. `how` says where ours comes from: a formula, the catalog's row of that machine, or a table of classes, outlets
and optics.
"""

from __future__ import annotations

import argparse
import csv
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

import alone
from alone import share

from gpulint import units
from gpulint.facility import reader
from gpulint.facility.model import ComponentFacts
from gpulint.facts.glossary import glossary
from gpulint.policy.rules import facility
from gpulint.source import documents

ROWS = Path(__file__).parent.parent / "tests" / "known_answers" / "rooms.csv"
NEAR = 0.02
HEAD = "apiVersion: gpulint/v1\nkind: Facility\nmetadata: {name: published}\nspec: "


class Asked(NamedTuple):
    """The kind of part and the fact that answer a quantity; `times` and `per` are facts of the same part."""

    part: str
    fact: str
    times: str = ""
    per: str = ""


ASKED: Mapping[str, Asked] = {
    "usable apparent power of a feed": Asked("feed", "feed_usable_va"),
    "usable power of a feed": Asked("feed", "feed_usable_va", times="supply_power_factor"),
    "load of a feed": Asked("feed", "feed_load_va"),
    "load of a feed after losing another": Asked("feed", "feed_failover_va"),
    "share of a feed used": Asked("feed", "feed_load_va", per="feed_usable_va"),
    "share of a feed used after losing another": Asked("feed", "feed_failover_va", per="feed_usable_va"),
    "current of a line of a feed": Asked("feed", "feed_line_a"),
    "current of the line that two loads share": Asked("feed", "feed_line_a"),
    "current of one power supply at full output": Asked("server", "supply_a"),
    "amps of an outlet": Asked("server", "outlet_a"),
    "power supplies left after losing one of two feeds": Asked("server", "supplies_left"),
    "power supplies needed for full load": Asked("server", "supplies_needed"),
    "load of a rack": Asked("rack", "load_w"),
    "load of a room": Asked("room", "load_w"),
    "heat of a rack": Asked("rack", "heat_w"),
    "heat of a room": Asked("room", "heat_w"),
    "heat that goes into the air": Asked("rack", "air_heat_w"),
    "heat that goes into the liquid": Asked("server", "server_group_liquid_heat_w"),
    "airflow of the servers in a rack": Asked("rack", "needed_airflow_m3_per_s"),
    "airflow that the heat needs": Asked("rack", "needed_airflow_m3_per_s"),
    "coolant flow that the heat needs": Asked("rack", "needed_flow_m3_per_s"),
    "lowest inlet temperature of a server": Asked("rack", "highest_inlet_min_c"),
    "highest inlet temperature of a server": Asked("rack", "lowest_inlet_max_c"),
    "lowest allowable inlet temperature": Asked("rack", "class_inlet_min_c"),
    "highest allowable inlet temperature": Asked("rack", "class_inlet_max_c"),
    "highest recommended inlet temperature": Asked("rack", "recommended_inlet_max_c"),
    "units that servers take": Asked("rack", "units_used"),
    "weight of the servers in a rack": Asked("rack", "least_weight_kg"),
    "weight on one foot of a rack": Asked("rack", "foot_load_kg"),
    "energy in a year": Asked("facility", "energy_year_j"),
    "cost of energy in a year": Asked("facility", "energy_year_usd"),
    "power of the facility": Asked("facility", "average_load_w", times="site_pue"),
    "reach of an optic": Asked("cable", "link_reach_m"),
}
READ: Mapping[str, str] = {
    **dict.fromkeys(("VA", "kVA"), "va"),
    **dict.fromkeys(("W", "kW", "BTU/h", "tons"), "w"),
    **dict.fromkeys(("CFM", "m3/h", "L/min"), "m3_per_s"),
    **dict.fromkeys(("kg", "lb"), "kg"),
    "A": "a",
    "C": "c",
    "m": "m",
}
"""How gpulint calls the published units; the others are plain numbers."""


class Compared(NamedTuple):
    """One published value beside ours; None where gpulint has no such fact, or lacks something for it."""

    row: Mapping[str, str]
    published: float
    ours: float | None
    needs: str = ""

    @property
    def met(self) -> bool:
        """Whether ours is within 2 % of it."""
        return self.ours is not None and abs(self.ours - self.published) <= NEAR * abs(self.published)


def rows(path: Path = ROWS) -> tuple[dict[str, str], ...]:
    """The published values."""
    with path.open(encoding="utf-8", newline="") as file:
        return tuple(csv.DictReader(file))


def compared(row: Mapping[str, str]) -> Compared:
    """A published value beside gpulint's fact of the same room."""
    asked = ASKED.get(row["quantity"])
    if asked is None or asked.fact not in glossary():
        return Compared(row, 0.0, None, "no such fact")
    known = next((one for one in _root(row["inputs"]).all() if one.kind == asked.part), None)
    if known is None:
        return Compared(row, 0.0, None, f"no {asked.part}")
    published = in_base_units(row["value"], row["unit"])
    lacking = known.facts.missing([name for name in (asked.fact, asked.times, asked.per) if name])
    if lacking:
        return Compared(row, published, None, ", ".join(sorted(lacking)))
    return Compared(row, published, _value(known, asked))


def _root(inputs: str) -> ComponentFacts:
    (document,) = documents.load("published.yaml", f"{HEAD}{inputs}\n".encode()).documents
    return facility.resolve_facts(reader.read(document), {})


def _value(known: ComponentFacts, asked: Asked) -> float:
    times = _number(known, asked.times) if asked.times else 1.0
    per = _number(known, asked.per) if asked.per else 1.0
    return _number(known, asked.fact) * times / per


def _number(known: ComponentFacts, name: str) -> float:
    value = known.expected(name)
    if isinstance(value, int | float):
        return float(value)
    raise TypeError(f"{name} is {value}")


def in_base_units(value: str, unit: str) -> float:
    """A published value in base units."""
    if unit == "%":
        return units.share_of(f"{value}%")
    if unit == "kWh":
        return float(value) * units.KWH
    return float(units.parse(f"{value} {unit}", READ[unit]) if unit in READ else value)


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("rows", nargs="?", type=Path, default=ROWS)
    parser.add_argument("--all", action="store_true", help="print every row beside ours")
    arguments = parser.parse_args()
    found = [compared(row) for row in rows(arguments.rows)]
    print(alone.table([("ours from", "within 2 %", "share"), *_by(found)]))
    for one in found:
        if arguments.all or not one.met:
            print(_line(one))


def _by(found: Sequence[Compared]) -> list[tuple[str, ...]]:
    lines: list[tuple[str, ...]] = []
    for how in (*dict.fromkeys(one.row["how"] for one in found), ""):
        mine = [one.met for one in found if how in ("", one.row["how"])]
        lines.append((how or "all", share(sum(mine), len(mine)), f"{sum(mine) / len(mine):.1%}"))
    return lines


def _line(one: Compared) -> str:
    said = f"{one.row['id']}: {one.row['value']} {one.row['unit']}"
    if one.ours is None:
        return f"{said}; not computed ({one.needs}): {one.row.get('difference', '')}"
    off = f"{one.ours / one.published - 1:+.1%}"
    return f"{said}; ours {off}" + ("" if one.met else f": {one.row.get('difference', '')}")


if __name__ == "__main__":
    main()
