"""Locate: the file of the repository that a command's Python program is."""

from __future__ import annotations

import posixpath
import re
from collections.abc import Iterator

from gpulint.adapters.programs.python_program import Started
from gpulint.source import documents
from gpulint.source.repository import Repository

VARIABLE = re.compile(r"^(?:\"?\$(?:\w+|\{[^}]*\})\"?/)+")
FOLDERS = ("", "src", "app")


def find(started: Started, near: str, repository: Repository) -> str | None:
    """Return the path of a program; of a path inside a container, the one file of the repository that ends like it."""
    for path in _list_candidates(started, near):
        if repository.read(path) is not None or (documents.is_program(path) and repository.exists(path)):
            return path
    inner = _list_inner(started)
    found = repository.find_programs(posixpath.basename(inner[0]), near)
    for ending in inner:
        if matching := [path for path in found if path == ending or path.endswith(f"/{ending}")]:
            return _choose(matching, near)
    if not found:
        return _find_above(inner, near, repository)
    if "/" in inner[0].strip("/") and started.is_module:
        return None
    return found[0] if len(found) == 1 else None


def _find_above(inner: list[str], near: str, repository: Repository) -> str | None:
    """Return the one file below a folder above the file that starts it whose path ends like the program's.

    Git does not track it yet, so that nothing else finds it.
    """
    folders = [posixpath.dirname(near)]
    while (above := posixpath.dirname(folders[-1])) != folders[-1]:
        folders.append(above)
    for ending in inner:
        paths = dict.fromkeys(posixpath.normpath(posixpath.join(folder, ending)) for folder in folders)
        existing = [path for path in paths if repository.exists(path)]
        if existing:
            return existing[0] if len(existing) == 1 else None
    return None


def _choose(paths: list[str], near: str) -> str | None:
    """Return the only path, or the one that shares most folders with the file that starts the program."""
    if len(paths) == 1:
        return paths[0]
    shared = {
        path: len(posixpath.commonpath([posixpath.dirname(path) or ".", posixpath.dirname(near) or "."]))
        for path in paths
    }
    most = max(shared.values())
    nearest = [path for path, length in shared.items() if length == most]
    return nearest[0] if len(nearest) == 1 else None


def _list_candidates(started: Started, near: str) -> Iterator[str]:
    """Yield where a program may lie: from the folder of the file that starts it, and from each folder above."""
    written = VARIABLE.sub("", started.path.strip("\"'"))
    if written.startswith(("/", "~")):
        return
    names = _list_names(started, written)
    folder = posixpath.dirname(near)
    while True:
        for inside in FOLDERS if started.is_module else ("",):
            yield from (posixpath.normpath(posixpath.join(folder, inside, name)) for name in names)
        above = posixpath.dirname(folder)
        if above == folder:
            return
        folder = above


def _list_names(started: Started, written: str) -> tuple[str, ...]:
    if not started.is_module:
        return (written,)
    path = written.replace(".", "/")
    return (f"{path}.py", f"{path}/__main__.py", f"{path}/__init__.py")


def _list_inner(started: Started) -> list[str]:
    """Return the ends of a path, the longest first: a container has the repository's files in another folder."""
    written = VARIABLE.sub("", started.path.strip("\"'"))
    name = _list_names(started, written)[0]
    parts = [part for part in name.split("/") if part not in ("", ".", "..", "~")]
    return ["/".join(parts[at:]) for at in range(len(parts))] or [name]
