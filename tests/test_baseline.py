"""Baseline: what stood when a team began is accepted, wherever it is moved to, and nothing else is."""

from __future__ import annotations

import contextlib
import json
from collections.abc import Mapping

import pytest
import samples
from hypothesis import given
from hypothesis import strategies as st

from gpulint.policy.waivers import baseline
from gpulint.policy.waivers.baseline import Baseline, BaselineError, Entry
from gpulint.report.model import Finding, Subject

POD = """\
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
"""One error: gpu-limit-missing."""

ENTRY = Entry("gpu-limit-missing", "k8s/train.yaml", "train", Subject("Pod train", "gpu_request", "1"))

WRITTEN = """\
{
  "format": "gpulint-baseline/1",
  "gpulint": "0.1.0",
  "findings": [
    {
      "rule": "gpu-limit-missing",
      "path": "k8s/train.yaml",
      "object": "Pod train",
      "role": "train",
      "quantity": "gpu_request",
      "value": "1",
      "count": 1
    }
  ]
}
"""


def found(files: Mapping[str, str]) -> list[Finding]:
    """The findings in files."""
    return [one for path, text in files.items() for one in samples.report(text, path=path).findings]


def accepted(
    known: Mapping[str, str], now: Mapping[str, str], seen: set[str] | None = None, made_with: str = "0.1.0"
) -> list[str]:
    """The paths of the findings that the baseline of some files accepts in others, of which `seen` were checked."""
    checked = set(now) if seen is None else seen
    findings = found({path: text for path, text in now.items() if path in checked})
    entries = baseline.make_entries(found(known), str)
    stood = Baseline(entries, made_with)
    held = baseline.match_findings(stood, findings, str, lambda path: path not in now or path in checked, "0.1.0")
    return [one.location.path for index, one in enumerate(findings) if index in held.accepted]


# ---- the file


def test_a_baseline_is_written_sorted_with_one_key_a_line() -> None:
    entries = baseline.make_entries(found({"k8s/train.yaml": POD}), str)
    assert entries == (ENTRY,)
    assert baseline.render(entries, "0.1.0") == WRITTEN


def test_what_is_written_is_read_again_with_the_line_of_each_entry() -> None:
    known = baseline.read(".gpulint-baseline.json", WRITTEN.encode())
    assert known.entries == (ENTRY._replace(line=5),)
    assert known.made_with == "0.1.0"


def test_entries_are_sorted_by_path_rule_and_subject() -> None:
    entries = [ENTRY._replace(path=path, rule=rule) for path, rule in (("b", "x-y"), ("a", "z-y"), ("a", "x-y"))]
    data = json.loads(baseline.render(entries, "0.1.0"))
    assert [(one["path"], one["rule"]) for one in data["findings"]] == [("a", "x-y"), ("a", "z-y"), ("b", "x-y")]


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("", "b.json:1: invalid JSON: Expecting value; restore the file, or delete it and run gpulint baseline"),
        (
            "{",
            "b.json:1: invalid JSON: Expecting property name enclosed in double quotes; " + baseline.AGAIN,
        ),
        ("[]", "b.json:1: it declares no format; this release reads gpulint-baseline/1"),
        (
            '{"format": "gpulint-baseline/9"}',
            "b.json:1: its format is gpulint-baseline/9; this release reads gpulint-baseline/1",
        ),
        (
            WRITTEN.replace('    {\n      "rule"', '<<<<<<< HEAD\n    {\n      "rule"'),
            "b.json:5: a merge conflict; keep the entries of both sides, then run gpulint baseline --update",
        ),
        (
            WRITTEN.replace('"count": 1', '"count": 0'),
            "b.json:5: an entry needs text values, at least a rule, and a count of at least 1",
        ),
        (
            WRITTEN.replace('"value": "1"', '"value": 1'),
            "b.json:5: an entry needs text values, at least a rule, and a count of at least 1",
        ),
        (
            WRITTEN.replace('"value"', '"valve"'),
            "b.json:5: an entry has the keys rule, path, object, role, quantity, value, count, not valve",
        ),
        (
            WRITTEN.replace('"findings"', '"found"'),
            "b.json:1: a baseline must have exactly the keys format, gpulint and findings; " + baseline.AGAIN,
        ),
        ("\ufeff" + WRITTEN.replace("Pod train", "\\ud800"), ""),
    ],
)
def test_a_baseline_that_cannot_be_used_is_refused_with_its_place(text: str, said: str) -> None:
    if not said:
        assert baseline.read("b.json", text.encode()).entries
        return
    with pytest.raises(BaselineError) as caught:
        baseline.read("b.json", text.encode())
    assert str(caught.value) == said


@pytest.mark.parametrize("content", [b"\xff\xfe\x00", b'{"format": ' + b"[" * 100_000])
def test_bytes_that_are_no_baseline_are_refused(content: bytes) -> None:
    with pytest.raises(BaselineError):
        baseline.read("b.json", content)


# ---- what is accepted

OTHER = POD.replace("name: train", "name: eval")


@pytest.mark.parametrize(
    "now",
    [
        {"k8s/train.yaml": POD},
        {"k8s/train.yaml": "# moved below another\n" + OTHER.replace("requests", "limits") + "---\n" + POD},
        {"k8s/train.yaml": POD.replace("{nvidia.com/gpu: 1}", '\n          "nvidia.com/gpu": "1"')},
        {"clusters/eu/pods.yml": POD},
    ],
    ids=["as it was", "behind another", "written otherwise", "moved"],
)
def test_what_stood_is_accepted_wherever_it_is_moved_to(now: dict[str, str]) -> None:
    assert accepted({"k8s/train.yaml": POD}, now) == list(now)


@pytest.mark.parametrize(
    ("now", "seen"),
    [
        ({"k8s/train.yaml": POD.replace("gpu: 1", "gpu: 2")}, None),
        ({"k8s/train.yaml": OTHER}, None),
        ({"k8s/train.yaml": POD, "k8s/copy.yaml": POD}, {"k8s/copy.yaml"}),
    ],
    ids=["changed", "another object", "a copy, the first not looked at"],
)
def test_what_did_not_stand_is_not_accepted(now: dict[str, str], seen: set[str] | None) -> None:
    assert accepted({"k8s/train.yaml": POD}, now, seen) == []


VALUES = """\
servingEngineSpec:
  modelSpec:
    - name: chat
      repository: vllm/vllm-openai
      tag: v0.10.1
      modelURL: Qwen/Qwen3-8B
      requestGPU: 1
      nodeSelector: {pool: gpu}
