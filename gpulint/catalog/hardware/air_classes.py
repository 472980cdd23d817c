"""Climate: the classes of air that servers are built for, by ASHRAE's table."""

from __future__ import annotations

import functools
from typing import NamedTuple

from gpulint.catalog import tables as catalog


class InletClass(NamedTuple):
    """Temperatures of supply air that a class recommends and allows, and how the highest falls with elevation."""

    recommended_max_c: float
    allowable_min_c: float
    allowable_max_c: float
    derated_above_m: float
    metres_per_kelvin: float


@functools.cache
def inlet_class(name: str) -> InletClass:
    """The class of that name; KeyError for none."""
    row = catalog.by("inlet_classes", "class")[name]
    return InletClass(*(float(row[field]) for field in InletClass._fields))
