"""The report as JSON: the contract's keys and values, whole, for one spec with two findings."""

from __future__ import annotations

import json
from importlib import metadata
from typing import Any

import pytest
from samples import report
from small_reports import HOSTILE, SPEC, finding, safe

from gpulint.report.formats import json as formats_json
from gpulint.report.model import Change, Comparison, Failure, Figures, Report, Skip


def rendered(spec: str) -> dict[str, Any]:
    data: dict[str, Any] = json.loads(formats_json.render(report(spec)))
    return data


def same(value: object, unit: str = "") -> dict[str, object]:
    """A fact that is the same in every scenario."""
    return {"unit": unit, "best": value, "expected": value, "worst": value}


def place(line: int, column: int, end_column: int) -> dict[str, object]:
    return {"path": "spec.yaml", "line": line, "column": column, "end_line": line, "end_column": end_column}


def start(line: int, column: int) -> dict[str, object]:
    return {"path": "spec.yaml", "line": line, "column": column}


FIRST = {
    "rule": "parallel-size-exceeds-gpus",
    "family": "parallelism",
    "severity": "error",
    "confidence": 3,
    "message": "the parallelism needs 4 GPUs, but the instance has 2",
    **place(11, 36, 60),
    "label": "tensor parallel: 4",
    "related": [{"label": "nvidia.com/gpu: 2", **place(17, 27, 28)}],
    "arithmetic": ["TP 4 × PP 1 × DP 1 = 4"],
    "workload": "chat",
    "role": "server",
    "subject": {
        "object": "Pod chat",
        "quantity": "tensor_parallel",
        "value": "4; accelerator h800-sxm-80gb; checkpoint /models/ours; engine vllm; gpus_per_pod 2; gpus_per_replica 2",
    },
    "facts": {
        "spare_gpus": same(-2),
        "gpus_per_replica": same(2),
        "parallel_size": same(4),
        "tensor_parallel": same(4),
        "pipeline_parallel": same(1),
        "data_parallel": same(1),
    },
    "basis": [
        {"basis": "stated", "source": "stated", "facts": ["gpus_per_replica"], **start(17, 27)},
        {"basis": "stated", "source": "stated", "facts": ["engine", "engine_version"], **start(10, 14)},
        {"basis": "stated", "source": "stated", "facts": ["tensor_parallel"], **start(11, 36)},
        {"basis": "default", "source": "default of vllm 0.10.1", "facts": ["data_parallel", "pipeline_parallel"]},
    ],
    "suggestions": [
        {
            "title": "tensor parallel 2 on the same 2 GPUs",
            "changes": [
                {
                    "quantity": "tensor_parallel",
                    "old": "--tensor-parallel-size=4",
                    "new": "--tensor-parallel-size=2",
                    "how": "replace",
                    "replacement": {**place(11, 59, 60), "text": "2"},
                    **place(11, 36, 60),
                }
            ],
            "facts": {},
            "trade_off": "less memory and speed than 4 ranks",
            "cost_before_usd_per_hour": None,
            "cost_after_usd_per_hour": None,
            "prices": "",
            "values": {"tensor_parallel": 2},
            "answers": [],
        },
        {
            "title": "request the 4 GPUs that are needed",
            "changes": [
                {
                    "quantity": "gpus_per_pod",
                    "old": "2",
                    "new": "4",
                    "how": "replace",
                    "replacement": {**place(17, 27, 28), "text": "4"},
                    **place(17, 27, 28),
                }
            ],
            "facts": {},
            "trade_off": "",
            "cost_before_usd_per_hour": None,
            "cost_after_usd_per_hour": None,
            "prices": "",
            "values": {"gpus_per_pod": 4},
            "answers": [],
        },
    ],
    "fingerprint": "",
    "suppressed": None,
}

SECOND = {
    "rule": "variable-refers-to-itself",
    "family": "kubernetes",
    "severity": "warning",
    "confidence": 3,
    "message": "Kubernetes does not expand ${LD_LIBRARY_PATH}: the program gets the literal text",
    **place(14, 27, 45),
    "label": "${LD_LIBRARY_PATH} is not expanded",
    "related": [],
    "arithmetic": [],
    "workload": "chat",
    "role": "server",
    "subject": {"object": "Pod chat", "quantity": "unexpanded_variable", "value": "LD_LIBRARY_PATH"},
    "facts": {"unexpanded_variable": same("LD_LIBRARY_PATH")},
    "basis": [
        {"basis": "stated", "source": "stated", "facts": ["unexpanded_variable"], **start(14, 27)},
        {"basis": "stated", "source": "stated", "facts": ["engine"], **start(10, 14)},
    ],
    "suggestions": [],
    "fingerprint": "",
    "suppressed": None,
}


def test_each_finding_is_given_whole() -> None:
    found = rendered(SPEC)["findings"]
    for one in found:
        assert len(one["fingerprint"]) == 16
    expected = [{**one, "fingerprint": given["fingerprint"]} for one, given in zip((FIRST, SECOND), found, strict=True)]
    assert found == expected


def test_the_head_names_the_format_and_the_tool() -> None:
    data = rendered(SPEC)
    assert data["format"] == "gpulint-report/2"
    assert data["tool"] == {"name": "gpulint", "version": metadata.version("gpulint")}
    lists = ["findings", "documents", "workloads", "skipped", "failures", "rules", "budgets", "facilities"]
    assert list(data) == ["format", "tool", "catalog", *lists, "comparison", "summary"]
    assert data["documents"] == [{"path": "spec.yaml", "line": 2, "kind": "Pod", "adapter": "kubernetes"}]