"""


def test_what_goes_by_the_name_of_its_file_follows_it_to_another_name() -> None:
    assert {one.subject.object for one in found({"a/values.yaml": VALUES})} == {"values.yaml"}
    assert set(accepted({"a/values.yaml": VALUES}, {"b/prod.yaml": VALUES})) == {"b/prod.yaml"}
    assert accepted({"a/values.yaml": VALUES}, {"b/prod.yaml": VALUES.replace("nodeSelector", "extraArgs")}) == []


def test_a_copy_of_what_is_accepted_is_new() -> None:
    assert accepted({"b.yaml": POD}, {"a.yaml": POD, "b.yaml": POD, "c.yaml": POD}) == ["b.yaml"]


def test_a_second_one_in_the_same_file_is_new() -> None:
    assert accepted({"a.yaml": POD}, {"a.yaml": POD + "---\n" + POD}) == ["a.yaml"]


def test_two_that_stood_in_one_file_are_two() -> None:
    assert accepted({"a.yaml": POD + "---\n" + POD}, {"a.yaml": POD, "b.yaml": POD}) == ["a.yaml", "b.yaml"]


def test_an_entry_moves_once() -> None:
    assert accepted({"a.yaml": POD}, {"b.yaml": POD, "c.yaml": POD}) == ["b.yaml"]


# ---- another release


def stood(value: str, made_with: str, quantity: str = "gpu_request") -> Baseline:
    return Baseline((ENTRY._replace(path="a.yaml", subject=Subject("Pod train", quantity, value)),), made_with)


@pytest.mark.parametrize(
    ("value", "quantity"), [("1; gpu_kinds 2", "gpu_request"), ("", "containers"), ("2; gpu_request 1", "gpu_limit")]
)
def test_a_baseline_of_another_release_is_compared_by_the_quantities_that_both_know(value: str, quantity: str) -> None:
    findings = found({"a.yaml": POD})
    assert baseline.match_findings(stood(value, "0.0.9", quantity), findings, str, lambda path: False, "0.1.0").accepted
    assert not baseline.match_findings(
        stood(value, "0.1.0", quantity), findings, str, lambda path: False, "0.1.0"
    ).accepted


def test_a_changed_value_is_new_whatever_release_told_the_baseline() -> None:
    findings = found({"a.yaml": POD})
    assert not baseline.match_findings(stood("2", "0.0.9"), findings, str, lambda path: False, "0.1.0").accepted


# ---- whatever somebody writes


@given(st.binary(max_size=300) | st.text(max_size=300).map(str.encode))
def test_any_bytes_are_a_baseline_or_refused(content: bytes) -> None:
    with contextlib.suppress(BaselineError):
        baseline.read("b.json", content)


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(),
    lambda inner: (
        st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from(baseline.TEXTS) | st.text(), inner, max_size=4)
    ),
    max_leaves=8,
)


@given(st.lists(JSON, max_size=4), JSON)
def test_any_entries_are_read_or_refused(findings: list[object], release: object) -> None:
    with contextlib.suppress(BaselineError):
        text = json.dumps({"format": baseline.FORMAT, "gpulint": release, "findings": findings})
        assert len(baseline.read("b.json", text.encode()).entries) == len(findings)


SUBJECT = st.builds(Subject, st.text(), st.text(), st.text())
ENTRIES = st.builds(
    Entry, st.text(min_size=1), st.text(), st.text(), SUBJECT, number=st.integers(1, 99), line=st.just(1)
)


@given(st.lists(ENTRIES))
def test_what_is_written_is_read_as_it_was(entries: list[Entry]) -> None:
    text = baseline.render(entries, "0.1.0")
    read = [one._replace(line=1) for one in baseline.read("b.json", text.encode()).entries]
    assert sorted(map(str, read)) == sorted(map(str, entries))


@pytest.mark.parametrize(
    "text",
    [
        '{"format": "gpulint-baseline/1", "gpulint": "x", "\\u0066indings": [{"rule": "a"}]}',
        '{"gpulint": "\\"findings\\": [", "format": "gpulint-baseline/1", "findings": [{"rule": "a"}]}',
        '{"format": "gpulint-baseline/1", "gpulint": "x", "findings": 1, "findings": [{"rule": "a"}]}',
    ],
)
def test_a_baseline_in_an_unusual_spelling_is_read_or_refused(text: str) -> None:
    assert [one.rule for one in baseline.read("b.json", text.encode()).entries] == ["a"]


def test_half_a_character_is_written_as_it_was_spelled() -> None:
    text = '{"format": "gpulint-baseline/1", "gpulint": "x", "findings": [{"rule": "a", "path": "\\ud800"}]}'
    entries = baseline.read("b.json", text.encode()).entries
    written = baseline.render(entries, "x").encode("utf-8", baseline.SURROGATE_ERRORS)
    assert baseline.read("b.json", written).entries == (entries[0]._replace(line=5),)
