"""Operators: what the controller of a kind adds to its pods by itself, from the catalog's table."""

from __future__ import annotations

import functools

from gpulint.catalog import tables
from gpulint.catalog.tables import Row


def find_addition(group: str, kind: str, quantity: str) -> Row | None:
    """Return the row for what a kind's operator adds of a quantity; None if the catalog has none.

    >>> find_addition("ray.io", "RayCluster", "shared_memory")["value"]
    'mounted'
    >>> find_addition("ml.example.com", "Fleet", "shared_memory")
    """
    return _load_rows().get((group, kind, quantity))


@functools.cache
def _load_rows() -> dict[tuple[str, str, str], Row]:
    return {(row["group"], row["kind"], row["quantity"]): row for row in tables.rows("operators")}
