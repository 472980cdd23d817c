"""The parts of an explanation for terminal and page.

Text in backticks is a name or code. `fact:NAME`, `rule:NAME`, `family:NAME`, `adapter:NAME` and `engine:NAME` in backticks
refer to explanations, `page:NAME` to a page of docs/.
"""

from __future__ import annotations

import re
from typing import NamedTuple

REFERENCE = re.compile(r"`(?P<noun>fact|rule|family|adapter|engine|page):(?P<name>[^`]+)`")


class Text(NamedTuple):
    """One paragraph."""

    words: str


class Code(NamedTuple):
    """A literal quotation: a condition, a sample, a formula."""

    title: str
    text: str
    language: str = ""


class Listing(NamedTuple):
    """Short items of one kind."""

    title: str
    items: tuple[str, ...]


class Table(NamedTuple):
    """Rows of cells under a head. A long, rarely needed table appears on pages only."""

    title: str
    head: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]
    page_only: bool = False


Part = Text | Code | Listing | Table


class Explanation(NamedTuple):
    """The meaning of a name: noun, summary, short properties, and parts."""

    name: str
    noun: str
    summary: str
    marks: tuple[tuple[str, str], ...]
    parts: tuple[Part, ...]


def drop_empty(table: Table) -> Table:
    """Return a table without empty columns."""
    columns = [column for column in range(len(table.head)) if any(row[column] for row in table.rows)]
    rows = tuple(tuple(row[column] for column in columns) for row in table.rows)
    return table._replace(head=tuple(table.head[column] for column in columns), rows=rows)


def render_reference(noun: str, name: str) -> str:
    """Return a reference to a name with its own explanation."""
    return f"`{noun}:{name}`"


def render_references(noun: str, names: tuple[str, ...]) -> str:
    """Return several references on one line."""
    return ", ".join(render_reference(noun, name) for name in names)


def make_sentence(words: str) -> str:
    """Return text with one full stop at the end."""
    return words.rstrip(".") + "."
