"""Where bytes come from: the work tree, read within its root, without links and without running git."""

from __future__ import annotations

import contextlib
import itertools
import os
import pathlib
import re
import stat
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, NamedTuple, Protocol

from gpulint import documents, globs
from gpulint.findings import Skip

if TYPE_CHECKING:
    import pathspec

    from gpulint.documents import Document

NEVER_ENTERED = frozenset({".git", "node_modules", ".venv"})
FILE_BYTES_MAX = 5_000_000
SEARCHED_FILES_MAX = 20_000
DIRECTORY_DEPTH_MAX = 100
IGNORE_LINES_MAX = 5_000

_ENDS = ("", "/")
KIND = re.compile(rb"""kind["']?[ \t]*:[ \t]*["']?(\w+)""")
NAME = re.compile(rb"""name["']?[ \t]*:[ \t]*["']?([\w.-]+)""")
DEFINES = b"kind: CustomResourceDefinition"
"""Bundles of definitions are large, and nothing refers to what stands in them."""


class Source(NamedTuple):
    """One file as it is shown to the user, and its bytes."""

    path: str
    content: bytes


class Repository(Protocol):
    """What yields the files to check, and finds siblings by path."""

    def sources(self, paths: Sequence[str]) -> Iterator[Source | Skip]: ...

    def rewritten(self, contents: Mapping[str, bytes]) -> Repository: ...

    def read(self, path: str) -> bytes | None: ...

    def exists(self, path: str) -> bool: ...

    def at_root(self, path: str) -> bytes | None: ...

    def head(self, path: str, length: int) -> bytes | None: ...

    def search(self, pattern: str, near: str) -> str | None: ...

    def objects(self, kind: str, name: str, near: str) -> tuple[Document, ...]: ...

    def neighbours(self, kind: str, name: str, near: str) -> tuple[Document, ...]: ...

    def beside(self, near: str) -> Iterator[Source]: ...

    def gathered(self, names: str, words: str, near: str) -> tuple[Document, ...]: ...


class _Held(NamedTuple):
    """What one file seems to hold: words that follow `kind:` and `name:` anywhere in it."""

    path: str
    kinds: frozenset[bytes]
    names: frozenset[bytes]


class _Ignored(NamedTuple):
    """The patterns of one .gitignore, and the folder they are relative to."""

    folder: pathlib.Path
    patterns: pathspec.GitIgnoreSpec


