"""The bench of mis-sized specs: its files are read, and its answers speak of quantities and products that there are."""

from __future__ import annotations

import csv
import re
from pathlib import Path

import pytest

from gpulint import adapters
from gpulint.catalog import hardware
from gpulint.facts.glossary import glossary
from gpulint.source import documents, repository

BENCH = Path(__file__).parent.parent / "bench"
SPECS, ANSWERS = BENCH / "mis_sized", BENCH / "mis_sized.tsv"
TERM = re.compile(r"(\w+)(!=|<=|>=|=)(\S+)")

pytestmark = pytest.mark.skipif(not ANSWERS.is_file(), reason="the sdist has no bench")


def rows() -> list[dict[str, str]]:
    if not ANSWERS.is_file():
        return []
    lines = (line for line in ANSWERS.read_text(encoding="utf-8").splitlines() if not line.startswith("#"))
    return list(csv.DictReader(lines, delimiter="\t", quoting=csv.QUOTE_NONE))


ROWS = [pytest.param(row, id=row["file"]) for row in rows()]


def terms(row: dict[str, str]) -> list[tuple[str, str, list[str]]]:
    words = [word for one in row["acceptable"].split(" or ") for word in one.removeprefix("also ").split()]
    found = [TERM.fullmatch(word) for word in words]
    assert all(found), words
    return [(one[1], one[2], one[3].split("|")) for one in found if one]


def test_every_spec_has_its_row_and_every_row_its_spec() -> None:
    there = {path.relative_to(SPECS).as_posix() for path in SPECS.rglob("*") if path.is_file()}
    named = [row["file"] for row in rows()]
    assert sorted(named) == sorted(one for one in there if not one.endswith("gpulint.yaml"))
    assert len(named) == len(set(named)) == 60


@pytest.mark.parametrize("row", ROWS)
def test_a_spec_is_read_as_one_workload(row: dict[str, str]) -> None:
    path = SPECS / row["file"]
    loaded = documents.load(path.name, path.read_bytes())
    tree = repository.WorkTree(path.parent, base=path.parent)
    assert not loaded.problems
    assert len([one for document in loaded.documents for one in adapters.read(document, tree)]) == 1


@pytest.mark.parametrize("row", ROWS)
def test_answers_speak_of_known_quantities_and_products(row: dict[str, str]) -> None:
    for quantity, relation, values in terms(row):
        assert quantity in glossary()
        if quantity == "accelerator":
            assert all(hardware.accelerator(value) for value in values), values
        if relation in ("<=", ">="):
            assert len(values) == 1 and float(values[0]) > 0


@pytest.mark.parametrize("row", ROWS)
def test_a_row_says_where_its_answer_comes_from_and_has_one_that_gives_nothing_up(row: dict[str, str]) -> None:
    assert row["kind"] and row["objective"] and len(row["source"]) > 40
    assert any(not one.startswith("also ") for one in row["acceptable"].split(" or "))
