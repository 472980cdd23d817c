"""Reader: where policies and a team's rules are read, by their posix path from a root that they cannot leave."""

from __future__ import annotations

import os
import posixpath
import stat
from collections.abc import Iterator
from pathlib import Path
from typing import Protocol

from gpulint.source.repository.tree import NEVER_ENTERED

BYTES_MAX = 5_000_000
FILES_MAX = 10_000


class Refused(ValueError):
    """A file that is there and is not read: a link, or more than a policy can be."""


class Reader(Protocol):
    """The files of one tree: a work tree, a commit, an installed package; `root` is the folder of the disk it is about."""

    root: Path

    def read(self, path: str) -> bytes | None:
        """A file, None where there is none; Refused where it is a link or too large."""
        ...

    def names(self, folder: str) -> Iterator[str]:
        """The paths of all files below a folder, in sorted order; none where there is no such folder."""
        ...

    def shown(self, path: str) -> str:
        """A file as it is named to the user."""
        ...


class Disk:
    """The files below a folder of the disk; `name` stands for the folder where files are shown, else their path does."""

    def __init__(self, root: Path, name: str = "") -> None:
        self.root = root
        self.name = name

    def read(self, path: str) -> bytes | None:
        """A regular file, None where there is none; Refused where it lies elsewhere, a link leads to it, or it is too large."""
        if within(path) is None:
            raise Refused(f"{path}: lies outside of what is read here")
        place = self.root / path
        try:
            status = os.lstat(place)
        except (OSError, ValueError):
            return None
        steps = (place, *(self.root / part for part in _above(path)))
        if any(step.is_symlink() for step in steps):
            raise Refused(f"{self.shown(path)}: a symbolic link, which gpulint does not follow")
        if not stat.S_ISREG(status.st_mode):
            return None
        if status.st_size > BYTES_MAX:
            raise Refused(
                f"{self.shown(path)}: larger than {BYTES_MAX // 1_000_000} MB, more than is read of such a file"
            )
        try:
            return place.read_bytes()
        except OSError as error:
            raise Refused(f"{self.shown(path)}: cannot be read: {(error.strerror or str(error)).lower()}") from None

    def names(self, folder: str) -> Iterator[str]:
        """The paths of all files below a folder, in sorted order, links among them."""
        found = 0
        for place, folders, files in os.walk(self.root / folder):
            folders[:] = sorted(name for name in folders if name not in NEVER_ENTERED)
            below = Path(place).relative_to(self.root).as_posix()
            if linked := next((name for name in folders if (Path(place) / name).is_symlink()), None):
                where = self.shown(posixpath.normpath(posixpath.join(below, linked)))
                raise Refused(f"{where}: a symbolic link, which gpulint does not follow")
            for name in sorted(files):
                found += 1
                if found > FILES_MAX:
                    raise Refused(f"{self.shown(folder)}: more than {FILES_MAX:,} files")
                yield posixpath.normpath(posixpath.join(below, name))

    def shown(self, path: str) -> str:
        """A file by its path from the current folder where it lies below, else by its whole path."""
        if self.name:
            return f"{self.name}/{path}"
        place, here = self.root / path, Path.cwd()
        return (place.relative_to(here) if place.is_relative_to(here) else place).as_posix()


class Stated(Disk):
    """The files below a folder of the disk, of which one is what a caller states."""

    def __init__(self, root: Path, file: str, content: bytes) -> None:
        super().__init__(root)
        self.file = file
        self.content = content

    def read(self, path: str) -> bytes | None:
        """That file, or one of the disk."""
        return self.content if path == self.file else super().read(path)

    def shown(self, path: str) -> str:
        """That file by its name, one of the disk by its path."""
        return path if path == self.file else super().shown(path)


def within(path: str) -> str | None:
    """A path without `.` and `..`; None where it leaves the root."""
    found = posixpath.normpath(path)
    return None if found.startswith(("../", "/")) or found == ".." else found


def _above(path: str) -> Iterator[str]:
    """The folders between the root and a file."""
    folder = posixpath.dirname(path)
    while folder:
        yield folder
        folder = posixpath.dirname(folder)
