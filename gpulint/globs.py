"""Globs: paths by the lines of a .gitignore, as git reads them."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import pathspec

WILDCARDS_MAX = 6
SEGMENT_WILDCARDS_MAX = 3
"""Beyond these a pattern is left out: matching it can take time exponential in its wildcards."""
SPECIAL = re.compile(r"([\\*?\[\]!#])")


def spec(lines: Sequence[str]) -> pathspec.GitIgnoreSpec:
    """The patterns git would use; those it would not understand, and those that cost too much, are left out."""
    from pathspec import GitIgnoreSpec

    return GitIgnoreSpec.from_lines([line for line in lines if not _costly(line) and _understood(line)])


def refused(line: str) -> str:
    """Why a line matches nothing; empty where it may match."""
    if not line.strip() or line.startswith("#"):
        return "matches no path"
    if _costly(line):
        return f"has more than {WILDCARDS_MAX} wildcards, or more than {SEGMENT_WILDCARDS_MAX} in one name"
    return "" if _understood(line) else "is no pattern as in .gitignore"


def rooted(folder: str, line: str) -> str:
    """A line that is relative to a folder, as it stands in a .gitignore of the root."""
    if folder in ("", "."):
        return line
    negated, pattern = ("!", line[1:]) if line.startswith("!") else ("", line)
    below = "" if "/" in pattern.rstrip("/") else "**/"
    place = SPECIAL.sub(r"\\\1", folder)
    return f"{negated}/{place}/{below}{pattern.lstrip('/')}"


def _understood(pattern: str) -> bool:
    from pathspec import GitIgnoreSpec

    try:
        GitIgnoreSpec.from_lines([pattern])
    except (ValueError, re.error):
        return False
    return True


def _costly(pattern: str) -> bool:
    counts = [len(re.findall(r"\*+", segment)) for segment in pattern.split("/")]
    return sum(counts) > WILDCARDS_MAX or max(counts) > SEGMENT_WILDCARDS_MAX
