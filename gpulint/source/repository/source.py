"""The interface of a repository for all code that reads specs."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple, Protocol, TypeVar

from gpulint.report.model import Skip
from gpulint.source.repository.mentions import Users

if TYPE_CHECKING:
    from gpulint.source.documents import Document

FILE_BYTES_MAX = 5_000_000
T = TypeVar("T")


class Source(NamedTuple):
    """One file as it is shown to the user, and its bytes."""

    path: str
    content: bytes


@dataclass(frozen=True, eq=False, slots=True)
class Gathered:
    """Documents of several files. The same question returns the same object, so that results can be cached by it."""

    documents: tuple[Document, ...] = ()


class Repository(Protocol):
    """Yields the files to check and finds other files by path."""

    def sources(self, paths: Sequence[str]) -> Iterator[Source | Skip]: ...

    def rewritten(self, contents: Mapping[str, bytes]) -> Repository: ...

    def read(self, path: str) -> bytes | None: ...

    def read_documents(self, path: str) -> tuple[Document, ...]: ...

    def list_files(self, path: str) -> Sequence[str]: ...

    def exists(self, path: str) -> bool: ...

    def read_at_root(self, path: str) -> bytes | None: ...

    def head(self, path: str, length: int) -> bytes | None: ...

    def find_programs(self, name: str, near: str) -> Sequence[str]: ...

    def find_named(self, names: str, near: str) -> Sequence[str]: ...

    def list_naming(self, path: str) -> Sequence[str]: ...

    def list_importers(self, path: str) -> Sequence[str]: ...

    def list_imported(self, path: str) -> Sequence[str]: ...

    def find_users(self, paths: Sequence[str]) -> Users: ...

    def search(self, pattern: str, near: str) -> str | None: ...

    def objects(self, kind: str, name: str, near: str) -> tuple[Document, ...]: ...

    def neighbours(self, kind: str, name: str, near: str) -> Gathered: ...

    def read_siblings(self, near: str) -> Iterator[Source]: ...

    def keep(self, name: str, build: Callable[[Repository], T], near: str) -> T: ...

    def gather(self, names: str, words: str, near: str) -> Gathered: ...
