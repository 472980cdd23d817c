"""A tree of files with a root: which of them are read, and how those that belong together find each other."""

from __future__ import annotations

import abc
import contextlib
import copy
import functools
import itertools
import os
import pathlib
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, NamedTuple, TypeVar

from gpulint.report.model import Skip
from gpulint.source import documents
from gpulint.source.repository import ignored, listing
from gpulint.source.repository.joins import NOWHERE, Holding, Joins, Matching, Overlay, Scope, View
from gpulint.source.repository.listing import NEVER_ENTERED, Listed, Listing
from gpulint.source.repository.mentions import Mentions, Users
from gpulint.source.repository.objects import NAME
from gpulint.source.repository.snapshot import Snapshot
from gpulint.source.repository.source import FILE_BYTES_MAX, Gathered, Repository, Source

if TYPE_CHECKING:
    from typing import Self

    import pathspec

    from gpulint.source.documents import Document

__all__ = ["NAME", "NEVER_ENTERED", "ExcludedFile", "Tree"]

T = TypeVar("T")
LISTED_MAX = 100_000
"""The most files of a folder without git whose names are looked at."""


class ExcludedFile(NamedTuple):
    """The files that a run excludes, by displayed path and by path from the root."""

    shown: pathspec.GitIgnoreSpec | None = None
    at_root: pathspec.GitIgnoreSpec | None = None


