"""Progress appears only on a terminal, and only after a while."""

from __future__ import annotations

import io
import sys

import pytest

from gpulint.cli import progress


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


def test_nothing_is_written_where_stderr_is_no_terminal(monkeypatch: pytest.MonkeyPatch) -> None:
    stderr = io.StringIO()
    monkeypatch.setattr(sys, "stderr", stderr)
    monkeypatch.setattr(progress, "PATIENCE_S", -1.0)
    assert list(progress.show_progress(range(3))) == [0, 1, 2]
    assert stderr.getvalue() == ""


def test_a_short_run_on_a_terminal_writes_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    stderr = Terminal()
    monkeypatch.setattr(sys, "stderr", stderr)
    assert list(progress.show_progress(range(3))) == [0, 1, 2]
    assert stderr.getvalue() == ""


def test_a_long_run_on_a_terminal_counts_the_files_and_loses_none(monkeypatch: pytest.MonkeyPatch) -> None:
    stderr = Terminal()
    monkeypatch.setattr(sys, "stderr", stderr)
    monkeypatch.setattr(progress, "PATIENCE_S", -1.0)
    monkeypatch.setenv("TERM", "xterm")
    assert list(progress.show_progress(range(3))) == [0, 1, 2]
    assert "files checked" in stderr.getvalue()
