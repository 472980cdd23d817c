"""The published figures that the model is measured against are well-formed: each can be traced and compared."""

from __future__ import annotations

import csv
import datetime
import re
from pathlib import Path

import pytest

from gpulint.catalog import package_data

FOLDER = Path(__file__).parent / "known_answers"
FILES = ("bubbles", "interconnect", "power", "serving", "storage", "training_speed")
NUMBERS = (
    "gpus nodes tp pp virtual_stages cp ep dp replicas micro_batch micro_batches global_batch sequence isl osl "
    "concurrency tokens_per_s payload_bytes parameters layers hidden_size heads network_gbit_per_s_per_gpu"
).split()


def rows_of(name: str) -> list[dict[str, str]]:
    with (FOLDER / f"{name}.csv").open(newline="") as file:
        return list(csv.DictReader(file))


def accelerators() -> set[str]:
    with (package_data.find_folder("catalog") / "tables" / "accelerators.csv").open(newline="") as file:
        return {row["id"] for row in csv.DictReader(file)}


@pytest.mark.parametrize("name", FILES)
def test_each_figure_is_listed_once_in_order_of_its_name(name: str) -> None:
    names = [row["id"] for row in rows_of(name)]
    assert names == sorted(set(names))


@pytest.mark.parametrize("name", FILES)
def test_each_figure_names_a_source_that_was_read_and_the_day(name: str) -> None:
    for row in rows_of(name):
        assert len(row["source"]) > 10, row["id"]
        assert "recalled" not in row["source"], row["id"]
        assert datetime.date.fromisoformat(row["date"]) >= datetime.date(2026, 11, 1), row["id"]


@pytest.mark.parametrize("name", FILES)
def test_each_figure_is_a_positive_number_with_a_unit(name: str) -> None:
    for row in rows_of(name):
        assert float(row["value"]) >= 0, row["id"]
        assert row["unit"], row["id"]
        assert not [column for column in NUMBERS if row.get(column) and float(row[column]) <= 0], row["id"]


@pytest.mark.parametrize("name", FILES)
def test_what_a_reader_would_grant_each_figure_is_written_with_its_reason(name: str) -> None:
    for row in rows_of(name):
        assert row["band_reason"], row["id"]
        assert not row["band"] or 0 < float(row["band"]) < 1, row["id"]


@pytest.mark.parametrize("name", FILES)
def test_the_hardware_of_each_figure_is_known(name: str) -> None:
    stated = {row.get("gpu") or row.get("hardware") or "" for row in rows_of(name)}
    assert stated - {""} <= accelerators()


def test_no_source_is_a_path_of_one_machine() -> None:
    for name in FILES:
        assert not [row["id"] for row in rows_of(name) if re.search(r"(^|\s)(/work|/tmp|\.\./)", row["source"])]


def test_there_are_enough_figures_to_judge_by() -> None:
    assert sum(len(rows_of(name)) for name in ("interconnect", "training_speed", "bubbles")) >= 40
    assert len({(row["model"], row["gpu"]) for row in rows_of("serving")}) >= 20
    assert all(len(rows_of(name)) >= 8 for name in ("power", "storage"))
