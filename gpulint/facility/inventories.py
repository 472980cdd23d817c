"""Inventories: exports that a Facility file names, and exports on their own."""

from __future__ import annotations

import functools
import json
import posixpath
from collections.abc import Callable, Iterator, Sequence
from typing import NamedTuple

from gpulint.facility import reader
from gpulint.facility.model import Component
from gpulint.source.documents import Document, Problem
from gpulint.source.repository import Repository, Source
from gpulint.workload import Origin

KEY = "netbox"
NAMED = "inventories"
"""The fact that `netbox:` declares."""

BEGINNING = 100_000
"""Leading characters of a file that show whether it is an export."""
ADDRESS = b"/api/dcim/"
FACILITY = b"Facility"
"""Kind of a file that describes a facility itself; tables of racks have a column *Facility ID*."""
BEGUN = ("yaml", "yml", "json", "csv")


class InventoryResult(NamedTuple):
    """What the inventories of a file contain, and the problems that kept some from being read."""

    part: Component | None
    troubles: tuple[tuple[int, str], ...]


def merge_inventories(stated: Component, document: Document, repository: Repository) -> Component:
    """Return a facility completed by its inventories where it declares nothing itself."""
    inventory_part = _read(document, repository.list_files, repository.head).part
    if inventory_part is None:
        return stated
    from gpulint.facility import merge

    return merge.merge(stated, inventory_part)


def synthesize_facility(path: str, repository: Repository) -> Source | None:
    """Return a Facility file that only names an exported file or folder; None if the path is not an
    export.
    """
    files = repository.list_files(path)
    beginnings = {file: repository.head(file, BEGINNING) or b"" for file in files if file.endswith(BEGUN)}
    if any(FACILITY in beginning for file, beginning in beginnings.items() if not file.endswith(".csv")):
        return None
    exported = (file for file, beginning in beginnings.items() if file.endswith(".csv") or ADDRESS in beginning)
    if next(exported, None) is None:
        return None
    folder, name = (path, ".") if files != (path,) else (posixpath.dirname(path), posixpath.basename(path))
    name_of_facility = posixpath.basename(posixpath.normpath(path)).partition(".")[0] or KEY
    document = {
        "apiVersion": reader.API_VERSION,
        "kind": reader.KIND,
        "metadata": {"name": name_of_facility},
        "spec": {KEY: [name]},
    }
    return Source(posixpath.join(folder, name if name != "." else f"{KEY}.json"), json.dumps(document).encode())


def find_problems(document: Document, repository: Repository) -> Iterator[Problem]:
    """Yield the problems of a file's inventories, each at the path that names the inventory."""
    for at, message in _read(document, repository.list_files, repository.head).troubles:
        path = ("spec", KEY, at)
        yield Problem("invalid-spec", message, document.locate(path))


@functools.lru_cache(maxsize=2)
def _read(
    document: Document, below: Callable[[str], Sequence[str]], head: Callable[[str, int], bytes | None]
) -> InventoryResult:
    from gpulint.facility import netbox
    from gpulint.facility.netbox import objects

    folder = posixpath.dirname(document.path)
    named = [posixpath.normpath(posixpath.join(folder, path)) for path in _list_paths(document)]
    files = [below(path) for path in named]
    troubles = [(at, f"{named[at]}: no such file or folder") for at, paths in enumerate(files) if not paths]
    index_of = {path: at for at, paths in reversed(list(enumerate(files))) for path in paths}
    loaded = objects.gather(tuple(index_of), lambda path: head(path, objects.BYTES_MAX + 1))
    troubles += [(index_of[trouble.path], f"{trouble.path} {trouble.message}") for trouble in loaded.troubles]
    if not any(loaded.list_entries(kind) for kind in objects.PLACED):
        return InventoryResult(None, tuple(troubles))
    name = str(document.get(("metadata", "name")) or reader.KIND)
    return InventoryResult(netbox.build_facility(loaded, name, Origin(document, ("spec", KEY))), tuple(troubles))


def _list_paths(document: Document) -> Sequence[str]:
    stated = document.get(("spec", KEY))
    return [str(path) for path in stated] if isinstance(stated, list) else [str(stated)]
