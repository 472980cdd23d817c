"""Which files below some places are read, which are not and why, from the entries of a snapshot."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator
from typing import NamedTuple

from gpulint.source import documents, os_errors
from gpulint.source.repository import ignored
from gpulint.source.repository.ignored import IgnoreFile
from gpulint.source.repository.snapshot import Entry, Snapshot

GIT = ".git"
INSTALLED = frozenset({"node_modules", ".venv"})
"""Folders of installed packages: large, and ignored unless git tracks a file in them."""
NEVER_ENTERED = INSTALLED | {GIT}
DIRECTORY_DEPTH_MAX = 100
SCRIPT = b"#!"


class Listed(NamedTuple):
    """A file to read, or a place that is not read for a reason, with its cause in one word."""

    place: str
    why: str = ""
    cause: str = ""


SUBMODULE = "a git submodule, which is a separate repository"
EXCLUDED = "excluded by gpulint.yaml or --exclude"


class Listing:
    """The files below some places that git would not ignore or that it tracks. A file is listed once."""

    def __init__(self, snapshot: Snapshot, is_excluded: Callable[[str], bool]) -> None:
        self._snapshot = snapshot
        self._is_excluded = is_excluded
        self._found: dict[str, Listed] = {}
        self._links: list[str] = []
        self._entered: set[str] = set()

    def add(self, place: str) -> None:
        """Add a file, or the files below a folder; what a user names is read even if git ignores it."""
        kind = self._snapshot.kind(place)
        if self._is_excluded(place):
            self._found[place] = Listed(place, EXCLUDED, "excluded")
        elif kind == "folder":
            self._enter(place, collect_patterns(self._snapshot, place), 0, tracked_only=False)
        elif kind == "link":
            self._links.append(place)
        elif kind == "submodule":
            self._found[place] = Listed(place, SUBMODULE, "submodule")
        else:
            self._found[place] = Listed(place)

    def sort(self) -> list[Listed]:
        """Return what was found, in the order of a walk from the root; harmless links are left out."""
        links = {link: self._judge(link) for link in self._links}
        every = {**self._found, **{link: listed for link, listed in links.items() if listed}}
        return sorted(every.values(), key=lambda listed: listed.place.split(os.sep))

    def _enter(self, folder: str, above: tuple[IgnoreFile, ...], depth: int, tracked_only: bool) -> None:
        if depth > DIRECTORY_DEPTH_MAX:
            self._found[folder] = Listed(folder, f"more than {DIRECTORY_DEPTH_MAX} folders deep", "limit")
            return
        try:
            entries = self._snapshot.entries(folder)
        except OSError as error:
            self._found[folder] = Listed(folder, explain(error), "unreadable")
            return
        self._entered.add(folder)
        patterns = above + self._snapshot.ignore_patterns(folder)
        for entry in entries:
            place = os.path.join(folder, entry.name)
            if not _may_be_read(entry):
                continue
            ignored_here = tracked_only or entry.name in INSTALLED or _ignores(patterns, place, entry)
            if ignored_here and not self._is_tracked(place):
                continue
            if self._is_excluded(place):
                self._exclude(place, entry)
            elif entry.kind == "folder":
                self._enter(place, patterns, depth + 1, ignored_here)
            elif entry.kind == "link":
                self._links.append(place)
            elif entry.kind == "submodule":
                self._found[place] = Listed(place, SUBMODULE, "submodule")
            elif _is_file_read(entry.name) or is_script(self._snapshot, place):
                self._found[place] = Listed(place)

    def _exclude(self, place: str, entry: Entry) -> None:
        if entry.kind == "folder" or documents.is_read(entry.name):
            self._found[place] = Listed(place, EXCLUDED, "excluded")

    def _is_tracked(self, place: str) -> bool:
        """Return whether git tracks a place, or a file below it, although it is ignored."""
        snapshot = self._snapshot
        return snapshot.is_inside(place) and snapshot.holds_tracked(snapshot.path_from_root(place))

    def _judge(self, link: str) -> Listed | None:
        """Return why a link is not read; None if it cannot hide a spec, or if its target is read at its own place."""
        target, why = self._snapshot.find_target(link)
        kind = self._snapshot.kind(target) if not why else ""
        if not why and (target in self._entered or (target in self._found and not self._found[target].why)):
            return None
        name = os.path.basename(link)
        if not (documents.is_read(name) or kind == "folder" or (kind != "file" and not has_suffix(name))):
            return None
        return Listed(link, f"a symbolic link that {why or f'leads to a {kind} that this run does not check'}", "link")


def collect_patterns(snapshot: Snapshot, folder: str) -> tuple[IgnoreFile, ...]:
    """Return the ignore patterns from the root down to above a folder; none if they ignore the folder itself."""
    found: tuple[IgnoreFile, ...] = ()
    for above in _list_above(snapshot, folder):
        found += snapshot.ignore_patterns(above)
    return () if ignored.ignores(found, folder, is_folder=True) else found


def list_folder(snapshot: Snapshot, folder: str) -> Iterator[str]:
    """Yield the files of a folder, without those below it, that are of a kind that is read."""
    for entry in snapshot.entries(folder):
        place = os.path.join(folder, entry.name)
        if entry.kind == "file" and (documents.is_read(entry.name) or is_script(snapshot, place)):
            yield place


def list_every_file(snapshot: Snapshot, place: str, depth: int = 0) -> Iterator[str]:
    """Yield the files of any kind at a place and below it."""
    kind = snapshot.kind(place)
    if kind == "file":
        yield place
    if kind != "folder" or depth > DIRECTORY_DEPTH_MAX:
        return
    try:
        entries = snapshot.entries(place)
    except OSError:
        return
    for entry in entries:
        if entry.kind == "file" or (entry.kind == "folder" and entry.name not in NEVER_ENTERED):
            yield from list_every_file(snapshot, os.path.join(place, entry.name), depth + 1)


def is_script(snapshot: Snapshot, place: str) -> bool:
    """Return whether a file without a suffix begins with `#!`."""
    if has_suffix(os.path.basename(place)):
        return False
    try:
        return snapshot.head(place, len(SCRIPT)) == SCRIPT
    except OSError as error:
        snapshot.record(place, error)
        return False


def has_suffix(name: str) -> bool:
    """Return whether a file name has a suffix; `.name` has none."""
    return 0 < name.rfind(".") < len(name) - 1


def explain(error: OSError) -> str:
    """Return why a file or folder cannot be read."""
    return f"cannot be read: {os_errors.explain(error)}"


def _may_be_read(entry: Entry) -> bool:
    """Return whether the name and kind of an entry allow that it is read; a file without a suffix may be a script."""
    if entry.kind == "folder":
        return entry.name != GIT
    return entry.kind in ("link", "submodule") or (
        entry.kind == "file" and (_is_file_read(entry.name) or not has_suffix(entry.name))
    )


def _is_file_read(name: str) -> bool:
    return documents.is_read(name) or documents.is_program(name)


def _ignores(patterns: tuple[IgnoreFile, ...], place: str, entry: Entry) -> bool:
    return bool(patterns) and ignored.ignores(patterns, place, entry.kind == "folder")


def _list_above(snapshot: Snapshot, folder: str) -> Iterable[str]:
    """Return the folders from the root down to above a folder."""
    above = []
    while folder != snapshot.root and snapshot.is_inside(folder):
        folder = os.path.dirname(folder)
        above.append(folder)
    return reversed(above)
