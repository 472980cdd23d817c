"""Rows of data, each with its source and date: read once, as text; their readers turn cells into base units."""

from __future__ import annotations

import csv
import functools
from pathlib import Path

Row = dict[str, str]


@functools.cache
def rows(table: str) -> tuple[Row, ...]:
    """The rows of one table, `gpulint/catalog/tables/<table>.csv`."""
    with (Path(__file__).parent / f"{table}.csv").open(encoding="utf-8", newline="") as file:
        header, *lines = csv.reader(file)
    return tuple(dict(zip(header, line, strict=True)) for line in lines)


@functools.cache
def by(table: str, column: str) -> dict[str, Row]:
    """The rows of a table by a column whose values are unique."""
    return {row[column]: row for row in rows(table)}


def version() -> str:
    """The date of the newest row of any table."""
    return (Path(__file__).parent / "VERSION").read_text(encoding="utf-8").strip()


def in_version(row: Row, version: tuple[int, ...]) -> bool:
    """Whether a row's `since` (inclusive) and `until` (exclusive) hold for some release of a version: 0.7 is any 0.7.x."""
    since, until = release(row["since"]), release(row["until"])
    first, beyond = _padded(version), _padded((*version[:-1], version[-1] + 1))
    return (since is None or _padded(since) < beyond) and (until is None or first < _padded(until))


def _padded(version: tuple[int, ...]) -> tuple[int, ...]:
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
