"""Programs of the user: found by absolute path, never in the current folder or in the checkout."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

SUFFIXES = (".exe", ".com")
"""What Windows starts without a shell: a batch file would be read by one."""


def find(name: str, checkout: Path) -> str | None:
    """Return the absolute path of a program on the PATH; None if there is none outside the checkout."""
    suffixes = SUFFIXES if os.name == "nt" else ("",)
    for folder in _list_folders(checkout):
        for suffix in suffixes:
            place = os.path.join(folder, f"{name}{suffix}")
            if os.path.isfile(place) and os.access(place, os.X_OK) and not _is_inside(place, checkout):
                return place
    return None


def trusted_path(checkout: Path) -> str:
    """Return the PATH without relative folders and without those of the checkout."""
    return os.pathsep.join(_list_folders(checkout))


def _list_folders(checkout: Path) -> Iterator[str]:
    """Yield the absolute folders of the PATH that lie outside the checkout."""
    for folder in os.environ.get("PATH", os.defpath).split(os.pathsep):
        if os.path.isabs(folder) and not _is_inside(folder, checkout):
            yield folder


def _is_inside(place: str, checkout: Path) -> bool:
    """Whether a place lies in the checkout, by its own name or by that of what it links to."""
    root = os.path.abspath(checkout)
    pairs = ((os.path.abspath(place), root), (os.path.realpath(place), os.path.realpath(root)))
    return any(
        os.path.normcase(path).startswith(os.path.join(os.path.normcase(base), "")) or path == base
        for path, base in pairs
    )
