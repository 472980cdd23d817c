"""Waivers: what is accepted, by whom, until when and up to what, and what is said when that no longer holds."""

from __future__ import annotations

import pytest
import samples
from hypothesis import given
from hypothesis import strategies as st

from gpulint.report.model import Finding, Report, Severity, Waiver

TODAY = "2026-11-22"

BARE = """\
apiVersion: v1
kind: Pod
metadata: {name: train}
spec:
  containers:
    - name: train
      image: python:3.12
      resources:
        requests: {nvidia.com/gpu: 1}
"""
"""One error: gpu-limit-missing on line 9."""

SERVER = """\
apiVersion: v1
kind: Pod
metadata: {name: chat}
spec:
  nodeSelector: {cloud.google.com/gke-accelerator: nvidia-l4}
  containers:
    - name: server
      image: vllm/vllm-openai:v0.10.1
      args:
        - --model=meta-llama/Llama-3.1-8B-Instruct
        - --max-model-len=131072
      resources: {limits: {nvidia.com/gpu: 1}}
"""
"""One error: serving-does-not-fit on line 11."""


def waived(words: str, line: str = "nvidia.com/gpu: 1}", text: str = BARE, rule: str = "gpu-limit-missing") -> Report:
    """The report on a text whose line carries a directive of these words."""
    directive = text.replace(line, f"{line}  # gpulint: ignore[{rule}] {words}")
    return samples.report(directive, today=TODAY)


def accepted(words: str) -> Report:
    """The report on the server whose one error is accepted in these words."""
    return waived(words, "--max-model-len=131072", SERVER, "serving-does-not-fit")


def spoken(report: Report) -> list[str]:
    return sorted(finding.rule for finding in report.open)


def said(report: Report, rule: str) -> Finding:
    (found,) = samples.of_rule(report, rule)
    return found


# ---- the words


def test_the_words_of_a_waiver_stand_in_the_report() -> None:
    (found,) = waived("owner=team-ml until=2027-03-31 the webhook adds it").findings
    assert found.suppressed is not None
    assert found.suppressed._replace(location=None) == Waiver(
        "comment", "the webhook adds it", None, "team-ml", "2027-03-31"
    )
    assert found.suppressed.location is not None
    assert (found.suppressed.location.line, found.suppressed.location.column) == (9, 40)


@pytest.mark.parametrize(
    "words",
    [
        "owner=team-ml until=2027-03-31 the webhook adds it",
        "until=2027-03-31 owner='team-ml' the webhook adds it",
        "the webhook adds it owner=team-ml until=2027-03-31",
        'owner="team-ml" the webhook adds it until=2027-03-31',
    ],
)
def test_the_words_stand_in_any_order_before_and_behind_the_reason(words: str) -> None:
    (found,) = waived(words).findings
    assert found.suppressed is not None
    assert found.suppressed[3:] == ("team-ml", "2027-03-31", "")
    assert found.suppressed.reason == "the webhook adds it"


@pytest.mark.parametrize(
    "words",
    [
        *("gpus=8 is what the webhook adds", "see ticket=ML-12", "a = b, for all we know", "a latency test, until May"),
        *(
            "see https://tracker.example/q?until=2027-01-01",
            "while it is measured",
            "the owner agrees",
            "valid-until=x",
        ),
    ],
)
def test_a_reason_may_hold_an_equals_sign(words: str) -> None:
    (found,) = waived(words).findings
    assert found.suppressed is not None
    assert found.suppressed.reason == words


@pytest.mark.parametrize(
    ("words", "message"),
    [
        ("untill=2027-03-31 a reason", "a waiver has no field untill; did you mean until=?"),
        ("expires=2027-03-31 a reason", "a waiver has no field expires; did you mean until=?"),
        ("ower=team-ml a reason", "a waiver has no field ower; did you mean owner=?"),
        ("until=2027-13-01 a reason", "until=2027-13-01 is not a date; write it as 2027-03-31"),
        ("until=tomorrow a reason", "until=tomorrow is not a date; write it as 2027-03-31"),
        ("until= a reason", "until= is empty"),
        ("until=2027-01-01 until=2028-01-01 a reason", "until= is given twice"),
        (
            ":until=2020-01-01 agreed",
            "`until=2020-01-01` is part of the reason and has no effect; write until=2020-01-01 as a separate word",
        ),
        (
            "agreed until 2020-01-01",
            "`until 2020-01-01` is part of the reason and has no effect; write until=2020-01-01 as a separate word",
        ),
        (
            "Owner: team-ml agreed",
            "`Owner: team-ml` is part of the reason and has no effect; write owner=team-ml as a separate word",
        ),
        (
            '(while="gpus_per_pod < 3") agreed',
            '`while="gpus_per_pod` is part of the reason and has no effect; write while="CONDITION" as a separate word',
        ),
        ("owner=team-ml", "the reason is missing; write ignore[rule-name] followed by a reason"),
        (
            "while=gpus_per_pod a reason",
            '`gpus_per_pod` compares nothing; put the whole condition in quotes: while="gpus_per_replica <= 8"',
        ),
        (
            'while="[1].all(x, x < gpus_per_pod)" a reason',
            "`[1].all(x, x < gpus_per_pod)` iterates over a list; compare facts only with each other and with numbers",
        ),
        (
            f'while="{"(" * 200}gpus_per_pod < 1{")" * 200}" a reason',
            "the condition has 416 characters; the limit is 300",
        ),
        ('while="1 < 2" a reason', "`1 < 2` names no fact; `gpulint facts` lists them"),
    ],
)
def test_words_that_cannot_be_read_are_said_and_silence_nothing(words: str, message: str) -> None:
    report = waived(words)
    assert spoken(report) == ["gpu-limit-missing", "malformed-suppression"]
    assert said(report, "malformed-suppression").message == message


