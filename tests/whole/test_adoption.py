"""The transcript of docs/adoption.md is what its commands print, in turn.

`PYTHONPATH=tests/support python tests/whole/test_adoption.py` writes it anew.
"""

from __future__ import annotations

import os
import re
import shlex
import subprocess
import sys
import tempfile
import unittest.mock
from collections.abc import Iterator, Mapping
from pathlib import Path

import checkout
import old_repository
import pytest
from checkout import committed, git
from click.testing import CliRunner

from gpulint import __version__, cli
from gpulint.pipeline import today as pipeline_today

PAGE = checkout.ROOT / "docs" / "adoption.md"
BLOCK = re.compile(r"```console\n(.*?)```\n", re.DOTALL)
COMMAND = re.compile(r"^\$ (.+)$", re.MULTILINE)
DAY = "2026-11-22"
ADDRESS = "https://git.example.com/tools/gpulint"

pytestmark = [pytest.mark.first, pytest.mark.sweep]


def began(folder: Path) -> dict[str, str]:
    """A repository of 300 old manifests in `fleet`, and an environment in which the project's address leads to this checkout."""
    variables = checkout.environment(folder / "home")
    (folder / "home").mkdir()
    checkout.copied(folder / "gpulint")
    committed(folder / "gpulint", variables)
    git(folder / "gpulint", variables, "tag", f"v{__version__}")
    git(folder, variables, "config", "--global", f"url.file://{folder}/gpulint.insteadOf", ADDRESS)
    old_repository.write(folder / "fleet")
    committed(folder / "fleet", variables)
    return variables


def transcript(page: str, fleet: Path, variables: Mapping[str, str]) -> Iterator[tuple[str, str]]:
    """Each block of the page as it stands, and as its commands print it."""
    for block in BLOCK.finditer(page):
        shown = "".join(f"$ {words}\n{printed(words, fleet, variables)}" for words in COMMAND.findall(block[1]))
        yield block[1], shown


def printed(words: str, fleet: Path, variables: Mapping[str, str]) -> str:
    """What a command prints, and its exit code where that is not 0; gpulint runs on the day of the catalog."""
    first, _, filter_ = words.partition(" | ")
    if not first.startswith("gpulint "):
        shown, code = called(words, fleet, variables)
    else:
        today = unittest.mock.patch.object(pipeline_today, "today", return_value=DAY)
        with today, unittest.mock.patch.dict(os.environ, variables):
            result = CliRunner().invoke(cli.main, shlex.split(first)[1:])
        shown, code = result.output, result.exit_code
        if filter_:
            shown, code = called(filter_, fleet, variables, shown)
    return shown + (f"exit code {code}\n" if code else "")


def called(words: str, fleet: Path, variables: Mapping[str, str], given: str = "") -> tuple[str, int]:
    """What bash prints on both of its outputs, and its exit code."""
    with subprocess.Popen(
        ["bash", "-c", words],
        cwd=fleet,
        env=variables,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
    ) as program:
        return program.communicate(given)[0].replace(str(fleet.parent), "/home/you"), program.returncode


@pytest.fixture
def fleet(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> tuple[Path, dict[str, str]]:
    variables = began(tmp_path)
    monkeypatch.chdir(tmp_path / "fleet")
    return tmp_path / "fleet", variables


def test_an_old_repository_is_adopted_as_the_page_shows(fleet: tuple[Path, dict[str, str]]) -> None:
    for stands, shown in transcript(PAGE.read_text(encoding="utf-8"), *fleet):
        assert stands == shown


def test_the_repository_is_as_old_as_the_page_says() -> None:
    files = dict(old_repository.files())
    assert len(files) == 300
    assert sum("gpu" in text.lower() or "vllm" in text for text in files.values()) == 245


def rewrite() -> None:
    with tempfile.TemporaryDirectory() as folder:
        variables = began(Path(folder))
        os.chdir(Path(folder) / "fleet")
        page = PAGE.read_text(encoding="utf-8")
        for stands, shown in transcript(page, Path(folder) / "fleet", variables):
            page = page.replace(stands, shown, 1)
        os.chdir(checkout.ROOT)
    PAGE.write_text(page, encoding="utf-8")


if __name__ == "__main__":
    sys.exit(rewrite())
