"""What vendors and engines publish about model and hardware, against what we say of the same specs."""

from __future__ import annotations

import csv
import datetime
import functools
import importlib
import sys
from collections import Counter
from types import ModuleType

import pytest
from folders import DATA, ROOT

ROWS = list(csv.DictReader((DATA / "known_answers" / "recommendations.csv").read_text("utf-8").splitlines()))
BENCH = ROOT / "bench"
RECOMMENDED = [row for row in ROWS if row["claim"] == "recommended"]
MINIMUM = [row for row in ROWS if row["claim"] == "minimum"]
TOO_SMALL = [row for row in ROWS if row["claim"] == "does-not-fit"]
MEMORY = {
    *("weights-exceed-memory", "serving-does-not-fit", "context-does-not-fit", "default-context-does-not-fit"),
    *("training-does-not-fit", "training-weights-exceed-memory", "training-states-exceed-memory"),
}


@functools.cache
def reader() -> ModuleType:
    sys.path.insert(0, str(BENCH))
    try:
        return importlib.import_module("recommendations")
    finally:
        sys.path.remove(str(BENCH))


def by_id(rows: list[dict[str, str]]) -> pytest.MarkDecorator:
    return pytest.mark.parametrize("row", [pytest.param(row, id=row["id"]) for row in rows])


@by_id(RECOMMENDED)
def test_what_is_recommended_is_never_called_too_small_in_every_scenario(row: dict[str, str]) -> None:
    found = reader().judge(row)
    assert found.verdict != "does not fit"
    assert not MEMORY & set(found.errors)
    assert found.agrees or row["note"], found.verdict


@by_id(MINIMUM)
def test_the_least_hardware_fits_and_the_next_smaller_one_is_no_clean_fit(row: dict[str, str]) -> None:
    found = reader().judge(row)
    assert found.smaller != "fits"
    assert found.agrees or row["note"], found.verdict


@by_id(TOO_SMALL)
def test_what_a_source_calls_too_small_is_no_clean_fit(row: dict[str, str]) -> None:
    found = reader().judge(row)
    assert found.verdict != "fits"
    assert found.agrees or row["note"], found.verdict


@by_id([row for row in ROWS if row["note"]])
def test_a_note_stands_only_where_we_differ(row: dict[str, str]) -> None:
    assert not reader().judge(row).agrees


def test_there_are_enough_recommendations_of_both_kinds_and_each_has_its_source() -> None:
    counted = Counter(row["kind"] for row in ROWS)
    assert counted["serving"] >= 40 and counted["training"] >= 8
    assert len({row["id"] for row in ROWS}) == len(ROWS)
    for row in ROWS:
        assert row["source"].startswith("https://") and row["title"] and row["statement"]
        assert datetime.date.fromisoformat(row["date"]) <= datetime.date(2026, 11, 22)


@pytest.mark.parametrize(
    ("claim", "verdict", "smaller", "agrees"),
    [
        ("recommended", "fits", "", True),
        ("recommended", "not evaluated", "", False),
        ("recommended", "likely does not fit", "", False),
        ("minimum", "likely fits", "does not fit", True),
        ("minimum", "fits", "fits", False),
        ("does-not-fit", "likely does not fit", "", True),
        ("does-not-fit", "likely fits", "", False),
    ],
)
def test_agreement_is_what_the_claim_says(claim: str, verdict: str, smaller: str, agrees: bool) -> None:
    assert reader().agrees(claim, verdict, smaller) is agrees
