"""Mentions: which files of a repository name another one, so that a change of it reaches them.

Names are compared, not paths: a container has the files in other folders. Whoever asks evaluates what is found.
"""

from __future__ import annotations

import functools
import itertools
import posixpath
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import NamedTuple

from gpulint.source import documents

STEPS_MAX = 4
"""How many files may lie between a file and one that uses it: a script sources another, a module imports another."""
USERS_MAX = 50
PROGRAMS_MAX = 300
IMPORTED_MAX = 12
"""The most modules that are looked at behind one program."""
_TEST = re.compile(r"(?:^|/)(?:tests?/|test_[^/]*$|[^/]*_test\.py$|conftest\.py$)")
_IMPORT = rb"(?m)^[ \t]*+\"?(?:from[ \t]++([\w.]++)[ \t]++import[ \t]++([^\n#]*+)|import[ \t]++([^\n#]*+))"
_BUILDS = rb"(?m)^[ \t]*+build:|\b(?:docker|podman|nerdctl|buildah)\b[^\n]*\bbu(?:ild|d)\b"
_COMPOSE = r"(?:^|/)(?:docker-)?compose[^/]*\.ya?ml$"
_COMMENT = rb"(?m)(?:^|(?<=[ \t]))#.*$"
_WORD = rb"(?<![\w.-])%s(?![\w-])"


class Users(NamedTuple):
    """The files that may use some others, in sorted order, and whether there are more of them than are listed."""

    paths: tuple[str, ...]
    is_cut: bool = False


class Mentions:
    """What the files that belong together name: programs by their base names, and modules by their imports."""

    def __init__(
        self,
        specs: Sequence[str],
        read: Callable[[str], bytes | None],
        find_programs: Callable[[str], Sequence[str]],
        index_programs: Callable[[], Mapping[str, Sequence[str]]],
    ) -> None:
        self._specs = specs
        self._read = read
        self._find_programs = find_programs
        self._index_programs = index_programs
        self._words: dict[str, Sequence[str]] = {}

    def list_naming(self, path: str) -> Sequence[str]:
        """Return the specs that name a program."""
        return self._named.get(path.rpartition("/")[2], ())

    def list_importers(self, path: str) -> Sequence[str]:
        """Return the programs that may import a module and are no tests."""
        return [other for other in self._imported.get(_find_stem(path), ()) if other != path]

    def list_imported(self, path: str) -> Sequence[str]:
        """Return the programs that a program may import, directly or through others."""
        programs = self._index_programs()
        found: dict[str, None] = {}
        pending = [path]
        while pending and len(found) < IMPORTED_MAX:
            words = self._list_words(pending.pop(0))
            named = (one for word in words for one in programs.get(f"{word}.py", ()))
            new = [one for one in named if one not in found and one != path]
            found |= dict.fromkeys(new)
            pending += new
        return tuple(found)[:IMPORTED_MAX]

    def _list_words(self, path: str) -> Sequence[str]:
        """Return the words of a program's imports, read once."""
        if path not in self._words:
            self._words[path] = tuple(_list_words(self._read(path) or b""))
        return self._words[path]

    def find_users(self, paths: Iterable[str]) -> Users:
        """Return the specs that name one of these files, or a file between them."""
        asked = frozenset(paths)
        seen, new, found = set(asked), asked, set[str]()
        for _ in range(STEPS_MAX):
            users = {user for path in new for user in self._find_direct(path)} - seen
            found |= {path for path in users if not documents.is_program(path)}
            seen |= users
            new = frozenset(path for path in users if _is_passed_on(path))
            if not new or len(found) > USERS_MAX:
                break
        return Users(tuple(sorted(found)[:USERS_MAX]), len(found) > USERS_MAX)

    def _find_direct(self, path: str) -> Iterator[str]:
        """Yield the files that name a file."""
        if documents.is_program(path):
            stem = _find_stem(path)
            yield from self._named.get(path.rpartition("/")[2], ())
            yield from self._named.get(f"{stem}.py", ())
            yield from self._importers.get(stem, ())
            return
        name = path.rpartition("/")[2].encode()
        pattern = re.compile(_WORD % re.escape(name))
        for spec in self._specs:
            content = self._read(spec) or b""
            if (name in content and pattern.search(content)) or _implies(spec, path, content):
                yield spec

    @functools.cached_property
    def _imported(self) -> Mapping[str, Sequence[str]]:
        """The programs that are no tests, by the names that they import."""
        found: dict[str, list[str]] = {}
        for path in sorted(itertools.chain.from_iterable(self._index_programs().values())):
            for name in dict.fromkeys(_list_imports(self._read(path) or b"")) if not is_test(path) else ():
                found.setdefault(name, []).append(path)
        return found

    @functools.cached_property
    def _named(self) -> Mapping[str, Sequence[str]]:
        """The specs that name a program, by the base name of the program."""
        found: dict[str, list[str]] = {}
        for spec in self._specs:
            for name in dict.fromkeys(_list_named(self._read(spec) or b"")):
                found.setdefault(name, []).append(spec)
        return found

    @functools.cached_property
    def _importers(self) -> Mapping[str, Sequence[str]]:
        """The programs that a spec starts, and what these import, by the names of the modules that they import."""
        found: dict[str, list[str]] = {}
        started = (path for name in sorted(self._named) for path in self._find_programs(name))
        pending = dict.fromkeys(started)
        done: set[str] = set()
        while pending and len(done) < PROGRAMS_MAX:
            path = next(iter(pending))
            del pending[path]
            done.add(path)
            for name in dict.fromkeys(_list_imports(self._read(path) or b"")):
                found.setdefault(name, []).append(path)
                pending |= dict.fromkeys(module for module in self._find_programs(f"{name}.py") if module not in done)
        return found


