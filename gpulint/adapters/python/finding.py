"""Finding: the documents of a repository that a program reads, each of which is looked up once."""

from __future__ import annotations

from gpulint.source import documents, excess
from gpulint.source.documents import Document
from gpulint.source.repository import FILE_BYTES_MAX, Repository

TOO_LARGE = "a program has more than {} bytes"


class Find:
    """Finds documents of a repository, and keeps what it found."""

    def is_same(self, repository: Repository) -> bool:
        """Return whether another state of the repository has the same documents."""
        other = Find(repository)
        same = all(other(path) is document for path, document in self._known.items())
        return same and all(repository.read(path) == content for path, content in self._read.items())

    def __init__(self, repository: Repository, own: Document | None = None) -> None:
        self._repository = repository
        self._known: dict[str, Document | None] = {own.path: own} if own is not None else {}
        self._read: dict[str, bytes | None] = {}

    def read(self, path: str) -> bytes | None:
        """Return the content of a file that is no document, read once."""
        if path not in self._read:
            self._read[path] = self._repository.read(path) if self._repository.exists(path) else None
        return self._read[path]

    def __call__(self, path: str) -> Document | None:
        if path not in self._known:
            loaded = self._repository.read_documents(path) if self._repository.exists(path) else ()
            self._known[path] = loaded[0] if len(loaded) == 1 else None
            if documents.is_program(path) and not loaded and self._repository.exists(path):
                excess.note(self._explain(path), path)
        return self._known[path]

    def _explain(self, path: str) -> str:
        """Return why a program of the repository is not read."""
        content = self._repository.read(path)
        if content is None:
            return TOO_LARGE.format(f"{FILE_BYTES_MAX:,}")
        skips = documents.load(path, content).skips
        return skips[0].reason if skips else ""
