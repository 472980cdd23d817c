"""A tree of files with a root: which of them are read, and how those that belong together find each other."""

from __future__ import annotations

import abc
import contextlib
import itertools
import os
import pathlib
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, NamedTuple

from gpulint.report.model import Skip
from gpulint.source import documents
from gpulint.source.repository import ignored
from gpulint.source.repository.ignored import IgnoreFile
from gpulint.source.repository.source import FILE_BYTES_MAX, Source

if TYPE_CHECKING:
    from typing import Self

    import pathspec

    from gpulint.source.documents import Document

NEVER_ENTERED = frozenset({".git", "node_modules", ".venv"})
SEARCHED_FILES_MAX = 20_000
DIRECTORY_DEPTH_MAX = 100

KIND = re.compile(rb"""kind["']?[ \t]*:[ \t]*["']?(\w+)""")
NAME = re.compile(rb"""name["']?[ \t]*:[ \t]*["']?([\w.-]+)""")
DEFINES = b"kind: CustomResourceDefinition"
"""Bundles of definitions are large, and nothing refers to their content."""


class Entry(NamedTuple):
    """An entry of a folder: a `file`, `folder`, `link` or `submodule` (a commit of another repository)."""

    name: str
    kind: str


class _Held(NamedTuple):
    """The words that follow `kind:` and `name:` anywhere in one file."""

    path: str
    kinds: frozenset[bytes]
    names: frozenset[bytes]


class ExcludedFile(NamedTuple):
    """The files that a run excludes, by displayed path and by path from the root."""

    shown: pathspec.GitIgnoreSpec | None = None
    at_root: pathspec.GitIgnoreSpec | None = None


