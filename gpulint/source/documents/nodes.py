"""Nodes, the format-independent values of a file, and the exceptions for text that is not read."""

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
    """One parsed document. If its data is `...`, it is built from the nodes on use."""

    root: Node
    data: object
    duplicates: Sequence[tuple[Node, Node]]


class Skipped(NamedTuple):
    """Why a text or a part of it was not read: the reason, and its kind in the words of a report."""

    reason: str
    cause: str


TEMPLATE = Skipped("template", "template")


class SkippedDocumentError(Exception):
    """The text is not meant for gpulint, with the reason."""

    def __init__(self, skipped: Skipped) -> None:
        super().__init__(skipped.reason)
        self.skipped = skipped


class LimitError(Exception):
    """A limit of gpulint was exceeded, with a description and the offset."""

    def __init__(self, message: str, offset: int) -> None:
        super().__init__(message)
        self.message = message
        self.offset = offset


class InvalidSyntaxError(Exception):
    """The text does not parse, with the reason and span. Without an end, the span reaches the end of the line."""

    def __init__(self, message: str, start: int, end: int | None = None) -> None:
        super().__init__(message)
        self.message = message
        self.start = start
        self.end = end


def make_depth_error(offset: int) -> LimitError:
    return LimitError(f"nested deeper than {DEPTH_MAX} levels", offset)


def find_duplicates(keys: Iterable[Node]) -> Iterator[tuple[Node, Node]]:
    """Yield each repeated key with its first occurrence."""
    first: dict[str, Node] = {}
    for key in keys:
        if key.value in first:
            yield first[key.value], key
        first.setdefault(key.value, key)
