"""The parts of an explanation, which a terminal and a page both show.

Words between backticks are names or code; `fact:NAME`, `rule:NAME`, `family:NAME`, `adapter:NAME` and `engine:NAME` between
backticks are names that have an explanation of their own, `page:NAME` is a page of docs/.
"""

from __future__ import annotations

import re
from typing import NamedTuple

REFERENCE = re.compile(r"`(?P<noun>fact|rule|family|adapter|engine|page):(?P<name>[^`]+)`")


class Text(NamedTuple):
    """One paragraph."""

    words: str


class Code(NamedTuple):
    """What is quoted as it is written: a condition, a sample, a formula."""

    title: str
    text: str
    language: str = ""


class Listing(NamedTuple):
    """Short items of one kind."""

    title: str
    items: tuple[str, ...]


class Table(NamedTuple):
    """Rows of cells under a head; a long one that few look for stands on a page only."""

    title: str
    head: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]
    page_only: bool = False


Part = Text | Code | Listing | Table


class Explanation(NamedTuple):
    """What a name means: its noun, one line, what is told in a word or two, and the parts behind it."""

    name: str
    noun: str
    summary: str
    marks: tuple[tuple[str, str], ...]
    parts: tuple[Part, ...]


def filled(table: Table) -> Table:
    """A table without the columns in which nothing stands."""
    kept = [at for at in range(len(table.head)) if any(row[at] for row in table.rows)]
    rows = tuple(tuple(row[at] for at in kept) for row in table.rows)
    return table._replace(head=tuple(table.head[at] for at in kept), rows=rows)


def reference(noun: str, name: str) -> str:
    """A name that has an explanation of its own, as text carries it."""
    return f"`{noun}:{name}`"


def references(noun: str, names: tuple[str, ...]) -> str:
    """Several such names in one line."""
    return ", ".join(reference(noun, name) for name in names)


def sentence(words: str) -> str:
    """Words with one full stop at their end."""
    return words.rstrip(".") + "."
