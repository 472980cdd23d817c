"""No regular expression of the package takes time that grows faster than its text."""

from __future__ import annotations

import re
import signal
import time
from collections.abc import Iterator
from types import FrameType

import patterns
import pytest

SLOW_S = 0.5
"""A pattern that backtracks takes this long for a text of `LONG` characters, another one a thousandth of it."""
SHORT, LONG = 300, 20_000
OUR_OWN = {"gpulint/cli/explain/site.py": "it reads the pages of this package"}
"""Modules whose patterns read no input, and why."""

needs_timer = pytest.mark.skipif(not hasattr(signal, "setitimer"), reason="no timer of CPU time on this platform")


class TooSlow(Exception):
    """The time of a pattern is up."""


def list_patterns() -> list[patterns.Pattern]:
    return [pattern for pattern in patterns.collect() if pattern.place.partition(":")[0] not in OUR_OWN]


def find_slow(length: int) -> Iterator[str]:
    """Yield each pattern that is slow, with a text that makes it so."""
    for pattern in list_patterns():
        compiled = re.compile(pattern.text, pattern.flags)
        for text in patterns.pump(pattern, length):
            if (
                min(measure(compiled, pattern.anchored, text) for _ in range(1)) > SLOW_S
                and min(measure(compiled, pattern.anchored, text) for _ in range(2)) > SLOW_S
            ):
                yield f"{pattern.place}: {pattern.text!r} on {text[:20]!r}…{text[-3:]!r}"
                break


def measure(compiled: re.Pattern[str], anchored: bool, text: str) -> float:
    """Return the CPU seconds of a pattern on a text, at most somewhat more than `SLOW_S`."""
    began = time.process_time()
    previous = signal.signal(signal.SIGVTALRM, stop)
    signal.setitimer(signal.ITIMER_VIRTUAL, 1.2 * SLOW_S)
    try:
        if anchored:
            compiled.match(text)
            compiled.fullmatch(text)
        else:
            for _ in compiled.finditer(text):
                pass
    except TooSlow:
        pass
    finally:
        signal.setitimer(signal.ITIMER_VIRTUAL, 0)
        signal.signal(signal.SIGVTALRM, previous)
    return time.process_time() - began


def stop(_: int, __: FrameType | None) -> None:
    raise TooSlow


@needs_timer
def test_no_pattern_takes_exponential_time() -> None:
    assert list(find_slow(SHORT)) == []


@needs_timer
@pytest.mark.sweep
def test_no_pattern_takes_quadratic_time() -> None:
    assert list(find_slow(LONG)) == []


def test_the_search_finds_patterns_that_backtrack() -> None:
    """Each of these was in the package, or is a well-known one."""
    for text in (r"(?:[ \t]*(?:#.*)?\r?\n)*%", r"(?:a|a)+b", r"(?:\w+\s?)*$"):
        pattern = patterns.Pattern("here", text, 0, anchored=True)
        assert any(measure(re.compile(text), True, pumped) > SLOW_S for pumped in patterns.pump(pattern, SHORT)), text


def test_the_search_accepts_patterns_that_do_not_backtrack() -> None:
    for text in (r"\w+\s*=", r"(?:[ \t]*#[^\n]*\n)*%", r"\d++(?:\.\d++)?[kM]?"):
        pattern = patterns.Pattern("here", text, 0, anchored=True)
        assert all(measure(re.compile(text), True, pumped) < SLOW_S for pumped in patterns.pump(pattern, LONG)), text


def test_every_module_with_a_pattern_is_read() -> None:
    assert len(list_patterns()) > 500