def test_a_bound_of_an_unknown_fact_is_said_with_the_nearest() -> None:
    report = accepted('while="kv_needed_byte <= 9" a reason')
    assert said(report, "malformed-suppression").message == (
        "cannot parse `kv_needed_byte <= 9`: no such fact: kv_needed_byte; did you mean kv_needed_bytes?"
    )


@pytest.mark.parametrize(
    ("bound", "wrong"),
    [
        ("gpus_per_pod < 3 and replicas < 2", "write `&&` for and"),
        ("gpus_per_pod <", "the condition is incomplete: the value to compare with is missing"),
        ("(gpus_per_pod < 3", "a parenthesis is not closed"),
    ],
)
def test_a_bound_that_is_no_condition_is_said_in_words(bound: str, wrong: str) -> None:
    message = said(accepted(f'while="{bound}" a reason'), "malformed-suppression").message
    assert message == f"cannot parse `{bound}`: {wrong}"


@pytest.mark.parametrize(
    ("comment", "line"),
    [
        ("# gpulint ignore[gpu-limit-missing] the webhook adds it", 9),
        ("# gpulint-ignore: gpu-limit-missing", 9),
        ("# the webhook adds it, gpulint: ignore[gpu-limit-missing] so", 9),
        ("# gpulint: ignore [gpu-limit-missing] the webhook adds it", 9),
        ("# gpulint: ingore[gpu-limit-missing] the webhook adds it", 9),
        ("# gpulint ignore gpu-limit-missing", 9),
        ("# gpulint: disable=gpu-limit-missing", 9),
    ],
)
def test_a_comment_that_is_meant_as_a_waiver_is_never_passed_over_in_silence(comment: str, line: int) -> None:
    report = samples.report(BARE.replace("gpu: 1}", f"gpu: 1}}  {comment}"))
    assert spoken(report) == ["gpu-limit-missing", "malformed-suppression"]
    assert said(report, "malformed-suppression").location.line == line


def test_a_waiver_may_stand_behind_another_comment() -> None:
    report = samples.report(
        BARE.replace("gpu: 1}", "gpu: 1}  # for now  # gpulint: ignore[gpu-limit-missing] the webhook adds it")
    )
    assert (spoken(report), len(report.findings)) == ([], 1)


def test_a_file_that_does_not_parse_can_be_accepted_too() -> None:
    lines = ["apiVersion: v1", "kind: Pod", "metadata: {name: x", "spec: nvidia.com/gpu"]
    assert [one.location.line for one in samples.report("\n".join(lines)).findings] == [4]
    lines[3] += "  # gpulint: ignore[invalid-syntax] a test of the parser"
    assert spoken(samples.report("\n".join(lines))) == []


@pytest.mark.parametrize(
    "comment",
    [
        "# see the gpulint documentation",
        "# run gpulint: it tells",
        "# gpulint ignores nothing here",
        "# let gpulint ignore multi-node specs",
        "# no gpulint, no cry",
    ],
)
def test_a_comment_that_speaks_of_gpulint_is_left_alone(comment: str) -> None:
    assert spoken(samples.report(BARE.replace("gpu: 1}", f"gpu: 1}}  {comment}"))) == ["gpu-limit-missing"]


def test_a_waiver_of_a_mistyped_rule_is_told_which_may_be_meant() -> None:
    report = waived("a reason", rule="gpu-limits-missing")
    assert said(report, "malformed-suppression").message == (
        "no such rule: gpu-limits-missing; did you mean gpu-limit-missing?"
    )


def test_a_comment_of_terraform_may_begin_with_two_slashes() -> None:
    text = (
        'resource "x" "gpu" {\n  // gpulint: ignore[gpu-limits-missing] a reason\n  a = "http://gpulint: ignore"\n}\n'
    )
    assert spoken(samples.report(text, path="main.tf")) == ["malformed-suppression"]