class Tree(abc.ABC):
    """Files below a root; paths are shown, and asked for, from `base`, the current folder."""

    def __init__(self, root: pathlib.Path, exclude: Sequence[str] = (), base: pathlib.Path | None = None) -> None:
        self.root = pathlib.Path(os.path.abspath(root))
        self.base = pathlib.Path.cwd() if base is None else pathlib.Path(os.path.abspath(base))
        self.exclude = ExcludedFile(ignored.compile(exclude) if exclude else None)
        self._searched: dict[tuple[str, pathlib.Path], str | None] = {}
        self._index: dict[pathlib.Path, tuple[_Held, ...]] = {}
        self._beside: dict[pathlib.Path, tuple[_Held, ...]] = {}
        self._read: dict[str, tuple[Document, ...]] = {}
        self._gathered: dict[tuple[str, str, pathlib.Path], tuple[Document, ...]] = {}
        self._rewritten: dict[pathlib.Path, bytes] = {}

    # ---- what a kind of tree has to say

    @abc.abstractmethod
    def _again(self) -> Self:
        """The same tree, of which nothing is known yet."""

    @abc.abstractmethod
    def _kind(self, place: pathlib.Path) -> str:
        """Return the kind of entry at a path; empty if there is none."""

    @abc.abstractmethod
    def _is_reachable(self, place: pathlib.Path) -> bool:
        """Whether anything lies at a place below the root that no link leads to."""

    @abc.abstractmethod
    def _entries(self, folder: pathlib.Path) -> Sequence[Entry]:
        """Return the sorted entries of a folder; raise OSError if it cannot be read."""

    @abc.abstractmethod
    def _content(self, place: pathlib.Path) -> bytes | None:
        """The bytes of a regular file that is not too large; OSError where they cannot be read."""

    @abc.abstractmethod
    def _first_bytes(self, place: pathlib.Path, length: int) -> bytes | None:
        """The first bytes of a regular file of whatever size."""

    @abc.abstractmethod
    def _read_ignore_patterns(self, folder: pathlib.Path) -> tuple[IgnoreFile, ...]:
        """Return the patterns of a folder's .gitignore."""

    @abc.abstractmethod
    def _is_whole(self) -> bool:
        """Whether the root is known to be that of a repository, so that all its folders belong together."""

    @abc.abstractmethod
    def writable(self, path: str) -> pathlib.Path | None:
        """The place on the disk of a regular file inside the root that no link leads to; None where there is none."""

    # ---- what everyone asks

    def leaving_out(self, at_root: Sequence[str], shown: Sequence[str] = ()) -> Self:
        """Return the tree without files that match lines of a .gitignore at the root, or further displayed paths."""
        other = self._again()
        other.exclude = ExcludedFile(*(ignored.compile(lines) if lines else None for lines in (shown, at_root)))
        return other

    def rewritten(self, contents: Mapping[str, bytes]) -> Self:
        """Return the repository with other contents for some files. Cached data of the others is kept."""
        other = self._again()
        other.exclude = self.exclude
        other._rewritten = {self.base / os.path.normpath(path): content for path, content in contents.items()}
        other._searched = self._searched
        other._index = _update_index(self._index, contents)
        other._beside = _update_index(self._beside, contents)
        other._read = {path: found for path, found in self._read.items() if path not in contents}
        other._gathered = {
            asked: found
            for asked, found in self._gathered.items()
            if not any(document.path in contents for document in found)
        }
        return other

    def sources(self, paths: Sequence[str]) -> Iterator[Source | Skip]:
        """The files named, and those below the folders named that git would not ignore, in sorted order."""
        places = [pathlib.Path(os.path.normpath(self.base / path)) for path in paths]
        for path, place in zip(paths, places, strict=True):
            if not self._kind(place):
                raise FileNotFoundError(f"there is no file or folder {path}")
        seen: set[str] = set()
        for place in places:
            for source in self._list_below(place):
                if source.path not in seen:
                    seen.add(source.path)
                    yield source

    def has(self, path: str) -> bool:
        """Whether anything lies at a path that `sources` is asked for."""
        return bool(self._kind(pathlib.Path(os.path.normpath(self.base / path))))

    def read(self, path: str) -> bytes | None:
        """A file inside the root, by its path as shown; None where there is none that may be read."""
        return self._read_inside(self.base, path)

    def find_root_path(self, path: str) -> str | None:
        """The path from the root of a file by its path as shown; None where it lies elsewhere."""
        place = os.path.normpath(os.path.join(self.base, path))
        root = f"{self.root}{os.sep}".replace(os.sep * 2, os.sep)
        return place.removeprefix(root).replace(os.sep, "/") if place.startswith(root) else None

    def render_root_path(self, path: str) -> str:
        """The path as shown of a file by its path from the root."""
        return self._display(self.root / path)

    def read_at_root(self, path: str) -> bytes | None:
        """A file by its path from the root; None where there is none that may be read."""
        return self._read_inside(self.root, path)

    def head(self, path: str, length: int) -> bytes | None:
        """The first bytes of a file that `read` would find, of whatever size it is."""
        place = self._resolve_inside(self.base, path)
        try:
            return self._first_bytes(place, length) if place is not None else None
        except (OSError, ValueError):
            return None

    def list_files(self, path: str) -> Sequence[str]:
        """The paths of the files of any format below a folder inside the root, in sorted order; the path itself of a file."""
        place = self._resolve_inside(self.base, path)
        found = () if place is None else self._walk_every_file(place, 0)
        return tuple(self._display(one) for one in itertools.islice(found, SEARCHED_FILES_MAX))

    def exists(self, path: str) -> bool:
        """Whether `read` would find a file or folder there."""
        return self._resolve_inside(self.base, path) is not None

    def search(self, pattern: str, near: str) -> str | None:
        """The first file of the repository that a regular expression is found in, looked for once.

        Where nothing says that the folders of the root belong together, only the one that holds `near` is searched.
        """
        base = self._whole(near)
        if (pattern, base) not in self._searched:
            wanted = re.compile(pattern.encode())
            found = (one.path for one in self._files(base) if wanted.search(one.content))
            self._searched[pattern, base] = next(found, None)
        return self._searched[pattern, base]

    def objects(self, kind: str, name: str, near: str) -> tuple[Document, ...]:
        """The objects of that kind and name: those in the folder of `near` where it holds any, else all there are."""
        named = (document for document in self.neighbours(kind, name, near) if _is_named(document, name))
        return tuple(named) or tuple(
            document
            for document in self._find_in_index(self._index_folder(self._whole(near)), kind, name)
            if _is_named(document, name)
        )

    def neighbours(self, kind: str, name: str, near: str) -> tuple[Document, ...]:
        """The objects of a kind in the folder of `near` whose file mentions a name as one of an object; `""` is any."""
        folder = pathlib.Path(os.path.normpath(self.base / near)).parent
        if folder not in self._beside:
            self._beside[folder] = tuple(_index_source(one) for one in self._files_in(folder) if _holds_objects(one))
        return tuple(self._find_in_index(self._beside[folder], kind, name))

    def read_siblings(self, near: str) -> Iterator[Source]:
        """The files of the folder of `near`, in sorted order."""
        return self._files_in(pathlib.Path(os.path.normpath(self.base / near)).parent)

    def gather(self, names: str, words: str, near: str) -> tuple[Document, ...]:
        """The documents of all files whose path one regular expression is found in, or whose content another, read once."""
        key = names, words, self._whole(near)
        if key not in self._gathered:
            named, wanted = re.compile(names), re.compile(words.encode())
            held = (one for one in self._files(key[2]) if named.search(one.path) or wanted.search(one.content))
            self._gathered[key] = tuple(document for one in held for document in self._documents(one.path))
        return self._gathered[key]

    # ---- how it is found

    def _read_inside(self, base: pathlib.Path, path: str) -> bytes | None:
        place = self._resolve_inside(base, path)
        try:
            return self._rewritten.get(place) or self._content(place) if place is not None else None
        except (OSError, ValueError):
            return None

    def _index_folder(self, base: pathlib.Path) -> tuple[_Held, ...]:
        """Return the kinds and names in each file below a folder, read once."""
        if base not in self._index:
            self._index[base] = tuple(_index_source(one) for one in self._files(base) if _holds_objects(one))
        return self._index[base]

    def _find_in_index(self, index: Iterable[_Held], kind: str, name: str) -> Iterator[Document]:
        for held in index:
            if kind.encode() in held.kinds and (not name or name.encode() in held.names):
                yield from (one for one in self._documents(held.path) if one.get(("kind",)) == kind)

    def _documents(self, path: str) -> tuple[Document, ...]:
        if path not in self._read:
            self._read[path] = documents.load(path, self.read(path) or b"").documents
        return self._read[path]

    def _files(self, base: pathlib.Path) -> Iterator[Source]:
        files = itertools.islice(self.sources([str(base)]), SEARCHED_FILES_MAX)
        return (one for one in files if isinstance(one, Source))

    def _files_in(self, folder: pathlib.Path) -> Iterator[Source]:
        """The files of one folder, without those below it."""
        if self._resolve_inside(folder, ".") is None and folder != self.root:
            return
        with contextlib.suppress(OSError):
            for entry in self._entries(folder):
                if entry.kind == "file" and self._is_wanted(folder, entry):
                    source = self._source(folder / entry.name)
                    if isinstance(source, Source):
                        yield source

    def _whole(self, near: str) -> pathlib.Path:
        """The folder whose files belong together with that of `near`."""
        return self.root if self._is_whole() else self._top_folder(near)

    def _top_folder(self, path: str) -> pathlib.Path:
        place = pathlib.Path(os.path.normpath(self.base / path))
        inside = place.relative_to(self.root).parts if place.is_relative_to(self.root) else ()
        return self.root / inside[0] if len(inside) > 1 else self.root

    def _resolve_inside(self, base: pathlib.Path, path: str) -> pathlib.Path | None:
        """The place of a path inside the root that no link leads to."""
        if "\0" in path:
            return None
        place = pathlib.Path(os.path.normpath(base / path))
        return place if place.is_relative_to(self.root) and self._is_reachable(place) else None

    def _list_below(self, place: pathlib.Path) -> Iterator[Source | Skip]:
        if self._is_excluded(place):
            return
        kind = self._kind(place)
        if kind == "link":
            yield Skip(self._display(place), "a symbolic link", "link")
        elif kind == "submodule":
            yield Skip(self._display(place), "a submodule, a repository of its own", "submodule")
        elif kind == "folder":
            yield from self._walk(place, self._collect_ignore_patterns(place), 0)
        else:
            yield self._source(place)

    def _walk(self, folder: pathlib.Path, above: tuple[IgnoreFile, ...], depth: int) -> Iterator[Source | Skip]:
        if depth > DIRECTORY_DEPTH_MAX:
            yield Skip(self._display(folder), f"more than {DIRECTORY_DEPTH_MAX} folders deep", "limit")
            return
        try:
            entries = self._entries(folder)
        except OSError as error:
            yield Skip(self._display(folder), _reason(error), "unreadable")
            return
        left_out = above + self._read_ignore_patterns(folder)
        for entry in entries:
            place = folder / entry.name
            folder_too = entry.kind == "folder"
            if (
                not self._is_wanted(folder, entry)
                or self._is_excluded(place)
                or ignored.ignores(left_out, place, folder_too)
            ):
                continue
            if folder_too:
                yield from self._walk(place, left_out, depth + 1)
            else:
                yield self._source(place)

    def _walk_every_file(self, place: pathlib.Path, depth: int) -> Iterator[pathlib.Path]:
        kind = self._kind(place)
        if kind == "file":
            yield place
        if kind != "folder" or depth > DIRECTORY_DEPTH_MAX:
            return
        with contextlib.suppress(OSError):
            for entry in self._entries(place):
                if entry.kind == "file":
                    yield place / entry.name
                elif entry.kind == "folder" and entry.name not in NEVER_ENTERED:
                    yield from self._walk_every_file(place / entry.name, depth + 1)

    def _collect_ignore_patterns(self, folder: pathlib.Path) -> tuple[IgnoreFile, ...]:
        """The patterns that hold from the root down to above a folder; none where they ignore the folder itself."""
        above = [parent for parent in reversed(folder.parents) if parent.is_relative_to(self.root)]
        found = tuple(one for parent in above for one in self._read_ignore_patterns(parent))
        return () if ignored.ignores(found, folder, is_folder=True) else found

    def _is_wanted(self, folder: pathlib.Path, entry: Entry) -> bool:
        if entry.kind == "folder":
            return entry.name not in NEVER_ENTERED
        if entry.kind != "file":
            return False
        suffix = pathlib.PurePath(entry.name).suffix
        return documents.is_read(entry.name) or (not suffix and self._is_script(folder / entry.name))

    def _is_script(self, place: pathlib.Path) -> bool:
        """Whether a file without a suffix begins with `#!`."""
        try:
            return self._first_bytes(place, 2) == b"#!"
        except OSError:
            return False

    def _source(self, place: pathlib.Path) -> Source | Skip:
        try:
            content = self._rewritten.get(place) or self._content(place)
        except OSError as error:
            return Skip(self._display(place), _reason(error), "unreadable")
        if content is None:
            return Skip(
                self._display(place), f"larger than {FILE_BYTES_MAX // 1_000_000} MB or not a regular file", "limit"
            )
        return Source(self._display(place), content)

    def _display(self, place: pathlib.Path) -> str:
        """The path from the base where it lies below, with forward slashes."""
        return ignored.make_relative(place, self.base)

    def _is_excluded(self, place: pathlib.Path) -> bool:
        shown, at_root = self.exclude
        if shown is None and at_root is None:
            return False
        name = ignored.make_relative(place, self.root)
        named = (shown, name), (shown, self._display(place)), (at_root, name)
        return any(ignored.matches_name(spec, one) for spec, one in named if spec is not None)


def _update_index(
    index: Mapping[pathlib.Path, tuple[_Held, ...]], contents: Mapping[str, bytes]
) -> dict[pathlib.Path, tuple[_Held, ...]]:
    """Return the kinds and names in files, some of which have other contents."""
    return {
        folder: tuple(
            _index_source(Source(one.path, contents[one.path])) if one.path in contents else one for one in found
        )
        for folder, found in index.items()
    }


def _holds_objects(source: Source) -> bool:
    return b"apiVersion" in source.content and DEFINES not in source.content


def _index_source(source: Source) -> _Held:
    kinds, names = frozenset(KIND.findall(source.content)), frozenset(NAME.findall(source.content))
    return _Held(source.path, kinds, names)


def _is_named(document: Document, name: str) -> bool:
    return document.get(("metadata", "name")) == name


def _reason(error: OSError) -> str:
    return f"cannot be read: {(error.strerror or str(error)).lower()}"
