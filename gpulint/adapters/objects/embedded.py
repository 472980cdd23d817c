"""Nested: the YAML documents inside a text, as documents of the file that contains it."""

from __future__ import annotations

import functools
from collections.abc import Callable

from gpulint.source import documents
from gpulint.source.documents import Document, Node, Path


def document(outer: Document, path: Path) -> Document | None:
    """Return the one YAML document in the text at a path; None if it has none, or several."""
    text = outer.get(path)
    if not isinstance(text, str):
        return None
    inner = _load_documents(outer, text, functools.partial(outer.offset, path))
    return inner[0] if len(inner) == 1 else None


def load_part(outer: Document, start: int, end: int) -> tuple[Document, ...]:
    """Return the YAML documents in a part of the file's text. They refer to one another."""
    inner = _load_documents(outer, outer.text[start:end], lambda index: start + index)
    for nested_document in inner:
        nested_document.beside = inner
    return inner


def load_hcl(outer: Document, start: int, end: int) -> Document | None:
    """Return the HCL in a part of the file's text, as a document of the file; None if it does not parse."""
    loaded = documents.load("nested.tf", outer.text[start:end].encode()).documents
    if not loaded or loaded[0].format != "hcl":
        return None
    root = _move(loaded[0].root, lambda index: start + index, {})
    return Document(outer.path, loaded[0].index, outer.text, root, "hcl", loaded[0].data)


def _load_documents(outer: Document, text: str, place: Callable[[int], int]) -> tuple[Document, ...]:
    """Return the documents of a text.

    `place` maps an index of the text to an offset in the file.
    """
    return tuple(
        Document(outer.path, inner.index, outer.text, _move(inner.root, place, {}), _find_format(outer), inner.data)
        for inner in documents.load("nested.yaml", text.encode()).documents
        if inner.format == "yaml"
    )


def _find_format(outer: Document) -> str:
    """Return how scalars of the inner text are read: as YAML if the outer file is a script."""
    return "yaml" if outer.format == "shell" else outer.format


def _move(node: Node, place: Callable[[int], int], seen: dict[int, Node]) -> Node:
    """Return a node of the inner text with offsets of the outer file."""
    if id(node) in seen:
        return seen[id(node)]
    start, end = place(node.start), place(node.end)
    value = node.value
    moved = Node(node.kind, start, max(start, end), value, node.style, node.tag)
    seen[id(node)] = moved
    if node.kind == "sequence":
        moved.value = [_move(item, place, seen) for item in value]
    elif node.kind == "mapping":
        moved.value = [(_move(key, place, seen), _move(item, place, seen)) for key, item in value]
    if node.target is not None:
        moved.target = _move(node.target, place, seen)
    return moved
