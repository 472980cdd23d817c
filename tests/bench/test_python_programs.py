"""The bench of Python programs of our own: every folder has its row, and a row that is wrong is a miss."""

from __future__ import annotations

import importlib
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest
from folders import ROOT
from ruamel.yaml import YAML

from gpulint.catalog import hardware
from gpulint.policy.rules import selection

BENCH = ROOT / "bench"
PROGRAMS, EXPECTED = BENCH / "python_programs", BENCH / "python_programs.yaml"

pytestmark = pytest.mark.skipif(not EXPECTED.is_file(), reason="the sdist has no bench")
ROWS: list[dict[str, Any]] = YAML(typ="safe").load(EXPECTED.read_text(encoding="utf-8")) if EXPECTED.is_file() else []


@pytest.fixture
def bench(monkeypatch: pytest.MonkeyPatch) -> ModuleType:
    monkeypatch.syspath_prepend(str(BENCH))
    return importlib.import_module("python_programs")


def row(case: str) -> dict[str, Any]:
    return next(one for one in ROWS if one["case"] == case)


def test_every_folder_has_its_row_and_every_row_its_folder() -> None:
    assert sorted(one["case"] for one in ROWS) == sorted(path.name for path in PROGRAMS.iterdir())


@pytest.mark.parametrize("one", ROWS, ids=lambda one: str(one["case"]))
def test_a_row_names_a_file_accelerators_and_rules_that_there_are(one: dict[str, Any]) -> None:
    assert Path(PROGRAMS, one["case"], one["file"]).is_file()
    assert one["accelerator"] == "open" or all(map(hardware.accelerator, one["accelerator"]))
    assert set(one.get("rules", ())) <= set(selection.load_rules())
    assert (one["sized"] == "wrong") == bool(one.get("rules"))


def test_a_program_that_is_read_right_has_every_column_right(bench: ModuleType) -> None:
    assert {score.column: score.is_right for score in bench.score_case(row("legal_tune"))} == {
        **dict.fromkeys(("program", "checkpoint", "GPUs", "accelerator", "verdict", "method", "alone"), True)
    }


@pytest.mark.parametrize(
    ("change", "column"),
    [
        ({"program": "trl"}, "program"),
        ({"checkpoint": "Qwen/Qwen2.5-7B"}, "checkpoint"),
        ({"method": "lora"}, "method"),
        ({"gpus": 2}, "GPUs"),
        ({"accelerator": ["l4"]}, "accelerator"),
        ({"verdict": "fits", "rules": []}, "verdict"),
        ({"rules": ["generations-not-divisible"]}, "verdict"),
    ],
)
def test_a_column_that_differs_is_a_miss(bench: ModuleType, change: dict[str, object], column: str) -> None:
    missed = [score.column for score in bench.score_case({**row("legal_tune"), **change}) if not score.is_right]
    assert missed == [column]


def test_a_workload_in_another_file_misses_every_column(bench: ModuleType) -> None:
    missed = {
        score.column for score in bench.score_case({**row("legal_tune"), "file": "train.py"}) if not score.is_right
    }
    assert missed == {"program", "checkpoint", "GPUs", "accelerator", "verdict", "method", "alone"}
