"""Excess: the limits of gpulint that the reading of a file exceeds.

What is beyond a limit is not read. Whoever reads a file collects the reasons, so that it does not pass for checked.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import NamedTuple


class Excess(NamedTuple):
    """Why a part of a file was not read; without a path, it is the file that was being read."""

    reason: str
    path: str = ""


_collected: ContextVar[dict[Excess, None] | None] = ContextVar("collected", default=None)


@contextmanager
def collect() -> Iterator[dict[Excess, None]]:
    """Collect what is noted until the end of the block, in its order."""
    found: dict[Excess, None] = {}
    token = _collected.set(found)
    try:
        yield found
    finally:
        _collected.reset(token)


def is_over(used: int, limit: int, reason: str, path: str = "") -> bool:
    """Whether a use exceeds a limit, which is then noted; the reason has `{}` for the limit."""
    if used <= limit:
        return False
    note(reason.format(f"{limit:,}"), path)
    return True


def note(reason: str, path: str = "") -> None:
    """Note why a part of a file is not read; nothing if the reason is empty."""
    found = _collected.get()
    if reason and found is not None:
        found[Excess(reason, path)] = None
