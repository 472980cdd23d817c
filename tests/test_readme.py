"""The transcripts of README and of five pages are what the commands print, and the policies shown are such.

`python tests/test_readme.py` writes the transcripts anew.
"""

from __future__ import annotations

import json
import os
import re
import shlex
import unittest.mock
from pathlib import Path

import jsonschema
import pytest
from click.testing import CliRunner

from gpulint import cli
from gpulint.pipeline import today
from gpulint.source import documents

ROOT = Path(__file__).parent.parent
PAGES = (
    ROOT / "README.md",
    *(ROOT / "docs" / f"{name}.md" for name in ("facility", "report", "sizing", "speed", "suggest")),
)
PICTURE = ROOT / "docs" / "racks.svg"
DRAW = "facility --format svg examples/facility-dgx-on-208v.yaml"
BLOCK = re.compile(r"```console\n\$ gpulint (?P<words>[^\n]+)\n(?P<shown>.*?)```\n", re.DOTALL)


def printed(words: str) -> str:
    """What a command prints in the root of the repository on the day of the catalog."""
    with unittest.mock.patch.object(today, "today", return_value="2026-11-22"):
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


POLICY = re.compile(r"```yaml\n(?P<text># [\w./-]*gpulint\.yaml\b.*?)```\n", re.DOTALL)
POLICIES = [
    (page.relative_to(ROOT).as_posix(), block["text"])
    for page in (ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md")))
    for block in POLICY.finditer(page.read_text(encoding="utf-8"))
]


@pytest.mark.parametrize(("page", "text"), POLICIES, ids=[f"{page}-{at}" for at, (page, _) in enumerate(POLICIES)])
def test_a_policy_that_is_shown_follows_its_contract(page: str, text: str) -> None:
    """In YAML 1.2, which editors hold against the contract, `off` is a word."""
    quoted = re.sub(r": off\b", ": 'off'", text)
    (document,) = documents.load("gpulint.yaml", f"{quoted}\n# gpulint\n".encode()).documents
    contract = json.loads((ROOT / "schemas" / "policy.json").read_bytes())
    assert [error.message for error in jsonschema.Draft202012Validator(contract).iter_errors(document.data)] == []


def test_policies_are_shown() -> None:
    assert len(POLICIES) >= 2


def test_the_readme_is_short_and_shows_one_finding() -> None:
    text = (ROOT / "README.md").read_text(encoding="utf-8")
    assert len(text.splitlines()) <= 150
    assert [block["words"] for block in BLOCK.finditer(text)] == ["check examples/parallel-8-with-4-gpus.yaml"]


def test_the_picture_of_a_rack_is_what_the_command_draws(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(ROOT)
    assert PICTURE.read_text(encoding="utf-8") == printed(DRAW)


def rewrite() -> None:
    os.chdir(ROOT)
    PICTURE.write_text(printed(DRAW), encoding="utf-8")
    for page in PAGES:
        text = page.read_text(encoding="utf-8")
        page.write_text(
            BLOCK.sub(lambda block: f"```console\n$ gpulint {block['words']}\n{printed(block['words'])}```\n", text),
            "utf-8",
        )


if __name__ == "__main__":
    rewrite()
