"""Hints: what comments, settings and the command line say of a workload, and of which one."""

from __future__ import annotations

import pytest
import samples

from gpulint.policy.settings import Hint

POD = """\
apiVersion: v1
kind: Pod
metadata: {{name: {name}}}
spec:
  {comment}
  containers:
    - name: server
      image: vllm/vllm-openai:v0.11.0
      args: [--model={model}, --max-model-len=4096]
      resources: {{limits: {{nvidia.com/gpu: {gpus}}}}}
"""


def pod(comment: str = "", name: str = "chat", model: str = "$(MODEL)", gpus: str = "1") -> str:
    return POD.format(comment=comment, name=name, model=model, gpus=gpus)


def understood(text: str, **given: object) -> list[tuple[str, str]]:
    """The architecture and accelerator of every workload."""
    found = samples.report(text, **given)
    assert found.failures == ()
    return [(one.roles[0].architecture, one.roles[0].accelerator) for one in found.workloads]


def test_a_comment_names_model_and_accelerator() -> None:
    text = pod("# gpulint: model=Qwen/Qwen3-8B accelerator=l4")
    assert understood(text) == [("Qwen/Qwen3-8B", "1 × L4 24GB")]


def test_a_comment_speaks_of_its_own_document_only() -> None:
    text = pod("# gpulint: accelerator=l4", model="Qwen/Qwen3-8B") + "---\n" + pod(name="other", model="Qwen/Qwen3-4B")
    assert [card for _, card in understood(text)] == ["1 × L4 24GB", "1 × nvidia.com/gpu"]


def test_a_comment_above_everything_speaks_of_the_first_document() -> None:
    assert understood("# gpulint: accelerator=l4\n" + pod(model="Qwen/Qwen3-8B")) == [("Qwen/Qwen3-8B", "1 × L4 24GB")]


def test_a_label_is_read_like_an_annotation() -> None:
    text = pod(model="Qwen/Qwen3-8B").replace("{name: chat}", "{name: chat, labels: {gpulint/accelerator: l4}}")
    assert understood(text) == [("Qwen/Qwen3-8B", "1 × L4 24GB")]


def test_counts_complete_an_instance() -> None:
    found = samples.report(pod("# gpulint: gpus=2 accelerator=l4", model="Qwen/Qwen3-8B", gpus="$COUNT"))
    assert found.workloads[0].roles[0].accelerator == "2 × L4 24GB"


def test_settings_fill_only_what_the_file_leaves_open() -> None:
    hint = Hint("*", accelerator="l4", checkpoint="Qwen/Qwen3-4B")
    assert understood(pod(model="Qwen/Qwen3-8B"), hints=(hint,)) == [("Qwen/Qwen3-8B", "1 × L4 24GB")]
    assert understood(pod(), hints=(hint,)) == [("Qwen/Qwen3-4B", "1 × L4 24GB")]


def test_a_hint_is_shown_as_an_assumption() -> None:
    (role,) = samples.report(pod("# gpulint: accelerator=l4", model="Qwen/Qwen3-8B")).workloads[0].roles
    assert "accelerator l4 (the comment on line 5)" in role.assumptions


@pytest.mark.parametrize(
    ("comment", "message"),
    [
        ("acelerator=l4", "no hint is called acelerator; did you mean accelerator?"),
        ("gpus=many", "gpus is a count, not many"),
        ("model=", "`model=` states nothing; write model=… or accelerator=… or gpus=… or nodes=…"),
    ],
)
def test_what_cannot_be_read_is_a_finding_at_the_comment(comment: str, message: str) -> None:
    found = [one for one in samples.report(pod(f"# gpulint: {comment}")).findings if one.rule == "malformed-hint"]
    assert [(one.location.line, one.message) for one in found] == [(5, message)]


def test_an_ordinary_comment_states_nothing() -> None:
    assert understood(pod("# runs on an L4, model=Qwen/Qwen3-8B", model="Qwen/Qwen3-4B")) == [
        ("Qwen/Qwen3-4B", "1 × nvidia.com/gpu")
    ]
