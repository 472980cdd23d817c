"""Mentioned checkpoint: the only release that the files around a workload name.

The file itself, and the programs that it starts, precede the README of its folder. Comments do not count, and neither do
files that name several releases.
"""

from __future__ import annotations

import functools
import itertools
import posixpath
import re
from collections.abc import Iterable, Iterator
from typing import NamedTuple

from gpulint.catalog import architecture
from gpulint.catalog.architecture import names
from gpulint.source.documents import Document
from gpulint.source.repository import Repository
from gpulint.workload import Origin, Role, Workload

TEXT_MAX = 200_000
DOCUMENTS_MAX = 8
DEPTH_MAX, TEXTS_MAX, LETTERS_MAX = 16, 2_000, 2_000
SERVICES = "services"
PAIRED_MAX = 24
"""Texts of one section that are put together in pairs, as of an owner and a name."""
IDS_MAX = 200
ID = re.compile(r"(?<![\w/.@:~$}-])(?P<id>[A-Za-z0-9][\w.-]{1,60}/[A-Za-z0-9][\w.-]{1,90})(?![\w/-])")
URL = re.compile(r"huggingface\.co/(?P<id>[A-Za-z0-9][\w.-]{1,60}/[A-Za-z0-9][\w.-]{1,90})(?![\w/-])")
COMMENT = re.compile(r"(?m)(?:^|(?<=[ \t]))(?:#|//).*+$")
SIZE = re.compile(r"(?<![A-Za-z0-9.])\d{1,3}(?:\.\d+)?[bB](?![A-Za-z0-9])")
FILE = re.compile(r"\.(?:py|sh|ya?ml|json|md|txt|ipynb|jsonl|csv|gz|zip|html)$")
GENERATES = "generate"
OTHER_WORK = re.compile(r"embed|rerank|whisper|bge|clip|guard", re.IGNORECASE)
"""Words of models that are loaded beside the one that generates text."""
GUIDES = ("README.md", "USAGE.md", "USAGE.ipynb", "README.txt", "readme.md")
"""Files of a folder that say what it is for."""


class Mention(NamedTuple):
    """A release, and the file that names it."""

    reference: str
    place: str


def find(role: Role, workload: Workload, repository: Repository, within: str = "") -> Mention | None:
    """Return the only release that the nearest file names, of those whose name holds a text; None if there are several."""
    for path, ids in _list_files(role, workload, repository):
        fitting = [one for one in ids if _normalize(within) in _normalize(one)]
        kinds = {_normalize(one) for one in fitting}
        if len(kinds) > 1:
            return None
        if fitting:
            return Mention(fitting[0], posixpath.basename(path))
    return None


def _list_files(role: Role, workload: Workload, repository: Repository) -> Iterator[tuple[str, tuple[str, ...]]]:
    """Yield the files around a workload, each with the releases that it names."""
    origins = (field.origins for field in role.fields.values())
    further = (origin.document for listed in origins for origin in listed if isinstance(origin.document.data, str))
    distinct = list({document.path: document for document in further}.values())[:DOCUMENTS_MAX]
    is_own = role.anchor.document.path == workload.document.path and role.anchor.document.data is workload.document.data
    part = role.anchor if is_own or len(workload.roles) > 1 else Origin(workload.document, ())
    own = (*_read_part(part), *(one for document in distinct for one in _read_document(document)))
    yield workload.document.path, tuple(dict.fromkeys(own))
    folder = posixpath.dirname(workload.document.path)
    for name in GUIDES:
        path = posixpath.join(folder, name)
        if path != workload.document.path and repository.exists(path):
            yield path, _read_guide(path, repository)  # type: ignore[arg-type]


def _read_part(anchor: Origin) -> tuple[str, ...]:
    """Return the releases that a file names; of a list of containers or services, those of the one that is meant."""
    document, path = anchor.document, anchor.path
    if isinstance(document.data, str) or document.format == "notebook":
        return _read_document(document)
    at = next((at for at, key in enumerate(path) if isinstance(key, int) or key == SERVICES), None)
    if at is not None:
        at += isinstance(path[at], str)
    section = document.get(path[: at + 1]) if at is not None else document.data
    texts = itertools.islice(_list_texts(section, DEPTH_MAX), TEXTS_MAX)
    found = itertools.islice(_list_ids("\n".join(text[:LETTERS_MAX] for text in texts)), IDS_MAX)
    return tuple(dict.fromkeys((*found, *_list_pairs(section))))


def _list_texts(value: object, depth: int) -> Iterator[str]:
    if isinstance(value, str):
        yield value
    inner = value.values() if isinstance(value, dict) else value if isinstance(value, list) else ()
    for child in inner if depth else ():
        yield from _list_texts(child, depth - 1)


@functools.lru_cache(maxsize=64)
def _read_document(document: Document) -> tuple[str, ...]:
    text = COMMENT.sub("", document.text[:TEXT_MAX])
    return tuple(dict.fromkeys(itertools.islice(_list_ids(text), IDS_MAX)))


@functools.lru_cache(maxsize=64)
def _read_guide(path: str, repository: Repository) -> tuple[str, ...]:
    text = (repository.read(path) or b"")[:TEXT_MAX].decode("utf-8", "replace")
    return tuple(dict.fromkeys(itertools.islice(_list_ids(text), IDS_MAX)))


def _list_ids(text: str) -> Iterator[str]:
    """Yield the texts that are ids of the catalog, or that have the form of one with a size."""
    for match in itertools.chain(ID.finditer(text), URL.finditer(text)):
        reference = match["id"].rstrip(".")
        if _is_id(reference):
            yield reference


def _is_id(reference: str) -> bool:
    """Return whether a text is the id of a model that generates text; programs name encoders beside their model."""
    if reference in _load_ids():
        shape = architecture.resolve(reference).architecture
        return shape is not None and shape.task == GENERATES
    owner, _, last = reference.partition("/")
    if OTHER_WORK.search(last):
        return False
    if names.is_folder(reference) or owner.lower() in architecture.FOLDERS or FILE.search(last):
        return False
    return SIZE.search(last) is not None and not SIZE.search(owner)


@functools.cache
def _load_ids() -> frozenset[str]:
    return frozenset(architecture.list_ids())


def _list_pairs(data: object) -> Iterator[str]:
    """Yield the ids of the catalog of which a section states owner and name apart."""
    if not isinstance(data, dict):
        return
    for section in (data, *(value for value in data.values() if isinstance(value, dict))):
        texts = [text for text in section.values() if isinstance(text, str) and 1 < len(text) < 100][:PAIRED_MAX]
        paired: Iterable[str] = (f"{owner}/{name}" for owner, name in itertools.permutations(texts, 2))
        yield from (reference for reference in paired if reference in _load_ids())


def _normalize(name: str) -> str:
    return re.sub(r"[^a-z0-9]", "", name.rpartition("/")[2].lower())
