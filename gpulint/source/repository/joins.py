"""Joins: how files that belong together are found, from indexes of the snapshot that are built once.

An overlay uses the same indexes, with other contents for a few changed files.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping
from typing import NamedTuple, Protocol

from gpulint.source import documents
from gpulint.source.documents import Document
from gpulint.source.repository import objects
from gpulint.source.repository.objects import ObjectIndex
from gpulint.source.repository.source import Gathered

PARSED_BYTES_MAX = 4_000_000
"""Bytes of the files whose documents are kept; a file that was asked for longest ago is parsed again."""
FEW = 16
NOWHERE = "(?!)"
"""A regular expression that is found nowhere."""


class Scope(NamedTuple):
    """The files of a folder, and those below it if it is deep."""

    folder: str
    deep: bool


class Holding(NamedTuple):
    """The question for the objects of a kind in files that mention a name as one of an object; `""` is any name.

    If it is `exact`, the objects themselves have that name.
    """

    scope: Scope
    kind: str
    name: str
    exact: bool = False

    def accepts(self, path: str, content: bytes) -> bool:
        """Return whether a file may hold such an object."""
        return objects.find_words(content).mention(self.kind, self.name)

    def takes(self, document: Document) -> bool:
        """Return whether a document is such an object."""
        if document.get(("kind",)) != self.kind:
            return False
        return not self.exact or document.get(("metadata", "name")) == self.name


class Matching(NamedTuple):
    """The question for the documents of files whose path one regular expression is found in, or whose content another."""

    scope: Scope
    names: str
    words: str

    def accepts(self, path: str, content: bytes) -> bool:
        """Return whether a file matches."""
        return re.search(self.names, path) is not None or re.search(self.words.encode(), content) is not None

    def takes(self, document: Document) -> bool:
        """Return True: every document of such a file counts."""
        return True


Question = Holding | Matching


class View(Protocol):
    """What the files of a repository say about each other."""

    def find(self, question: Question) -> tuple[str, ...]: ...

    def gather(self, question: Question) -> Gathered: ...

    def parse(self, path: str) -> tuple[Document, ...]: ...


class Joins:
    """The answers of a snapshot; each question is worked out once."""

    def __init__(self, list_files: Callable[[Scope], Iterable[str]], read: Callable[[str], bytes | None]) -> None:
        self._list_files = list_files
        self._read = read
        self._order: dict[Scope, dict[str, int]] = {}
        self._indexes: dict[Scope, ObjectIndex] = {}
        self._found: dict[Question, tuple[str, ...]] = {}
        self._members: dict[Question, frozenset[str]] = {}
        self._gathered: dict[Question, Gathered] = {}
        self._parsed: dict[str, tuple[int, tuple[Document, ...]]] = {}
        self._parsed_bytes = 0

    def order(self, scope: Scope) -> Mapping[str, int]:
        """Return the files of a scope, each with its number."""
        if scope not in self._order:
            self._order[scope] = {path: number for number, path in enumerate(self._list_files(scope))}
        return self._order[scope]

    def find(self, question: Question) -> tuple[str, ...]:
        """Return the files that answer a question, in their order."""
        if question not in self._found:
            self._found[question] = tuple(
                self._find_holding(question) if isinstance(question, Holding) else self._find_matching(question)
            )
        return self._found[question]

    def is_found(self, question: Question, path: str) -> bool:
        """Return whether a file is among those that answer a question."""
        if question not in self._members:
            self._members[question] = frozenset(self.find(question))
        return path in self._members[question]

    def gather(self, question: Question) -> Gathered:
        """Return the documents that answer a question; they are kept unless they are the few objects of one name."""
        if question in self._gathered:
            return self._gathered[question]
        found = (document for path in self.find(question) for document in self.parse(path))
        gathered = Gathered(tuple(filter(question.takes, found)))
        if len(gathered.documents) > FEW or not (isinstance(question, Holding) and question.name):
            self._gathered[question] = gathered
        return gathered

    def parse(self, path: str) -> tuple[Document, ...]:
        """Return the documents of a file."""
        if path not in self._parsed:
            content = self._read(path)
            loaded = documents.load(path, content).documents if content is not None else ()
            self._parsed[path] = len(content or b""), loaded
            self._parsed_bytes += len(content or b"")
            while self._parsed_bytes > PARSED_BYTES_MAX and len(self._parsed) > 1:
                self._parsed_bytes -= self._parsed.pop(next(iter(self._parsed)))[0]
        elif next(reversed(self._parsed)) != path:
            self._parsed[path] = self._parsed.pop(path)
        return self._parsed[path][1]

    def _find_holding(self, question: Holding) -> Iterable[str]:
        if question.scope not in self._indexes:
            files = ((path, self._read(path) or b"") for path in self.order(question.scope))
            self._indexes[question.scope] = ObjectIndex(files)
        mentioning = self._indexes[question.scope].find(question.kind, question.name)
        return (path for path in mentioning if any(map(question.takes, self.parse(path))))

    def _find_matching(self, question: Matching) -> Iterable[str]:
        paths = self.order(question.scope)
        return (path for path in paths if question.accepts(path, self._read(path) or b""))


class Overlay:
    """The answers of a snapshot in which some files have other contents."""

    def __init__(self, snapshot: Joins, changes: Mapping[str, bytes]) -> None:
        self._snapshot = snapshot
        self._changes = changes
        self._gathered: dict[Question, Gathered] = {}
        self._parsed: dict[str, tuple[Document, ...]] = {}

    def find(self, question: Question) -> tuple[str, ...]:
        """Return the files that answer a question, in their order."""
        known, order = self._snapshot.find(question), self._snapshot.order(question.scope)
        changed = [path for path in self._changes if path in order]
        accepted = {path for path in changed if question.accepts(path, self._changes[path])}
        if not accepted and not any(self._snapshot.is_found(question, path) for path in changed):
            return known
        return tuple(sorted({*known, *accepted} - (set(changed) - accepted), key=order.__getitem__))

    def gather(self, question: Question) -> Gathered:
        """Return the documents that answer a question; those of the snapshot if no changed file is among them."""
        if question in self._gathered:
            return self._gathered[question]
        paths = self.find(question)
        if paths is self._snapshot.find(question):
            return self._snapshot.gather(question)
        found = (document for path in paths for document in self.parse(path))
        self._gathered[question] = Gathered(tuple(filter(question.takes, found)))
        return self._gathered[question]

    def parse(self, path: str) -> tuple[Document, ...]:
        """Return the documents of a file."""
        if path not in self._changes:
            return self._snapshot.parse(path)
        if path not in self._parsed:
            self._parsed[path] = documents.load(path, self._changes[path]).documents
        return self._parsed[path]
