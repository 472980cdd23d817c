"""The name of a workload that a file does not name: that of the file."""

from __future__ import annotations

import posixpath


def find_stem(path: str) -> str:
    """Return a file's name without folder and suffixes; if it has no other name, its folder's."""
    name = posixpath.basename(path).split(".")[0]
    return name or posixpath.basename(posixpath.dirname(path)) or posixpath.basename(path)
