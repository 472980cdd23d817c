"""Nested: the YAML documents inside a scalar, as documents of the file that holds it."""

from __future__ import annotations

from gpulint import documents
from gpulint.documents import Document, Node, Path


def document(outer: Document, path: Path) -> Document | None:
    """The one YAML document that the text at a path is; None where it is none, or several."""
    text = outer.get(path)
    if not isinstance(text, str):
        return None
    found = documents.load("nested.yaml", text.encode()).documents
    if len(found) != 1:
        return None
    inner = found[0]
    root = _moved(outer, path, inner.root, {})
    return Document(outer.path, outer.index, outer.text, root, outer.format, inner.data)


def _moved(outer: Document, path: Path, node: Node, seen: dict[int, Node]) -> Node:
    """A node of the inner text with the offsets of the outer one."""
    if id(node) in seen:
        return seen[id(node)]
    start, end = outer.offset(path, node.start), outer.offset(path, node.end)
    value = node.value
    moved = Node(node.kind, start, max(start, end), value, node.style, node.tag)
    seen[id(node)] = moved
    if node.kind == "sequence":
        moved.value = [_moved(outer, path, item, seen) for item in value]
    elif node.kind == "mapping":
        moved.value = [(_moved(outer, path, key, seen), _moved(outer, path, item, seen)) for key, item in value]
    if node.target is not None:
        moved.target = _moved(outer, path, node.target, seen)
    return moved
