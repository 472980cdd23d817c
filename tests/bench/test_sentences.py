"""The sentences that a second reader marks: every kind of text is drawn from, and code and tables are left out."""

from __future__ import annotations

import importlib
from pathlib import Path
from types import ModuleType

import pytest
from folders import ROOT


@pytest.fixture
def sentences(monkeypatch: pytest.MonkeyPatch) -> ModuleType:
    monkeypatch.syspath_prepend(str(ROOT / "bench"))
    return importlib.import_module("sentences")


def test_a_fourth_each_comes_from_messages_reasons_help_and_pages(sentences: ModuleType) -> None:
    drawn = sentences.draw(1, 40, ROOT, None)
    assert [source for source, *_ in drawn] == [kind for kind in ("message", "rule", "help", "page") for _ in range(10)]
    assert all(text for *_, text in drawn)


def test_code_tables_and_headings_of_a_page_are_left_out(sentences: ModuleType, tmp_path: Path) -> None:
    (tmp_path / "README.md").write_text(
        "# A heading of five whole words\n\nThe first sentence has five words. The second one has five too.\n\n"
        "| a table | of five words or more | is left out |\n\n```\ncode that has more than five words\n```\n\n"
        "- An item is a sentence here.\n- Another item is a sentence too.\n",
        encoding="utf-8",
    )
    found = [text for _, text in sentences.read_pages(tmp_path)]
    assert found == [
        "The first sentence has five words.",
        "The second one has five too.",
        "An item is a sentence here.",
        "Another item is a sentence too.",
    ]
