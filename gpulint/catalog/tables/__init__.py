"""Rows of data, each with its source and date. Tables are read once, as text; their readers convert
cells into base units.
"""

from __future__ import annotations

import csv
import functools
from pathlib import Path

Row = dict[str, str]


@functools.cache
def rows(table: str) -> tuple[Row, ...]:
    """Return the rows of one table, `gpulint/catalog/tables/<table>.csv`."""
    with (Path(__file__).parent / f"{table}.csv").open(encoding="utf-8", newline="") as file:
        header, *lines = csv.reader(file)
    return tuple(dict(zip(header, line, strict=True)) for line in lines)


@functools.cache
def index_rows(table: str, column: str) -> dict[str, Row]:
    """Return the rows of a table by a column whose values are unique."""
    return {row[column]: row for row in rows(table)}


def version() -> str:
    """Return the date of the newest row of any table."""
    return (Path(__file__).parent / "VERSION").read_text(encoding="utf-8").strip()


def is_in_version(row: Row, version: tuple[int, ...]) -> bool:
    """Return whether a row's `since` (inclusive) and `until` (exclusive) include some release of a
    version: 0.7 is any 0.7.x.
    """
    since, until = release(row["since"]), release(row["until"])
    first, beyond = _pad(version), _pad((*version[:-1], version[-1] + 1))
    return (since is None or _pad(since) < beyond) and (until is None or first < _pad(until))


def _pad(version: tuple[int, ...]) -> tuple[int, ...]:
    return (*version, 0, 0, 0, 0)[:4]


@functools.cache
def release(text: str | None) -> tuple[int, ...] | None:
    """`v0.8.5.post1` → (0, 8, 5); None when the text does not start with a release number.

    >>> release("v0.8.5.post1"), release("latest")
    ((0, 8, 5), None)
    """
    numbers: list[int] = []
    for part in (text or "").removeprefix("v").split("."):
        digits = part[: len(part) - len(part.lstrip("0123456789"))]
        if not digits:
            break
        numbers.append(int(digits))
        if digits != part:
            break
    return tuple(numbers) if len(numbers) >= 2 else None
