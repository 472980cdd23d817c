"""Imports: where a repository may have the module that a program imports."""

from __future__ import annotations

import itertools
import posixpath
from collections.abc import Iterable, Iterator, Sequence

SOURCES = "src"
"""The usual folder of a repository's own packages: packaging.python.org/discussions/src-layout-vs-flat-layout."""


def list_above(folder: str) -> Iterator[str]:
    """Yield a folder and the folders above it."""
    yield folder
    while (above := posixpath.dirname(folder)) != folder:
        folder = above
        yield folder


def list_paths(name: str, path: str, level: int, further: Sequence[str] = ()) -> Iterator[str]:
    """Yield where a module may lie: next to the file that imports it, below a folder above, or in further folders.

    A package comes before a module of the same name: `FileFinder.find_spec` of Python's importlib/_bootstrap_external.py.
    """
    folder = posixpath.dirname(path)
    inner = name.replace(".", "/")
    if level:
        for _ in range(level - 1):
            folder = posixpath.dirname(folder)
        starts: Iterable[str] = (folder,)
    else:
        starts = itertools.chain(list_above(folder), further)
    for start in starts:
        for inside in ("", SOURCES) if not level else ("",):
            base = posixpath.join(start, inside, inner) if inner else start
            yield posixpath.join(base, "__init__.py")
            yield f"{base}.py"
