"""Tree: parts of objects that an adapter builds as a chart or tool would, located in the source
file.

The nodes keep offsets of their file, so that a `Document` of them is read and located like any
other.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from gpulint.source.documents import Document, Node, Path

Part = Node | str | None | Mapping[str | Node, "Part"] | Sequence["Part"]
"""A node of the file, a generated word, nothing, or a mapping or list of these."""
WRITTEN = "'"
"""The style of generated words: always text."""


def place(document: Document, path: Path) -> Node:
    """Locate the value at a path: itself if it is a scalar, else its key, else its first line."""
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
    """Return a generated text with the location of what causes it."""
    return Node("scalar", at.start, at.end, text, WRITTEN)


def number(value: int, at: Node) -> Node:
    """Return a generated number with the location of what causes it."""
    return Node("scalar", at.start, at.end, str(value))


def build_node(part: Part, at: Node) -> Node:
    """Return the node of a part.

    Generated words are located at `at`, and empty entries are left out.
    """
    if isinstance(part, Node):
        return part
    if isinstance(part, Mapping):
        pairs = [_build_entry(key, value, at) for key, value in part.items() if value is not None]
        return Node("mapping", at.start, at.end, pairs, WRITTEN)
    if isinstance(part, Sequence) and not isinstance(part, str):
        items = [build_node(item, at) for item in part if item is not None]
        return Node("sequence", at.start, at.end, items, WRITTEN)
    return word(part or "", at)


def document(of: Document, part: Part, at: Node) -> Document:
    """Return a generated object as a document of its file."""
    return Document(of.path, of.index, of.text, build_node(part, at), of.format)


def _build_entry(key: str | Node, value: Part, at: Node) -> tuple[Node, Node]:
    """Return an entry. A generated key is located at its value."""
    node = build_node(value, at)
    if isinstance(key, Node):
        return key, node
    whole = node.kind == "scalar" or node.style == WRITTEN
    return Node("scalar", node.start, node.end if whole else min(node.start + 1, node.end), key, WRITTEN), node
