"""Outlets: which sockets of a power distribution unit an inlet fits, and their ratings."""

from __future__ import annotations

import functools
from collections.abc import Mapping
from typing import NamedTuple

from gpulint import units
from gpulint.catalog import tables


class Outlet(NamedTuple):
    """A kind of socket: the inlets that a cord connects to it, and its rating by IEC and in North
    America.
    """

    name: str
    inlets: frozenset[str]
    iec_a: float
    ul_a: float


@functools.cache
def _load_outlets() -> Mapping[str, Outlet]:
    rows = tables.rows("outlets")
    return {row["outlet"]: _read_outlet(row) for row in rows}


def _read_outlet(row: tables.Row) -> Outlet:
    iec_a, ul_a = (units.parse(row[column], "a") for column in ("iec_a", "ul_a"))
    return Outlet(row["outlet"], frozenset(row["inlets"].split()), iec_a, ul_a)


def find_inlets(word: str) -> frozenset[str]:
    """Return the inlets that a socket or a combined socket serves; all if it is not listed.

    >>> sorted(find_inlets("C13")), find_inlets("C13/C19") == find_inlets("C19"), find_inlets("L6-30R") == list_inlets()
    (['C14', 'C16'], True, True)
    """
    named = [_load_outlets().get(part.strip().upper()) for part in word.split("/")]
    served = [outlet.inlets for outlet in named if outlet is not None]
    return frozenset().union(*served) if len(served) == len(named) else list_inlets()


def list_inlets() -> frozenset[str]:
    """Return all inlets that some outlet serves."""
    return frozenset().union(*(outlet.inlets for outlet in _load_outlets().values()))


def parse_inlet(word: str) -> str:
    """Return the inlet that a word names, also by its connector: C19, C20 and C19/C20 are all C20.

    >>> parse_inlet("c20"), parse_inlet("C19/C20"), parse_inlet("busbar")
    ('C20', 'C20', 'BUSBAR')
    """
    first = word.upper().partition("/")[0].strip()
    return _CONNECTORS.get(first, first)


_CONNECTORS = {"C13": "C14", "C15": "C16", "C19": "C20", "C21": "C22"}
_MADE_FOR = {inlet: connector for connector, inlet in _CONNECTORS.items()}


def find_rating(word: str) -> tuple[float, float] | None:
    """Return the rating of the outlets for an inlet, by IEC and in North America;

    None if no cord fits it.
    """
    found = _load_outlets().get(_MADE_FOR.get(parse_inlet(word), ""))
    return (found.iec_a, found.ul_a) if found else None
