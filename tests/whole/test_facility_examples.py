"""The examples of rooms: each says in its header, in words and by name, what is found in it, and nothing else is."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from folders import ROOT
from samples import report

EXAMPLES = sorted((ROOT / "examples").glob("facility-*.yaml"))
NAMED = re.compile(r"([a-z0-9-]+) \((error|warning|note)\)")


@pytest.mark.parametrize("path", EXAMPLES, ids=lambda path: path.stem)
def test_an_example_of_a_room_is_found_to_be_what_its_header_says(path: Path) -> None:
    text = path.read_text(encoding="utf-8")
    (line,) = [line for line in text.splitlines() if line.startswith("# Rules: ")]
    found = report(text)
    said = {(one.rule, one.severity.name.lower()) for one in found.open}
    assert said == set(NAMED.findall(line))
    assert found.facilities


def test_the_ten_lines_of_the_page_say_what_it_says_they_do() -> None:
    page = (ROOT / "docs" / "facility.md").read_text(encoding="utf-8")
    block = re.search(r"```yaml\n(.*?)```", page, re.DOTALL)
    assert block is not None
    assert len(block[1].splitlines()) <= 12
    assert {one.rule for one in report(block[1]).open} == {"psu-redundancy-broken"}


def test_one_of_them_is_right() -> None:
    assert [path.stem for path in EXAMPLES if "# Rules: none" in path.read_text(encoding="utf-8")] == [
        "facility-dgx-on-three-feeds"
    ]
