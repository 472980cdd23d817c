"""Hints of a change: a change cannot waive itself by what it states for gpulint only."""

from __future__ import annotations

import json
from pathlib import Path

import commits
import pytest
from gate_sides import RIGHT, deployment, put, run, spoken

import gpulint
from gpulint.pipeline import evaluate
from gpulint.policy.resolved import ResolvedPolicy
from gpulint.policy.rules.rule import load_shipped
from gpulint.policy.waivers.base_branch import PendingMarker
from gpulint.source.git import Git
from gpulint.source.repository import Source, WorkTree
from gpulint.source.repository.git_tree import GitTree

BIG = deployment(model="Qwen/Qwen3-14B")
"""A server whose weights exceed the memory of its L4."""
OPEN = BIG.replace(
    "cloud.google.com/gke-accelerator: nvidia-l4, node.kubernetes.io/instance-type: g2-standard-4", "a: b"
)
"""The same server where no file names the accelerator."""
UNKNOWN = "1 × nvidia.com/gpu (the accelerator depends on the nodes labelled a b)"
TOO_LARGE = "weights-exceed-memory"
NEW, OLD, PENDING = "new-hint-contradicts-file", "hint-contradicts-file", "hint-not-applied"


@pytest.fixture
def repository(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An empty repository, which is the current folder."""
    monkeypatch.chdir(commits.started(tmp_path / "repository"))
    return tmp_path / "repository"


def changed(folder: Path, before: dict[str, str], after: dict[str, str], policy_from: str = "") -> gpulint.Report:
    """The report on a branch that grows from main."""
    put(folder, before)
    commits.committed(folder)
    commits.git(folder, "checkout", "-q", "-b", "topic")
    put(folder, after)
    commits.committed(folder)
    return gpulint.check(".", gpulint.Options(today="2026-11-22", base="main", policy_from=policy_from))


def hinted(text: str, words: str) -> str:
    return text.replace("          args:", f"          # gpulint: {words}\n          args:")


def annotated(text: str, words: str) -> str:
    found = text.replace("{labels: {app: chat}}", f"{{labels: {{app: chat}}, annotations: {{{words}}}}}")
    assert found != text
    return found


def listed(report: gpulint.Report) -> list[tuple[str, str, int, str]]:
    """The hints that the comparison lists."""
    assert report.comparison is not None
    return [(use.text, use.path, use.line, use.stated) for use in report.comparison.hints]


def accelerators(report: gpulint.Report) -> list[str]:
    """The GPUs of each role, as the report shows them."""
    return [role.accelerator for workload in report.workloads for role in workload.roles]


# ---- what contradicts the file


@pytest.mark.parametrize(
    "text",
    [
        hinted(BIG, "accelerator=h200"),
        hinted(BIG, "model=Qwen/Qwen3-0.6B"),
        annotated(BIG, "gpulint/accelerator: h200"),
        annotated(BIG, "gpulint/model: Qwen/Qwen3-0.6B"),
        annotated(BIG, '"gpulint\\x2fmodel": Qwen/Qwen3-0.6B'),
    ],
)
def test_a_new_hint_that_contradicts_its_file_is_an_error(repository: Path, text: str) -> None:
    report = changed(repository, {"a.yaml": RIGHT}, {"a.yaml": text})
    assert [(one.rule, one.severity.word) for one in report.open if one.severity.word != "note"] == [(NEW, "error")]
    assert set(report.rules) >= {NEW}
    assert OLD not in report.rules


def test_an_error_that_a_contradicting_hint_hides_is_not_called_fixed(repository: Path) -> None:
    report = changed(repository, {"a.yaml": BIG}, {"a.yaml": hinted(BIG, "accelerator=h200")})
    assert report.comparison is not None
    assert (spoken(report), report.comparison.gone) == ([(NEW, "a.yaml")], ())


def test_the_gate_fails_and_a_plain_check_does_not(repository: Path) -> None:
    changed(repository, {"a.yaml": RIGHT}, {"a.yaml": hinted(BIG, "accelerator=h200")})
    assert run("--base", "main").exit_code == 1
    plain = run()
    assert (plain.exit_code, f"warning[{OLD}]" in plain.stdout) == (0, True)


def test_a_hint_that_base_has_too_is_an_old_finding(repository: Path) -> None:
    text = hinted(BIG, "accelerator=h200")
    report = changed(repository, {"a.yaml": text}, {"a.yaml": "# edited\n" + text})
    (found,) = [one for one in report.findings if one.rule in (NEW, OLD)]
    assert (found.rule, found.suppressed and found.suppressed.kind) == (OLD, "base")
    assert listed(report) == []


@pytest.mark.parametrize(
    ("before", "after"),
    [
        (hinted(BIG, "accelerator=h200"), hinted(BIG, "accelerator=h100")),
        (hinted(BIG, "gpus=4"), hinted(deployment(model="Qwen/Qwen3-14B", gpus=2, ranks=2), "gpus=4")),
        (OPEN.replace("a: b", "b: c"), hinted(BIG, "accelerator=h200")),
        (hinted(OPEN, "accelerator=h200"), hinted(BIG, "accelerator=h200")),
    ],
)
def test_another_hint_or_another_stated_value_is_a_new_contradiction(repository: Path, before: str, after: str) -> None:
    assert NEW in [rule for rule, _ in spoken(changed(repository, {"a.yaml": before}, {"a.yaml": after}))]


def test_the_severity_of_the_error_is_a_matter_of_policy(repository: Path) -> None:
    after = {"a.yaml": hinted(BIG, "accelerator=h200")}
    policy = {"gpulint.yaml": f"severity: {{{NEW}: warning}}\n"}
    report = changed(repository, {"a.yaml": RIGHT, **policy}, {**after, **policy})
    assert [(one.rule, one.severity.word) for one in report.open if one.rule == NEW] == [(NEW, "warning")]


def test_without_the_rule_of_the_gate_the_warning_stays(repository: Path) -> None:
    policy = {"gpulint.yaml": f"ignore: [{NEW}]\n"}
    report = changed(repository, {"a.yaml": RIGHT, **policy}, {"a.yaml": hinted(BIG, "accelerator=h200"), **policy})
    assert [(one.rule, one.severity.word) for one in report.open if one.rule == OLD] == [(OLD, "warning")]


# ---- what fills a gap


@pytest.mark.parametrize(
    ("text", "use"),
    [
        (hinted(OPEN, "accelerator=h200"), ("accelerator=h200", "a.yaml", 14, "")),
        (annotated(OPEN, "gpulint/accelerator: h200"), ("accelerator=h200", "a.yaml", 8, "")),
        (
            hinted(OPEN.replace("Qwen/Qwen3-14B", "/models/chat"), "model=Qwen/Qwen3-8B"),
            ("model=Qwen/Qwen3-8B", "a.yaml", 14, "/models/chat"),
        ),
    ],
)
def test_a_hint_that_fills_a_gap_is_listed_with_the_change(
    repository: Path, text: str, use: tuple[str, str, int, str]
) -> None:
    report = changed(repository, {"a.yaml": OPEN}, {"a.yaml": text})
    assert (listed(report), [rule for rule, _ in spoken(report)]) == ([use], [])


@pytest.mark.parametrize(
    ("policy", "text", "line"),
    [
        ("accelerator: h200\n", "accelerator: h200", 1),
        ("hints:\n  - {path: 'a*', accelerator: l4}\n", "hints: path a*, accelerator l4", 2),
        ("like: {/models/x: Qwen/Qwen3-8B}\n", "like: /models/x = Qwen/Qwen3-8B", 1),
        (
            "pools:\n  - {name: lab, labels: {a: b}, accelerator: l4, gpus: 4}\n",
            "pools: name lab, labels a b, accelerator l4, gpus 4",
            2,
        ),
        ("overrides:\n  - {paths: [a.yaml], accelerator: h200}\n", "accelerator: h200 for a.yaml", 2),
    ],
)
def test_a_setting_is_listed_with_the_change(repository: Path, policy: str, text: str, line: int) -> None:
    report = changed(repository, {"a.yaml": OPEN}, {"a.yaml": OPEN, "gpulint.yaml": policy})
    assert listed(report) == [(text, "gpulint.yaml", line, "")]


def test_a_setting_that_base_has_is_not_listed(repository: Path) -> None:
    report = changed(
        repository,
        {"a.yaml": OPEN, "gpulint.yaml": "accelerator: h200\n"},
        {"a.yaml": OPEN, "gpulint.yaml": "fail-on: warning\naccelerator: h200\n"},
    )
    assert listed(report) == []


def test_a_hint_that_moves_with_its_file_is_not_listed(repository: Path) -> None:
    text = hinted(OPEN, "accelerator=l4")
    assert listed(changed(repository, {"a.yaml": text}, {"x/b.yaml": text})) == []


def test_every_output_lists_the_hints_and_the_comment_is_worth_opening(repository: Path) -> None:
    changed(repository, {"a.yaml": OPEN}, {"a.yaml": hinted(OPEN, "accelerator=h200")})
    title = "1 hint added or changed; all checks use it"
    shown = run("--base", "main").stdout
    assert f"{title}\n  accelerator=h200 for chat, which the file leaves open  (a.yaml:14)\n" in shown
    comment = run("--base", "main", "--output", "markdown").stdout
    assert (
        f"<summary>{title}</summary>\n\n- `accelerator=h200 for chat, which the file leaves open` at `a.yaml:14`"
        in comment
    )
    assert "gpulint: quiet" not in comment
    assert "1 hint added or changed" in run("--base", "main", "--output", "concise").stdout
    data = json.loads(run("--base", "main", "--output", "json").stdout)
    assert data["comparison"]["hints"] == [
        {"text": "accelerator=h200", "kind": "comment", "path": "a.yaml", "line": 14, "workload": "chat", "stated": ""}
    ]
    sarif = json.loads(run("--base", "main", "--output", "sarif").stdout)
    told = [one["message"]["text"] for one in sarif["runs"][0]["invocations"][0]["toolExecutionNotifications"]]
    assert "hint added or changed: accelerator=h200 for chat, which the file leaves open" in told


# ---- the policy of a commit


def test_a_hint_that_does_not_apply_yet_fails_if_it_contradicts_its_file(repository: Path) -> None:
    report = changed(repository, {"a.yaml": RIGHT}, {"a.yaml": hinted(RIGHT, "gpus=64")}, policy_from="main")
    assert {rule for rule, _ in spoken(report)} >= {NEW, PENDING}


def test_a_hint_that_does_not_apply_yet_and_fills_a_gap_fails_nothing(repository: Path) -> None:
    report = changed(repository, {"a.yaml": OPEN}, {"a.yaml": hinted(OPEN, "accelerator=h200")}, policy_from="main")
    assert NEW not in [rule for rule, _ in spoken(report)]


@pytest.mark.parametrize(
    "after",
    [
        {"a.yaml": hinted(BIG, "accelerator=h200")},
        {"a.yaml": "# gpulint: accelerator=h200\n" + BIG},
        {"a.yaml": hinted(BIG, "model=Qwen/Qwen3-0.6B")},
        {"a.yaml": annotated(BIG, "gpulint/accelerator: h200")},
        {"a.yaml": annotated(BIG, '"gpulint\\x2faccelerator": h200')},
        {"a.yaml": BIG.replace("{name: chat}", "{name: chat, labels: {gpulint/accelerator: h200}}", 1)},
        {"a.yaml": BIG, "gpulint.yaml": f"ignore: [{PENDING}]\naccelerator: h200\n"},
        {"a.yaml": hinted(BIG, "accelerator=h200"), "gpulint.yaml": f"ignore: [{NEW}, {OLD}, {TOO_LARGE}]\n"},
    ],
)
def test_no_hint_of_the_change_silences_an_error(repository: Path, after: dict[str, str]) -> None:
    report = changed(repository, {"a.yaml": RIGHT}, after, policy_from="main")
    assert (TOO_LARGE, "a.yaml") in spoken(report)
    assert PENDING in [one.rule for one in report.findings]


SCRIPT = """\
#!/bin/bash
kubectl apply -f - <<EOF
{pod}EOF
"""
VALUES = """\
servingEngineSpec:
  modelSpec:
    - name: chat
      repository: vllm/vllm-openai
      tag: v0.11.0
      modelURL: Qwen/Qwen3-14B
      replicaCount: 1
      requestGPU: 1
      vllmConfig: {{maxModelLen: 8192}}
      podAnnotations: {{{annotations}}}
      nodeSelectorTerms:
        - matchExpressions:
            - {{key: nvidia.com/gpu.product, operator: In, values: [NVIDIA-L4]}}
"""


INSIDE = [
    ("a.sh", SCRIPT.format(pod=BIG), SCRIPT.format(pod=annotated(BIG, "gpulint/accelerator: h200"))),
    ("values.yaml", VALUES.format(annotations="a: b"), VALUES.format(annotations="gpulint/accelerator: h200")),
]


@pytest.mark.parametrize(("path", "before", "after"), INSIDE)
def test_an_annotation_inside_a_script_or_a_chart_applies_if_the_commit_has_it(
    repository: Path, path: str, before: str, after: str
) -> None:
    report = changed(repository, {path: after}, {path: f"{after}# edited\n"}, "main")
    assert accelerators(report) == ["1 × H200 SXM 141GB"]
    assert PENDING not in [one.rule for one in report.findings]


@pytest.mark.parametrize(("path", "before", "after"), INSIDE)
def test_no_annotation_inside_a_script_or_a_chart_silences_an_error(
    repository: Path, path: str, before: str, after: str
) -> None:
    assert [rule for rule, _ in spoken(changed(repository, {path: before}, {path: after}))] == [NEW]
    report = gpulint.check(".", gpulint.Options(today="2026-11-22", policy_from="main"))
    assert (TOO_LARGE, path) in spoken(report)
    assert [one.rule for one in report.findings if one.rule == PENDING] == [PENDING]


@pytest.mark.parametrize(
    ("policy", "message"),
    [
        ("accelerator: h200\n", "setting accelerator: h200"),
        ("hints:\n  - {path: '*', accelerator: h200}\n", "setting hints: path *, accelerator h200"),
        ("like: {/models/x: Qwen/Qwen3-8B}\n", "setting like: /models/x = Qwen/Qwen3-8B"),
        ("fabric:\n  - {path: '*', network: 400 Gb/s}\n", "setting fabric: path *, network 400 Gb/s"),
    ],
)
def test_a_setting_of_the_change_is_listed_and_does_not_apply(repository: Path, policy: str, message: str) -> None:
    report = changed(repository, {"a.yaml": OPEN}, {"a.yaml": OPEN, "x/gpulint.yaml": policy, "x/b.yaml": OPEN}, "main")
    found = [(one.location.path, one.message) for one in report.findings if one.rule == PENDING]
    assert found == [("x/gpulint.yaml", f"{message} is new in this change and does not apply until main has it")]
    assert accelerators(report) == [UNKNOWN, UNKNOWN]


def test_a_hint_that_the_commit_has_applies(repository: Path) -> None:
    before = {"a.yaml": hinted(OPEN, "accelerator=l4")}
    report = changed(repository, before, {"a.yaml": "# moved\n" + hinted(OPEN, "accelerator=l4")}, "main")
    assert PENDING not in [one.rule for one in report.findings]
    assert accelerators(report) == ["1 × L4 24GB"]


@pytest.mark.parametrize(
    ("before", "after"),
    [
        (hinted(OPEN, "accelerator=l4"), hinted(OPEN, "accelerator=h200")),
        (hinted(OPEN, "accelerator=l4 tpot=1s"), hinted(OPEN, "tpot=1s accelerator=h200")),
        (hinted(OPEN, "accelerator=l4"), annotated(OPEN, "gpulint/accelerator: h200")),
        (annotated(OPEN, "gpulint/accelerator: l4"), annotated(OPEN, "gpulint/accelerator: h200")),
    ],
)
def test_the_value_of_the_commit_applies_instead_of_a_changed_one(repository: Path, before: str, after: str) -> None:
    report = changed(repository, {"a.yaml": before}, {"a.yaml": after}, "main")
    assert [one.message for one in report.findings if one.rule == PENDING] == [
        "hint accelerator=h200 is new in this change and does not apply until main has it; accelerator=l4 of main applies"
    ]
    assert accelerators(report) == ["1 × L4 24GB"]


def test_a_hint_that_is_copied_to_another_object_does_not_apply_there(repository: Path) -> None:
    one = hinted(OPEN, "accelerator=h200")
    other = one.replace("chat", "code")
    report = changed(repository, {"a.yaml": one}, {"a.yaml": f"{one}---\n{other}"}, "main")
    assert accelerators(report) == ["1 × H200 SXM 141GB", UNKNOWN]


def test_the_work_tree_is_checked_under_the_hints_of_a_commit_too(repository: Path) -> None:
    put(repository, {"a.yaml": BIG})
    commits.committed(repository)
    put(repository, {"a.yaml": hinted(BIG, "accelerator=h200"), "gpulint.yaml": "accelerator: l4\n"})
    report = gpulint.check(".", gpulint.Options(today="2026-11-22", policy_from="main"))
    assert (TOO_LARGE, "a.yaml") in spoken(report)
    assert [one.location.path for one in report.findings if one.rule == PENDING] == ["a.yaml", "gpulint.yaml"]


SCALER = """\
apiVersion: autoscaling/v2
kind: HorizontalPodAutoscaler
metadata: {name: chat}
spec:
  scaleTargetRef: {apiVersion: apps/v1, kind: Deployment, name: chat}
  minReplicas: 1
  maxReplicas: 4
"""


@pytest.mark.parametrize(("governed", "stated"), [(False, "h200-sxm-141gb"), (True, None)])
def test_an_annotation_of_the_workload_that_an_autoscaler_names_waits_too(
    repository: Path, governed: bool, stated: str | None
) -> None:
    text = RIGHT.replace("nodeSelector: {cloud.google.com/gke-accelerator: nvidia-l4", "nodeSelector: {a: b", 1)
    text = text.replace(", node.kubernetes.io/instance-type: g2-standard-4", "")
    put(repository, {"a.yaml": text, "scaler.yaml": SCALER})
    commit = commits.committed(repository)
    put(repository, {"a.yaml": annotated(text, "gpulint/accelerator: h200"), "scaler.yaml": SCALER})
    marker = PendingMarker(GitTree(Git(repository), commit), "main", {})
    policy = ResolvedPolicy(tuple(load_shipped().values()), vouched=marker if governed else None)
    source = Source("scaler.yaml", SCALER.encode())
    ((_, target),) = evaluate.file(source, WorkTree(repository), policy).targets
    assert (target.workload.roles[0].text("accelerator") or None) == stated


def test_hardware_that_a_comment_suggests_is_listed_as_a_hint(repository: Path) -> None:
    report = changed(repository, {"chat.yaml": OPEN}, {"chat.yaml": f"# 1x L40S\n{OPEN}"})
    assert listed(report) == [('accelerator=l40s, from the comment "1x L40S" in line 1', "chat.yaml", 1, "")]
    assert accelerators(report) == ["1 × L40S 48GB"]
    assert NEW not in {finding.rule for finding in report.findings}


def test_a_changed_comment_about_hardware_is_listed_as_a_hint(repository: Path) -> None:
    before = {"chat.yaml": f"# 1x L4\n{OPEN}"}
    report = changed(repository, before, {"chat.yaml": f"# 1x L40S\n{OPEN}"})
    assert [text for text, *_ in listed(report)] == ['accelerator=l40s, from the comment "1x L40S" in line 1']
