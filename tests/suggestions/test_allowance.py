"""The search for suggestions in one file takes a bounded number of evaluations, and its end is reported."""

from __future__ import annotations

from pathlib import Path

import pytest

import gpulint
from gpulint.report.model import Report
from gpulint.suggestions import allowance

HEAD = "apiVersion: gpulint/v1\nkind: InferenceService\nmetadata: {name: chat}\nspec:\n  roles:\n"
ROLE = """\
    - name: r{number}
      engine: vllm
      checkpoint: meta-llama/Llama-3.1-70B-Instruct
      accelerator: h100-sxm-80gb
      gpus_per_pod: 1
      max_model_len: {length}
"""


def check(folder: Path, roles: int) -> Report:
    """The report on roles that differ."""
    path = folder / "spec.yaml"
    path.write_text(HEAD + "".join(ROLE.format(number=at, length=8_192 + at) for at in range(roles)))
    return gpulint.check(path)


@pytest.mark.parametrize(
    ("limit", "reason"),
    [
        ("CANDIDATES_MAX", "the search for suggestions ended after 5 candidates; its remaining findings have none"),
        ("ROLES_MAX", "the verification of suggestions ended after 5 roles; its remaining findings have none"),
    ],
)
def test_beyond_the_allowance_findings_have_no_suggestions_and_the_report_says_so(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, limit: str, reason: str
) -> None:
    whole = check(tmp_path, 4)
    assert all(finding.suggestions for finding in whole.findings)
    assert whole.skipped == ()
    monkeypatch.setattr(allowance, limit, 5)
    report = check(tmp_path, 4)
    assert [finding._replace(suggestions=()) for finding in report.findings] == [
        finding._replace(suggestions=()) for finding in whole.findings
    ]
    assert report.findings[-1].suggestions == ()
    assert [(skip.reason, skip.cause) for skip in report.skipped] == [(reason, "suggestions")]
    assert report == check(tmp_path, 4)


def test_the_end_of_a_search_fails_no_run_that_does_not_ask_for_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(allowance, "CANDIDATES_MAX", 5)
    assert "file-not-checked" not in {finding.rule for finding in check(tmp_path, 4).failing}
