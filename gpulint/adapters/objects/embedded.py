"""Nested: the YAML documents inside a text, as documents of the file that holds it."""

from __future__ import annotations

import functools
from collections.abc import Callable

from gpulint.source import documents
from gpulint.source.documents import Document, Node, Path


def document(outer: Document, path: Path) -> Document | None:
    """The one YAML document that the text at a path is; None where it is none, or several."""
    text = outer.get(path)
    if not isinstance(text, str):
        return None
    found = _documents(outer, text, functools.partial(outer.offset, path))
    return found[0] if len(found) == 1 else None


def within(outer: Document, start: int, end: int) -> tuple[Document, ...]:
    """The YAML documents that a part of the file's own text is, all beside each other."""
    found = _documents(outer, outer.text[start:end], lambda index: start + index)
    for one in found:
        one.beside = found
    return found


def _documents(outer: Document, text: str, place: Callable[[int], int]) -> tuple[Document, ...]:
    """The documents of a text; `place` tells where in the file one of its characters stands."""
    return tuple(
        Document(outer.path, inner.index, outer.text, _moved(inner.root, place, {}), _format(outer), inner.data)
        for inner in documents.load("nested.yaml", text.encode()).documents
        if inner.format == "yaml"
    )


def _format(outer: Document) -> str:
    """How the scalars of the inner text are read from the file: as YAML where the file is a script."""
    return "yaml" if outer.format == "shell" else outer.format


def _moved(node: Node, place: Callable[[int], int], seen: dict[int, Node]) -> Node:
    """A node of the inner text with the offsets of the outer one."""
    if id(node) in seen:
        return seen[id(node)]
    start, end = place(node.start), place(node.end)
    value = node.value
    moved = Node(node.kind, start, max(start, end), value, node.style, node.tag)
    seen[id(node)] = moved
    if node.kind == "sequence":
        moved.value = [_moved(item, place, seen) for item in value]
    elif node.kind == "mapping":
        moved.value = [(_moved(key, place, seen), _moved(item, place, seen)) for key, item in value]
    if node.target is not None:
        moved.target = _moved(node.target, place, seen)
    return moved
