"""Files that the system refuses to read: whoever needs one, the run ends with 3 and names it."""

from __future__ import annotations

import errno
import json
import os
from collections.abc import Callable
from pathlib import Path

import pytest
from command_line import ELSEWHERE, RIGHT, Run, write

Refuse = Callable[[str, int], None]
REFERRING = RIGHT.replace("resources:", "envFrom: [{configMapRef: {name: settings}}]\n      resources:")


@pytest.fixture
def refuse(monkeypatch: pytest.MonkeyPatch) -> Refuse:
    """Lets every open of a file fail."""
    real = os.open

    def install(name: str, code: int) -> None:
        def failing(place: str, flags: int, *words: int, **named: int) -> int:
            if os.path.basename(place) == name:
                raise OSError(code, os.strerror(code), place)
            return real(place, flags, *words, **named)

        monkeypatch.setattr(os, "open", failing)

    return install


# ---- must end with 3


@pytest.mark.parametrize("code", [errno.EIO, errno.EACCES, errno.EMFILE])
@pytest.mark.parametrize("words", [("right.yaml",), (), ("--fix",), ("--exit-zero",)])
def test_a_spec_that_is_refused_fails_the_run(run: Run, refuse: Refuse, words: tuple[str, ...], code: int) -> None:
    write("right.yaml", RIGHT)
    refuse("right.yaml", code)
    result = run("check", *words)
    assert result.exit_code == 3
    assert "right.yaml:1:1" in result.stdout
    assert f"this file was not checked: cannot be read: {os.strerror(code).lower()}" in result.stdout


def test_a_file_that_only_another_refers_to_fails_the_run(run: Run, refuse: Refuse) -> None:
    write("chat.yaml", REFERRING)
    write("settings.yaml", ELSEWHERE)
    refuse("settings.yaml", errno.EIO)
    result = run("check", "--format", "json", "chat.yaml")
    assert result.exit_code == 3
    assert [skip["path"] for skip in json.loads(result.stdout)["skipped"]] == ["settings.yaml"]


def test_an_ignore_file_that_is_refused_fails_the_run_and_stops_fixes(run: Run, refuse: Refuse) -> None:
    write("right.yaml", RIGHT.replace("--max-model-len", "--max-num-batched-token=8192, --max-model-len"))
    write(".gitignore", "right.yaml\n")
    refuse(".gitignore", errno.EIO)
    before = Path("right.yaml").read_bytes()
    result = run("check", "--fix")
    assert result.exit_code == 3
    assert Path("right.yaml").read_bytes() == before
    assert "not written right.yaml: .gitignore cannot be read: input/output error" in result.stderr


def test_no_baseline_is_written_from_a_part_of_the_files(run: Run, refuse: Refuse) -> None:
    write("right.yaml", RIGHT)
    refuse("right.yaml", errno.EIO)
    result = run("baseline")
    assert (result.exit_code, os.path.lexists(".gpulint-baseline.json")) == (3, False)
    assert result.stderr == "gpulint: right.yaml cannot be read: input/output error\n"


def test_init_writes_nothing_from_a_part_of_the_files(run: Run, refuse: Refuse) -> None:
    write("right.yaml", RIGHT)
    refuse("right.yaml", errno.EIO)
    result = run("init", "--spec", "spec.yaml")
    assert (result.exit_code, sorted(os.listdir())) == (3, [".git", "right.yaml"])
    assert result.stderr == "gpulint: right.yaml could not be read; nothing was written\n"


# ---- must not


def test_a_file_that_no_part_of_the_run_needs_changes_nothing(run: Run, refuse: Refuse) -> None:
    write("right.yaml", RIGHT)
    write("notes.txt", "nothing\n")
    refuse("notes.txt", errno.EIO)
    assert run("check").exit_code == 0


def test_a_file_that_is_gone_is_no_refusal(run: Run) -> None:
    write("chat.yaml", REFERRING)
    assert run("check", "chat.yaml").exit_code == 0


def test_an_excluded_file_is_not_read(run: Run, refuse: Refuse) -> None:
    write("right.yaml", RIGHT)
    write("secret.yaml", RIGHT)
    refuse("secret.yaml", errno.EACCES)
    assert run("check", "--exclude", "secret.yaml").exit_code == 0
