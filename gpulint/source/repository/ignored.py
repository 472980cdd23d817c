"""Patterns of .gitignore and of `exclude`, as git understands them."""

from __future__ import annotations

import os
import re
from collections.abc import Sequence
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    import pathspec

LINES_MAX = 5_000
WILDCARDS_MAX = 6
SEGMENT_WILDCARDS_MAX = 3
"""Beyond these an ignore pattern is left out: matching it can take time exponential in its wildcards."""
ENDS = ("", "/")
SPECIAL = re.compile(r"([\\*?\[\]!#])")


class IgnoreFile(NamedTuple):
    """The patterns of one .gitignore, and the folder they are relative to."""

    folder: str
    patterns: pathspec.GitIgnoreSpec


def read(folder: str, content: bytes) -> IgnoreFile:
    """The patterns of the .gitignore of a folder."""
    return IgnoreFile(folder, compile(content.decode("utf-8", "replace").splitlines()[:LINES_MAX]))


def compile(lines: Sequence[str]) -> pathspec.GitIgnoreSpec:
    """The patterns git would use; those it would not understand, and those that cost too much, are left out."""
    from pathspec import GitIgnoreSpec

    return GitIgnoreSpec.from_lines([line for line in lines if not _is_costly(line) and _is_valid(line)])


def ignores(ignored: Sequence[IgnoreFile], place: str, is_folder: bool) -> bool:
    """Whether git would ignore the place: the deepest .gitignore that says anything decides."""
    for folder, patterns in reversed(ignored):
        name = make_relative(place, folder) + ("/" if is_folder else "")
        verdict = patterns.check_file(name).include
        if verdict is not None:
            return verdict
    return False


def matches_name(patterns: pathspec.GitIgnoreSpec, path: str) -> bool:
    """Whether a pattern matches a path, be it a file's or a folder's."""
    return any(patterns.match_file(path.lstrip("/") + end) for end in ENDS)


def make_relative(place: str, folder: str) -> str:
    """An absolute path from a folder where it lies below it, with forward slashes."""
    start = folder if folder.endswith(os.sep) else folder + os.sep
    path = "." if place == folder else place.removeprefix(start)
    path = path if os.sep == "/" else path.replace(os.sep, "/")
    return path if path.isascii() else path.encode("utf-8", "surrogateescape").decode("utf-8", "replace")


def find_problem(line: str) -> str:
    """Why a pattern matches nothing; empty where it may match."""
    if not line.strip(" /") or line.startswith("#"):
        return "matches no path"
    if _is_costly(line):
        return f"has more than {WILDCARDS_MAX} wildcards, or more than {SEGMENT_WILDCARDS_MAX} in one name"
    return "" if _is_valid(line) else "is no pattern as in .gitignore"


def root_line(folder: str, line: str) -> str:
    """Return a pattern that is relative to a folder as a line of a .gitignore at the root."""
    if folder in ("", "."):
        return line
    negated, pattern = ("!", line[1:]) if line.startswith("!") else ("", line)
    below = "" if "/" in pattern.rstrip("/") else "**/"
    place = SPECIAL.sub(r"\\\1", folder)
    return f"{negated}/{place}/{below}{pattern.lstrip('/')}"


def _is_valid(pattern: str) -> bool:
    from pathspec import GitIgnoreSpec

    try:
        GitIgnoreSpec.from_lines([pattern])
    except (ValueError, re.error):
        return False
    return True


def _is_costly(pattern: str) -> bool:
    counts = [len(re.findall(r"\*+", segment)) for segment in pattern.split("/")]
    return sum(counts) > WILDCARDS_MAX or max(counts) > SEGMENT_WILDCARDS_MAX
