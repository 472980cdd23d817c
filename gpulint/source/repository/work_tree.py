"""The work tree: the files of a repository as they lie on the disk, read without running git."""

from __future__ import annotations

import errno
import os
import pathlib
import stat
from collections.abc import Iterator, Sequence

from gpulint.source.repository import tracked
from gpulint.source.repository.snapshot import Entry, Snapshot
from gpulint.source.repository.source import FILE_BYTES_MAX
from gpulint.source.repository.tracked import Tracked
from gpulint.source.repository.tree import Tree

KEPT_BYTES_MAX = 64_000_000
"""Of what lies beyond it, only a digest is kept."""
DIGEST_BYTES = 16
UNFOLLOWED = getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_BINARY", 0)


class DiskSnapshot(Snapshot):
    """The files on a disk. Their bytes are kept, up to a limit; a file beyond it is read again and compared."""

    def __init__(self, root: str, kept_bytes_max: int = KEPT_BYTES_MAX) -> None:
        super().__init__(root)
        self._contents: dict[str, bytes | None] = {}
        self._failures: dict[str, tuple[object, ...]] = {}
        self._digests: dict[str, bytes] = {}
        self._left = kept_bytes_max
        self._tracked: Tracked | None = None

    def content(self, place: str) -> bytes | None:
        """Return the bytes that the file had when it was first read."""
        if place in self._contents:
            return self._contents[place]
        if place in self._failures:
            raise OSError(*self._failures[place])
        try:
            content = _read(place)
        except OSError as error:
            self.record(place, error)
            self._failures[place] = error.args
            raise
        return self._keep(place, content)

    def _keep(self, place: str, content: bytes | None) -> bytes | None:
        if content is None or (place not in self._digests and len(content) <= self._left):
            self._left -= len(content or b"")
            self._contents[place] = content
            return content
        import hashlib

        digest = hashlib.blake2b(content, digest_size=DIGEST_BYTES).digest()
        if self._digests.setdefault(place, digest) != digest:
            self._failures[place] = ("it changed while gpulint ran",)
            raise OSError(*self._failures[place])
        return content

    def head(self, place: str, length: int) -> bytes | None:
        """Return the first bytes of a regular file of any size, of what was read before if it was."""
        content = self._contents.get(place)
        if content is not None:
            return content[:length]
        if not stat.S_ISREG(os.lstat(place).st_mode):
            return None
        with open(os.open(place, os.O_RDONLY | UNFOLLOWED), "rb") as file:
            return file.read(length)

    def is_whole(self) -> bool:
        """Return whether the root holds `.git`."""
        return bool(self.kind(os.path.join(self.root, ".git")))

    def holds_tracked(self, path: str) -> bool:
        """Return whether git's index lists a path, or a file below it."""
        return self._read_index().holds(path)

    def may_hold_name(self, name: str) -> bool:
        """Return False if git's index lists no file of that name; a file that git does not track is found by its path only."""
        return self._read_index().may_hold_name(name)

    def list_tracked(self) -> Sequence[str]:
        """Return the paths in git's index."""
        return self._read_index().list_files()

    def _read_index(self) -> tracked.Tracked:
        if self._tracked is None:
            self._tracked = tracked.read(self.root, self.record)
        return self._tracked

    def _find_kind(self, place: str) -> str:
        try:
            mode = os.lstat(place).st_mode
        except OSError as error:
            self.record(place, error)
            return ""
        except ValueError:  # a name that no file can have
            return ""
        return "link" if stat.S_ISLNK(mode) else "folder" if stat.S_ISDIR(mode) else "file"

    def _list(self, folder: str) -> Iterator[Entry]:
        with os.scandir(folder) as found:
            for entry in found:
                kind = "link" if entry.is_symlink() else "folder" if entry.is_dir(follow_symlinks=False) else "file"
                yield Entry(entry.name, kind)

    def _read_target(self, link: str) -> str:
        return os.readlink(link)


class WorkTree(Tree):
    """The files of a repository as they lie on the disk; paths are shown, and asked for, from `base`, the current folder."""

    def __init__(self, root: pathlib.Path, exclude: Sequence[str] = (), base: pathlib.Path | None = None) -> None:
        super().__init__(DiskSnapshot(os.path.abspath(root)), exclude, base)

    def writable(self, path: str) -> pathlib.Path | None:
        """Return the place on the disk of a regular file inside the root that no link leads to."""
        place = self._resolve_inside(self._base, path)
        if place is None or not _is_unlinked(place, self.snapshot.root):
            return None
        return pathlib.Path(place) if stat.S_ISREG(os.lstat(place).st_mode) else None


def find_root(start: pathlib.Path) -> pathlib.Path:
    """The nearest folder upwards that holds `.git`, else the start itself."""
    place = pathlib.Path(os.path.abspath(start))
    candidates = (place, *place.parents)
    return next((folder for folder in candidates if os.path.lexists(folder / ".git")), place)


def _is_unlinked(place: str, root: str) -> bool:
    """Return whether no step to a place is a link now: a file is written long after it was read."""
    while place != root:
        if os.path.islink(place) or not os.path.lexists(place):
            return False
        place = os.path.dirname(place)
    return True


def _read(place: str) -> bytes | None:
    """The bytes of a regular file that is not too large; a pipe or device is never opened."""
    status = os.lstat(place)
    if not stat.S_ISREG(status.st_mode) or status.st_size > FILE_BYTES_MAX:
        return None
    descriptor = os.open(place, os.O_RDONLY | UNFOLLOWED)
    try:
        parts, length = [], 0
        while length <= FILE_BYTES_MAX and (part := os.read(descriptor, max(status.st_size + 1 - length, 65_536))):
            parts.append(part)
            length += len(part)
    finally:
        os.close(descriptor)
    if length < status.st_size:
        raise OSError(errno.EIO, "only a part of it could be read")
    return b"".join(parts) if length <= FILE_BYTES_MAX else None
