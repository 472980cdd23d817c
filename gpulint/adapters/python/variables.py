"""Variables: what a file of variables near a program, or its example, sets where nothing else sets a variable."""

from __future__ import annotations

import posixpath
from collections.abc import Callable, Iterator

from gpulint.source import documents, dotenv
from gpulint.source.documents import Document
from gpulint.source.python import Given
from gpulint.source.python.values import Place

NAME = ".env"
FOLDERS_MAX = 8
ASSUMED = "the variables of {}, because no file of the repository sets them"


class Unstated:
    """Finds variables that nothing states: in the nearest `.env` of the program's folder and those above it."""

    def __init__(self, path: str, read: Callable[[str], bytes | None]) -> None:
        self._path = path
        self._read = read
        self._found: dict[str, Given] | None = None

    def __call__(self, name: str) -> Given | None:
        if self._found is None:
            self._found = next(self._list_files(), {})
        return self._found.get(name)

    def _list_files(self) -> Iterator[dict[str, Given]]:
        folder = posixpath.dirname(self._path)
        for _ in range(FOLDERS_MAX):
            own = posixpath.join(folder, NAME)
            for path in (own, *dotenv.list_examples(own)):
                if (content := self._read(path)) is not None:
                    yield dict(_list_variables(path, content))
            if not folder:
                return
            folder = posixpath.dirname(folder)


def _list_variables(path: str, content: bytes) -> Iterator[tuple[str, Given]]:
    """Yield the variables of a file without those that the user fills in."""
    for document in documents.load_text(path, content).documents:
        for entry in dotenv.parse(document.text):
            if not dotenv.is_placeholder(entry.value):
                yield entry.name, Given(entry.value, Place(document, (), (entry.start, entry.end)))


def is_file(document: Document) -> bool:
    """Return whether a document is a file of variables or the example of one."""
    name = posixpath.basename(document.path)
    return dotenv.OF_VARIABLES.fullmatch(name) is not None or name in {*dotenv.list_examples(NAME)}
