"""What a terminal gets: its width, colours and links, and the options that show more or less."""

from __future__ import annotations

import json
import os
import shutil
import sys
from pathlib import Path

import click
import pytest
from click.testing import CliRunner
from folders import ROOT

from gpulint import cli
from gpulint.cli import terminal
from gpulint.report.formats.terminal_view import View


@pytest.fixture
def on_terminal(monkeypatch: pytest.MonkeyPatch) -> pytest.MonkeyPatch:
    """A terminal of 100 columns with colours and links."""
    monkeypatch.setattr(sys.stdout, "isatty", lambda: True)
    monkeypatch.setattr(shutil, "get_terminal_size", lambda: os.terminal_size((100, 40)))
    monkeypatch.setenv("TERM", "xterm-256color")
    monkeypatch.delenv("NO_COLOR", raising=False)
    return monkeypatch


def test_a_pipe_is_120_columns_wide_without_colours_or_links(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "90")
    monkeypatch.setattr(sys.stdout, "isatty", lambda: False)
    assert not terminal.has_colours()
    assert terminal.find_view(colour=False) == View(width=120)


def test_a_terminal_has_colours_and_links(on_terminal: pytest.MonkeyPatch) -> None:
    view = terminal.find_view(terminal.has_colours())
    assert (view.width, view.colour) == (100, True)
    assert view.link is not None
    assert view.link("a b\x1b.yaml") == (Path.cwd() / "a b\x1b.yaml").as_uri()
    assert "\x1b" not in view.link("a b\x1b.yaml")


@pytest.mark.parametrize(("variable", "value"), [("NO_COLOR", "1"), ("TERM", "dumb")])
def test_the_reader_can_do_without_colours(on_terminal: pytest.MonkeyPatch, variable: str, value: str) -> None:
    on_terminal.setenv(variable, value)
    assert not terminal.has_colours()
    assert terminal.find_view(terminal.has_colours()).link is None
    assert terminal.has_colours(requested=True)


@pytest.mark.parametrize("term", ["linux", "screen.xterm-256color", "vt100"])
def test_a_terminal_without_links_gets_none(on_terminal: pytest.MonkeyPatch, term: str) -> None:
    on_terminal.setenv("TERM", term)
    assert terminal.find_view(colour=True).link is None


@pytest.mark.parametrize(("columns", "width"), [(20, 80), (80, 80), (300, 200)])
def test_a_report_is_80_to_200_columns_wide(on_terminal: pytest.MonkeyPatch, columns: int, width: int) -> None:
    on_terminal.setattr(shutil, "get_terminal_size", lambda: os.terminal_size((columns, 40)))
    assert terminal.find_view(colour=False).width == width


# ---- options


def run(*words: str) -> list[str]:
    """What a check of an example prints."""
    example = str(ROOT / "examples" / "parallel-8-with-4-gpus.yaml")
    return CliRunner().invoke(cli.main, ["check", "--today=2026-11-22", *words, example]).output.splitlines()


def test_quiet_prints_findings_only() -> None:
    lines = run("--quiet", "--show=brief")
    assert lines[0].startswith("error[parallel-size-exceeds-gpus]: ")
    assert len(lines) == 3


def test_statistics_print_a_line_for_each_rule_and_the_totals() -> None:
    lines = run("--statistics")
    assert lines[0] == "1  error[parallel-size-exceeds-gpus]  The parallelism needs more GPUs than the instance has"
    assert lines[-1] == "1 file, 1 workload, 1 error"


def test_a_limit_does_not_change_the_totals() -> None:
    assert run("--limit=1")[-1] == "1 file, 1 workload, 1 error"


def test_selected_rules_narrow_the_workloads_that_are_printed() -> None:
    assert any(line.startswith("contract-reader") for line in run("--select=parallel-size-exceeds-gpus"))
    lines = run("--select=duplicate-key")
    assert not any("contract-reader" in line for line in lines)
    assert lines == ["1 file, 1 workload, no findings"]


def test_the_totals_count_verdicts_in_text_and_json() -> None:
    assert run()[-2:] == ["workloads: 1 fails; 4 GPUs, 1.7 kW", "1 file, 1 workload, 1 error"]
    summary = json.loads("\n".join(run("--format=json")))["summary"]
    assert summary["verdicts"] == {"fit": 0, "depend": 0, "fail": 1, "unknown": 0}


def test_help_lists_the_options_in_groups() -> None:
    shown = CliRunner().invoke(cli.main, ["check", "--help"]).output
    titles = [line for line in shown.splitlines() if line.endswith(":") and not line.startswith(" ")]
    assert titles == [
        "Report:",
        "Text on the terminal:",
        "Exit code:",
        "Rules:",
        "Files:",
        "Changes:",
        "Fixes:",
        "Limits:",
        "Other options:",
    ]


def test_help_lists_the_commands_in_groups() -> None:
    shown = CliRunner().invoke(cli.main, ["--help"]).output
    titles = [line for line in shown.splitlines() if line.endswith(":") and not line.startswith(" ")]
    assert titles == ["Options:", "Check:", "Look up:", "Set up:"]
    for name in cli.Commands().list_commands(click.Context(cli.main)):
        assert f"\n  {name} " in shown