def _list_words(content: bytes) -> Iterator[str]:
    """Yield the words of the imports at the head of lines, among which are the modules; each once."""
    lines = (line for line in content.split(b"\n") if line.startswith((b"from ", b"import ")))
    yield from dict.fromkeys(re.findall(r"\w+", b"\n".join(lines).decode("utf-8", "replace")))


def is_used(path: str) -> bool:
    """Return whether a file may state values of specs that name it: a program, a script, variables or an image."""
    name = path.rpartition("/")[2]
    return documents.is_program(name) or documents.find_format(name) == "shell" or is_text(name)


def is_test(path: str) -> bool:
    """Whether a Python program is a test by its name."""
    return _TEST.search(path) is not None


def is_text(name: str) -> bool:
    """Return whether a file name is one of variables or of an image's build, which no format of specs covers."""
    lowered = name.rpartition("/")[2].lower()
    return _is_environment(lowered) or _is_build(lowered)


def _is_environment(name: str) -> bool:
    return name == ".env" or name.endswith(".env") or name.startswith(".env.")


def _is_build(name: str) -> bool:
    stem, _, suffix = name.partition(".")
    return stem in ("dockerfile", "containerfile") or suffix in ("dockerfile", "containerfile")


def _is_passed_on(path: str) -> bool:
    return documents.is_program(path) or documents.find_format(path) == "shell"


def _implies(spec: str, path: str, content: bytes) -> bool:
    """Return whether a spec uses a file without its name: compose reads `.env`, and a build reads its Dockerfile."""
    name = path.rpartition("/")[2].lower()
    if name == ".env":
        return posixpath.dirname(spec) == posixpath.dirname(path) and re.search(_COMPOSE, spec) is not None
    return _is_build(name) and re.search(_BUILDS, content) is not None


def _find_stem(path: str) -> str:
    """Return the name under which a module is imported."""
    folder, _, name = path.rpartition("/")
    stem = name.rpartition(".")[0]
    return folder.rpartition("/")[2] if stem in ("__init__", "__main__") else stem


def _list_named(content: bytes) -> Iterator[str]:
    """Yield the base names of the programs that a spec names outside its comments."""
    if next(documents.list_mentioned(content), None) is not None:
        yield from documents.list_mentioned(re.sub(_COMMENT, b"", content))


def _list_imports(content: bytes) -> Iterator[str]:
    """Yield the names of the modules that a program may import, and those of the programs that it names."""
    for match in re.finditer(_IMPORT, content):
        text = b",".join(filter(None, match.groups())).decode("utf-8", "replace")
        yield from (name.rpartition(".")[2] for name in re.findall(r"[\w.]+", text))
    yield from (name.rpartition(".")[0] for name in documents.list_mentioned(content))
