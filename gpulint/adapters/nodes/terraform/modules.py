"""The folders of Terraform's files.

Each is a module: its code, its variable files, and its calls.
"""

from __future__ import annotations

import posixpath
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import NamedTuple

from gpulint.source.documents import Document, Path
from gpulint.workload import Origin


class Spot(NamedTuple):
    """A location in a document, inside one item of a `for_each` if `each` is set."""

    document: Document
    path: Path
    each: Each | None = None

    def value(self) -> object:
        return self.document.get(self.path)

    def descend(self, *path: str | int) -> Spot:
        return self._replace(path=(*self.path, *path))

    def origin(self) -> Origin:
        return Origin(self.document, self.path)

    def name(self) -> Origin:
        """Locate the name of a block or an entry."""
        return Origin(self.document, self.path, key=True)


class Each(NamedTuple):
    """One item of a `for_each`: its key, and the location of its value."""

    key: str
    value: Spot


class Folder(NamedTuple):
    """The files of one folder, which Terraform reads as one module, and the calls of it elsewhere."""

    path: str
    documents: tuple[Document, ...]
    given: tuple[Document, ...]
    further: tuple[Document, ...]
    calls: tuple[Spot, ...]


def _build_folder(path: str, documents: Sequence[Document], calls: Sequence[Spot]) -> Folder:
    files = sorted(documents, key=lambda file: file.path)
    settings = [file for file in files if ".tfvars" in posixpath.basename(file.path)]
    given = [file for file in settings if _is_automatic(posixpath.basename(file.path))]
    further = [file for file in settings if file not in given]
    code = [file for file in files if file not in settings]
    given.sort(key=lambda file: (posixpath.basename(file.path) != "terraform.tfvars", file.path))
    return Folder(path, tuple(code), tuple(given), tuple(further), tuple(calls))


def _is_automatic(name: str) -> bool:
    """Return True if Terraform reads a variable file automatically."""
    return name == "terraform.tfvars" or name.endswith(".auto.tfvars")


def _find_calls(files_by_folder: Mapping[str, Sequence[Document]]) -> dict[str, list[Spot]]:
    """Return the calls of modules in the repository, by their folder."""
    calls: dict[str, list[Spot]] = {}
    for folder, documents in files_by_folder.items():
        for spot, source in _read_sources(documents):
            if source.startswith("."):
                calls.setdefault(posixpath.normpath(posixpath.join(folder, source)).removeprefix("./"), []).append(spot)
    if "." in calls:
        calls.setdefault("", []).extend(calls["."])
    return calls


def _read_sources(documents: Iterable[Document]) -> Iterator[tuple[Spot, str]]:
    for document in documents:
        called = document.get(("module",))
        for name in called if isinstance(called, dict) else ():
            source = document.get(("module", name, "source"))
            if isinstance(source, str):
                yield Spot(document, ("module", name)), source


def read(documents: Iterable[Document]) -> dict[str, Folder]:
    """Return all modules of a repository, by folder."""
    files_by_folder: dict[str, list[Document]] = {}
    for document in documents:
        files_by_folder.setdefault(posixpath.dirname(document.path), []).append(document)
    calls = _find_calls(files_by_folder)
    return {path: _build_folder(path, files, calls.get(path, [])) for path, files in files_by_folder.items()}
