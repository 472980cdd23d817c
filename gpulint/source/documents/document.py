"""One document of a file, its data, and the location of each part."""

from __future__ import annotations

import functools
from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING

from gpulint.report.location import Location
from gpulint.source.documents import places, values
from gpulint.source.documents.nodes import Node

if TYPE_CHECKING:
    from gpulint.source.documents.spans import Pieces

Path = tuple[str | int, ...]


class Beside(tuple["Document", ...]):
    """Documents that belong together, with an index of their kinds and names that is built when it is first asked for."""

    @functools.cached_property
    def by_kind(self) -> Mapping[object, Sequence[Document]]:
        """The documents of each kind."""
        found: dict[object, list[Document]] = {}
        for document in self:
            if isinstance(kind := document.get(("kind",)), str):
                found.setdefault(kind, []).append(document)
        return found

    @functools.cached_property
    def by_name(self) -> Mapping[object, Sequence[Document]]:
        """The documents of each kind and name."""
        found: dict[object, list[Document]] = {}
        for kind, documents in self.by_kind.items():
            for document in documents:
                if isinstance(name := document.get(("metadata", "name")), str):
                    found.setdefault((kind, name), []).append(document)
        return found


class Document:
    """One document of a file: its data, the location of each part, and the other documents of the file (`beside`).

    `until` is where the next document of the file begins; None if it was not read from a file of its own.
    """

    __slots__ = ("_beside", "_data", "_pieces", "format", "index", "path", "root", "text", "until")

    def __init__(self, path: str, index: int, text: str, root: Node, format: str, data: object = ...) -> None:
        self.path = path
        self.index = index
        self.text = text
        self.root = root
        self.format = format
        self._data = data
        self._pieces: dict[int, Pieces | None] = {}
        self._beside = Beside()
        self.until: int | None = None

    def copy(self) -> Document:
        """Return the same document, whose neighbours can be replaced."""
        other = Document(self.path, self.index, self.text, self.root, self.format, self._data)
        other._beside, other.until = self._beside, self.until
        return other

    @property
    def start(self) -> int:
        """Where the document begins: comments between the line `---` and its content belong to it."""
        if self.index == 0 or self.format != "yaml":
            return 0 if self.index == 0 else self.root.start
        separators = (self.text.rfind(mark, 0, self.root.start) for mark in ("\n---", "\n..."))
        return max(*separators, -1) + 1

    @property
    def beside(self) -> tuple[Document, ...]:
        """The documents of the file, and those of others that belong to them."""
        return self._beside

    @beside.setter
    def beside(self, documents: tuple[Document, ...]) -> None:
        self._beside = documents if isinstance(documents, Beside) else Beside(documents)

    def find_beside(self, kind: str, name: str | None = None) -> Sequence[Document]:
        """Return the documents beside this one of a kind, or of a kind and a name."""
        beside = self._beside
        return beside.by_kind.get(kind, ()) if name is None else beside.by_name.get((kind, name), ())

    @property
    def data(self) -> object:
        """The document as plain dicts, lists, strings and numbers."""
        if self._data is ...:
            self._data = values.build(self.root)
        return self._data

    @property
    def words(self) -> str:
        """The text of the file in which words are looked for, with what its escapes and quotes spell."""
        if not _has_tags(self.text):
            return _spell(self.text)
        return "\n".join((_spell(self.text), *_list_words(self.data)))

    def mentions(self, *words: str) -> bool:
        """Whether one of some words occurs anywhere in the file."""
        if _mentions(_spell(self.text), words):
            return True
        return _has_tags(self.text) and any(word in part for part in _list_words(self.data) for word in words)

    def get(self, path: Path, default: object = None) -> object:
        """Return the data at a path."""
        value = self.data
        for part in path:
            value = _item(value, part)
            if value is ...:
                return default
        return value

    def node(self, path: Path) -> Node | None:
        """Return the value's node; for an alias, the node that uses it. None where the value is left out as empty."""
        steps = self._steps(path)
        node = steps[-1][1]
        if len(steps) <= len(path) or (values.is_empty(node) and self.get(path, ...) is ...):
            return None
        return node

    def key_node(self, path: Path) -> Node | None:
        """Return the key's node; None for a list item and for the document itself."""
        steps = self._steps(path)
        return steps[-1][0] if len(steps) == len(path) + 1 else None

    def locate(
        self, path: Path, *, key: bool = False, span: tuple[int, int] | None = None, whole: bool = False
    ) -> Location:
        """Return the location of a value, of its key, or of a span of its decoded characters.

        A mapping or list is shown by its key, a path that does not exist by its nearest ancestor.
        """
        steps = self._steps(path)
        key_node, node = steps[-1]
        if len(steps) <= len(path) or key or (node.kind != "scalar" and not whole):
            return self._location(*self._head(key_node, node))
        if span is not None and node.kind == "scalar":
            return self._location(*self._span(node, *span))
        return self._location(node.start, node.end)

    def offset(self, path: Path, index: int) -> int:
        """Return the source offset of one decoded character of the scalar at a path."""
        node = self.node(path)
        if node is None or node.kind != "scalar":
            return self._head(*self._steps(path)[-1])[0]
        return self._span(node, index, index)[0]

    def _steps(self, path: Path) -> list[tuple[Node | None, Node]]:
        """Return the (key, value) nodes from the root along the existing part of a path."""
        steps: list[tuple[Node | None, Node]] = [(None, self.root)]
        for part in path:
            step = _step(steps[-1][1], part)
            if step is None:
                break
            steps.append(step)
        return steps

    def _head(self, key: Node | None, node: Node) -> tuple[int, int]:
        """Return the span that represents a whole value: its key, else its first line."""
        if key is not None:
            return key.start, key.end
        line_end = self.text.find("\n", node.start, node.end)
        end = node.end if line_end < 0 else line_end
        return node.start, node.start + len(self.text[node.start : end].rstrip())

    def _span(self, node: Node, start: int, end: int) -> tuple[int, int]:
        source = node.target or node
        if self.format in ("shell", "python"):
            return start, end
        if id(source) not in self._pieces:
            from gpulint.source.documents import spans

            self._pieces[id(source)] = spans.split_pieces(self.text, source, self.format)
        pieces = self._pieces[id(source)]
        if pieces is None:
            return source.start, source.end
        return pieces.span(start, end)

    def _location(self, start: int, end: int) -> Location:
        return places.locate(self.path, self.text, start, end)


