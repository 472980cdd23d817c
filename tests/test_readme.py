"""The transcripts of README and of two pages are what the commands print. `python tests/test_readme.py` writes them anew."""

from __future__ import annotations

import re
import shlex
import unittest.mock
from pathlib import Path

import pytest
from click.testing import CliRunner

from gpulint import cli

ROOT = Path(__file__).parent.parent
PAGES = (ROOT / "README.md", ROOT / "docs" / "speed.md", ROOT / "docs" / "suggest.md")
BLOCK = re.compile(r"```console\n\$ gpulint (?P<words>[^\n]+)\n(?P<shown>.*?)```\n", re.DOTALL)


def printed(words: str) -> str:
    """What a command prints in the root of the repository on the day of the catalog."""
    with unittest.mock.patch.object(cli, "now", return_value="2026-11-22"):
        return _printed(words)


def _printed(words: str) -> str:
    return CliRunner().invoke(cli.main, shlex.split(words)).output


@pytest.mark.parametrize(
    "block",
    [block for page in PAGES for block in BLOCK.finditer(page.read_text(encoding="utf-8"))],
    ids=lambda block: block["words"],
)
def test_a_transcript_is_what_the_command_prints(block: re.Match[str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(ROOT)
    assert block["shown"] == printed(block["words"])


def rewrite() -> None:
    for page in PAGES:
        text = page.read_text(encoding="utf-8")
        page.write_text(
            BLOCK.sub(lambda block: f"```console\n$ gpulint {block['words']}\n{printed(block['words'])}```\n", text),
            "utf-8",
        )


if __name__ == "__main__":
    rewrite()
