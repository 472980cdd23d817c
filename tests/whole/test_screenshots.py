"""The pictures of a terminal in the documentation are what the command prints there.

`PYTHONPATH=tests/support python tests/whole/test_screenshots.py` draws them anew.
"""

from __future__ import annotations

import os
from pathlib import Path

import pytest
import terminal_svg
from folders import ROOT

import gpulint
from gpulint.pipeline.session import Options
from gpulint.report.formats import text
from gpulint.report.formats.terminal_view import View
from gpulint.report.model import Report

WIDTHS = (80, 140)
COMMAND = "gpulint check examples --limit 6"


def find_picture(width: int) -> Path:
    """Return the picture of a terminal of this width."""
    return ROOT / "docs" / f"terminal-{width}.svg"


def draw(report: Report, width: int) -> str:
    """Draw the command and what it prints."""
    shown = text.render(report, View(width=width, colour=True, limit=6))
    return terminal_svg.draw(f"$ {COMMAND}\n{shown}", width, f"{COMMAND} at {width} columns")


def check() -> Report:
    """Return the report on the examples on the day of the catalog."""
    return gpulint.check(["examples"], Options("2026-11-22"))


@pytest.mark.parametrize("width", WIDTHS)
def test_a_picture_of_a_terminal_is_what_the_command_prints(width: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(ROOT)
    assert find_picture(width).read_text(encoding="utf-8") == draw(check(), width)


def rewrite() -> None:
    os.chdir(ROOT)
    report = check()
    for width in WIDTHS:
        find_picture(width).write_text(draw(report, width), encoding="utf-8")


if __name__ == "__main__":
    rewrite()
