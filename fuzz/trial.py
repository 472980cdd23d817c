"""Trial: one input given to a target, and what it must not do: raise, stall, grow, differ, print invalid JSON or escape."""

from __future__ import annotations

import contextlib
import functools
import gc
import json
import resource
import signal
import sys
import tempfile
import traceback
from collections.abc import Callable, Iterator
from pathlib import Path
from types import FrameType
from typing import NamedTuple

from fuzz.audit import ROOT, Watch

CPU_S_MAX = 2.0
GROWTH_KIB_MAX = 300 * 1024
DIFFERS_EVERY = 50
"""One input of so many is tried twice."""
Tried = Callable[[bytes], str]
_watches: list[Watch] = []
_faults: list[BaseException] = []


class FailedError(Exception):
    """The report lists a failure of gpulint itself."""


class StalledError(BaseException):
    """The input takes too long; nothing that catches Exception catches this."""


class Failure(NamedTuple):
    """What an input did wrong: the kind, a key by which the same fault is known again, and an explanation."""

    kind: str
    key: str
    text: str


@functools.cache
def make_folder() -> Path:
    """Return the folder of this process, the only one that a target may read."""
    return Path(tempfile.mkdtemp(prefix="fuzz-"))


def watch() -> None:
    """Note each escape of this process from now on."""
    if not _watches:
        found = Watch((ROOT, make_folder()), (), ("git",))
        _watches.append(found)
        sys.addaudithook(found.note)
    _record_faults()


def _record_faults() -> None:
    """Keep the exception behind each failure that a report lists, for its traceback."""
    from gpulint.pipeline import file_report

    fail = file_report.fail
    if getattr(fail, "records", False):
        return

    def record(path: str, doing: str, error: Exception) -> object:
        _faults[:] = [error]
        return fail(path, doing, error)

    record.records = True  # type: ignore[attr-defined]
    file_report.fail = record  # type: ignore[assignment]


@contextlib.contextmanager
def paused() -> Iterator[None]:
    """Let the target itself write what it is about to check."""
    for found in _watches:
        found.is_on = False
    yield
    for found in _watches:
        found.is_on = True


def attempt(run: Tried, data: bytes, number: int, cpu_s: float = CPU_S_MAX) -> Failure | None:
    """Give an input to a target; return what it did wrong."""
    before = _peak_kib()
    _faults.clear()
    try:
        with _limit(cpu_s):
            printed = run(data)
    except StalledError as error:
        return Failure("stall", f"stall in {_find_place(error)}", f"more than {cpu_s:g} CPU s: {_shorten(error)}")
    except (Exception, RecursionError) as error:
        fault = _faults[0] if _faults else error
        return Failure("exception", f"{type(fault).__name__} in {_find_place(fault)}", _shorten(fault))
    if _peak_kib() - before > GROWTH_KIB_MAX:
        return Failure("memory", "memory", f"{(_peak_kib() - before) // 1024} MiB more")
    return (
        _find_escape()
        or _find_invalid_json(printed)
        or (_find_difference(run, data, printed) if number % DIFFERS_EVERY == 0 else None)
    )


@contextlib.contextmanager
def _limit(cpu_s: float) -> Iterator[None]:
    def stop(number: int, frame: FrameType | None) -> None:
        raise StalledError

    signal.signal(signal.SIGPROF, stop)
    signal.setitimer(signal.ITIMER_PROF, cpu_s)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_PROF, 0)


def _peak_kib() -> int:
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss


def _find_escape() -> Failure | None:
    for found in _watches:
        if found.violations:
            first, found.violations = found.violations[0], []
            return Failure("escape", f"escape: {first.split(' ')[0]} {first[-40:]}", first)
    return None


def _find_invalid_json(printed: str) -> Failure | None:
    if not printed.startswith("{\n"):
        return None
    try:
        json.loads(printed, parse_constant=_refuse, object_pairs_hook=_refuse_doubles)
    except ValueError as error:
        return Failure("json", f"invalid JSON: {error}", str(error))
    return None


def _refuse(word: str) -> object:
    raise ValueError(f"{word} is not JSON")


def _refuse_doubles(pairs: list[tuple[str, object]]) -> dict[str, object]:
    built = dict(pairs)
    if len(built) != len(pairs):
        raise ValueError("a key is stated twice")
    return built


def _find_difference(run: Tried, data: bytes, printed: str) -> Failure | None:
    gc.collect()
    if run(data) == printed:
        return None
    return Failure("difference", "another result in a second run", "the second run gives another result")


def _find_place(error: BaseException) -> str:
    """Return the innermost function of gpulint in a traceback."""
    frames = traceback.extract_tb(error.__traceback__)
    own = [frame for frame in frames if "/gpulint/" in frame.filename] or frames[-1:]
    return f"{own[-1].filename.rpartition('/gpulint/')[2]}:{own[-1].name}" if own else "?"


def _shorten(error: BaseException) -> str:
    lines = traceback.format_exception(error)
    return "".join(lines[-6:])[-1500:]
