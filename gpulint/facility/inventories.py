"""Inventories: the exports that a Facility file names beside what it states itself, and exports alone."""

from __future__ import annotations

import functools
import json
import posixpath
from collections.abc import Callable, Iterator, Sequence
from typing import NamedTuple

from gpulint.facility import reader
from gpulint.facility.model import Part
from gpulint.source.documents import Document, Problem
from gpulint.source.repository import Repository, Source
from gpulint.workload import Origin

KEY = "netbox"
NAMED = "inventories"
"""The fact that `netbox:` states."""

BEGINNING = 100_000
"""Characters of a file that tell whether it is an export."""
ADDRESS = b"/api/dcim/"
FACILITY = b"Facility"
"""Kind of a file that says itself what it is about; tables of racks have a column *Facility ID*."""
BEGUN = ("yaml", "yml", "json", "csv")


class Read(NamedTuple):
    """What the inventories of a file say, and what keeps some of them from saying it."""

    part: Part | None
    troubles: tuple[tuple[int, str], ...]


def joined(stated: Part, document: Document, repository: Repository) -> Part:
    """A facility with what its inventories say where it says nothing itself."""
    found = _read(document, repository.below, repository.head).part
    if found is None:
        return stated
    from gpulint.facility import merge as merging

    return merging.merged(stated, found)


def alone(path: str, repository: Repository) -> Source | None:
    """A Facility file that names what a file or folder exports, and nothing else; None where it holds something else."""
    held = repository.below(path)
    beginnings = {one: repository.head(one, BEGINNING) or b"" for one in held if one.endswith(BEGUN)}
    if any(FACILITY in begun for one, begun in beginnings.items() if not one.endswith(".csv")):
        return None
    exported = (one for one, begun in beginnings.items() if one.endswith(".csv") or ADDRESS in begun)
    if next(exported, None) is None:
        return None
    folder, name = (path, ".") if held != (path,) else (posixpath.dirname(path), posixpath.basename(path))
    called = posixpath.basename(posixpath.normpath(path)).partition(".")[0] or KEY
    stated = {
        "apiVersion": reader.API_VERSION,
        "kind": reader.KIND,
        "metadata": {"name": called},
        "spec": {KEY: [name]},
    }
    return Source(posixpath.join(folder, name if name != "." else f"{KEY}.json"), json.dumps(stated).encode())


def problems(document: Document, repository: Repository) -> Iterator[Problem]:
    """What keeps the inventories of a file from being read, at the path that names each."""
    for at, message in _read(document, repository.below, repository.head).troubles:
        path = ("spec", KEY, at)
        yield Problem("invalid-spec", message, document.locate(path))


@functools.lru_cache(maxsize=2)
def _read(document: Document, below: Callable[[str], Sequence[str]], head: Callable[[str, int], bytes | None]) -> Read:
    from gpulint.facility import netbox
    from gpulint.facility.netbox import objects as inventory

    folder = posixpath.dirname(document.path)
    named = [posixpath.normpath(posixpath.join(folder, one)) for one in _named(document)]
    files = [below(one) for one in named]
    troubles = [(at, f"{named[at]}: there is no such file or folder here") for at, one in enumerate(files) if not one]
    of = {path: at for at, held in reversed(list(enumerate(files))) for path in held}
    held = inventory.gathered(tuple(of), lambda path: head(path, inventory.BYTES_MAX + 1))
    troubles += [(of[one.path], f"{one.path} {one.message}") for one in held.troubles]
    if not any(held.of(kind) for kind in inventory.PLACED):
        return Read(None, tuple(troubles))
    name = str(document.get(("metadata", "name")) or reader.KIND)
    return Read(netbox.facility(held, name, Origin(document, ("spec", KEY))), tuple(troubles))


def _named(document: Document) -> Sequence[str]:
    stated = document.get(("spec", KEY))
    return [str(one) for one in stated] if isinstance(stated, list) else [str(stated)]
