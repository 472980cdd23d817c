"""Climate: ASHRAE's classes of inlet air for servers."""

from __future__ import annotations

import functools
from typing import NamedTuple

from gpulint.catalog import tables


class InletClass(NamedTuple):
    """Supply-air temperatures that a class recommends and allows, and how the maximum falls with
    altitude.
    """

    recommended_max_c: float
    allowable_min_c: float
    allowable_max_c: float
    derated_above_m: float
    metres_per_kelvin: float


@functools.cache
def inlet_class(name: str) -> InletClass:
    """Return the class with that name; KeyError if there is none."""
    row = tables.index_rows("inlet_classes", "class")[name]
    return InletClass(*(float(row[field]) for field in InletClass._fields))
