"""The tree of a commit: its files as git holds them, whatever lies on the disk."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path, PurePosixPath
from typing import TYPE_CHECKING

from gpulint.source import documents
from gpulint.source.git import Git, Item
from gpulint.source.repository.ignored import IgnoreFile
from gpulint.source.repository.source import FILE_BYTES_MAX
from gpulint.source.repository.tree import Entry, Tree

if TYPE_CHECKING:
    from typing import Self


class TreeIndex:
    """The files, links and submodules of a commit by path from the root, and the entries of each folder."""

    def __init__(self, git: Git, commit: str) -> None:
        self.items: dict[str, Item] = dict(git.items(commit))
        self.folders: dict[str, dict[str, str]] = {"": {}}
        for path, item in self.items.items():
            folder, _, name = path.rpartition("/")
            self._folder(folder)[name] = item.kind
        files = [(path, item.id) for path, item in self.items.items() if item.kind == "file"]
        git.expect(commit, (one for _, one in files), [one for path, one in files if _is_readable(path)])

    def _folder(self, path: str) -> dict[str, str]:
        if path not in self.folders:
            self.folders[path] = {}
            above, _, name = path.rpartition("/")
            self._folder(above)[name] = "folder"
        return self.folders[path]


class GitTree(Tree):
    """The files of a commit; paths are shown, and asked for, from `base`, as those of the work tree are.

    What .gitignore says does not matter: what a commit holds, git does not ignore.
    """

    def __init__(
        self,
        git: Git,
        commit: str,
        exclude: Sequence[str] = (),
        base: Path | None = None,
        held: TreeIndex | None = None,
    ) -> None:
        super().__init__(git.root, exclude, base)
        self.git = git
        self.commit = commit
        self.held = held or TreeIndex(git, commit)

    def writable(self, path: str) -> Path | None:
        return None

    def _again(self) -> Self:
        return type(self)(self.git, self.commit, base=self.base, held=self.held)

    def _path(self, place: Path) -> str | None:
        """A place by its path from the root; empty is the root itself, None lies outside."""
        if place == self.root:
            return ""
        return place.relative_to(self.root).as_posix() if place.is_relative_to(self.root) else None

    def _kind(self, place: Path) -> str:
        path = self._path(place)
        if path is None:
            return ""
        if path in self.held.folders:
            return "folder"
        item = self.held.items.get(path)
        return item.kind if item else ""

    def _is_reachable(self, place: Path) -> bool:
        return self._kind(place) not in ("", "link")

    def _entries(self, folder: Path) -> Sequence[Entry]:
        listed = self.held.folders.get(self._path(folder) or "", {})
        return sorted(Entry(*one) for one in listed.items())

    def _content(self, place: Path) -> bytes | None:
        item = self._file(place)
        return self.git.content(item.id) if item and self.git.size(item.id) <= FILE_BYTES_MAX else None

    def _first_bytes(self, place: Path, length: int) -> bytes | None:
        item = self._file(place)
        return self.git.head(item.id, length) if item else None

    def _file(self, place: Path) -> Item | None:
        item = self.held.items.get(self._path(place) or "")
        return item if item and item.kind == "file" else None

    def _read_ignore_patterns(self, folder: Path) -> tuple[IgnoreFile, ...]:
        return ()

    def _is_whole(self) -> bool:
        return True


def _is_readable(path: str) -> bool:
    name = PurePosixPath(path)
    return documents.is_read(name.name) or not name.suffix
