"""Node pools that the files of a repository define.

A module that finds pools has `pools(documents)`. It states in `FILE_NAMES` or `FILE_WORDS` the files
that may define some, as regular expressions without parentheses. No other list names it. If its pools
overlap, or if it knows machines outside of pools, it also has `inventory(documents)`, which yields each set
of nodes once.
"""

from __future__ import annotations

import functools
import importlib
import re
from collections.abc import Iterator
from pathlib import Path

from gpulint.adapters.nodes.pool import Pool
from gpulint.catalog import package_data
from gpulint.source import excess
from gpulint.source.documents import Document
from gpulint.source.repository import Gathered, Repository

HERE = Path(__file__).parent


@functools.cache
def file_names() -> str:
    """Return a regular expression of the names of files that may define pools or queues."""
    return _join_patterns("FILE_NAMES")


@functools.cache
def file_words() -> str:
    """Return a regular expression of words in files that may define pools or queues."""
    return _join_patterns("FILE_WORDS")


def _join_patterns(name: str) -> str:
    return "|".join(pattern for patterns in package_data.list_declared(HERE, name).values() for pattern in patterns)


class FoundPools:
    """The pools in gathered documents, as one object by which results can be cached."""

    def __init__(self, documents: tuple[Document, ...]) -> None:
        with excess.collect() as found:
            self.pools = _read_pools(documents)
        self.excess = tuple(found)


def read_inventory(repository: Repository, near: str) -> tuple[Pool, ...]:
    """Return each set of nodes that the repository's files provision once, with its amount."""
    documents = repository.gather(file_names(), file_words(), near).documents
    if not documents:
        return ()
    finders = package_data.list_functions(HERE).items()
    names = {name: "inventory" if "inventory" in functions else "pools" for name, functions in finders}
    modules = (
        (importlib.import_module(f"{__name__}.{finder}"), names[finder])
        for finder, functions in finders
        if names[finder] in functions
    )
    return tuple(pool for module, name in modules for pool in getattr(module, name)(documents))


def read_pools(document: Document, repository: Repository) -> tuple[FoundPools, tuple[Pool, ...]]:
    """Return the pools that the repository's files define, and those in the document's own file if the
    repository lacks that file.
    """
    gathered = repository.gather(file_names(), file_words(), document.path)
    return _read_gathered(gathered), _read_pools(_find_siblings(document, gathered))


def find_excess(document: Document, repository: Repository) -> Iterator[str]:
    """Yield the limits that the node pools of a document's file exceed."""
    if re.search(file_names(), document.path) or re.search(file_words(), document.text):
        gathered = repository.gather(file_names(), file_words(), document.path)
        yield from (reason for reason, path in _read_gathered(gathered).excess if path == document.path)


def find_objects(kind: str, name: str, document: Document, repository: Repository) -> list[Document]:
    """Return the objects of a kind and name among the documents that may define pools or queues."""
    gathered = repository.gather(file_names(), file_words(), document.path)
    own = (one for one in _find_siblings(document, gathered) if _read_identity(one) == (kind, name))
    return [*_index_objects(gathered).get((kind, name), ()), *own]


def find_code(document: Document, repository: Repository) -> tuple[tuple[Document, ...], Document | None]:
    """Return the Terraform files that may define pools, and the one of a document's path; None if the
    repository lacks it.
    """
    gathered = repository.gather(file_names(), file_words(), document.path)
    own = (sibling for sibling in _find_siblings(document, gathered) if sibling.format == "hcl")
    found = _index_code(gathered)
    return (*found.values(), *own), found.get(document.path)


@functools.lru_cache(maxsize=4)
def _index_code(gathered: Gathered) -> dict[str, Document]:
    return {document.path: document for document in gathered.documents if document.format == "hcl"}


def _find_siblings(document: Document, gathered: Gathered) -> tuple[Document, ...]:
    """Return the documents of the same file that may define pools, if the repository lacks that
    file.
    """
    paths = _list_paths(gathered)
    own = (sibling for sibling in document.beside if sibling.path not in paths)
    return tuple(
        sibling for sibling in own if re.search(file_names(), sibling.path) or re.search(file_words(), sibling.text)
    )


@functools.lru_cache(maxsize=4)
def _list_paths(gathered: Gathered) -> frozenset[str]:
    return frozenset(sibling.path for sibling in gathered.documents)


@functools.lru_cache(maxsize=4)
def _index_objects(gathered: Gathered) -> dict[tuple[str, str], list[Document]]:
    found: dict[tuple[str, str], list[Document]] = {}
    for document in gathered.documents:
        found.setdefault(_read_identity(document), []).append(document)
    return found


def _read_identity(document: Document) -> tuple[str, str]:
    return str(document.get(("kind",))), str(document.get(("metadata", "name")))


@functools.lru_cache(maxsize=4)
def _read_gathered(gathered: Gathered) -> FoundPools:
    return FoundPools(gathered.documents)


def _read_pools(documents: tuple[Document, ...]) -> tuple[Pool, ...]:
    if not documents:
        return ()
    finders = (name for name, functions in package_data.list_functions(HERE).items() if "pools" in functions)
    modules = (importlib.import_module(f"{__name__}.{finder}") for finder in finders)
    return tuple(pool for module in modules for pool in module.pools(documents))
