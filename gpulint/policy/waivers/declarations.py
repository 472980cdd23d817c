"""Declarations: the hints that the comments and annotations of a file state for gpulint."""

from __future__ import annotations

import copy
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple

from gpulint.policy.rules import identity
from gpulint.policy.waivers import comments
from gpulint.report.model import Location
from gpulint.source.documents import Comment, Document, Loaded, Node, Path, places
from gpulint.source.documents.values import render_key

PREFIX = "gpulint/"
"""The prefix of annotations for gpulint."""
COMMENT, ANNOTATION, TEXT = "comment", "annotation", "text"
ESCAPED = r"\\x{0:02x}|\\u{0:04x}|\\U{0:08x}"
"""A character of a double-quoted YAML key, by its number."""
SPELLED = "".join(rf"(?:{re.escape(letter)}|{ESCAPED.format(ord(letter))})" for letter in PREFIX[:-1])
SLASH = rf"(?:\\?/|{ESCAPED.format(ord('/'))})"
IN_TEXT = re.compile(
    rf"""(?<![\w/.-]){SPELLED}{SLASH}(?P<word>(?!ignore\b)[\w\\-]+)(?:["']\s*:\s*|\s*:\s+)["']?(?P<value>[^\s"',}}]+)""",
    re.IGNORECASE,
)
"""An annotation of an object inside a text, such as a here-document; a key may be spelled with escapes."""
FIRST = re.compile(rf"g|{ESCAPED.format(ord('g'))}", re.IGNORECASE)
OTHER = ord("x")
"""The letter with which the prefix begins instead where an annotation must not apply."""


class Declaration(NamedTuple):
    """One hint of a comment or an annotation, such as accelerator=l4, and the object that holds it.

    A comment is found by its line. An annotation is found by the number of its document, its path there and the
    offset of its key. One inside a text is at `offset` of the text that starts at that offset.
    """

    word: str
    value: str
    kind: str
    location: Location
    object: str
    document: int = 0
    path: Path = ()
    start: int = 0
    offset: int = 0

    @property
    def text(self) -> str:
        """The hint as a comment states it."""
        return f"{self.word}={self.value}"

    @property
    def key(self) -> tuple[str, str]:
        """What the hint is about: its object if it has a name, and its word."""
        return (self.object if " " in self.object else "", self.word)


class Pending(NamedTuple):
    """A hint that does not apply, because a commit lacks it; `instead` is the value that the commit has."""

    declaration: Declaration
    commit: str
    instead: str | None = None

    @property
    def message(self) -> str:
        """Why the hint does not apply, and what applies instead."""
        word, text = self.declaration.word, self.declaration.text
        until = f"hint {text} is new in this change and does not apply until {self.commit} has it"
        return until if self.instead is None else f"{until}; {word}={self.instead} of {self.commit} applies"


def list_declarations(loaded: Loaded) -> list[Declaration]:
    """Return the hints of a file in comments, then those in annotations."""
    return [
        *(found for comment in loaded.comments for found in _read_comment(comment, loaded.documents)),
        *list_all_annotations(loaded.documents),
    ]


def list_all_annotations(documents: Iterable[Document]) -> Iterator[Declaration]:
    """Yield the hints in annotations of documents, and in those of the objects inside their texts."""
    for document in documents:
        yield from list_annotations(document)
        yield from _list_texts(document)


def locate_comment(comment: Comment, documents: Sequence[Document]) -> Location:
    """Return the location of a comment, from its marker to the end of its line."""
    line = places.read_line(documents[0].text, comment.line) if documents else ""
    path = documents[0].path if documents else ""
    return Location(path, comment.line, comment.column, comment.line, len(line) + 1, line)


def _read_comment(comment: Comment, documents: Sequence[Document]) -> Iterator[Declaration]:
    for word in comments.parse_hint(comment.text).split():
        name, equals, value = word.partition("=")
        if equals and value:
            place = locate_comment(comment, documents)
            yield Declaration(name, value, COMMENT, place, identity.locate_subject(place, documents).object)


