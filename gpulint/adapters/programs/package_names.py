"""Package names: the engines in the words of a command or of a list that installs packages, with their releases."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import NamedTuple

from gpulint.catalog import capabilities

NAMED = re.compile(
    r"(?<![\w./-])(?P<name>[A-Za-z][\w.-]*)(?:\[[\w,. -]*\])?(?:[ \t]*===?[ \t]*(?P<release>\d[\w.+-]*))?(?![\w/-])"
)
CHOSEN = re.compile(r"[ \t]*+(?:\[[\w,. -]*\][ \t]*+)?(?:[=~!<@$]|>=?[^,\n\"']*,)")
"""What may follow the name of a package to choose its release: all but a lower limit alone."""
CONSTRAINED = re.compile(r"(?:^|[ \t])(?:-c|--constraints?|--overrides?)[ =\t]")
LOCAL = re.compile(r"(?:^|[ \t])(?:--no-index|--find-links|-f)(?:[ =\t]|$)")


class Named(NamedTuple):
    """An engine that is named, its release if that follows, and where."""

    name: str
    release: str
    span: tuple[int, int]
    name_end: int


def is_open(text: str, package: Named) -> bool:
    """Return whether the words around a package leave its release to the day of the build."""
    line = text[text.rfind("\n", 0, package.span[0]) + 1 : package.span[0]]
    if (
        package.release
        or CONSTRAINED.search(text)
        or LOCAL.search(text)
        or line.rstrip().endswith(("#egg=", "-e", "@"))
    ):
        return False
    return CHOSEN.match(text, package.name_end) is None


def read(text: str) -> Iterator[Named]:
    """Yield the engines that a text names."""
    engines = capabilities.compile_packages()
    for match in NAMED.finditer(text):
        if engines.fullmatch(match["name"]):
            yield Named(
                match["name"].lower().replace("_", "-"), match["release"] or "", match.span(), match.end("name")
            )


def list_open(text: str) -> Iterator[str]:
    """Yield the engines that a list of packages names without a release.

    >>> list(list_open("vllm[audio]")), list(list_open("vllm==0.11.0")), list(list_open("vllm-dist/a.whl"))
    (['vllm'], [], [])
    """
    yield from (package.name for package in read(text) if is_open(text, package))
