"""Nodes: the values of a file, as every format is read into them, and why a text, or a part of it, is not read."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Any, NamedTuple

DEPTH_MAX = 200
NODES_MAX = 500_000


class Node:
    """One value of a document: its kind and style, its source span, and its text or its children."""

    __slots__ = ("end", "kind", "start", "style", "tag", "target", "value")

    def __init__(
        self,
        kind: str,
        start: int,
        end: int,
        value: Any,
        style: str = "",
        tag: str | None = None,
        target: Node | None = None,
    ) -> None:
        self.kind = kind
        self.start = start
        self.end = end
        self.value = value
        self.style = style
        self.tag = tag
        self.target = target

    def __repr__(self) -> str:
        return f"Node({self.kind!r}, {self.start}, {self.end})"


class Parsed(NamedTuple):
    """One document as its reader hands it on; data that is `...` is built from the nodes when it is asked for."""

    root: Node
    data: object
    duplicates: Sequence[tuple[Node, Node]]


class Skipped(Exception):
    """The text is not for us to read, and why."""

    def __init__(self, reason: str) -> None:
        super().__init__(reason)
        self.reason = reason


class Limit(Exception):
    """A bound of ours was hit: what it is, and the offset it was hit at."""

    def __init__(self, message: str, offset: int) -> None:
        super().__init__(message)
        self.message = message
        self.offset = offset


class Invalid(Exception):
    """The text does not parse: what is wrong, and from where to where; without an end, to the end of the line."""

    def __init__(self, message: str, start: int, end: int | None = None) -> None:
        super().__init__(message)
        self.message = message
        self.start = start
        self.end = end


def too_deep(offset: int) -> Limit:
    return Limit(f"nested deeper than {DEPTH_MAX} levels", offset)


def duplicates(keys: Iterable[Node]) -> Iterator[tuple[Node, Node]]:
    """Each key stated again, behind the one that states it first."""
    first: dict[str, Node] = {}
    for key in keys:
        if key.value in first:
            yield first[key.value], key
        first.setdefault(key.value, key)