def list_annotations(document: Document) -> Iterator[Declaration]:
    """Yield the hints in annotations and labels of a document; a waiver is none."""
    for path, key, value in _find_scalars(document.root) if _may_hold(document.text) else ():
        name = render_key(key) if key is not None else ""
        if key is not None and name.startswith(PREFIX) and name != comments.ANNOTATION:
            place = places.locate(document.path, document.text, value.start, value.end)
            holder = identity.find_holder(document, path)
            word, text = name.removeprefix(PREFIX), value.value.strip()
            yield Declaration(word, text, ANNOTATION, place, holder, document.index, path, key.start)


def _may_hold(text: str) -> bool:
    """Whether a text may state hints in annotations, also in keys that are spelled with escapes."""
    return PREFIX in text or "\\" in text


def _list_texts(document: Document) -> Iterator[Declaration]:
    """Yield the hints in annotations of objects inside the texts of a document."""
    for path, _, node in _find_scalars(document.root) if _may_hold(document.text) else ():
        for match in IN_TEXT.finditer(node.value) if _may_hold(node.value) else ():
            place = document.locate(path, span=match.span())
            word, text = match["word"], match["value"]
            yield Declaration(word, text, TEXT, place, "", document.index, path, node.start, match.start())


def _find_scalars(root: Node) -> Iterator[tuple[Path, Node | None, Node]]:
    """Yield the path, the key and the node of each scalar value; a collection that aliases share is visited once."""
    pending: list[tuple[Path, Node | None, Node]] = [((), None, root)]
    seen: set[int] = set()
    while pending:
        path, key, node = pending.pop()
        source = node.target or node
        if node.kind == "scalar":
            if isinstance(node.value, str):
                yield path, key, node
        elif id(source) not in seen:
            seen.add(id(source))
            pending += [((*path, part), at, value) for part, at, value in _list_parts(node)]


def _list_parts(node: Node) -> Iterator[tuple[str | int, Node | None, Node]]:
    """Yield the step, the key and the value of each part of a collection."""
    if node.kind == "sequence":
        yield from ((index, None, item) for index, item in enumerate(node.value))
    else:
        yield from ((render_key(key), key, value) for key, value in node.value if key.kind == "scalar")


# ---- a file without some of its hints


class _Changes(NamedTuple):
    """New values of annotations by the offset of their key (None: without it), and masked places of texts by the
    offset of the text; both by path for data.
    """

    keys: Mapping[int, str | None]
    texts: Mapping[int, Sequence[int]]
    values: Mapping[Path, str | None]
    masks: Mapping[Path, Sequence[int]]


def replace(loaded: Loaded, changes: Mapping[Declaration, str | None]) -> Loaded:
    """Return a file with other values for some of its hints; None removes a hint."""
    if not changes:
        return loaded
    by_document: dict[int, dict[Declaration, str | None]] = {}
    by_place: dict[tuple[int, int], dict[str, tuple[str, str | None]]] = {}
    for found, value in changes.items():
        if found.kind == COMMENT:
            place = found.location.line, found.location.column
            by_place.setdefault(place, {})[found.text] = (found.word, value)
        else:
            by_document.setdefault(found.document, {})[found] = value
    whole = tuple(_replace_annotations(document, by_document.get(document.index, {})) for document in loaded.documents)
    for document in whole:
        document.beside = whole
    changed = tuple(_replace_words(one, by_place.get((one.line, one.column), {})) for one in loaded.comments)
    return loaded._replace(documents=whole, comments=changed)


def drop_annotations(document: Document) -> Document:
    """Return a document without the hints in its annotations; the same one if it has none."""
    return _replace_annotations(document, dict.fromkeys(list_all_annotations([document])))


