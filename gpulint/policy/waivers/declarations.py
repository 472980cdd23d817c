"""Declarations: the hints that the comments and annotations of a file state for gpulint."""

from __future__ import annotations

import copy
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple

from gpulint.policy.rules import identity
from gpulint.policy.waivers import comments
from gpulint.report.model import Location
from gpulint.source.documents import Comment, Document, Loaded, Node, Path
from gpulint.source.documents.values import render_key

PREFIX, MASKED = "gpulint/", "gpulint_"
"""The prefix of annotations for gpulint, and what replaces it where one must not apply."""
COMMENT, ANNOTATION, TEXT = "comment", "annotation", "text"
IN_TEXT = re.compile(r"""gpulint/(?P<word>(?!ignore\b)[\w-]+)["']?\s*:\s*["']?(?P<value>[^\s"',}]+)""")
"""An annotation of an object inside a text, such as a here-document."""


class Declaration(NamedTuple):
    """One hint of a comment or an annotation, such as accelerator=l4, and the object that holds it.

    An annotation is found by the number of its document and its path there, a comment by its line. One inside a
    text is at `offset` of the text at that path.
    """

    word: str
    value: str
    kind: str
    location: Location
    object: str
    document: int = 0
    path: Path = ()
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
    line = documents[0].text.split("\n")[comment.line - 1].rstrip("\r") if documents else ""
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
    may_hold = PREFIX in document.text or "\\" in document.text  # a key may be spelled with escapes
    for path, value in _find_scalars(document.root) if may_hold else ():
        if path and str(path[-1]).startswith(PREFIX) and path[-1] != comments.ANNOTATION:
            place = document.locate(path)
            holder = identity.locate_subject(place, [document]).object
            word = str(path[-1]).removeprefix(PREFIX)
            yield Declaration(word, value.value.strip(), ANNOTATION, place, holder, document.index, path)


def _list_texts(document: Document) -> Iterator[Declaration]:
    """Yield the hints in annotations of objects inside the texts of a document."""
    for path, node in _find_scalars(document.root) if PREFIX in document.text else ():
        for match in IN_TEXT.finditer(node.value) if PREFIX in node.value else ():
            place = document.locate(path, span=match.span())
            yield Declaration(match["word"], match["value"], TEXT, place, "", document.index, path, match.start())


def _find_scalars(root: Node) -> Iterator[tuple[Path, Node]]:
    """Yield the path and node of each scalar value; a collection that aliases share is visited once."""
    pending: list[tuple[Path, Node]] = [((), root)]
    seen: set[int] = set()
    while pending:
        path, node = pending.pop()
        source = node.target or node
        if node.kind == "scalar":
            if isinstance(node.value, str):
                yield path, node
        elif id(source) not in seen:
            seen.add(id(source))
            parts = enumerate(node.value) if node.kind == "sequence" else _list_parts(node)
            pending += [((*path, part), value) for part, value in parts]


def _list_parts(mapping: Node) -> Iterator[tuple[str, Node]]:
    return ((render_key(key), value) for key, value in mapping.value if key.kind == "scalar")


# ---- a file without some of its hints


def replace(loaded: Loaded, changes: Mapping[Declaration, str | None]) -> Loaded:
    """Return a file with other values for some of its hints; None removes a hint."""
    if not changes:
        return loaded
    whole = tuple(_replace_annotations(document, changes) for document in loaded.documents)
    for document in whole:
        document.beside = whole
    changed = tuple(_replace_words(comment, changes) for comment in loaded.comments)
    return loaded._replace(documents=whole, comments=changed)


def drop_annotations(document: Document) -> Document:
    """Return a document without the hints in its annotations; the same one if it has none."""
    return _replace_annotations(document, dict.fromkeys(list_all_annotations([document])))


def _replace_annotations(document: Document, changes: Mapping[Declaration, str | None]) -> Document:
    mine = {found: value for found, value in changes.items() if found.document == document.index}
    own = {found.path: value for found, value in mine.items() if found.kind == ANNOTATION}
    texts: dict[Path, list[int]] = {}
    for found in mine:
        if found.kind == TEXT:
            texts.setdefault(found.path, []).append(found.offset)
    if not own and not texts:
        return document
    masked = {path: _mask(str(node.value), texts[path]) for path in texts if (node := document.node(path)) is not None}
    if document.format == "shell":
        text = masked.get((), document.text)
        root = Node("scalar", 0, len(text), text)
        return Document(document.path, document.index, text, root, document.format, text)
    starts = {key.start: value for path, value in own.items() if (key := document.key_node(path)) is not None}
    starts |= {key.start: text for path, text in masked.items() if (key := document.key_node(path)) is not None}
    root = _Rewriter(starts).rewrite(document.root)
    data = ... if document.format == "yaml" else _change_data(document.data, {**own, **masked})
    changed = Document(document.path, document.index, document.text, root, document.format, data)
    changed.beside = document.beside
    return changed


def _mask(text: str, places: Iterable[int]) -> str:
    """Return a text of the same length in which no annotation at these places is one for gpulint."""
    for index in places:
        text = f"{text[:index]}{MASKED}{text[index + len(PREFIX) :]}"
    return text


class _Rewriter:
    """Copies nodes with other values at some keys, by the offset of the key; None drops the entry."""

    def __init__(self, changes: Mapping[int, str | None]) -> None:
        self.changes = changes
        self.shared: dict[int, Node] = {}

    def rewrite(self, node: Node) -> Node:
        if node.kind == "scalar":
            return node
        if id(node) not in self.shared:
            copied = Node(node.kind, node.start, node.end, node.value, node.style, node.tag)
            self.shared[id(node)] = copied
            copied.target = self.rewrite(node.target) if node.target is not None else None
            copied.value = [*map(self.rewrite, node.value)] if node.kind == "sequence" else [*self._list_entries(node)]
        return self.shared[id(node)]

    def _list_entries(self, node: Node) -> Iterator[tuple[Node, Node]]:
        for key, value in node.value:
            if key.start not in self.changes:
                yield key, self.rewrite(value)
            elif (text := self.changes[key.start]) is not None:
                yield key, Node("scalar", value.start, value.end, text, value.style or "'", value.tag)


def _change_data(data: object, changes: Mapping[Path, str | None]) -> object:
    changed = copy.deepcopy(data)
    for path, value in changes.items():
        holder: Any = changed
        for part in path[:-1]:
            holder = holder[part]
        if value is None:
            del holder[path[-1]]
        else:
            holder[path[-1]] = value
    return changed


def _replace_words(comment: Comment, changes: Mapping[Declaration, str | None]) -> Comment:
    """Return a comment with other values for its words; without any word it states nothing."""
    own = {
        found.text: (found.word, value)
        for found, value in changes.items()
        if found.kind == COMMENT and (found.location.line, found.location.column) == (comment.line, comment.column)
    }
    if not own:
        return comment
    words = list(_change_words(comments.parse_hint(comment.text).split(), own))
    return comment._replace(text=f"gpulint: {' '.join(words)}" if words else "")


def _change_words(words: Iterable[str], changes: Mapping[str, tuple[str, str | None]]) -> Iterator[str]:
    for text in words:
        word, value = changes.get(text, ("", text))
        if word and value is not None:
            yield f"{word}={value}"
        elif not word:
            yield text
