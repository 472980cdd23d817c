"""What vendors, circuit tables and data-centre texts publish of rooms, against our facts of the same rooms."""

from __future__ import annotations

import csv
import datetime
import functools
import importlib
import sys
from types import ModuleType

import pytest
from folders import DATA, ROOT

ROWS = list(csv.DictReader((DATA / "known_answers" / "rooms.csv").read_text("utf-8").splitlines()))
BENCH = ROOT / "bench"
MET = [row for row in ROWS if not row["difference"]]
DIFFERENT = [row for row in ROWS if row["difference"]]


@functools.cache
def reader() -> ModuleType:
    sys.path.insert(0, str(BENCH))
    try:
        return importlib.import_module("facility")
    finally:
        sys.path.remove(str(BENCH))


def by_id(rows: list[dict[str, str]]) -> pytest.MarkDecorator:
    return pytest.mark.parametrize("row", [pytest.param(row, id=row["id"]) for row in rows])


def test_each_value_is_listed_once_in_order_of_its_name() -> None:
    names = [row["id"] for row in ROWS]
    assert names == sorted(set(names))


@by_id(ROWS)
def test_each_value_has_a_unit_a_source_and_its_day(row: dict[str, str]) -> None:
    assert float(row["value"]) > 0
    assert row["unit"]
    assert len(row["source"]) > 10
    assert datetime.date.fromisoformat(row["date"]) >= datetime.date(2026, 11, 1)


def test_there_are_enough_values_of_many_kinds() -> None:
    assert len(ROWS) >= 60
    assert len({row["quantity"] for row in ROWS}) >= 25


@by_id(MET)
def test_a_published_value_is_ours_within_two_percent(row: dict[str, str]) -> None:
    assert reader().compared(row).met


@by_id(DIFFERENT)
def test_what_differs_has_a_reason_because_it_differs(row: dict[str, str]) -> None:
    assert not reader().compared(row).met


# Worked by hand, digit by digit, from the definitions: V · A · √3 · 0.8 and the like.
BY_HAND = {
    "eaton-cbl356": 208 * 60 * 0.8 * 1.7320508,
    "hp-na-240v-1p-30a": 240 * 30 * 0.8,
    "hp-emea-230v-1p-32a": 230 * 32,
    "eaton-cbl360": 415 * 32 * 1.7320508,
    "pod-feed-failover": 40_800 / 2,
    "datacentermd-load": 3 * 1000 + 6 * 530,
    "dgx-h100-heat": 38_557 * 0.29307107,
    "hvac-100kw-tons": 100_000,
    "liquid-stulz-tcs": 1_200_000 / (4179 * 10 * 992),
    "air-gb300-residual": 136_000 * 0.1324,
    "energy-500kw-kwh": 500 * 1.45 * 8760 * 3.6e6,
}


@pytest.mark.parametrize("name", BY_HAND)
def test_ours_is_what_the_definition_gives_within_a_percent(name: str) -> None:
    row = next(row for row in ROWS if row["id"] == name)
    assert reader().compared(row).ours == pytest.approx(BY_HAND[name], rel=0.01)
