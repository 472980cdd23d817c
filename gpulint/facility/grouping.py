"""Groups of identical servers: adjacent servers of a rack that differ only in name become one entry
with a count.
"""

from __future__ import annotations

import dataclasses
import re
from collections.abc import Callable, Iterable, Iterator, Sequence

from gpulint.facility.model import Component
from gpulint.workload import Field

PLACE = "position_u"
_NUMBERED = re.compile(r"(.*?)(\d+)(\D*)", re.DOTALL)
"""A name and the last number in it."""


def group(servers: Iterable[Component], height_of: Callable[[str], float | None]) -> Iterator[Component]:
    """Merge identical, gapless servers of a rack into one entry each; `height_of` gives a type's
    units.
    """
    groups: dict[object, list[Component]] = {}
    for server in servers:
        groups.setdefault(_group_key(server), []).append(server)
    for alike in groups.values():
        height = height_of(alike[0].role.text("server_type"))
        for run in _split_runs(sorted(alike, key=_read_position), height):
            yield run[0] if len(run) == 1 else _merge(run)


def _group_key(server: Component) -> object:
    """Return the fields that identical servers have in common."""
    fields = server.role.fields
    return tuple((name, str(fields[name].value)) for name in sorted(fields) if name != PLACE), PLACE in fields


def _read_position(server: Component) -> float:
    position = server.role.value(PLACE)
    return float(position) if isinstance(position, int | float) else 0.0


def _split_runs(servers: Sequence[Component], height: float | None) -> Iterator[list[Component]]:
    """Yield runs of servers without a gap between them, or all servers if no position is declared."""
    run: list[Component] = []
    for server in servers:
        has_position = PLACE in server.role.fields
        if run and has_position and (height is None or _read_position(server) != _read_position(run[-1]) + height):
            yield run
            run = []
        run.append(server)
    if run:
        yield run


def _merge(run: Sequence[Component]) -> Component:
    first = run[0]
    fields = {**first.role.fields, "servers": Field(len(run), source="devices alike")}
    return Component(
        first.kind,
        dataclasses.replace(first.role, name=_render_name([server.role.name for server in run]), fields=fields),
    )


def _render_name(names: Sequence[str]) -> str:
    """Return one name for several servers.
    It is a range if they are numbered, else the first name and the last.

    >>> _render_name(["n01", "n02", "n03"]), _render_name(["n2", "n1"]), _render_name(["eva", "mia"])
    ('n[01-03]', 'n[1-2]', 'eva to mia')
    """
    parts = [match.groups() for name in names if (match := _NUMBERED.fullmatch(name)) is not None]
    if len(parts) < len(names) or len({(before, len(number), behind) for before, number, behind in parts}) > 1:
        return f"{names[0]} to {names[-1]}"
    numbers = sorted(number for _, number, _ in parts)
    if int(numbers[-1]) - int(numbers[0]) + 1 != len(names):
        return f"{names[0]} to {names[-1]}"
    before, _, behind = parts[0]
    return f"{before}[{numbers[0]}-{numbers[-1]}]{behind}"
