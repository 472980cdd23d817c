"""Governing: which policy a file stands under, in a repository that may have several; each policy is read once."""

from __future__ import annotations

import posixpath
from typing import TYPE_CHECKING

from gpulint.policy.config import settings
from gpulint.policy.config.files import Reader
from gpulint.policy.config.settings import Accepted, Override, Settings
from gpulint.source.repository import ignored

if TYPE_CHECKING:
    import pathspec

NOTHING: tuple[tuple[str, ...], ...] = ()


class Policies:
    """The policies of a repository by their folders; paths are from its root. `only` is in the place of all of them."""

    def __init__(self, reader: Reader, only: Settings | None = None) -> None:
        self.reader = reader
        self.only = only
        self._nearest: dict[str, Settings] = {}
        self._excluding: dict[str, tuple[tuple[str, ...], ...]] = {}
        self._specs: dict[tuple[str, ...], pathspec.GitIgnoreSpec] = {}
        self._over: dict[tuple[str, tuple[Override, ...]], Settings] = {}

    def nearest(self, folder: str) -> Settings:
        """The policy of a folder, else of the nearest above it, without what it says of single paths."""
        folder = next(iter(settings.upwards(folder)))
        if folder not in self._nearest:
            self._read(folder)
        return self._nearest[folder]

    def _read(self, folder: str) -> None:
        """The policy of one folder; one that lies in what a policy above leaves out is passed by."""
        above, lines = settings.DEFAULTS, NOTHING
        if self.only is not None:
            self._nearest[folder], self._excluding[folder] = self.only, (self.only.exclude,)
            return
        if folder:
            parent = posixpath.dirname(folder)
            above, lines = self.nearest(parent), self._excluding[parent]
        left_out = any(self.matches(part, f"{folder}/") for part in lines)
        own = None if left_out else settings.stated(self.reader, folder)
        self._nearest[folder] = own or above
        self._excluding[folder] = (*lines, own.exclude) if own and own.exclude else lines

    def at(self, path: str) -> Settings:
        """What governs one file: its nearest policy, with the overrides that match it."""
        found = self.nearest(posixpath.dirname(path))
        chosen = self.overrides(path)
        if not chosen:
            return found
        key = found.path, chosen
        if key not in self._over:
            from gpulint.policy.config import merge as merging

            self._over[key] = merging.settings(found.layers, chosen)
        return self._over[key]

    def overrides(self, path: str) -> tuple[Override, ...]:
        """The overrides of its policy that match a file."""
        found = self.nearest(posixpath.dirname(path))
        return tuple(one for one in found.overrides if self.matches(one.paths, path))

    def met(self) -> tuple[Settings, ...]:
        """The policies that were read, each once."""
        return tuple({found.path: found for found in self._nearest.values() if found.path}.values())

    def reaches(self, accepted: Accepted, path: str) -> bool:
        """Whether what a policy accepts is about a file."""
        return not accepted.paths or self.matches(accepted.paths, path)

    def excludes(self, path: str) -> bool:
        """Whether a policy above a file leaves it out."""
        return any(self.matches(lines, path) for lines in self.excluded(posixpath.dirname(path)))

    def excluded(self, folder: str) -> tuple[tuple[str, ...], ...]:
        """What the policies of a folder and of those above it leave out, as lines of a .gitignore at the root."""
        self.nearest(folder)
        return self._excluding[folder]

    def matches(self, lines: tuple[str, ...], path: str) -> bool:
        """Whether a path is among those that lines of a .gitignore at the root name."""
        if not lines:
            return False
        if lines not in self._specs:
            self._specs[lines] = ignored.spec(lines)
        return self._specs[lines].match_file(path)
