"""Outlets: which sockets of a distribution unit an inlet of a supply fits, and what they carry."""

from __future__ import annotations

import functools
from collections.abc import Mapping
from typing import NamedTuple

from gpulint import catalog, units


class Outlet(NamedTuple):
    """A kind of socket: the inlets that a cord joins to it, and its rating by IEC and in North America."""

    name: str
    inlets: frozenset[str]
    iec_a: float
    ul_a: float


@functools.cache
def _outlets() -> Mapping[str, Outlet]:
    rows = catalog.rows("outlets")
    return {row["outlet"]: _outlet(row) for row in rows}


def _outlet(row: catalog.Row) -> Outlet:
    iec_a, ul_a = (units.parse(row[column], "a") for column in ("iec_a", "ul_a"))
    return Outlet(row["outlet"], frozenset(row["inlets"].split()), iec_a, ul_a)


def inlets(word: str) -> frozenset[str]:
    """The inlets that a socket serves, by its name or by those of one that takes several plugs; all where it is not listed.

    >>> sorted(inlets("C13")), inlets("C13/C19") == inlets("C19"), inlets("L6-30R") == every_inlet()
    (['C14', 'C16'], True, True)
    """
    named = [_outlets().get(one.strip().upper()) for one in word.split("/")]
    known = [one.inlets for one in named if one is not None]
    return frozenset().union(*known) if len(known) == len(named) else every_inlet()


def every_inlet() -> frozenset[str]:
    """All inlets that some outlet serves."""
    return frozenset().union(*(one.inlets for one in _outlets().values()))


def rated_for(inlet: str) -> tuple[float, float] | None:
    """The rating of the outlets made for an inlet, by IEC and in North America; None where it is no inlet for a cord."""
    made = {"C14": "C13", "C16": "C15", "C20": "C19", "C22": "C21"}.get(inlet)
    found = _outlets().get(made or "")
    return (found.iec_a, found.ul_a) if found else None
