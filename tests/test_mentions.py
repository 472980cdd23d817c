"""Modules that are imported only when a word of theirs stands in the input: none of them is forgotten."""

from __future__ import annotations

from pathlib import Path

import pytest

from gpulint import adapters, engines
from gpulint.catalog import package_data

PACKAGES = {Path(engines.__file__).parent: "def read(", Path(adapters.__file__).parent: "def claims("}


@pytest.mark.parametrize(("package", "says"), list(PACKAGES.items()), ids=["engines", "adapters"])
def test_every_module_that_reads_says_when_it_is_needed(package: Path, says: str) -> None:
    files = (file for file in package.rglob("*.py") if file.parent != package)
    reading = {file for file in files if f"\n{says}" in file.read_text()}
    assert reading == {package_data.file(package, name) for name in package_data.list_mentions(package)}


def test_the_words_of_an_engine_are_lower_case_as_the_command_is_searched() -> None:
    assert all(
        word == word.lower()
        for words in package_data.list_mentions(Path(engines.__file__).parent).values()
        for word in words
    )