@pytest.mark.parametrize(
    ("path", "text"),
    [
        (
            "templates/pod.yaml",
            BARE.replace("name: train}", "name: {{ .x }} }") + "{{- /* gpulint: ignore[gpu-limit-missing] r */}}\n",
        ),
        ("main.tf", 'resource "x" "gpu" {\n  /* gpulint: ignore[gpu-limit-missing] a reason */\n  a = 1\n}\n'),
    ],
)
def test_a_waiver_in_a_comment_that_is_not_read_is_said(path: str, text: str) -> None:
    assert "malformed-suppression" in spoken(samples.report(text, path=path))


# ---- how long


def test_a_waiver_holds_through_its_last_day() -> None:
    assert spoken(waived("until=2026-11-22 a reason")) == []


def test_behind_its_last_day_the_finding_speaks_and_the_waiver_is_pointed_at() -> None:
    report = waived("owner=team-ml until=2026-11-21 a reason")
    assert spoken(report) == ["expired-suppression", "gpu-limit-missing"]
    ended = said(report, "expired-suppression")
    assert (ended.severity, ended.location.line, ended.location.column) == (Severity.WARNING, 9, 40)
    assert ended.message == (
        "the waiver of gpu-limit-missing ended on 2026-11-21 (owner: team-ml): fix the cause, or set a later date"
    )
    assert said(report, "gpu-limit-missing").message.endswith("; its waiver ended on 2026-11-21")


def test_a_waiver_that_has_ended_and_reaches_nothing_is_only_unused() -> None:
    fine = BARE.replace("requests", "limits")
    report = waived("until=2026-11-21 a reason", text=fine)
    assert spoken(report) == ["unused-suppression"]


# ---- up to what


def test_a_waiver_holds_while_its_bound_does() -> None:
    report = accepted('while="kv_needed_bytes <= 20 * 1024 * 1024 * 1024" a reason')
    assert spoken(report) == []
    assert report.findings[0].suppressed is not None
    assert report.findings[0].suppressed.bound == "kv_needed_bytes <= 20 * 1024 * 1024 * 1024"


def test_beyond_its_bound_the_finding_speaks_and_says_what_it_is_now() -> None:
    report = accepted('while="kv_needed_bytes <= 0.5 * device_memory_bytes" a reason')
    assert spoken(report) == ["serving-does-not-fit"]
    found = said(report, "serving-does-not-fit")
    assert found.message.endswith(
        "; accepted while kv_needed_bytes <= 0.5 * device_memory_bytes; "
        "now kv_needed_bytes 16 GiB, device_memory_bytes 22.03 GiB"
    )
    assert [one.location.line for one in found.related if "accepted" in one.label] == [11]


@pytest.mark.parametrize(
    ("bound", "lacking"),
    [
        ("time_limit_s < 5", "time_limit_s"),
        ("kv_needed_bytes > 0 && target_ttft_s > 1", "target_ttft_s"),
        ("weight_bytes_per_gpu < 0.9 * queue_gpus", "queue_gpus"),
    ],
)
def test_a_bound_that_cannot_be_told_does_not_silence_and_says_what_lacks(bound: str, lacking: str) -> None:
    report = accepted(f'while="{bound}" a reason')
    assert spoken(report) == ["serving-does-not-fit"]
    message = said(report, "serving-does-not-fit").message
    assert message.endswith(f"; accepted while {bound}, but {lacking} must be known to evaluate it")


@pytest.mark.parametrize(
    "bound", ["gpus_per_pod * 2 <= 3", "2 * gpus_per_pod == 2", "gpus_per_pod in [1, 2]", "engine == 'vllm'"]
)
def test_whole_numbers_and_words_are_compared_as_one_would_think(bound: str) -> None:
    assert spoken(accepted(f'while="{bound}" a reason')) == []


def test_a_bound_on_a_finding_about_the_text_cannot_be_told() -> None:
    twice = BARE.replace("      image: python:3.12\n", "      image: python:3.12\n      image: python:3.13\n")
    text = twice.replace(
        "python:3.13", 'python:3.13  # gpulint: ignore[duplicate-key] while="gpus_per_pod < 2" a reason'
    )
    found = said(samples.report(text), "duplicate-key")
    assert found.message.endswith(
        "; accepted while gpus_per_pod < 2, but the finding is not about a workload, so the condition cannot be evaluated"
    )


# ---- annotations


def annotated(text: str, words: str) -> str:
    return text.replace(
        "metadata: {name: ", "metadata:\n  annotations: {gpulint/ignore: '" + words + "'}\n  name: "
    ).replace("}\nspec", "\nspec")