def test_what_was_understood_of_a_workload_is_given_with_what_it_lacks() -> None:
    (workload,) = rendered(SPEC)["workloads"]
    (role,) = workload.pop("roles")
    assert workload == {"name": "chat", "kind": "inference", "path": "spec.yaml", "line": 2, "adapter": "kubernetes"}
    assert (role["name"], role["engine"], role["parallelism"], role["verdict"]) == (
        "server",
        "vllm",
        "TP 4",
        "not evaluated",
    )
    assert role["facts"]["gpus_per_replica"] == same(2)
    assert {"rule": "weights-exceed-memory", "needs": ["architecture"]} in role["not_evaluated"]


def test_the_summary_counts_everything() -> None:
    assert rendered(SPEC)["summary"] == {
        "files": 1,
        "workloads": 1,
        "findings": {"error": 1, "warning": 1, "note": 0},
        "suppressed": 0,
        "unsilenced": 0,
        "skipped": 0,
        "failures": 0,
        "not_evaluated": 13,
        "verdicts": {"fit": 0, "depend": 0, "fail": 0, "unknown": 1},
    }


def test_a_suppressed_finding_is_given_with_its_reason_and_not_counted() -> None:
    text = SPEC.replace(
        "gpulint/accelerator: h800-sxm-80gb", 'gpulint/ignore: "variable-refers-to-itself: the image needs none"'
    )
    data = rendered(text)
    assert [one["suppressed"] and one["suppressed"]["reason"] for one in data["findings"]] == [
        None,
        "the image needs none",
    ]
    assert data["summary"]["findings"]["warning"] == 0
    assert data["summary"]["suppressed"] == 1


def test_the_rules_that_speak_are_listed_once_each() -> None:
    rules = rendered(SPEC)["rules"]
    assert [one["name"] for one in rules] == ["parallel-size-exceeds-gpus", "variable-refers-to-itself"]
    assert rules[0] == {
        "name": "parallel-size-exceeds-gpus",
        "family": "parallelism",
        "severity": "error",
        "status": "stable",
        "summary": "The parallelism needs more GPUs than the instance has",
        "why": "Either start-up fails, or the engine waits for GPUs that never become available.",
        "page": "",
        "references": rules[0]["references"],
    }
    assert rendered("")["rules"] == []


def test_a_comparison_is_given_with_what_cannot_be_told() -> None:
    after = Figures(gpus=8, cost_usd_per_hour=27.52, power_w=None, headroom=0.25)
    change = Change("chat", "inference", "a.yaml", None, after)
    data = formats_json.build_data(Report(comparison=Comparison("main", "HEAD", (change,), (finding(),))))
    told = data["comparison"]
    assert isinstance(told, dict)
    assert {**told, "gone": [one["rule"] for one in told["gone"]]} == {
        "base": "main",
        "head": "HEAD",
        "changes": [
            {
                "workload": "chat",
                "kind": "inference",
                "path": "a.yaml",
                "before": None,
                "after": {"gpus": 8, "cost_usd_per_hour": 27.52, "power_w": None, "headroom": 0.25},
            }
        ],
        "total": {
            "gpus": {"amount": 8, "untold": 0},
            "usd_per_month": {"amount": 27.52 * 730, "untold": 0},
            "power_w": {"amount": 0, "untold": 1},
        },
        "gone": ["a-rule"],
        "untold": [],
        "hints": [],
        "unchecked": 0,
        "pools": [],
        "pool_total": {
            "gpus": {"amount": 0, "untold": 0},
            "usd_per_month": {"amount": 0, "untold": 0},
            "power_w": {"amount": 0, "untold": 0},
        },
    }
    assert rendered(SPEC)["comparison"] is None


def test_a_fingerprint_survives_a_move_within_the_file() -> None:
    moved = "# a comment\n\n" + SPEC
    assert [one["fingerprint"] for one in rendered(moved)["findings"]] == [
        one["fingerprint"] for one in rendered(SPEC)["findings"]
    ]
    lines = [one["line"] for one in rendered(moved)["findings"]]
    assert lines == [13, 16]


def test_skips_and_failures_are_given() -> None:
    data = formats_json.build_data(
        Report(skipped=(Skip("a.yaml", "template", "template"),), failures=(Failure("b.yaml", "checking", "oh"),))
    )
    assert data["skipped"] == [{"path": "a.yaml", "reason": "template", "cause": "template", "line": 1}]
    assert data["failures"] == [{"path": "b.yaml", "doing": "checking", "error": "oh"}]


def test_the_output_ends_in_one_newline_and_keeps_letters_readable() -> None:
    shown = formats_json.render(report(SPEC))
    assert shown.endswith("}\n")
    assert " × " in shown


@pytest.mark.parametrize(
    "name",
    [HOSTILE, "\ud800", "\u2028", "\u061c\U000e0041\ufff9\xad"],
    ids=["controls", "surrogate", "line separator", "letter mark and tags"],
)
def test_control_characters_are_escaped_and_survive_the_round_trip(name: str) -> None:
    shown = formats_json.render(Report(findings=(finding(message=name),)))
    assert safe(shown)
    assert json.loads(shown)["findings"][0]["message"] == name