class WorkTree:
    """The files of a repository as they lie on the disk; paths are shown, and asked for, from `base`, the current folder."""

    def __init__(self, root: pathlib.Path, exclude: Sequence[str] = (), base: pathlib.Path | None = None) -> None:
        self.root = pathlib.Path(os.path.abspath(root))
        self.base = pathlib.Path.cwd() if base is None else pathlib.Path(os.path.abspath(base))
        self.exclude = globs.spec(exclude) if exclude else None
        self._searched: dict[tuple[str, pathlib.Path], str | None] = {}
        self._index: dict[pathlib.Path, tuple[_Held, ...]] = {}
        self._beside: dict[pathlib.Path, tuple[_Held, ...]] = {}
        self._read: dict[str, tuple[Document, ...]] = {}
        self._gathered: dict[tuple[str, str, pathlib.Path], tuple[Document, ...]] = {}
        self._rewritten: dict[pathlib.Path, bytes] = {}

    def rewritten(self, contents: Mapping[str, bytes]) -> WorkTree:
        """The same repository in which files have other contents than on the disk; what is known of the others is kept."""
        other = WorkTree(self.root, base=self.base)
        other.exclude = self.exclude
        other._rewritten = {self.base / os.path.normpath(path): content for path, content in contents.items()}
        other._searched = self._searched
        other._index = _reheld(self._index, contents)
        other._beside = _reheld(self._beside, contents)
        other._read = {path: found for path, found in self._read.items() if path not in contents}
        other._gathered = {
            asked: found
            for asked, found in self._gathered.items()
            if not any(document.path in contents for document in found)
        }
        return other

    def writable(self, path: str) -> pathlib.Path | None:
        """The place of a regular file inside the root that no link leads to."""
        place = self._inside(self.base, path)
        return place if place is not None and stat.S_ISREG(os.lstat(place).st_mode) else None

    def sources(self, paths: Sequence[str]) -> Iterator[Source | Skip]:
        """The files named, and those below the folders named that git would not ignore, in sorted order."""
        for path in paths:
            if not os.path.lexists(path):
                raise FileNotFoundError(f"there is no file or folder {path}")
        seen: set[str] = set()
        for path in paths:
            for source in self._below(pathlib.Path(os.path.abspath(path))):
                if source.path not in seen:
                    seen.add(source.path)
                    yield source

    def read(self, path: str) -> bytes | None:
        """A file inside the root, by its path as shown; None where there is none that may be read."""
        return self._content(self.base, path)

    def from_root(self, path: str) -> str | None:
        """The path from the root of a file by its path as shown; None where it lies elsewhere."""
        place = os.path.normpath(self.base / path)
        root = f"{self.root}{os.sep}".replace(os.sep * 2, os.sep)
        return place.removeprefix(root).replace(os.sep, "/") if place.startswith(root) else None

    def at_root(self, path: str) -> bytes | None:
        """A file by its path from the root; None where there is none that may be read."""
        return self._content(self.root, path)

    def head(self, path: str, length: int) -> bytes | None:
        """The first bytes of a file that `read` would find, of whatever size it is."""
        place = self._inside(self.base, path)
        try:
            return _first_bytes(place, length) if place is not None else None
        except (OSError, ValueError):
            return None

    def _content(self, base: pathlib.Path, path: str) -> bytes | None:
        place = self._inside(base, path)
        try:
            return self._rewritten.get(place) or _content(place) if place is not None else None
        except (OSError, ValueError):
            return None

    def exists(self, path: str) -> bool:
        """Whether `read` would find a file or folder there."""
        place = self._inside(self.base, path)
        return place is not None and os.path.lexists(place)

    def search(self, pattern: str, near: str) -> str | None:
        """The first file of the repository that a regular expression is found in, looked for once.

        Without `.git` at the root nothing says that its folders belong together: only the one that holds `near` is searched.
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
            for document in self._held(self._indexed(self._whole(near)), kind, name)
            if _is_named(document, name)
        )

    def neighbours(self, kind: str, name: str, near: str) -> tuple[Document, ...]:
        """The objects of a kind in the folder of `near` whose file mentions a name as one of an object; `""` is any."""
        folder = pathlib.Path(os.path.normpath(self.base / near)).parent
        if folder not in self._beside:
            self._beside[folder] = tuple(_held(one) for one in self._files_in(folder) if _holds_objects(one))
        return tuple(self._held(self._beside[folder], kind, name))

    def beside(self, near: str) -> Iterator[Source]:
        """The files of the folder of `near`, in sorted order."""
        return self._files_in(pathlib.Path(os.path.normpath(self.base / near)).parent)

    def gathered(self, names: str, words: str, near: str) -> tuple[Document, ...]:
        """The documents of all files whose path one regular expression is found in, or whose content another, read once."""
        key = names, words, self._whole(near)
        if key not in self._gathered:
            named, wanted = re.compile(names), re.compile(words.encode())
            held = (one for one in self._files(key[2]) if named.search(one.path) or wanted.search(one.content))
            self._gathered[key] = tuple(document for one in held for document in self._documents(one.path))
        return self._gathered[key]

    def _indexed(self, base: pathlib.Path) -> tuple[_Held, ...]:
        """What each file below a folder seems to hold, read once."""
        if base not in self._index:
            self._index[base] = tuple(_held(one) for one in self._files(base) if _holds_objects(one))
        return self._index[base]

    def _held(self, index: Iterable[_Held], kind: str, name: str) -> Iterator[Document]:
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
        if self._inside(folder, ".") is None and folder != self.root:
            return
        with contextlib.suppress(OSError):
            for entry in sorted(os.scandir(folder), key=lambda entry: entry.name):
                if entry.is_file(follow_symlinks=False) and _wanted(entry):
                    source = self._source(folder / entry.name)
                    if isinstance(source, Source):
                        yield source

    def _whole(self, near: str) -> pathlib.Path:
        """The folder whose files belong together with that of `near`."""
        return self.root if os.path.lexists(self.root / ".git") else self._top_folder(near)

    def _top_folder(self, path: str) -> pathlib.Path:
        place = pathlib.Path(os.path.normpath(self.base / path))
        inside = place.relative_to(self.root).parts if place.is_relative_to(self.root) else ()
        return self.root / inside[0] if len(inside) > 1 else self.root

    def _inside(self, base: pathlib.Path, path: str) -> pathlib.Path | None:
        """The place of a path inside the root that no link leads to."""
        if "\0" in path:
            return None
        place = pathlib.Path(os.path.normpath(base / path))
        if not place.is_relative_to(self.root) or not os.path.lexists(place):
            return None
        steps = (step for step in (place, *place.parents) if step.is_relative_to(self.root) and step != self.root)
        return None if any(step.is_symlink() for step in steps) else place

    def _below(self, place: pathlib.Path) -> Iterator[Source | Skip]:
        if self._excluded(place):
            return
        if place.is_symlink():
            yield Skip(self._shown(place), "a symbolic link")
        elif place.is_dir():
            yield from self._walk(place, self._ignored_above(place), 0)
        else:
            yield self._source(place)

    def _walk(self, folder: pathlib.Path, ignored: tuple[_Ignored, ...], depth: int) -> Iterator[Source | Skip]:
        if depth > DIRECTORY_DEPTH_MAX:
            yield Skip(self._shown(folder), f"more than {DIRECTORY_DEPTH_MAX} folders deep")
            return
        try:
            entries = sorted(os.scandir(folder), key=lambda entry: entry.name)
        except OSError as error:
            yield Skip(self._shown(folder), _reason(error))
            return
        ignored += _patterns(folder)
        for entry in entries:
            place = folder / entry.name
            folder_too = entry.is_dir(follow_symlinks=False)
            if not _wanted(entry) or self._excluded(place) or _ignores(ignored, place, folder_too):
                continue
            if folder_too:
                yield from self._walk(place, ignored, depth + 1)
            else:
                yield self._source(place)

    def _ignored_above(self, folder: pathlib.Path) -> tuple[_Ignored, ...]:
        """The patterns that hold from the root down to above a folder; none where they ignore the folder itself."""
        above = [parent for parent in reversed(folder.parents) if parent.is_relative_to(self.root)]
        ignored = tuple(found for parent in above for found in _patterns(parent))
        return () if _ignores(ignored, folder, is_folder=True) else ignored

    def _source(self, place: pathlib.Path) -> Source | Skip:
        try:
            content = self._rewritten.get(place) or _content(place)
        except OSError as error:
            return Skip(self._shown(place), _reason(error))
        if content is None:
            return Skip(self._shown(place), f"larger than {FILE_BYTES_MAX // 1_000_000} MB or not a regular file")
        return Source(self._shown(place), content)

    def _shown(self, place: pathlib.Path) -> str:
        """The path from the base where it lies below, with forward slashes."""
        return _relative(place, self.base)

    def _excluded(self, place: pathlib.Path) -> bool:
        if self.exclude is None:
            return False
        names = {self._shown(place), _relative(place, self.root)}
        return any(self.exclude.match_file(name.lstrip("/") + end) for name in names for end in _ENDS)


def _reheld(
    index: Mapping[pathlib.Path, tuple[_Held, ...]], contents: Mapping[str, bytes]
) -> dict[pathlib.Path, tuple[_Held, ...]]:
    """What files seem to hold, of some of them by other contents."""
    return {
        folder: tuple(_held(Source(one.path, contents[one.path])) if one.path in contents else one for one in found)
        for folder, found in index.items()
    }


def _holds_objects(source: Source) -> bool:
    return b"apiVersion" in source.content and DEFINES not in source.content


def _held(source: Source) -> _Held:
    kinds, names = frozenset(KIND.findall(source.content)), frozenset(NAME.findall(source.content))
    return _Held(source.path, kinds, names)


def _is_named(document: Document, name: str) -> bool:
    return document.get(("metadata", "name")) == name


def root_of(start: pathlib.Path) -> pathlib.Path:
    """The nearest folder upwards that holds `.git`, else the start itself."""
    place = pathlib.Path(os.path.abspath(start))
    candidates = (place, *place.parents)
    return next((folder for folder in candidates if os.path.lexists(folder / ".git")), place)


def _relative(place: pathlib.Path, folder: pathlib.Path) -> str:
    path = (place.relative_to(folder) if place.is_relative_to(folder) else place).as_posix()
    return path.encode("utf-8", "surrogateescape").decode("utf-8", "replace")


def _wanted(entry: os.DirEntry[str]) -> bool:
    if entry.is_symlink():
        return False
    if entry.is_dir():
        return entry.name not in NEVER_ENTERED
    return documents.is_read(entry.name) or (not pathlib.PurePath(entry.name).suffix and _begins_as_script(entry.path))


def _begins_as_script(path: str) -> bool:
    """Whether a file without a suffix begins with `#!`."""
    try:
        with open(path, "rb") as file:
            return file.read(2) == b"#!"
    except OSError:
        return False


def _content(place: pathlib.Path) -> bytes | None:
    """The bytes of a regular file that is not too large; a pipe or device is never opened."""
    status = os.lstat(place)
    if not stat.S_ISREG(status.st_mode) or status.st_size > FILE_BYTES_MAX:
        return None
    with open(place, "rb") as file:
        content = file.read(FILE_BYTES_MAX + 1)
    return content if len(content) <= FILE_BYTES_MAX else None


def _first_bytes(place: pathlib.Path, length: int) -> bytes | None:
    """The first bytes of a regular file; a pipe or device is never opened."""
    if not stat.S_ISREG(os.lstat(place).st_mode):
        return None
    with open(place, "rb") as file:
        return file.read(length)


def _reason(error: OSError) -> str:
    return f"cannot be read: {(error.strerror or str(error)).lower()}"


def _patterns(folder: pathlib.Path) -> tuple[_Ignored, ...]:
    """The .gitignore of a folder, where it has one."""
    content = None
    with contextlib.suppress(OSError):
        content = _content(folder / ".gitignore")
    if content is None:
        return ()
    return (_Ignored(folder, globs.spec(content.decode("utf-8", "replace").splitlines()[:IGNORE_LINES_MAX])),)


def _ignores(ignored: Sequence[_Ignored], place: pathlib.Path, is_folder: bool) -> bool:
    """Whether git would ignore the place: the deepest .gitignore that says anything decides."""
    for folder, patterns in reversed(ignored):
        name = _relative(place, folder) + ("/" if is_folder else "")
        verdict = patterns.check_file(name).include
        if verdict is not None:
            return verdict
    return False
