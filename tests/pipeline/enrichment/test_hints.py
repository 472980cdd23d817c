"""Hints: what comments, settings and the command line say of a workload, and of which one."""

from __future__ import annotations

import pytest
import reading
import samples

from gpulint.policy.config.settings import Hint, NamedFabric

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


@pytest.mark.parametrize("separator", ["---\n# gpulint: accelerator=l4\n", "--- # gpulint: accelerator=l4\n"])
def test_a_comment_below_the_separator_speaks_of_the_next_document(separator: str) -> None:
    text = pod(model="Qwen/Qwen3-8B") + separator + pod(name="other", model="Qwen/Qwen3-4B")
    assert [card for _, card in understood(text)] == ["1 × nvidia.com/gpu", "1 × L4 24GB"]


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
        ("gpus=many", "gpus must be a whole number, not many"),
        ("model=", "`model=` has no value; write model=… or accelerator=… or gpus=… or nodes=…"),
    ],
)
def test_what_cannot_be_read_is_a_finding_at_the_comment(comment: str, message: str) -> None:
    found = [one for one in samples.report(pod(f"# gpulint: {comment}")).findings if one.rule == "malformed-hint"]
    assert [(one.location.line, one.message) for one in found] == [(5, message)]


def test_an_ordinary_comment_states_nothing() -> None:
    assert understood(pod("# runs on an L4, model=Qwen/Qwen3-8B", model="Qwen/Qwen3-4B")) == [
        ("Qwen/Qwen3-4B", "1 × nvidia.com/gpu")
    ]


# ---- links and networks


def told(text: str, name: str, **given: object) -> object:
    """What the reader makes of a quantity of the first role, by its assumption."""
    (role,) = samples.report(text, **given).workloads[0].roles
    return next((one for one in role.assumptions if name in one), None)


@pytest.mark.parametrize(
    ("comment", "assumption"),
    [
        ("nvlink-bridge=yes", "nvlink bridge yes (the comment on line 5)"),
        ("network-kind=infiniband", "network kind infiniband (the comment on line 5)"),
        ("network=3200Gb/s", "per direction 400 GB/s (the comment on line 5)"),
    ],
)
def test_a_comment_tells_what_joins_cards_and_nodes(comment: str, assumption: str) -> None:
    found = told(pod(f"# gpulint: accelerator=h100-nvl-94gb {comment}", model="Qwen/Qwen3-8B"), "the comment on line 5")
    assert found is not None
    text = samples.report(pod(f"# gpulint: accelerator=h100-nvl-94gb {comment}", model="Qwen/Qwen3-8B"))
    assert any(one.endswith(assumption) for one in text.workloads[0].roles[0].assumptions)


def test_an_annotation_tells_of_a_bridge() -> None:
    note = "{name: chat, annotations: {gpulint/nvlink-bridge: 'true', gpulint/accelerator: h100-nvl-94gb}}"
    found = reading.role(pod(model="Qwen/Qwen3-8B", gpus="2").replace("{name: chat}", note))
    assert reading.values(found, "nvlink_bridge") == [True]


@pytest.mark.parametrize(
    ("comment", "message"),
    [
        ("nvlink-bridge=maybe", "nvlink-bridge must be yes or no, not maybe"),
        ("network-kind=token-ring", "no network is called token-ring"),
        ("network-kind=nvlink4", "no network is called nvlink4"),
        ("network=fast", '"fast" is not a bandwidth'),
    ],
)
def test_a_word_about_links_that_cannot_be_read_is_said(comment: str, message: str) -> None:
    found = samples.report(pod(f"# gpulint: {comment}")).findings
    assert any(one.rule == "malformed-hint" and message in one.message for one in found)


@pytest.mark.parametrize(
    ("fabric", "joined"),
    [
        (NamedFabric(quantities={"network_kind": "roce"}), True),
        (NamedFabric(cloud="gcp", quantities={"network_kind": "roce"}), True),
        (NamedFabric(cloud="aws", quantities={"network_kind": "roce"}), False),
        (NamedFabric(path="other/*", quantities={"network_kind": "roce"}), False),
    ],
)
def test_a_fabric_speaks_of_its_files_and_clouds(fabric: NamedFabric, joined: bool) -> None:
    selector = "nodeSelector: {cloud.google.com/gke-accelerator: nvidia-l4}"
    text = pod(model="Qwen/Qwen3-8B").replace("  containers:", f"  {selector}\n  containers:", 1)
    found = told(text, "fabric in gpulint.yaml", fabrics=(fabric,))
    assert (found == "network kind roce (fabric in gpulint.yaml)") is joined


@pytest.mark.parametrize(
    "text",
    [
        "{{ if .Values.gpu }}\nmetadata:\n  annotations:\n    gpulint/accelerator: h200\nnvidia.com/gpu: 1\n",
        "apiVersion: v1\nkind: Pod\nmetadata: {annotations: {gpulint/gpus: 2}}\nspec: [}  # {% nvidia %}\n",
    ],
)
def test_an_annotation_in_a_template_is_no_fault_of_ours(text: str) -> None:
    report = samples.report(text)
    assert (report.failures, [skip.cause for skip in report.skipped]) == ((), ["template"])
