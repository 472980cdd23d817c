"""Progress of a long run, on a terminal's stderr and nowhere else."""

from __future__ import annotations

import sys
import time
from collections.abc import Iterable, Iterator
from typing import TypeVar

T = TypeVar("T")
PATIENCE_S = 2.0


def watched(items: Iterable[T], what: str = "files checked") -> Iterator[T]:
    """The items as they are; after two seconds a terminal is told how many have passed."""
    if not sys.stderr.isatty():
        yield from items
        return
    yield from _shown(iter(items), what, time.monotonic())


def _shown(items: Iterator[T], what: str, start: float) -> Iterator[T]:
    passed = 0
    for item in items:
        passed += 1
        yield item
        if time.monotonic() - start > PATIENCE_S:
            break
    else:
        return
    from rich.console import Console

    with Console(stderr=True).status(f"{passed} {what}") as status:
        for item in items:
            yield item
            passed += 1
            status.update(f"{passed} {what}")