def test_an_annotation_takes_the_same_words() -> None:
    report = samples.report(
        annotated(BARE, "gpu-limit-missing: owner=team-ml until=2027-03-31 the webhook adds it"), today=TODAY
    )
    (found,) = report.findings
    assert found.suppressed is not None
    assert found.suppressed[:2] == ("annotation", "the webhook adds it")
    assert found.suppressed[3:] == ("team-ml", "2027-03-31", "")


TEMPLATE = """\
apiVersion: apps/v1
kind: Deployment
metadata: {name: train}
spec:
  template:
    metadata:
      annotations:
        gpulint/ignore: "gpu-limit-missing: the webhook adds it"
    spec:
      containers:
        - name: train
          image: python:3.12
          resources:
            requests: {nvidia.com/gpu: 1}
"""


def test_an_annotation_of_a_pod_template_reaches_the_template() -> None:
    report = samples.report(TEMPLATE)
    assert (spoken(report), len(report.findings)) == ([], 1)


def test_an_annotation_that_is_no_text_is_said() -> None:
    report = samples.report(TEMPLATE.replace('"gpu-limit-missing: the webhook adds it"', "[gpu-limit-missing]"))
    assert spoken(report) == ["gpu-limit-missing", "malformed-suppression"]


VALUES = """\
podAnnotations:
  gpulint/ignore: "engine-image-unpinned: the registry pins it"
image: {repository: vllm/vllm-openai, tag: latest}
resources: {limits: {nvidia.com/gpu: 1}}
args: [--model=Qwen/Qwen3-8B]
"""


def test_annotations_among_the_values_of_a_chart_reach_what_holds_them() -> None:
    bare = "".join(VALUES.splitlines(keepends=True)[2:])
    assert spoken(samples.report(bare, path="values.yaml")) == ["engine-image-unpinned"]
    assert spoken(samples.report(VALUES, path="values.yaml")) == []


@pytest.mark.parametrize(
    "text",
    [
        TEMPLATE.replace("annotations:", "labels:"),
        "apiVersion: kustomize.config.k8s.io/v1beta1\nkind: Kustomization\nresources: [gpu.yaml]\n"
        "commonAnnotations: {gpulint/ignore: 'gpu-limit-missing: a reason'}\n",
    ],
    ids=["label", "for other files"],
)
def test_the_annotation_in_another_place_is_said(text: str) -> None:
    report = samples.report(text)
    assert said(report, "malformed-suppression").message.endswith(
        '; annotate the object or pod template with gpulint/ignore: "rule-name: a reason"'
    )


def test_a_kind_that_is_a_list_and_an_annotation_without_a_value_are_no_fault() -> None:
    text = "apiVersion: v1\nkind: [Kustomization]\nresources: [gpu.yaml]\ncommonAnnotations: {gpulint/ignore: VALUE}\n"
    assert not samples.report(text.replace("VALUE", "'gpu-limit-missing: a reason'")).failures
    found = samples.report(TEMPLATE.replace("gpulint/ignore: ", "gpulint/ignore: # "))
    assert "malformed-suppression" not in spoken(found) and not found.failures


def test_the_annotation_of_a_resource_of_terraform_reaches_the_resource() -> None:
    text = """\
resource "kubernetes_pod" "gpu" {
  metadata {
    name        = "train"
    annotations = { "gpulint/ignore" = "gpu-limit-missing: the webhook adds it" }
  }
  spec {}
}
"""
    assert spoken(samples.report(text, path="main.tf")) == ["unused-suppression"]


# ---- what is not known


def test_a_waiver_of_a_rule_that_could_not_be_judged_is_not_called_unused() -> None:
    unknown = SERVER.replace("  nodeSelector: {cloud.google.com/gke-accelerator: nvidia-l4}\n", "")
    assert spoken(waived("a reason", "--max-model-len=131072", unknown, "serving-does-not-fit")) == []


# ---- whatever somebody writes


@pytest.mark.sweep
@given(st.text(st.characters(exclude_characters="\n\r\x85\u2028\u2029", exclude_categories=("Cs", "Cc")), max_size=120))
def test_any_words_behind_a_rule_silence_it_or_are_said(words: str) -> None:
    report = waived(words)
    silent = spoken(report) == []
    assert silent or "malformed-suppression" in spoken(report) or "expired-suppression" in spoken(report)
    assert report.failures == ()


PART = st.sampled_from(
    ["until=", "2027-01-01", "while=", "owner=", "x", '"', "'", " ", "gpus_per_pod", "<", "2", "=", "ignore[", "]"]
)


@pytest.mark.sweep
@given(st.lists(PART, max_size=12).map("".join))
def test_any_words_of_ours_in_any_order_silence_or_are_said(words: str) -> None:
    report = waived(words)
    told = spoken(report)
    assert told in ([], ["gpu-limit-missing"], ["gpu-limit-missing", "malformed-suppression"])
    if told == ["gpu-limit-missing"]:
        assert "; accepted while " in report.open[0].message
    assert report.failures == ()
