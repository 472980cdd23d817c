"""Which files git tracks, from its index file (versions 2 to 4, Documentation/gitformat-index.txt of git), without git.

Only paths that .gitignore matches are looked up. An index that cannot be read tracks nothing.
"""

from __future__ import annotations

import os
import stat
from collections.abc import Callable, Iterator

INDEX_BYTES_MAX = 256_000_000
POINTER_BYTES_MAX = 4_096
HEADER_BYTES, STAT_BYTES, FLAGS_BYTES = 12, 40, 2
HASHES_BYTES = (20, 32)
"""The length of an object id in a repository of SHA-1 and of SHA-256."""
EXTENDED = 0x4000
"""The flag of an entry with two further bytes of flags."""
PADDED_TO = 8
SEARCHES_MAX = 16
"""Paths that are looked for in the bytes before the whole index is read."""


class Tracked:
    """The paths in an index, from the root; the index is parsed at the first lookup that may find one."""

    def __init__(self, content: bytes = b"") -> None:
        self._content = content
        self._paths: frozenset[bytes] | None = None
        self._searches = 0 if content[4:8] == b"\0\0\0\4" else SEARCHES_MAX

    def holds(self, path: str) -> bool:
        """Return whether the index lists a path, or a file below it."""
        name = os.fsencode(path)  # version 4 leaves out what a path has in common with the one before
        if self._paths is None:
            if not self._content or (self._searches and name not in self._content):
                self._searches = max(self._searches - 1, 0)
                return False
            self._paths = frozenset(_add_folders(list_paths(self._content)))
        return name in self._paths

    def list_files(self) -> tuple[str, ...]:
        """Return the paths in the index."""
        return tuple(os.fsdecode(path) for path in list_paths(self._content))

    def may_hold_name(self, name: str) -> bool:
        """Return False if the index certainly lists no file of that name. Version 4 leaves out what paths have in common."""
        is_plain = self._content[:4] == b"DIRC" and self._content[4:8] != b"\0\0\0\4"
        return not is_plain or os.fsencode(name) in self._content


def read(root: str, record: Callable[[str, OSError], None] = lambda place, error: None) -> Tracked:
    """Return what git tracks in the work tree at a root; nothing if no index can be read.

    `record` gets the path and the error if the system refuses to read it.
    """
    git = os.path.join(root, ".git")
    try:
        if not stat.S_ISDIR(os.lstat(git).st_mode):
            git = os.path.join(root, _read(git, POINTER_BYTES_MAX).decode().removeprefix("gitdir:").strip())
        return Tracked(_read(os.path.join(git, "index"), INDEX_BYTES_MAX))
    except OSError as error:
        record(git, error)
        return Tracked()
    except ValueError:
        return Tracked()


def list_paths(index: bytes) -> list[bytes]:
    """Return the paths in an index; none if it is not one, or is split into two files."""
    if index[:4] != b"DIRC":
        return []
    for length in HASHES_BYTES:
        try:
            return list(_read_entries(index, length))
        except (IndexError, ValueError):
            continue
    return []


def _read_entries(index: bytes, hash_bytes: int) -> Iterator[bytes]:
    """Yield the path of each entry; raise ValueError or IndexError if the ids have another length."""
    version, count = (int.from_bytes(index[at : at + 4], "big") for at in (4, 8))
    at, path = HEADER_BYTES, b""
    for _ in range(count):
        start = at
        at += STAT_BYTES + hash_bytes
        flags = int.from_bytes(index[at : at + FLAGS_BYTES], "big")
        at += 2 * FLAGS_BYTES if flags & EXTENDED else FLAGS_BYTES
        if version == 4:
            dropped, at = _read_number(index, at)
            end = index.index(b"\0", at)
            path = path[: len(path) - dropped] + index[at:end]
            at = end + 1
        else:
            end = index.index(b"\0", at)
            path = index[at:end]
            at = end + PADDED_TO - (end - start) % PADDED_TO
        if not path or min(len(path), 0xFFF) != flags & 0xFFF:
            raise ValueError("not an entry")
        yield path


def _read_number(index: bytes, at: int) -> tuple[int, int]:
    """Return a number of variable length, and where it ends."""
    value = index[at] & 0x7F
    while index[at] & 0x80:
        at += 1
        value = ((value + 1) << 7) | (index[at] & 0x7F)
    return value, at + 1


def _add_folders(paths: list[bytes]) -> Iterator[bytes]:
    """Yield each path and the folders above it."""
    seen: set[bytes] = set()
    for path in paths:
        yield path
        folder = path.rpartition(b"/")[0]
        while folder and folder not in seen:
            seen.add(folder)
            yield folder
            folder = folder.rpartition(b"/")[0]


def _read(place: str, most: int) -> bytes:
    """Return a regular file that is not too large; no link is followed."""
    status = os.lstat(place)
    if not stat.S_ISREG(status.st_mode) or status.st_size > most:
        raise ValueError("not a file of git")
    with open(place, "rb") as file:
        return file.read(most)
