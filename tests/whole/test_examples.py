"""The examples: each teaches the rule that its header names, and nothing else; test_facility_examples has those of rooms."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from folders import ROOT
from samples import report

EXAMPLES = [path for path in sorted((ROOT / "examples").glob("*.yaml")) if not path.stem.startswith("facility-")]
NAMED = re.compile(r"Rule: ([a-z0-9-]+)")


@pytest.mark.parametrize("path", EXAMPLES, ids=lambda path: path.stem)
def test_an_example_shows_the_rule_that_its_header_names(path: Path) -> None:
    text = path.read_text(encoding="utf-8")
    header = "".join(line for line in text.splitlines() if line.startswith("#"))
    found = report(text)
    assert [one.rule for one in found.open] == NAMED.findall(header)
    assert found.workloads


def test_at_least_one_example_is_right() -> None:
    assert any(not NAMED.search(path.read_text(encoding="utf-8")) for path in EXAMPLES)
