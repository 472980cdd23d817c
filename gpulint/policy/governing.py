"""Governing: which policy a file stands under, in a repository that may have several; each policy is read once."""

from __future__ import annotations

import posixpath
from typing import TYPE_CHECKING

from gpulint.policy import settings
from gpulint.policy.reader import Reader
from gpulint.policy.settings import Settings
from gpulint.repository import ignored

if TYPE_CHECKING:
    import pathspec

NOTHING: tuple[tuple[str, ...], ...] = ()


class Policies:
    """The policies of a repository by their folders; paths are from its root."""

    def __init__(self, reader: Reader) -> None:
        self.reader = reader
        self._nearest: dict[str, Settings] = {}
        self._excluding: dict[str, tuple[tuple[str, ...], ...]] = {}
        self._specs: dict[tuple[str, ...], pathspec.GitIgnoreSpec] = {}
        self._over: dict[tuple[str, tuple[int, ...]], Settings] = {}

    def nearest(self, folder: str) -> Settings:
        """The policy of a folder, else of the nearest above it, without what it says of single paths."""
        folder = next(iter(settings.upwards(folder)))
        if folder not in self._nearest:
            self._read(folder)
        return self._nearest[folder]

    def _read(self, folder: str) -> None:
        """The policy of one folder; one that lies in what a policy above leaves out is passed by."""
        above, lines = settings.DEFAULTS, NOTHING
        if folder:
            parent = posixpath.dirname(folder)
            above, lines = self.nearest(parent), self._excluding[parent]
        left_out = any(self._matches(part, f"{folder}/") for part in lines)
        own = None if left_out else settings.stated(self.reader, folder)
        self._nearest[folder] = own or above
        self._excluding[folder] = (*lines, own.exclude) if own and own.exclude else lines

    def at(self, path: str) -> Settings:
        """What governs one file: its nearest policy, with the overrides that match it."""
        found = self.nearest(posixpath.dirname(path))
        numbers = tuple(number for number, one in enumerate(found.overrides) if self._matches(one.paths, path))
        if not numbers:
            return found
        key = found.path, numbers
        if key not in self._over:
            from gpulint.policy import merging

            self._over[key] = merging.settings(found.layers, [found.overrides[number] for number in numbers])
        return self._over[key]

    def excludes(self, path: str) -> bool:
        """Whether a policy above a file leaves it out."""
        return any(self._matches(lines, path) for lines in self.excluded(posixpath.dirname(path)))

    def excluded(self, folder: str) -> tuple[tuple[str, ...], ...]:
        """What the policies of a folder and of those above it leave out, as lines of a .gitignore at the root."""
        self.nearest(folder)
        return self._excluding[folder]

    def _matches(self, lines: tuple[str, ...], path: str) -> bool:
        if not lines:
            return False
        if lines not in self._specs:
            self._specs[lines] = ignored.spec(lines)
        return self._specs[lines].match_file(path)
