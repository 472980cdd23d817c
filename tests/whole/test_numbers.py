"""A number of any size, in any field of a spec, ends in a report: no loop, no range and no list takes its length."""

from __future__ import annotations

import re
import signal
from collections.abc import Iterator
from pathlib import Path
from types import FrameType

import pytest

from gpulint.pipeline import session
from gpulint.pipeline.run import check_files
from gpulint.report.model import Report
from gpulint.source.repository import Source

ROOT = Path(__file__).parents[2]
ODD = (
    *("99999999999", "2147483648", "1000003", "65537", "-1", "0", "1e308", ".nan", ".inf", "-.inf", "NaN", "Infinity"),
    *("9" * 4301, "9" * 400, "0.0000001", "''", "[]", "{}", "null", "true", "[1, 2]", "{a: 1}", "1e5", "0x7fffffff"),
)
"""Values in the place of a number: large ones, prime ones, none, and what is no number."""
NUMBER = re.compile(r"(?<![\w.#\"'/@-])\d+(?:\.\d+)?(?=[\s,\]})]|$)", re.MULTILINE)
INSIDE = re.compile(r"(?<=[ =\"'])\d+(?=[\"' \n])")
"""A number that is a word of a command or a quoted value."""
PLAIN = (*ODD[:6], *ODD[12:14])
LIMIT_S = 10
pytestmark = pytest.mark.first
QUICK = ("experts-over-two-nodes.yaml", "native-spec.yaml", "fine-tune-over-tcp.yaml", "facility-dgx-on-208v.yaml")


class TooLong(BaseException):
    """The CPU time of a check is up."""


def list_seeds() -> list[Path]:
    return sorted(path for path in (ROOT / "examples").glob("*.yaml"))


def list_formats() -> list[Path]:
    return sorted(path for path in (ROOT / "formats").iterdir() if path.is_file())


def change(text: str) -> Iterator[tuple[str, str]]:
    """Yield a text with each of its numbers replaced by each odd value, and which one it is."""
    for pattern, values in ((NUMBER, ODD), (INSIDE, PLAIN)):
        for found in pattern.finditer(text):
            line = text.count("\n", 0, found.start()) + 1
            for value in values:
                yield text[: found.start()] + value + text[found.end() :], f"line {line}: {found[0]} as {value[:20]}"


def check(path: Path, text: str) -> Report | None:
    """Return the report on a text; None if it takes too long."""
    run = session.prepare((str(path),), session.Options())
    previous = signal.signal(signal.SIGVTALRM, stop)
    signal.setitimer(signal.ITIMER_VIRTUAL, LIMIT_S)
    try:
        return check_files(run, [Source(path.name, text.encode())])
    except TooLong:
        return None
    finally:
        signal.setitimer(signal.ITIMER_VIRTUAL, 0)
        signal.signal(signal.SIGVTALRM, previous)


def stop(_: int, __: FrameType | None) -> None:
    raise TooLong


def find_faults(path: Path, every: int) -> list[str]:
    """Return the changes of a file whose check fails, or does not end; of several changes only one in `every`."""
    faults = []
    for at, (text, what) in enumerate(change(path.read_text())):
        if at % every:
            continue
        report = check(path, text)
        if report is None:
            faults.append(f"{path.name} {what}: does not end")
        elif report.failures:
            faults.append(f"{path.name} {what}: {report.failures[0].error[:200]}")
    return faults


@pytest.mark.skipif(not hasattr(signal, "setitimer"), reason="no timer of CPU time on this platform")
@pytest.mark.parametrize("name", QUICK)
def test_a_number_of_any_size_ends_in_a_report(name: str) -> None:
    assert find_faults(ROOT / "examples" / name, every=37) == []


@pytest.mark.skipif(not hasattr(signal, "setitimer"), reason="no timer of CPU time on this platform")
@pytest.mark.sweep
@pytest.mark.parametrize("path", [*list_seeds(), *list_formats()], ids=lambda path: path.name)
def test_every_number_of_any_size_ends_in_a_report(path: Path) -> None:
    """Every fifth change: over the numbers of a file, each odd value has its turn."""
    assert find_faults(path, every=5) == []
