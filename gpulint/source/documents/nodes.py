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
    duplicates: Sequence[Duplicate]


class Duplicate(NamedTuple):
    """A key that a mapping states again, and whether its value differs from that of its first occurrence."""

    first: Node
    second: Node
    differs: bool


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


def find_duplicates(pairs: Iterable[tuple[Node, Node]], text: str) -> Iterator[Duplicate]:
    """Yield each repeated key with its first occurrence. A first value that is empty is not lost."""
    first: dict[str, tuple[Node, str]] = {}
    for key, value in pairs:
        stated = text[value.start : value.end].strip()
        if key.value in first:
            earlier, lost = first[key.value]
            yield Duplicate(earlier, key, lost not in ("", stated))
        first.setdefault(key.value, (key, stated))
