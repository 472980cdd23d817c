"""`explain FILE:LINE` shows what a finding or a verdict rests on; `explain WORD` knows the words of a report."""

from __future__ import annotations

from pathlib import Path

import pytest
from click.testing import CliRunner
from folders import ROOT

from gpulint import cli
from gpulint.cli.explain import place, word
from gpulint.report import verdicts
from gpulint.report.formats import totals, workload_table
from gpulint.report.model import Severity


@pytest.fixture(autouse=True)
def _at_the_root(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(ROOT)


def run(*words: str) -> str:
    return CliRunner().invoke(cli.main, ["explain", "--today=2026-11-22", *words]).output


def test_a_finding_is_explained_with_inputs_basis_formulas_sources_and_the_smallest_change() -> None:
    shown = run("examples/70b-on-two-l4.yaml:24")
    assert "error[weights-exceed-memory]: the model weights take 65.71 GiB per GPU" in shown
    rows = {tuple(line.split("  ")[1].split()[:1]): line.split() for line in shown.splitlines() if line[:2] == "  "}
    assert rows[("tensor_parallel",)] == ["tensor_parallel", "2", "stated", "examples/70b-on-two-l4.yaml:24"]
    assert rows[("cpu_offload_bytes",)][-5:] == ["default", "default", "of", "vllm", "0.10.1"]
    assert rows[("stage_share",)] == ["stage_share", "100", "%", "computed"]
    assert rows[("parameters",)][-1] == "catalog"
    assert "stage_share = ceil(layers / pp) / layers" in " ".join(shown.split())
    assert "source: vLLM, distributed/utils.py, get_pp_indices" in " ".join(shown.split())
    assert "Smallest change after which the finding is gone\n  try 2 × RTX PRO 6000" in shown
    assert shown.splitlines()[-1] == "  17:43  nvidia-l4 → nvidia-rtx-pro-6000"


def test_a_line_without_a_finding_explains_the_verdict_on_the_workload_around_it() -> None:
    shown = run("examples/right-two-node-group.yaml:20")
    assert "research-405b/leader/vllm: fits." in shown
    assert "The verdict changes once a GPU needs 33.51 GiB more" in shown


def test_the_column_that_a_report_prints_may_follow() -> None:
    assert run("examples/70b-on-two-l4.yaml:24:15") == run("examples/70b-on-two-l4.yaml:24")


def test_a_component_of_a_facility_is_explained_too() -> None:
    shown = run("examples/facility-dgx-on-208v.yaml:13")
    assert "rack_usable_va       34.59 kVA" in shown
    assert "4 → 1" in shown


def test_a_file_without_a_workload_has_nothing_to_explain(tmp_path: Path) -> None:
    (tmp_path / "a.yaml").write_text("a: 1\n")
    found = CliRunner().invoke(cli.main, ["explain", f"{tmp_path / 'a.yaml'}:1"])
    assert found.exit_code == 2
    assert "has no finding, and no workload is around it" in found.output


@pytest.mark.parametrize("name", ["weights-exceed-memory", "a.yaml", "a.yaml:b", "C:"])
def test_other_names_are_no_places(name: str) -> None:
    assert place.read_place(name) is None


# ---- words


@pytest.mark.parametrize(
    "name",
    [
        *("fits", "likely fits", "fits in every case", "likely fits in every case", "not evaluated", "does not run"),
        *("does not fit", "likely does not fit", "does not fit in any case", "undersized", "likely undersized"),
        *("depends on sequence length: fits up to 2048", "needs 1 × L4 24GB", "part of leader/vllm", "no GPU"),
        *(severity.word for severity in Severity),
        *verdicts.Outcomes._fields,
        *totals.NAMES,
        *workload_table.COLUMNS,
        *("likely", "possible", "assumed", "not checked", "suppressed"),
    ],
)
def test_every_word_of_a_report_has_an_explanation(name: str) -> None:
    assert "no such rule" not in run(*name.split())


def test_the_longest_word_that_a_verdict_begins_with_explains_it() -> None:
    (found,) = word.explain("fits in every case of three")
    assert found.name == "fits in every case"
