"""Layers of a policy: each file that a policy consists of, with the locations of its values."""

from __future__ import annotations

import posixpath
from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple

from gpulint.policy.config.files import Reader, SettingsError, normalise
from gpulint.source.documents import Document, Path
from gpulint.source.repository import ignored

GLOBS_MAX = 5_000


class Layer(NamedTuple):
    """One file of a policy: its values with locations, and the folder to which its globs are relative.

    `realm` contains the file and everything that it may name: the repository, a package, or the built-in packs.
    """

    reader: Reader
    path: str
    realm: str
    document: Document
    inside: Path
    stated: Mapping[str, Any]
    folder: str

    def place(self, path: Path, key: bool = False) -> str:
        """Return the location of a value."""
        while path and self.document.node((*self.inside, *path)) is None:
            path = path[:-1]
        at = self.document.locate((*self.inside, *path), key=key)
        return f"{at.path}:{at.line}:{at.column}"

    def resolve_path(self, stated: str) -> str | None:
        """Return a path relative to this file from the root; None if it leaves the realm."""
        if posixpath.isabs(stated) or "\\" in stated:
            return None
        return normalise(posixpath.join(posixpath.dirname(self.path), stated))

    def globs(self, path: Path) -> Iterator[str]:
        """Yield the lines at a path as lines of a .gitignore at the root; raise SettingsError for a useless line."""
        lines: Any = self.stated
        for step in path:
            lines = lines.get(step, ()) if isinstance(lines, dict) else lines[step]
        if len(lines) > GLOBS_MAX:
            raise SettingsError(f"{self.place(path)}: {len(lines):,} lines exceed the limit of {GLOBS_MAX:,}")
        for index, line in enumerate(lines):
            found = ignored.root_line(self.folder, line)
            if why := ignored.find_problem(line) or ignored.find_problem(found):
                raise SettingsError(f"{self.place((*path, index))}: {line!r} {why}")
            yield found

    @property
    def identity(self) -> tuple[str, str, Path]:
        return self.realm, self.path, self.inside


class Part(NamedTuple):
    """A layer, or one of its overrides, which is at `inside`."""

    layer: Layer
    stated: Mapping[str, Any]
    inside: Path = ()

    def place(self, path: Path, key: bool = False) -> str:
        return self.layer.place((*self.inside, *path), key=key)
