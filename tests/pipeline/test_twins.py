"""Objects of one file that differ in their names only."""

from __future__ import annotations

from pathlib import Path

import pytest

import gpulint
from gpulint.pipeline import evaluate
from gpulint.report.model import Finding
from gpulint.source import documents
from gpulint.suggestions import alternatives, twins

WRONG = """\
apiVersion: apps/v1
kind: Deployment
metadata: {name: NAME}
spec:
  replicas: 1
  selector: {matchLabels: {app: NAME}}
  template:
    metadata: {labels: {app: NAME}}
    spec:
      nodeSelector: {nvidia.com/gpu.product: NVIDIA-A100-SXM4-40GB}
      containers:
        - name: server
          image: vllm/vllm-openai:v0.10.0
          args: [--model, meta-llama/Llama-3.1-70B-Instruct, --tensor-parallel-size, "1"]
          resources: {limits: {nvidia.com/gpu: 1}}
"""


def find(folder: Path, *objects: str) -> tuple[Finding, ...]:
    (folder / "spec.yaml").write_text("---\n".join(objects))
    report = gpulint.check(folder / "spec.yaml")
    assert report.failures == ()
    return report.open


def describe(finding: Finding, first: int) -> list[object]:
    """Return the suggestions of a finding, with lines counted from the first of its object."""
    return [
        (
            suggestion.title,
            edit.location and edit.location.line - first,
            edit.location and edit.location.column,
            edit.new,
        )
        for suggestion in finding.suggestions
        for edit in suggestion.edits
    ]


def test_twins_get_the_same_suggestions_each_at_its_own_lines(tmp_path: Path) -> None:
    first, second, third = find(tmp_path, *(WRONG.replace("NAME", name) for name in ("a", "search", "chat-10")))
    assert describe(first, 1)
    assert describe(first, 1) == describe(second, 17) == describe(third, 33)
    assert [edit.exact is not None for entry in third.suggestions for edit in entry.edits].count(False) == 0
    place = third.suggestions[0].edits[0].location
    assert place is not None and place.text.strip() == "resources: {limits: {nvidia.com/gpu: 1}}"  # more of the same first


def test_suggestions_for_twins_are_worked_out_and_verified_once(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    generated, evaluated = [], []
    generate, find_workloads = alternatives.generate, evaluate.find_workloads
    monkeypatch.setattr(alternatives, "generate", lambda *given: generated.append(given) or generate(*given))
    monkeypatch.setattr(evaluate, "find_workloads", lambda *given: evaluated.append(given) or find_workloads(*given))
    assert len(find(tmp_path, *(WRONG.replace("NAME", f"chat-{number}") for number in range(8)))) == 8
    assert len(generated) == 1
    assert len(evaluated) == 8 + 3  # each object, and the first one after each of three suggestions


def test_a_suggestion_in_a_stream_is_verified_without_reading_the_file_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    loaded = []
    load = documents.load
    monkeypatch.setattr(documents, "load", lambda path, *given: loaded.append(path) or load(path, *given))
    objects = (WRONG.replace("NAME", f"chat-{number}").replace("as: 1", f"as: {number}") for number in range(1, 5))
    assert {finding.workload for finding in find(tmp_path, *objects)} == {"chat-1", "chat-2", "chat-3", "chat-4"}
    assert len([path for path in loaded if path.endswith("spec.yaml")]) == 1


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("meta-llama/Llama-3.1-70B-Instruct", "meta-llama/Llama-3.1-8B-Instruct"),
        ("NVIDIA-A100-SXM4-40GB", "NVIDIA-A100-SXM4-80GB"),
        ('"1"', '"2"'),
    ],
)
def test_an_object_that_differs_in_more_than_its_name_is_no_twin(tmp_path: Path, old: str, new: str) -> None:
    alone = find(tmp_path, WRONG.replace("NAME", "b").replace(old, new))
    beside = find(tmp_path, WRONG.replace("NAME", "a"), WRONG.replace("NAME", "b").replace(old, new))
    beside = tuple(finding for finding in beside if finding.workload == "b")
    assert [(finding.rule, describe(finding, 1)) for finding in alone] == [
        (finding.rule, describe(finding, 17)) for finding in beside
    ]


def test_an_object_that_another_object_is_about_is_no_twin(tmp_path: Path) -> None:
    """A comment about one of two objects declares its model, so that the other one still fails."""
    small = WRONG.replace("NAME", "b").replace("    spec:\n", "    spec:  # gpulint: model=Qwen/Qwen3-0.6B\n")
    found = find(tmp_path, WRONG.replace("NAME", "a"), small)
    assert {finding.workload for finding in found if finding.rule == "weights-exceed-memory"} == {"a"}


SERVICE = """\
apiVersion: gpulint/v1
kind: InferenceService
metadata: {name: chat}
spec:
  roles:
"""
NETWORK = "checkpoint: meta-llama/Llama-3.1-70B-Instruct"
FLOW = f"    - {{name: NAME, engine: vllm, {NETWORK}, accelerator: h100-sxm-80gb, gpus_per_pod: 1}}\n"
BLOCK = """\
    - name: NAME
      engine: vllm
      checkpoint: meta-llama/Llama-3.1-70B-Instruct
      accelerator: h100-sxm-80gb
      gpus_per_pod: 1
"""
CONTAINER = """\
        - name: NAME
          image: vllm/vllm-openai:v0.10.0
          args: [--model, meta-llama/Llama-3.1-70B-Instruct, --tensor-parallel-size, "1"]
          resources: {limits: {nvidia.com/gpu: 1}}
"""
POD = WRONG.partition("        - name: server")[0].replace("NAME", "chat")
ROLES: dict[str, tuple[str, str, tuple[str, ...]]] = {
    "roles in one line each": (SERVICE, FLOW, ("a", "prefill", "b-2")),
    "roles in blocks": (SERVICE, BLOCK, ("a", "prefill", "b-2")),
    "containers": (POD, CONTAINER, ("a", "server", "b-2")),
    "roles of one name": (SERVICE, BLOCK, ("a", "a", "b")),
    "a role named as a value": (SERVICE, FLOW, ("a", "vllm", "1")),
    "a role with a value of its own": (SERVICE, BLOCK, ("a", "b\n      max_model_len: 4096", "c")),
}


@pytest.mark.parametrize("case", ROLES)
def test_equal_roles_of_one_object_get_what_each_gets_alone(
    case: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    head, role, names = ROLES[case]
    text = head + "".join(role.replace("NAME", name) for name in names)
    shared = find(tmp_path, text)
    assert shared
    number = iter(range(1_000))
    monkeypatch.setattr(twins, "identify", lambda *given: next(number))
    assert find(tmp_path, text) == shared


def test_equal_roles_of_one_object_share_a_search_and_a_verification(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    generated, evaluated = [], []
    generate, find_workloads = alternatives.generate, evaluate.find_workloads
    monkeypatch.setattr(alternatives, "generate", lambda *given: generated.append(given) or generate(*given))
    monkeypatch.setattr(evaluate, "find_workloads", lambda *given: evaluated.append(given) or find_workloads(*given))
    found = find(tmp_path, SERVICE + "".join(FLOW.replace("NAME", f"server-{number}") for number in range(9)))
    assert [bool(finding.suggestions) for finding in found] == [True] * 9
    assert [finding.suggestions[0].edits[0].location.line for finding in found] == list(range(6, 15))  # type: ignore[union-attr]
    assert len(generated) == 1
    assert len(evaluated) < 9
