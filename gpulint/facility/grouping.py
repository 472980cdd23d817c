"""Alike: servers of a rack that differ in nothing but their names, on top of one another, as one entry that counts them."""

from __future__ import annotations

import dataclasses
import re
from collections.abc import Callable, Iterable, Iterator, Sequence

from gpulint.facility.model import Part
from gpulint.workload import Field

PLACE = "position_u"
_NUMBERED = re.compile(r"(.*?)(\d+)(\D*)", re.DOTALL)
"""A name and the last number in it."""


def grouped(servers: Iterable[Part], height_of: Callable[[str], float | None]) -> Iterator[Part]:
    """The servers of a rack, those alike and without a gap between them as one; `height_of` says the units of a type."""
    sorts: dict[object, list[Part]] = {}
    for one in servers:
        sorts.setdefault(_sort(one), []).append(one)
    for alike in sorts.values():
        height = height_of(alike[0].role.text("server_type"))
        for run in _runs(sorted(alike, key=_position), height):
            yield run[0] if len(run) == 1 else _together(run)


def _sort(server: Part) -> object:
    """What servers have in common that are alike."""
    fields = server.role.fields
    return tuple((name, str(fields[name].value)) for name in sorted(fields) if name != PLACE), PLACE in fields


def _position(server: Part) -> float:
    found = server.role.value(PLACE)
    return float(found) if isinstance(found, int | float) else 0.0


def _runs(servers: Sequence[Part], height: float | None) -> Iterator[list[Part]]:
    """Those that stand on top of one another; all of them where nobody says where they stand."""
    run: list[Part] = []
    for one in servers:
        placed = PLACE in one.role.fields
        if run and placed and (height is None or _position(one) != _position(run[-1]) + height):
            yield run
            run = []
        run.append(one)
    if run:
        yield run


def _together(run: Sequence[Part]) -> Part:
    first = run[0]
    fields = {**first.role.fields, "servers": Field(len(run), source="devices alike")}
    return Part(first.kind, dataclasses.replace(first.role, name=_name([one.role.name for one in run]), fields=fields))


def _name(names: Sequence[str]) -> str:
    """One name for several: a range where they are numbered, else the first one and the last.

    >>> _name(["n01", "n02", "n03"]), _name(["n2", "n1"]), _name(["eva", "mia"])
    ('n[01-03]', 'n[1-2]', 'eva to mia')
    """
    parts = [match.groups() for one in names if (match := _NUMBERED.fullmatch(one)) is not None]
    if len(parts) < len(names) or len({(before, len(number), behind) for before, number, behind in parts}) > 1:
        return f"{names[0]} to {names[-1]}"
    numbers = sorted(number for _, number, _ in parts)
    if int(numbers[-1]) - int(numbers[0]) + 1 != len(names):
        return f"{names[0]} to {names[-1]}"
    before, _, behind = parts[0]
    return f"{before}[{numbers[0]}-{numbers[-1]}]{behind}"
