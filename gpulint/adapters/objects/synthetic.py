"""Tree: parts of objects that an adapter writes as its chart or tool would, each at the place of the file that decides it.

The nodes keep offsets of the file they come from, so that a `Document` over them is read, and located, like any other.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from gpulint.source.documents import Document, Node, Path

Part = Node | str | None | Mapping[str | Node, "Part"] | Sequence["Part"]
"""A node of the file, a word that the tool writes itself, nothing, or a mapping or list of these."""
WRITTEN = "'"
"""The style of words that the tool writes: text, whatever it looks like."""


def place(document: Document, path: Path) -> Node:
    """What stands for the value at a path: itself when it is a scalar, else its key, else its first line."""
    while path and document.node(path) is None:
        path = path[:-1]
    node, key = document.node(path), document.key_node(path)
    if node is not None and node.kind == "scalar":
        return node
    if key is not None:
        return key
    start = node.start if node else 0
    line_end = document.text.find("\n", start)
    return Node("scalar", start, len(document.text) if line_end < 0 else line_end, "", WRITTEN)


def word(text: str, at: Node) -> Node:
    """A text that the tool writes because of what stands at a place."""
    return Node("scalar", at.start, at.end, text, WRITTEN)


def number(value: int, at: Node) -> Node:
    """A number that the tool writes because of what stands at a place."""
    return Node("scalar", at.start, at.end, str(value))


def written(part: Part, at: Node) -> Node:
    """The node of a part; words of the tool stand where `at` does, entries and items that are nothing are left out."""
    if isinstance(part, Node):
        return part
    if isinstance(part, Mapping):
        pairs = [_entry(key, value, at) for key, value in part.items() if value is not None]
        return Node("mapping", at.start, at.end, pairs, WRITTEN)
    if isinstance(part, Sequence) and not isinstance(part, str):
        items = [written(item, at) for item in part if item is not None]
        return Node("sequence", at.start, at.end, items, WRITTEN)
    return word(part or "", at)


def document(of: Document, part: Part, at: Node) -> Document:
    """An object that the tool writes from a file, as a document of that file."""
    return Document(of.path, of.index, of.text, written(part, at), of.format)


def _entry(key: str | Node, value: Part, at: Node) -> tuple[Node, Node]:
    """An entry; a key that the tool writes stands where its value does, of a mapping or list of the file at its first word."""
    node = written(value, at)
    if isinstance(key, Node):
        return key, node
    whole = node.kind == "scalar" or node.style == WRITTEN
    return Node("scalar", node.start, node.end if whole else min(node.start + 1, node.end), key, WRITTEN), node
