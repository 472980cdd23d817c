"""The folders of Terraform's files, each of which is a module: its code, the files that set its variables, and its calls."""

from __future__ import annotations

import posixpath
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import NamedTuple

from gpulint.source.documents import Document, Path
from gpulint.workload import Origin


class Spot(NamedTuple):
    """A place of a document, inside what one item of a `for_each` makes where `each` is set."""

    document: Document
    path: Path
    each: Each | None = None

    def value(self) -> object:
        return self.document.get(self.path)

    def below(self, *path: str | int) -> Spot:
        return self._replace(path=(*self.path, *path))

    def origin(self) -> Origin:
        return Origin(self.document, self.path)

    def name(self) -> Origin:
        """Where the name of a block or an entry stands."""
        return Origin(self.document, self.path, key=True)


class Each(NamedTuple):
    """One item of a `for_each`: its key, and where its value stands."""

    key: str
    value: Spot


class Folder(NamedTuple):
    """The files of one folder, which Terraform reads as one module, and the calls of it in other folders."""

    path: str
    documents: tuple[Document, ...]
    given: tuple[Document, ...]
    further: tuple[Document, ...]
    calls: tuple[Spot, ...]


def _folder(path: str, documents: Sequence[Document], calls: Sequence[Spot]) -> Folder:
    files = sorted(documents, key=lambda one: one.path)
    settings = [one for one in files if ".tfvars" in posixpath.basename(one.path)]
    given = [one for one in settings if _loaded(posixpath.basename(one.path))]
    further = [one for one in settings if one not in given]
    code = [one for one in files if one not in settings]
    given.sort(key=lambda one: (posixpath.basename(one.path) != "terraform.tfvars", one.path))
    return Folder(path, tuple(code), tuple(given), tuple(further), tuple(calls))


def _loaded(name: str) -> bool:
    """Whether Terraform reads a file of variables without being told to."""
    return name == "terraform.tfvars" or name.endswith(".auto.tfvars")


def _calls(held: Mapping[str, Sequence[Document]]) -> dict[str, list[Spot]]:
    """The calls of modules that lie in the repository, by their folder."""
    found: dict[str, list[Spot]] = {}
    for folder, documents in held.items():
        for spot, source in _sources(documents):
            if source.startswith("."):
                found.setdefault(posixpath.normpath(posixpath.join(folder, source)).removeprefix("./"), []).append(spot)
    if "." in found:
        found.setdefault("", []).extend(found["."])
    return found


def _sources(documents: Iterable[Document]) -> Iterator[tuple[Spot, str]]:
    for document in documents:
        called = document.get(("module",))
        for name in called if isinstance(called, dict) else ():
            source = document.get(("module", name, "source"))
            if isinstance(source, str):
                yield Spot(document, ("module", name)), source


def read(documents: Iterable[Document]) -> dict[str, Folder]:
    """All the modules of a repository, by folder."""
    held: dict[str, list[Document]] = {}
    for document in documents:
        held.setdefault(posixpath.dirname(document.path), []).append(document)
    calls = _calls(held)
    return {path: _folder(path, found, calls.get(path, [])) for path, found in held.items()}
