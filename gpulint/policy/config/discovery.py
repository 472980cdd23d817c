"""Find the policy that applies to a file in a repository with several policies. Each is read once."""

from __future__ import annotations

import posixpath
from typing import TYPE_CHECKING

from gpulint.policy.config import load, settings
from gpulint.policy.config.files import Reader
from gpulint.policy.config.settings import AcceptedFindings, Override, Settings
from gpulint.source.repository import ignored

if TYPE_CHECKING:
    import pathspec

NO_LINES: tuple[tuple[str, ...], ...] = ()


class Policies:
    """The policies of a repository by folder. Paths are relative to its root. `only` replaces all of them."""

    def __init__(self, reader: Reader, only: Settings | None = None) -> None:
        self.reader = reader
        self.only = only
        self._nearest: dict[str, Settings] = {}
        self._excluding: dict[str, tuple[tuple[str, ...], ...]] = {}
        self._specs: dict[tuple[str, ...], pathspec.GitIgnoreSpec] = {}
        self._over: dict[tuple[str, tuple[Override, ...]], Settings] = {}

    def nearest(self, folder: str) -> Settings:
        """Return the policy of a folder or of the nearest folder above it, without overrides."""
        folder = next(iter(load.list_parents(folder)))
        if folder not in self._nearest:
            self._read(folder)
        return self._nearest[folder]

    def _read(self, folder: str) -> None:
        """Read the policy of one folder, unless a policy above excludes the folder."""
        above, lines = settings.DEFAULTS, NO_LINES
        if self.only is not None:
            self._nearest[folder], self._excluding[folder] = self.only, (self.only.exclude,)
            return
        if folder:
            parent = posixpath.dirname(folder)
            above, lines = self.nearest(parent), self._excluding[parent]
        left_out = any(self.matches(part, f"{folder}/") for part in lines)
        own = None if left_out else load.read_folder(self.reader, folder)
        self._nearest[folder] = own or above
        self._excluding[folder] = (*lines, own.exclude) if own and own.exclude else lines

    def resolve(self, path: str) -> Settings:
        """Return the settings of one file: its nearest policy with the matching overrides."""
        found = self.nearest(posixpath.dirname(path))
        chosen = self.overrides(path)
        if not chosen:
            return found
        key = found.path, chosen
        if key not in self._over:
            from gpulint.policy.config import merge

            self._over[key] = merge.merge_settings(found.layers, chosen)
        return self._over[key]

    def overrides(self, path: str) -> tuple[Override, ...]:
        """Return the overrides of a file's policy that match the file."""
        found = self.nearest(posixpath.dirname(path))
        return tuple(override for override in found.overrides if self.matches(override.paths, path))

    def list_policies(self) -> tuple[Settings, ...]:
        """Return the policies that were read, each once."""
        return tuple({found.path: found for found in self._nearest.values() if found.path}.values())

    def reaches(self, accepted: AcceptedFindings, path: str) -> bool:
        """True if an accepted finding of a policy may be in a file."""
        return not accepted.paths or self.matches(accepted.paths, path)

    def excludes(self, path: str) -> bool:
        """True if a policy above a file excludes it."""
        return any(self.matches(lines, path) for lines in self.list_excludes(posixpath.dirname(path)))

    def list_excludes(self, folder: str) -> tuple[tuple[str, ...], ...]:
        """Return the exclude lines of a folder's policies, as lines of a .gitignore at the root."""
        self.nearest(folder)
        return self._excluding[folder]

    def matches(self, lines: tuple[str, ...], path: str) -> bool:
        """True if the lines of a .gitignore at the root match a path."""
        if not lines:
            return False
        if lines not in self._specs:
            self._specs[lines] = ignored.compile(lines)
        return self._specs[lines].match_file(path)
