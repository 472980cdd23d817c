"""Read policies and a team's rules by posix path from a root that they cannot leave."""

from __future__ import annotations

import os
import posixpath
import stat
from collections.abc import Iterator
from pathlib import Path
from typing import Protocol

from gpulint.source import os_errors
from gpulint.source.repository.tree import NEVER_ENTERED

BYTES_MAX = 5_000_000
FILES_MAX = 10_000


class SettingsError(ValueError):
    """A settings file that cannot be used. The message starts with its location."""


class RefusedFileError(ValueError):
    """A file that exists but is not read: a symbolic link, or one that is too large."""


class Reader(Protocol):
    """The files of a work tree, a commit or an installed package. `root` is the corresponding folder on disk."""

    root: Path

    def read(self, path: str) -> bytes | None:
        """Return a file, or None if there is none; raise Refused for a link or an oversized file."""
        ...

    def names(self, folder: str) -> Iterator[str]:
        """Return the paths of all files below a folder in sorted order; none if the folder is missing."""
        ...

    def render_path(self, path: str) -> str:
        """Return the path of a file as displayed to the user."""
        ...


class DiskReader:
    """The files below a folder on disk. `name` replaces the folder in displayed paths."""

    def __init__(self, root: Path, name: str = "") -> None:
        self.root = root
        self.name = name

    def read(self, path: str) -> bytes | None:
        """Return a regular file, or None if there is none; raise Refused if it is outside, linked or too large."""
        if normalise(path) is None:
            raise RefusedFileError(f"{path}: outside the folder that gpulint reads")
        place = self.root / path
        try:
            status = os.lstat(place)
        except (OSError, ValueError):
            return None
        steps = (place, *(self.root / part for part in _parents(path)))
        if any(step.is_symlink() for step in steps):
            raise RefusedFileError(f"{self.render_path(path)}: gpulint does not follow symbolic links")
        if not stat.S_ISREG(status.st_mode):
            return None
        if status.st_size > BYTES_MAX:
            raise RefusedFileError(
                f"{self.render_path(path)}: larger than the limit of {BYTES_MAX // 1_000_000} MB for such a file"
            )
        try:
            return place.read_bytes()
        except OSError as error:
            raise RefusedFileError(f"{self.render_path(path)}: cannot be read: {os_errors.explain(error)}") from None

    def names(self, folder: str) -> Iterator[str]:
        """Yield the paths of all files below a folder in sorted order, including links."""
        count = 0
        for place, folders, files in os.walk(self.root / folder, onerror=self._refuse_unlisted):
            folders[:] = sorted(name for name in folders if name not in NEVER_ENTERED)
            below = Path(place).relative_to(self.root).as_posix()
            if linked := next((name for name in folders if (Path(place) / name).is_symlink()), None):
                where = self.render_path(posixpath.normpath(posixpath.join(below, linked)))
                raise RefusedFileError(f"{where}: gpulint does not follow symbolic links")
            for name in sorted(files):
                count += 1
                if count > FILES_MAX:
                    raise RefusedFileError(f"{self.render_path(folder)}: more than {FILES_MAX:,} files")
                yield posixpath.normpath(posixpath.join(below, name))

    def _refuse_unlisted(self, error: OSError) -> None:
        """Raise RefusedFileError for a folder that is there and cannot be listed."""
        if not isinstance(error, FileNotFoundError | NotADirectoryError):
            place = Path(error.filename).relative_to(self.root).as_posix()
            why = os_errors.explain(error)
            raise RefusedFileError(f"{self.render_path(place)}: cannot be read: {why}")

    def render_path(self, path: str) -> str:
        """Return the path relative to the current folder if the file is below it, otherwise the whole path."""
        if self.name:
            return f"{self.name}/{path}"
        place, here = self.root / path, Path.cwd()
        return (place.relative_to(here) if place.is_relative_to(here) else place).as_posix()


class SuppliedFileReader(DiskReader):
    """The files below a folder on disk; a caller supplies the content of one of them."""

    def __init__(self, root: Path, file: str, content: bytes) -> None:
        super().__init__(root)
        self.file = file
        self.content = content

    def read(self, path: str) -> bytes | None:
        """Return the supplied file, or one on disk."""
        return self.content if path == self.file else super().read(path)

    def render_path(self, path: str) -> str:
        """Return the supplied file's name, or the path of a file on disk."""
        return path if path == self.file else super().render_path(path)


def normalise(path: str) -> str | None:
    """Return a path without `.` and `..`; None if it leaves the root."""
    normal = posixpath.normpath(path)
    return None if normal.startswith(("../", "/")) or normal == ".." else normal


def _parents(path: str) -> Iterator[str]:
    """Yield the folders between the root and a file."""
    folder = posixpath.dirname(path)
    while folder:
        yield folder
        folder = posixpath.dirname(folder)
