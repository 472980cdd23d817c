"""Family traits: what the layers of an architecture family do that others do not, one sourced row a family and trait."""

from __future__ import annotations

import functools
from collections.abc import Mapping

from gpulint.catalog import tables

TABLE = "family_traits"
TRUE = "yes"


@functools.cache
def _read_rows() -> Mapping[tuple[str, str], str]:
    return {(row["family"], row["trait"]): row["value"] for row in tables.rows(TABLE)}


def has_trait(family: str, trait: str) -> bool:
    """Return whether a family has a trait.

    >>> has_trait("gpt-2", "simple_gelu"), has_trait("llama", "simple_gelu")
    (True, False)
    """
    return _read_rows().get((family, trait)) == TRUE


def read_trait(family: str, trait: str, otherwise: float) -> float:
    """Return the number that a family has of something; `otherwise` if no row says so.

    >>> read_trait("gpt-oss", "gated_mlp_tensors", 4), read_trait("llama", "gated_mlp_tensors", 4)
    (7, 4)
    """
    value = _read_rows().get((family, trait))
    if value is None:
        return otherwise
    return float(value) if "." in value else int(value)
