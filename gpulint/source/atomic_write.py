"""Disk: a file written whole or not at all."""

from __future__ import annotations

import contextlib
import os
import stat
import tempfile
from pathlib import Path


def write(place: Path, content: bytes) -> None:
    """Write beside a place, then rename over it: no reader ever sees half of it; what stood there keeps its mode."""
    mode = _mode(place)
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


def _mode(place: Path) -> int:
    """The mode of a file, of a new one what the process gives."""
    try:
        return stat.S_IMODE(os.lstat(place).st_mode)
    except FileNotFoundError:
        mask = os.umask(0)
        os.umask(mask)
        return 0o666 & ~mask
