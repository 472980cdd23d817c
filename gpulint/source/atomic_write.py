"""Disk: write files atomically."""

from __future__ import annotations

import contextlib
import os
import stat
import tempfile
from pathlib import Path


def write(place: Path, content: bytes) -> None:
    """Write next to a place, then rename over it, so that no reader sees a partial file.

    The mode is kept.
    """
    mode = _find_mode(place)
    handle, name = tempfile.mkstemp(prefix=f".{place.name}.", dir=place.parent)
    try:
        with os.fdopen(handle, "wb") as file:
            file.write(content)
            file.flush()
            os.fsync(file.fileno())
        os.chmod(name, mode)
        os.replace(name, place)
    except BaseException:
        with contextlib.suppress(OSError):
            os.unlink(name)
        raise


def _find_mode(place: Path) -> int:
    """Return the mode of a file, or the default mode of the process for a new one."""
    try:
        return stat.S_IMODE(os.lstat(place).st_mode)
    except FileNotFoundError:
        mask = os.umask(0)
        os.umask(mask)
        return 0o666 & ~mask