def _replace_annotations(document: Document, mine: Mapping[Declaration, str | None]) -> Document:
    if not mine:
        return document
    changes = _group(mine)
    root = _Rewriter(changes).rewrite(document.root)
    if document.root.kind == "scalar":
        text = root.value if document.format == "shell" else document.text
        return Document(document.path, document.index, text, root, document.format, root.value)
    data = ... if document.format == "yaml" else _change_data(document.data, changes)
    changed = Document(document.path, document.index, document.text, root, document.format, data)
    changed.beside = document.beside
    return changed


def _group(mine: Mapping[Declaration, str | None]) -> _Changes:
    texts: dict[int, list[int]] = {}
    masks: dict[Path, list[int]] = {}
    for found in mine:
        if found.kind == TEXT:
            texts.setdefault(found.start, []).append(found.offset)
            masks.setdefault(found.path, []).append(found.offset)
    own = {found: value for found, value in mine.items() if found.kind == ANNOTATION}
    keys = {found.start: value for found, value in own.items()}
    return _Changes(keys, texts, {found.path: value for found, value in own.items()}, masks)


def _mask(text: str, offsets: Iterable[int]) -> str:
    """Return a text of the same length in which no annotation at these offsets is one for gpulint."""
    parts, end = [], 0
    for offset in sorted(offsets):
        if (first := FIRST.match(text, offset)) is not None:
            letter = first[0]
            masked = chr(OTHER) if len(letter) == 1 else f"{letter[:2]}{OTHER:0{len(letter) - 2}x}"
            parts += [text[end:offset], masked]
            end = first.end()
    return "".join((*parts, text[end:]))


class _Rewriter:
    """Copies the nodes of a document with changes."""

    def __init__(self, changes: _Changes) -> None:
        self.changes = changes
        self.shared: dict[int, Node] = {}

    def rewrite(self, node: Node) -> Node:
        if node.kind == "scalar":
            offsets = self.changes.texts.get(node.start, ())
            masked = _mask(node.value, offsets) if offsets else node.value
            return Node("scalar", node.start, node.end, masked, node.style, node.tag, node.target) if offsets else node
        if id(node) not in self.shared:
            copied = Node(node.kind, node.start, node.end, node.value, node.style, node.tag)
            self.shared[id(node)] = copied
            copied.target = self.rewrite(node.target) if node.target is not None else None
            copied.value = [*map(self.rewrite, node.value)] if node.kind == "sequence" else [*self._list_entries(node)]
        return self.shared[id(node)]

    def _list_entries(self, node: Node) -> Iterator[tuple[Node, Node]]:
        for key, value in node.value:
            if key.start not in self.changes.keys:
                yield key, self.rewrite(value)
            elif (text := self.changes.keys[key.start]) is not None:
                yield key, Node("scalar", value.start, value.end, text, value.style or "'", value.tag)


def _change_data(data: object, changes: _Changes) -> object:
    changed = copy.deepcopy(data)
    for path, value in changes.values.items():
        holder = _find_holder(changed, path)
        if value is None:
            holder.pop(path[-1], None)
        else:
            holder[path[-1]] = value
    for path, found in changes.masks.items():
        holder = _find_holder(changed, path)
        holder[path[-1]] = _mask(holder[path[-1]], found)
    return changed


def _find_holder(data: object, path: Path) -> Any:
    holder: Any = data
    for part in path[:-1]:
        holder = holder[part]
    return holder


def _replace_words(comment: Comment, changes: Mapping[str, tuple[str, str | None]]) -> Comment:
    """Return a comment with other values for its words; without any word it states nothing."""
    if not changes:
        return comment
    words = list(_change_words(comments.parse_hint(comment.text).split(), changes))
    return comment._replace(text=f"gpulint: {' '.join(words)}" if words else "")


def _change_words(words: Iterable[str], changes: Mapping[str, tuple[str, str | None]]) -> Iterator[str]:
    for text in words:
        word, value = changes.get(text, ("", text))
        if word and value is not None:
            yield f"{word}={value}"
        elif not word:
            yield text
