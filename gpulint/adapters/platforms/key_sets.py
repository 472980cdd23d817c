"""Shapes: the keys that a format's mappings may have, which distinguish its files from others."""

from __future__ import annotations

from gpulint.catalog import tables


def keys(format: str, mapping: str) -> frozenset[str]:
    """Return the keys of one kind of mapping of a format."""
    row = next(row for row in tables.rows("format_keys") if (row["format"], row["mapping"]) == (format, mapping))
    return frozenset(row["keys"].split())
