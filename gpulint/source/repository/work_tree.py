"""The work tree: the files of a repository as they lie on the disk, read without running git."""

from __future__ import annotations

import contextlib
import os
import pathlib
import stat
from collections.abc import Sequence
from typing import TYPE_CHECKING

from gpulint.source.repository import ignored
from gpulint.source.repository.ignored import IgnoreFile
from gpulint.source.repository.source import FILE_BYTES_MAX
from gpulint.source.repository.tree import Entry, Tree

if TYPE_CHECKING:
    from typing import Self


class WorkTree(Tree):
    """The files of a repository as they lie on the disk; paths are shown, and asked for, from `base`, the current folder."""

    def writable(self, path: str) -> pathlib.Path | None:
        place = self._resolve_inside(self.base, path)
        return place if place is not None and stat.S_ISREG(os.lstat(place).st_mode) else None

    def _again(self) -> Self:
        return type(self)(self.root, base=self.base)

    def _kind(self, place: pathlib.Path) -> str:
        if place.is_symlink():
            return "link"
        if place.is_dir():
            return "folder"
        return "file" if os.path.lexists(place) else ""

    def _is_reachable(self, place: pathlib.Path) -> bool:
        if not os.path.lexists(place):
            return False
        steps = (step for step in (place, *place.parents) if step.is_relative_to(self.root) and step != self.root)
        return not any(step.is_symlink() for step in steps)

    def _entries(self, folder: pathlib.Path) -> Sequence[Entry]:
        with os.scandir(folder) as found:
            return sorted(Entry(entry.name, _kind(entry)) for entry in found)

    def _content(self, place: pathlib.Path) -> bytes | None:
        return _content(place)

    def _first_bytes(self, place: pathlib.Path, length: int) -> bytes | None:
        if not stat.S_ISREG(os.lstat(place).st_mode):
            return None
        with open(place, "rb") as file:
            return file.read(length)

    def _read_ignore_patterns(self, folder: pathlib.Path) -> tuple[IgnoreFile, ...]:
        content = None
        with contextlib.suppress(OSError):
            content = _content(folder / ".gitignore")
        return () if content is None else (ignored.read(folder, content),)

    def _is_whole(self) -> bool:
        return os.path.lexists(self.root / ".git")


def find_root(start: pathlib.Path) -> pathlib.Path:
    """The nearest folder upwards that holds `.git`, else the start itself."""
    place = pathlib.Path(os.path.abspath(start))
    candidates = (place, *place.parents)
    return next((folder for folder in candidates if os.path.lexists(folder / ".git")), place)


def _kind(entry: os.DirEntry[str]) -> str:
    if entry.is_symlink():
        return "link"
    return "folder" if entry.is_dir() else "file"


def _content(place: pathlib.Path) -> bytes | None:
    """The bytes of a regular file that is not too large; a pipe or device is never opened."""
    status = os.lstat(place)
    if not stat.S_ISREG(status.st_mode) or status.st_size > FILE_BYTES_MAX:
        return None
    with open(place, "rb") as file:
        content = file.read(FILE_BYTES_MAX + 1)
    return content if len(content) <= FILE_BYTES_MAX else None