def _list_words(value: object) -> Iterator[str]:
    """Yield every key and every text of a value."""
    waiting = [value]
    while waiting:
        found = waiting.pop()
        if isinstance(found, str):
            yield found
        elif isinstance(found, dict):
            waiting += [*found.keys(), *found.values()]
        elif isinstance(found, list):
            waiting += found


@functools.lru_cache(maxsize=4)
def _spell(text: str) -> str:
    """Return a text with what its escapes and quotes spell, which all documents of a file ask."""
    from gpulint.source.documents import spellings

    return f"{text}\n{spellings.read_plainly(text)}" if spellings.has_unusual(text) else text


@functools.lru_cache(maxsize=4)
def _has_tags(text: str) -> bool:
    from gpulint.source.documents import spellings

    return spellings.has_tags(text)


@functools.lru_cache(maxsize=64)
def _mentions(text: str, words: tuple[str, ...]) -> bool:
    """Whether one of some words occurs in a text, which all documents of a file ask."""
    return any(word in text for word in words)


def _item(value: object, part: str | int) -> object:
    """Return the child of a value; `...` if there is none."""
    if isinstance(value, dict):
        return value.get(part, ...)
    return value[part] if isinstance(value, list) and isinstance(part, int) and 0 <= part < len(value) else ...


def _step(node: Node, part: str | int) -> tuple[Node | None, Node] | None:
    """Return the (key, value) child of a node."""
    if node.kind == "sequence":
        return (None, node.value[part]) if isinstance(part, int) and 0 <= part < len(node.value) else None
    return _entry(node, part) if node.kind == "mapping" and isinstance(part, str) else None


def _entry(mapping: Node, name: str) -> tuple[Node, Node] | None:
    """Return the effective entry of a name: the last explicit one, else the first merged one."""
    for key, value in reversed(mapping.value):
        if values.render_key(key) == name and not values.is_merge(key):
            return key, value
    for source in values.list_merge_sources(value for key, value in mapping.value if values.is_merge(key)):
        if found := _entry(source, name):
            return found
    return None