class Tree(abc.ABC):
    """The files of a snapshot; paths are shown, and asked for, from `base`, the current folder.

    A tree with changed files is an overlay: it shares the snapshot and its indexes, with other contents for these files.
    """

    def __init__(self, snapshot: Snapshot, exclude: Sequence[str] = (), base: pathlib.Path | None = None) -> None:
        self.snapshot = snapshot
        self.root = pathlib.Path(snapshot.root)
        self.base = pathlib.Path.cwd() if base is None else pathlib.Path(os.path.abspath(base))
        self.exclude = ExcludedFile(ignored.compile(exclude) if exclude else None)
        self._base = str(self.base)
        self._changes: dict[str, bytes] = {}
        self._joins = Joins(self._list_scope, self._read_unchanged)
        self._view: View = self._joins
        self._programs: dict[Scope, dict[str, list[str]]] = {}
        self._mentions: dict[Scope, Mentions] = {}
        self._listed: set[str] = set()
        self._named: dict[tuple[Scope, str], tuple[str, ...]] = {}
        self._kept: dict[tuple[Scope, str], object] = {}

    @abc.abstractmethod
    def writable(self, path: str) -> pathlib.Path | None:
        """The place on the disk of a regular file inside the root that no link leads to; None where there is none."""

    # ---- for callers

    def leaving_out(self, at_root: Sequence[str], shown: Sequence[str] = ()) -> Self:
        """Return the tree without files that match lines of a .gitignore at the root, or further displayed paths."""
        other = copy.copy(self)
        other.exclude = ExcludedFile(*(ignored.compile(lines) if lines else None for lines in (shown, at_root)))
        other._view = other._joins = Joins(other._list_scope, other._read_unchanged)
        other._programs, other._mentions, other._listed, other._named, other._kept = {}, {}, set(), {}, {}
        return other.rewritten({}) if self._changes else other

    def rewritten(self, contents: Mapping[str, bytes]) -> Self:
        """Return an overlay: the repository with other contents for some files."""
        other = copy.copy(self)
        other._changes = self._changes | {self._locate(path): content for path, content in contents.items()}
        other._view = Overlay(self._joins, {self._display(place): text for place, text in other._changes.items()})
        return other

    def sources(self, paths: Sequence[str]) -> Iterator[Source | Skip]:
        """The files named, and those below the folders named that git would not ignore, in sorted order."""
        places = [self._locate(path) for path in paths]
        for path, place in zip(paths, places, strict=True):
            if not self.snapshot.kind(place):
                raise FileNotFoundError(f"there is no file or folder {path}")
        every = self._list(places)
        self._listed |= {os.path.basename(listed.place) for listed in every if documents.is_program(listed.place)}
        for listed in every:
            yield self._source(listed.place) if not listed.why else self._skip(*listed)

    def list_unread(self) -> list[Skip]:
        """What the system refused to read so far, whether a path named it or another file refers to it."""
        unread = sorted(self.snapshot.unread.items())
        return [self._skip(place, listing.explain(error), "unreadable") for place, error in unread]

    def has(self, path: str) -> bool:
        """Whether anything lies at a path that `sources` is asked for."""
        return bool(self.snapshot.kind(self._locate(path)))

    def read(self, path: str) -> bytes | None:
        """A file inside the root, by its path as shown; None where there is none that may be read."""
        return self._read_inside(self._base, path)

    def read_documents(self, path: str) -> tuple[Document, ...]:
        """The documents of a file inside the root, parsed once; none where it cannot be read."""
        return self._view.parse(path)

    def find_root_path(self, path: str) -> str | None:
        """The path from the root of a file by its path as shown; None where it lies elsewhere."""
        place = self._locate(path)
        is_below = place != self.snapshot.root and self.snapshot.is_inside(place)
        return self.snapshot.path_from_root(place) if is_below else None

    def render_root_path(self, path: str) -> str:
        """The path as shown of a file by its path from the root."""
        return self._display(os.path.normpath(os.path.join(self.snapshot.root, path)))

    def read_at_root(self, path: str) -> bytes | None:
        """A file by its path from the root; None where there is none that may be read."""
        return self._read_inside(self.snapshot.root, path)

    def head(self, path: str, length: int) -> bytes | None:
        """The first bytes of a file that `read` would find, of whatever size it is."""
        place = self._resolve_inside(self._base, path)
        if place is None:
            return None
        if place in self._changes:
            return self._changes[place][:length]
        try:
            return self.snapshot.head(place, length)
        except OSError as error:
            self.snapshot.record(place, error)
            return None
        except UnicodeError:
            return None

    def list_files(self, path: str) -> Sequence[str]:
        """The paths of the files of any format below a folder inside the root, in sorted order; the path itself of a file."""
        place = self._resolve_inside(self._base, path)
        return tuple(map(self._display, listing.list_every_file(self.snapshot, place))) if place is not None else ()

    def exists(self, path: str) -> bool:
        """Whether `read` would find a file or folder there."""
        return self._resolve_inside(self._base, path) is not None

    def find_programs(self, name: str, near: str) -> Sequence[str]:
        """The program files of that name among those that belong together with `near`, in sorted order.

        A name that neither git tracks nor the run lists is not searched for.
        """
        scope = self._find_whole(near)
        if scope not in self._programs and name not in self._listed and not self.snapshot.may_hold_name(name):
            return ()
        return self._index_programs(scope).get(name, ())

    def _index_programs(self, scope: Scope) -> Mapping[str, list[str]]:
        """The program files of a scope by their base names."""
        if scope not in self._programs:
            found: dict[str, list[str]] = {}
            for listed in self._list([scope.folder]):
                if not listed.why and documents.is_program(listed.place):
                    found.setdefault(os.path.basename(listed.place), []).append(self._display(listed.place))
            self._programs[scope] = found
        return self._programs[scope]

    def find_named(self, names: str, near: str) -> Sequence[str]:
        """The files of any format whose name matches a regular expression among those that belong together with `near`.

        They are those that git tracks, in sorted order; without git, those of the folder.
        """
        scope = self._find_whole(near)
        if (scope, names) not in self._named:
            pattern = re.compile(names)
            places = (place for place in self._list_places(scope) if pattern.fullmatch(place.rpartition(os.sep)[2]))
            found = [self._display(place) for place in places if not self._is_excluded(place)]
            self._named[scope, names] = tuple(sorted(found))
        return self._named[scope, names]

    def _list_places(self, scope: Scope) -> Iterable[str]:
        """The files of any format of a scope, as git tracks them or as they lie on the disk."""
        tracked = self.snapshot.list_tracked()
        if not tracked:
            return itertools.islice(listing.list_every_file(self.snapshot, scope.folder), LISTED_MAX)
        below = scope.folder + os.sep
        places = (os.path.join(self.snapshot.root, path) for path in tracked)
        return (place for place in places if place.startswith(below))

    def list_naming(self, path: str) -> Sequence[str]:
        """The specs of the repository that name a program outside comments, as one does that starts it."""
        return self._find_mentions(path).list_naming(path)

    def list_importers(self, path: str) -> Sequence[str]:
        """The programs of the repository that may import a module and are no tests."""
        return self._find_mentions(path).list_importers(path)

    def list_imported(self, path: str) -> Sequence[str]:
        """The programs of the repository that a program may import, directly or through others."""
        return self._find_mentions(path).list_imported(path)

    def find_users(self, paths: Sequence[str]) -> Users:
        """The files whose workloads may rest on these files, which belong together."""
        return self._find_mentions(paths[0]).find_users(paths) if paths else Users(())

    def _find_mentions(self, near: str) -> Mentions:
        scope = self._find_whole(near)
        if scope not in self._mentions:
            specs = tuple(self._list_scope(scope))
            self._mentions[scope] = Mentions(
                specs,
                self._read_unchanged,
                functools.partial(self.find_programs, near=near),
                functools.partial(self._index_programs, scope),
            )
        return self._mentions[scope]

    def keep(self, name: str, build: Callable[[Repository], T], near: str) -> T:
        """What is worked out once from the files that belong together with that of `near`, as they are in the snapshot."""
        key = self._find_whole(near), name
        if key not in self._kept:
            plain = copy.copy(self)
            plain._changes, plain._view = {}, self._joins
            self._kept[key] = build(plain)
        return self._kept[key]  # type: ignore[return-value]

    def search(self, pattern: str, near: str) -> str | None:
        """The first file of the repository that a regular expression is found in.

        Where nothing says that the folders of the root belong together, only the one that holds `near` is searched.
        """
        return next(iter(self._view.find(Matching(self._find_whole(near), NOWHERE, pattern))), None)

    def objects(self, kind: str, name: str, near: str) -> tuple[Document, ...]:
        """The objects of that kind and name: those in the folder of `near` where it holds any, else all there are."""
        for scope in (self._find_folder(near), self._find_whole(near)):
            if found := self._view.gather(Holding(scope, kind, name, exact=True)).documents:
                return found
        return ()

    def neighbours(self, kind: str, name: str, near: str) -> Gathered:
        """The objects of a kind in the folder of `near` whose file mentions a name as one of an object; `""` is any."""
        return self._view.gather(Holding(self._find_folder(near), kind, name))

    def read_siblings(self, near: str) -> Iterator[Source]:
        """The files of the folder of `near`, in sorted order."""
        for place in self._list_folder(self._find_folder(near).folder):
            source = self._source(place)
            if isinstance(source, Source):
                yield source

    def gather(self, names: str, words: str, near: str) -> Gathered:
        """The documents of all files whose path one regular expression is found in, or whose content another."""
        return self._view.gather(Matching(self._find_whole(near), names, words))

    # ---- how it is found

    def _find_folder(self, near: str) -> Scope:
        return Scope(os.path.dirname(self._locate(near)), deep=False)

    def _find_whole(self, near: str) -> Scope:
        """The files that belong together with that of `near`."""
        root = self.snapshot.root
        if self.snapshot.is_whole():
            return Scope(root, deep=True)
        place = self._locate(near)
        inside = self.snapshot.path_from_root(place).split("/") if self.snapshot.is_inside(place) else []
        return Scope(os.path.join(root, inside[0]) if len(inside) > 1 else root, deep=True)

    def _list_scope(self, scope: Scope) -> Iterator[str]:
        if not scope.deep:
            return map(self._display, self._list_folder(scope.folder))
        listed = (found.place for found in self._list([scope.folder]) if not found.why)
        return (self._display(place) for place in listed if not documents.is_program(place))

    def _list_folder(self, folder: str) -> Iterator[str]:
        """The files of one folder, without those below it."""
        if self.snapshot.is_reachable(folder) or folder == self.snapshot.root:
            with contextlib.suppress(OSError):
                yield from listing.list_folder(self.snapshot, folder)

    def _list(self, places: Sequence[str]) -> list[Listed]:
        found = Listing(self.snapshot, self._is_excluded)
        for place in sorted(set(places)):
            found.add(place)
        return found.sort()

    def _read_unchanged(self, path: str) -> bytes | None:
        """A file by its path as shown, as it is in the snapshot."""
        place = self._resolve_inside(self._base, path)
        return None if place is None else self._read_place(place)

    def _read_inside(self, base: str, path: str) -> bytes | None:
        place = self._resolve_inside(base, path)
        if place is None:
            return None
        return self._changes[place] if place in self._changes else self._read_place(place)

    def _read_place(self, place: str) -> bytes | None:
        """A file of the snapshot; None where it cannot be read."""
        try:
            return self.snapshot.content(place)
        except (OSError, UnicodeError):
            return None

    def _resolve_inside(self, base: str, path: str) -> str | None:
        """The place of a path inside the root that no link leads to."""
        if "\0" in path:
            return None
        place = os.path.normpath(os.path.join(base, path))
        return place if self.snapshot.is_reachable(place) else None

    def _locate(self, path: str) -> str:
        return os.path.normpath(os.path.join(self._base, path))

    def _source(self, place: str) -> Source | Skip:
        if place in self._changes:
            return Source(self._display(place), self._changes[place])
        try:
            content = self.snapshot.content(place)
        except OSError as error:
            return self._skip(place, listing.explain(error), "unreadable")
        if content is None and documents.is_program(place):
            return self._skip(place, "a large program", "language")
        if content is None:
            return self._skip(place, f"larger than {FILE_BYTES_MAX // 1_000_000} MB or not a regular file", "limit")
        return Source(self._display(place), content)

    def _skip(self, place: str, why: str, cause: str) -> Skip:
        return Skip(self._display(place), why, cause)

    def _display(self, place: str) -> str:
        """The path from the base where it lies below, with forward slashes."""
        return ignored.make_relative(place, self._base)

    def _is_excluded(self, place: str) -> bool:
        shown, at_root = self.exclude
        if shown is None and at_root is None:
            return False
        name = ignored.make_relative(place, self.snapshot.root)
        named = (shown, name), (shown, self._display(place)), (at_root, name)
        return any(ignored.matches_name(spec, one) for spec, one in named if spec is not None)
