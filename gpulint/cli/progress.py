"""Progress of a long run, shown on a terminal's stderr only."""

from __future__ import annotations

import sys
import time
from collections.abc import Iterable, Iterator
from typing import TypeVar

T = TypeVar("T")
PATIENCE_S = 2.0


def show_progress(items: Iterable[T], what: str = "files checked") -> Iterator[T]:
    """Yield the items unchanged; after two seconds, show on a terminal how many have passed."""
    if not sys.stderr.isatty():
        yield from items
        return
    yield from _show(iter(items), what, time.monotonic())


def _show(items: Iterator[T], what: str, start: float) -> Iterator[T]:
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
