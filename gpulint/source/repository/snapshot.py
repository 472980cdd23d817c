"""The snapshot: what lies below a root, as the run first saw it; listing or reading it again gives the same result."""

from __future__ import annotations

import abc
import errno
import os
import posixpath
from collections.abc import Iterator, Sequence
from typing import NamedTuple

from gpulint.source.repository import ignored
from gpulint.source.repository.ignored import IgnoreFile

LINK_BYTES_MAX = 4_096
ABSENT = frozenset({None, errno.ENOENT, errno.ENOTDIR, errno.ELOOP, errno.ENAMETOOLONG})
"""Errors that say that nothing is there to be read; None is one of ours, which is reported where it is raised."""


class Entry(NamedTuple):
    """An entry of a folder: a `file`, `folder`, `link` or `submodule` (a commit of another repository)."""

    name: str
    kind: str


class Snapshot(abc.ABC):
    """Folders and files by absolute path (a *place*), each looked at once and remembered.

    Whatever changes on the disk afterwards, every stage of a run sees the same entries and the same bytes.
    """

    def __init__(self, root: str) -> None:
        self.root = root
        self._below = root if root.endswith(os.sep) else root + os.sep
        self._entries: dict[str, tuple[Entry, ...] | OSError] = {}
        self._kinds: dict[str, str] = {}
        self._patterns: dict[str, tuple[IgnoreFile, ...]] = {}
        self.unread: dict[str, OSError] = {}

    # ---- implemented by each kind of snapshot

    @abc.abstractmethod
    def content(self, place: str) -> bytes | None:
        """Return the bytes of a file; None if it is too large or not regular; raise OSError if it cannot be read."""

    @abc.abstractmethod
    def head(self, place: str, length: int) -> bytes | None:
        """Return the first bytes of a regular file of any size."""

    @abc.abstractmethod
    def is_whole(self) -> bool:
        """Return whether the root is that of a repository, so that all its folders belong together."""

    @abc.abstractmethod
    def holds_tracked(self, path: str) -> bool:
        """Return whether git tracks a path from the root, or a file below it, although it is ignored."""

    def may_hold_name(self, name: str) -> bool:
        """Return False if no file of the repository has that name, where this is known without a walk."""
        return True

    def list_tracked(self) -> Sequence[str]:
        """Return the paths from the root of all files that git tracks; nothing where this is not known."""
        return ()

    @abc.abstractmethod
    def _find_kind(self, place: str) -> str: ...

    @abc.abstractmethod
    def _list(self, folder: str) -> Iterator[Entry]: ...

    @abc.abstractmethod
    def _read_target(self, link: str) -> str: ...

    # ---- shared by all kinds

    def record(self, place: str, error: OSError) -> None:
        """Record the error of a place that the system refused to read, for the report."""
        if error.errno not in ABSENT:
            self.unread.setdefault(place, error)

    def is_inside(self, place: str) -> bool:
        """Return whether a place is the root or lies below it."""
        return place == self.root or place.startswith(self._below)

    def is_reachable(self, place: str) -> bool:
        """Return whether anything lies at a place inside the root, and no link leads there."""
        if place == self.root:
            return bool(self.kind(place))
        if not self.is_inside(place) or not self._is_open(os.path.dirname(place)):
            return False
        return self.kind(place) not in ("", "link")

    def _is_open(self, folder: str) -> bool:
        """Return whether every step from the root to a folder is a folder."""
        while folder != self.root:
            if self.kind(folder) != "folder":
                return False
            folder = os.path.dirname(folder)
        return True

    def kind(self, place: str) -> str:
        """Return the kind of entry at a place; empty if there is none."""
        found = self._kinds.get(place)
        if found is None:
            listed = isinstance(self._entries.get(os.path.dirname(place)), tuple)
            found = self._kinds[place] = "" if listed and self.is_inside(place) else self._find_kind(place)
        return found

    def entries(self, folder: str) -> tuple[Entry, ...]:
        """Return the sorted entries of a folder; raise OSError if it cannot be listed."""
        if folder not in self._entries:
            try:
                self._entries[folder] = self._remember(folder, sorted(self._list(folder)))
            except OSError as error:
                self.record(folder, error)
                self._entries[folder] = error
        found = self._entries[folder]
        if isinstance(found, OSError):
            raise found
        return found

    def _remember(self, folder: str, listed: list[Entry]) -> tuple[Entry, ...]:
        """Keep the kind of each entry; one that was looked at before keeps the kind that it had."""
        kept = [Entry(name, self._kinds.setdefault(os.path.join(folder, name), kind)) for name, kind in listed]
        return tuple(entry for entry in kept if entry.kind)

    def ignore_patterns(self, folder: str) -> tuple[IgnoreFile, ...]:
        """Return the patterns of a folder's .gitignore."""
        if folder not in self._patterns:
            self._patterns[folder] = self._read_patterns(folder)
        return self._patterns[folder]

    def _read_patterns(self, folder: str) -> tuple[IgnoreFile, ...]:
        place = os.path.join(folder, ".gitignore")
        try:
            content = self.content(place) if self.kind(place) == "file" else None
        except OSError as error:
            self.record(place, error)
            return ()
        return () if content is None else (ignored.read(folder, content),)

    def find_target(self, link: str) -> tuple[str, str]:
        """Return the place that a link names, and why it is not used as the target; the reason is empty if it is.

        The path is resolved by name only, without following other links or looking outside the root.
        """
        try:
            target = self._read_target(link)
        except OSError as error:
            self.record(link, error)
            return "", "cannot be read"
        except UnicodeError:
            return "", "cannot be read"
        place = os.sep if os.path.isabs(target) else os.path.dirname(link)
        for step in target.replace(os.sep, "/").split("/"):
            place = os.path.dirname(place) if step == ".." else os.path.join(place, step) if step != "." else place
            if self.is_inside(place) and self.kind(place) == "link":
                return place, "leads to itself" if place == link else "leads through another link"
        place = os.path.normpath(place)
        if not self.is_inside(place):
            return place, "leads out of the repository"
        if not self.kind(place):
            return place, "leads to nothing"
        holds = link.startswith(place if place.endswith(os.sep) else place + os.sep)
        return place, "leads to a folder that contains it" if holds else ""

    def path_from_root(self, place: str) -> str:
        """Return a place inside the root as a path with forward slashes."""
        path = place[len(self._below) :] if place != self.root else ""
        return path if os.sep == posixpath.sep else path.replace(os.sep, posixpath.sep)
