"""The tree of a commit: its files as git holds them, whatever lies on the disk."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from pathlib import Path, PurePosixPath

from gpulint.source import documents
from gpulint.source.git import Git, Item
from gpulint.source.repository.ignored import IgnoreFile
from gpulint.source.repository.snapshot import LINK_BYTES_MAX, Entry, Snapshot
from gpulint.source.repository.source import FILE_BYTES_MAX
from gpulint.source.repository.tree import Tree


class TreeIndex:
    """The files, links and submodules of a commit by path from the root, and the entries of each folder."""

    def __init__(self, git: Git, commit: str) -> None:
        self.items: dict[str, Item] = dict(git.items(commit))
        self.folders: dict[str, dict[str, str]] = {"": {}}
        for path, item in self.items.items():
            folder, _, name = path.rpartition("/")
            self._folder(folder)[name] = item.kind
        files = [(path, item.id) for path, item in self.items.items() if item.kind == "file"]
        links = [item.id for item in self.items.values() if item.kind == "link"]
        git.expect(commit, (*(one for _, one in files), *links), [one for path, one in files if _is_readable(path)])

    def _folder(self, path: str) -> dict[str, str]:
        if path not in self.folders:
            self.folders[path] = {}
            above, _, name = path.rpartition("/")
            self._folder(above)[name] = "folder"
        return self.folders[path]


class CommitSnapshot(Snapshot):
    """The files of a commit, which never change. Git keeps what it has read.

    What .gitignore says does not matter: what a commit holds, git does not ignore.
    """

    def __init__(self, git: Git, held: TreeIndex) -> None:
        super().__init__(os.path.abspath(git.root))
        self.git = git
        self.held = held

    def content(self, place: str) -> bytes | None:
        """Return the bytes of a file of the commit."""
        item = self._file(place)
        return self.git.content(item.id) if item and self.git.size(item.id) <= FILE_BYTES_MAX else None

    def head(self, place: str, length: int) -> bytes | None:
        """Return the first bytes of a file of the commit."""
        item = self._file(place)
        return self.git.head(item.id, length) if item else None

    def is_whole(self) -> bool:
        """A commit is a whole repository."""
        return True

    def holds_tracked(self, path: str) -> bool:
        """Git tracks whatever a commit holds."""
        return True

    def list_tracked(self) -> Sequence[str]:
        """Return the paths of the commit."""
        return tuple(path for path, item in self.held.items.items() if item.kind == "file")

    def ignore_patterns(self, folder: str) -> tuple[IgnoreFile, ...]:
        """A commit ignores nothing."""
        return ()

    def _file(self, place: str) -> Item | None:
        item = self.held.items.get(self.path_from_root(place)) if self.is_inside(place) else None
        return item if item and item.kind == "file" else None

    def _find_kind(self, place: str) -> str:
        if not self.is_inside(place):
            return ""
        path = self.path_from_root(place)
        if path in self.held.folders:
            return "folder"
        item = self.held.items.get(path)
        return item.kind if item else ""

    def _list(self, folder: str) -> Iterator[Entry]:
        return (Entry(*one) for one in self.held.folders.get(self.path_from_root(folder), {}).items())

    def _read_target(self, link: str) -> str:
        item = self.held.items[self.path_from_root(link)]
        if self.git.size(item.id) > LINK_BYTES_MAX:
            raise OSError("the path of a link is too long")
        return os.fsdecode(self.git.content(item.id))


class GitTree(Tree):
    """The files of a commit; paths are shown, and asked for, from `base`, as those of the work tree are."""

    def __init__(
        self,
        git: Git,
        commit: str,
        exclude: Sequence[str] = (),
        base: Path | None = None,
        held: TreeIndex | None = None,
    ) -> None:
        self.git = git
        self.commit = commit
        self.held = held or TreeIndex(git, commit)
        super().__init__(CommitSnapshot(git, self.held), exclude, base)

    def writable(self, path: str) -> Path | None:
        """Nothing of a commit can be written."""
        return None


def _is_readable(path: str) -> bool:
    name = PurePosixPath(path)
    return documents.is_read(name.name) or documents.is_program(name.name) or not name.suffix
