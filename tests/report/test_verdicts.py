"""Verdicts are sorted into fit, depend, fail and unknown."""

from __future__ import annotations

import pytest

from gpulint.report import verdicts
from gpulint.report.model import Location, Report, RoleSummary, WorkloadSummary

SORTED = {
    "fits": "fit",
    "likely fits": "fit",
    "fits in every case": "fit",
    "likely fits in every case": "fit",
    "depends on sequence length: fits up to 2048": "depend",
    "depends on activation checkpointing and others": "depend",
    "needs 1 × L40S 48GB": "depend",
    "needs more than one machine": "depend",
    "does not fit": "fail",
    "likely does not fit": "fail",
    "does not fit in any case": "fail",
    "does not run": "fail",
    "undersized": "fail",
    "likely undersized": "fail",
    "not evaluated": "unknown",
    "": "unknown",
    "part of leader/vllm": "",
    "no GPU": "",
}


@pytest.mark.parametrize(("verdict", "outcome"), SORTED.items())
def test_each_verdict_stands_for_one_outcome(verdict: str, outcome: str) -> None:
    assert verdicts.sort_verdict(verdict) == outcome


def workload(*words: str) -> WorkloadSummary:
    """A workload with a role for each verdict."""
    roles = tuple(RoleSummary(f"role{at}", verdict=word) for at, word in enumerate(words))
    return WorkloadSummary("chat", "inference", "kubernetes", Location("a.yaml", 1, 1, 1, 2), roles)


@pytest.mark.parametrize(
    ("words", "outcome"),
    [
        (("fits", "does not fit"), "fail"),
        (("not evaluated", "needs 1 × L4 24GB"), "depend"),
        (("fits", "not evaluated"), "unknown"),
        (("fits", "part of leader/vllm"), "fit"),
        (("no GPU",), ""),
        ((), ""),
    ],
)
def test_a_workload_has_the_worst_outcome_of_its_roles(words: tuple[str, ...], outcome: str) -> None:
    assert verdicts.find_outcome(workload(*words)) == outcome


def test_the_summary_of_a_report_counts_its_workloads_by_outcome() -> None:
    every = (workload("fits"), workload("likely fits"), workload("does not run"), workload("no GPU"))
    assert Report(workloads=every).summary.verdicts == verdicts.Outcomes(fit=2, depend=0, fail=1, unknown=0)
