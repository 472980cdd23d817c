"""Contradictions: which hints replace what a file states, and which only fill a gap or say it more exactly."""

from __future__ import annotations

import json

import pytest
import samples

from gpulint.policy.config.settings import Hint

RULE = "hint-contradicts-file"
POD = """\
apiVersion: v1
kind: Pod
metadata: {{name: chat{metadata}}}
spec:
  # gpulint: {comment}
  {selector}
  containers:
    - name: server
      image: vllm/vllm-openai:v0.11.0
      args: [--model={model}, --max-model-len=4096]
      resources: {{limits: {{{resource}: {gpus}}}}}
"""
GKE = "nodeSelector: {cloud.google.com/gke-accelerator: %s}"
AFFINITY = (
    "affinity: {nodeAffinity: {requiredDuringSchedulingIgnoredDuringExecution: {nodeSelectorTerms: [{matchExpressions: "
    "[{key: cloud.google.com/gke-accelerator, operator: In, values: [nvidia-l4, nvidia-tesla-t4]}]}]}}}"
)
SLURM = """\
#!/bin/bash
#SBATCH --nodes={nodes}
#SBATCH --gres=gpu:{gres}
# gpulint: {comment}
srun vllm serve Qwen/Qwen3-8B --max-model-len 4096
"""
SKYPILOT = """\
# gpulint: {comment}
resources:
  accelerators: {accelerators}
run: vllm serve Qwen/Qwen3-8B --max-model-len 4096
"""

COMPOSE = """\
# gpulint: {comment}
services:
  server:
    image: vllm/vllm-openai:v0.11.0
    command: --model Qwen/Qwen3-8B
    deploy: {{resources: {{reservations: {{devices: [{{driver: nvidia, device_ids: ["{devices}"], capabilities: [gpu]}}]}}}}}}
"""
TORCHTUNE = """\
# gpulint: {comment}
output_dir: /tmp/torchtune/llama3_1_8B/full
model: {{_component_: torchtune.models.llama3_1.llama3_1_8b}}
tokenizer: {{_component_: torchtune.models.llama3.llama3_tokenizer, path: /models/tokenizer.model, max_seq_len: 2048}}
optimizer: {{_component_: torch.optim.AdamW, fused: true, lr: 3.0e-4}}
batch_size: 2
dtype: bf16
device: cuda
"""


def pod(
    comment: str = "tpot=50ms",
    metadata: str = "",
    selector: str = "restartPolicy: Always",
    model: str = "Qwen/Qwen3-8B",
    resource: str = "nvidia.com/gpu",
    gpus: str = "1",
) -> str:
    return POD.format(comment=comment, metadata=metadata, selector=selector, model=model, resource=resource, gpus=gpus)


def annotated(text: str, where: str = "annotations") -> str:
    return f", {where}: {{{text}}}"


def told(text: str, path: str = "", **given: object) -> list[tuple[int, str]]:
    """Each contradiction of a text: its line, and its message up to the semicolon."""
    found = samples.report(text, path, **given)
    assert found.failures == ()
    return [(one.location.line, one.message.partition(";")[0]) for one in found.findings if one.rule == RULE]


# ---- what contradicts


@pytest.mark.parametrize(
    ("text", "line", "message"),
    [
        (pod("gpus=1", gpus="8"), 5, "hint gpus=1 contradicts the file, which states 8"),
        (
            pod("accelerator=h200", selector=GKE % "nvidia-l4"),
            5,
            "hint accelerator=h200 contradicts the file, which states l4",
        ),
        (
            pod("accelerator=no-such-gpu", selector=GKE % "nvidia-l4"),
            5,
            "hint accelerator=no-such-gpu contradicts the file, which states l4",
        ),
        (
            pod("accelerator=h200", selector=AFFINITY),
            5,
            "hint accelerator=h200 contradicts the file, which states one of l4, t4",
        ),
        (
            pod("accelerator=mi300x"),
            5,
            "hint accelerator=mi300x contradicts the file, which states nvidia.com/gpu",
        ),
        (
            pod("accelerator=l4", resource="amd.com/gpu"),
            5,
            "hint accelerator=l4 contradicts the file, which states amd.com/gpu",
        ),
        (
            pod("model=Qwen/Qwen3-0.6B"),
            5,
            "hint model=Qwen/Qwen3-0.6B contradicts the file, which states Qwen/Qwen3-8B",
        ),
        (
            pod("model=Qwen/Qwen3-8B-FP8"),
            5,
            "hint model=Qwen/Qwen3-8B-FP8 contradicts the file, which states Qwen/Qwen3-8B",
        ),
        (
            pod("model=acme/secret"),
            5,
            "hint model=acme/secret contradicts the file, which states Qwen/Qwen3-8B",
        ),
        (
            pod("labels=team:search", metadata=annotated("team: payments", "labels")),
            5,
            "hint labels=team:search contradicts the file, which states team: payments",
        ),
        (
            pod("namespace=dev", metadata=", namespace: prod"),
            5,
            "hint namespace=dev contradicts the file, which states prod",
        ),
        (
            pod(metadata=annotated("gpulint/accelerator: h200"), selector=GKE % "nvidia-l4"),
            3,
            "hint accelerator=h200 contradicts the file, which states l4",
        ),
        (
            pod(metadata=annotated("gpulint/model: Qwen/Qwen3-0.6B", "labels")),
            3,
            "hint model=Qwen/Qwen3-0.6B contradicts the file, which states Qwen/Qwen3-8B",
        ),
        (
            pod(metadata=annotated('"gpulint\\u002fmodel": Qwen/Qwen3-0.6B')),
            3,
            "hint model=Qwen/Qwen3-0.6B contradicts the file, which states Qwen/Qwen3-8B",
        ),
    ],
)
def test_a_hint_that_replaces_a_stated_value_is_a_finding_at_the_hint(text: str, line: int, message: str) -> None:
    assert told(text) == [(line, message)]


@pytest.mark.parametrize(
    ("text", "path", "message"),
    [
        (
            SLURM.format(nodes=2, gres="h100:8", comment="nodes=1"),
            "a.sbatch",
            "hint nodes=1 contradicts the file, which states 2",
        ),
        (
            SLURM.format(nodes=2, gres="h100:8", comment="accelerator=l4"),
            "a.sbatch",
            "hint accelerator=l4 contradicts the file, which states h100-sxm-80gb",
        ),
        (
            SKYPILOT.format(accelerators="'L4:8'", comment="gpus=1"),
            "a.yaml",
            "hint gpus=1 contradicts the file, which states 8",
        ),
        (
            SKYPILOT.format(accelerators="{L4: 1, T4: 1}", comment="accelerator=h200"),
            "a.yaml",
            "hint accelerator=h200 contradicts the file, which states one of l4, t4",
        ),
    ],
)
def test_a_hint_contradicts_job_files_too(text: str, path: str, message: str) -> None:
    assert [said for _, said in told(text, path)] == [message]


def test_the_message_says_which_value_counts_and_what_to_do() -> None:
    (found,) = [one for one in samples.report(pod("gpus=1", gpus="8")).findings if one.rule == RULE]
    assert found.message == (
        "hint gpus=1 contradicts the file, which states 8; all checks use the hint. Remove the hint, or correct the file"
    )
    assert [(one.label, one.location.line) for one in found.related] == [("states 8", 11)]
    assert (found.workload, found.role, found.subject.quantity) == ("chat", "server", "gpus_per_pod")


def test_a_hint_of_settings_outside_the_choices_of_a_file_contradicts_it_where_it_states_them() -> None:
    hint = Hint("*", accelerator="h200")
    text = pod(selector=AFFINITY)
    assert told(text, hints=(hint,)) == [
        (6, "hint accelerator=h200-sxm-141gb (hints in gpulint.yaml) contradicts the file, which states one of l4, t4")
    ]


def test_one_comment_about_two_containers_is_one_finding_for_each_value_that_it_replaces() -> None:
    second = """\
    - name: other
      image: vllm/vllm-openai:v0.11.0
      args: [--model=Qwen/Qwen3-8B]
      resources: {limits: {nvidia.com/gpu: 8}}
"""
    assert told(pod("gpus=1", gpus="8") + second) == [(5, "hint gpus=1 contradicts the file, which states 8")]


def test_a_json_report_with_a_contradiction_is_valid() -> None:
    from gpulint.report.formats import json as formats_json

    data = json.loads(formats_json.render(samples.report(pod("gpus=1", gpus="8"))))
    (role,) = data["workloads"][0]["roles"]
    assert role["hints"] == [
        {"text": "gpus=1", "kind": "comment", "path": "spec.yaml", "line": 5, "workload": "chat", "stated": "8"}
    ]


# ---- what does not


@pytest.mark.parametrize(
    "text",
    [
        pytest.param(pod("gpus=8", gpus="8"), id="the same number"),
        pytest.param(pod("gpus=8", gpus="$GPUS"), id="a count from a variable"),
        pytest.param(pod("accelerator=l4"), id="no accelerator is stated"),
        pytest.param(pod("accelerator=l4", selector=GKE % "nvidia-l4"), id="the same accelerator"),
        pytest.param(pod("accelerator=L4", selector=GKE % "nvidia-l4"), id="another spelling of the accelerator"),
        pytest.param(pod("accelerator=h200", selector="nodeSelector: {pool: big}"), id="a label of the cluster"),
        pytest.param(pod("accelerator=l4", selector=GKE % "$CARD"), id="an accelerator from a variable"),
        pytest.param(pod("accelerator=l4", selector=AFFINITY), id="one of several choices"),
        pytest.param(pod("model=Qwen/Qwen3-8B", model="/models/chat"), id="a local path"),
        pytest.param(pod("model=Qwen/Qwen3-8B", model="$(MODEL)"), id="a model from a variable"),
        pytest.param(pod("model=Qwen/Qwen3-8B", model="acme/chat-70b"), id="a model known by its name only"),
        pytest.param(pod("model=Qwen/Qwen3-8B", model="qwen/qwen3-8b"), id="another case of the model"),
        pytest.param(
            pod("model=Qwen/Qwen3-8B", model="/models/Qwen3-8B"), id="the model that a folder is called after"
        ),
        pytest.param(
            pod("model=Qwen/Qwen3-8B", model="/cache/models--Qwen--Qwen3-8B/snapshots/1"), id="a folder of the cache"
        ),
        pytest.param(pod("labels=team:search"), id="no label is stated"),
        pytest.param(pod("labels=team:search", metadata=annotated("app: chat", "labels")), id="another label"),
        pytest.param(pod("labels=team:a", metadata=annotated("team: a", "labels")), id="the same label"),
        pytest.param(pod("namespace=dev"), id="no namespace is stated"),
        pytest.param(pod("network=400Gb/s nvlink-bridge=yes"), id="links that no file states"),
        pytest.param(pod("tpot=50ms concurrency=64"), id="an objective"),
        pytest.param(pod("tpot=50ms", metadata=annotated("gpulint/tpot: 20ms")), id="an objective in two places"),
        pytest.param(
            pod("accelerator=l4", metadata=annotated("gpulint/accelerator: t4")), id="two hints and nothing stated"
        ),
        pytest.param(pod(metadata=annotated("gpulint/accelerator: l4")), id="an annotation that fills a gap"),
        pytest.param(
            pod(metadata=annotated("gpulint/model: Qwen/Qwen3-8B"), model="/models/chat"), id="an annotated path"
        ),
        pytest.param(
            pod(metadata=annotated("gpulint/accelerator: l4"), selector=GKE % "nvidia-l4"), id="the same in both"
        ),
    ],
)
def test_a_hint_that_fills_a_gap_or_repeats_the_file_is_no_finding(text: str) -> None:
    assert told(text) == []


@pytest.mark.parametrize(
    ("text", "path"),
    [
        (SLURM.format(nodes=2, gres="8", comment="accelerator=h100"), "a.sbatch"),
        (SLURM.format(nodes=2, gres="h100:8", comment="accelerator=h100-nvl-94gb nodes=2 gpus=8"), "a.sbatch"),
        (SLURM.format(nodes="$NODES", gres="h100:8", comment="nodes=4"), "a.sbatch"),
        (SKYPILOT.format(accelerators="'H100:8'", comment="accelerator=h100-pcie-80gb"), "a.yaml"),
        (SKYPILOT.format(accelerators="{L4: 1, T4: 1}", comment="accelerator=t4"), "a.yaml"),
        (SKYPILOT.format(accelerators="L4", comment="gpus=4"), "a.yaml"),
        (COMPOSE.format(devices="${GPUS:-0}", comment="gpus=2"), "compose.yaml"),
        (TORCHTUNE.format(comment="nodes=2"), "a.yaml"),
    ],
)
def test_a_hint_may_say_what_a_job_leaves_to_a_default_a_variable_or_a_family_of_products(text: str, path: str) -> None:
    assert told(text, path) == []


def test_settings_that_a_file_overrides_contradict_nothing() -> None:
    hint = Hint("*", accelerator="h200", checkpoint="Qwen/Qwen3-0.6B", gpus=8, nodes=4)
    assert told(pod(selector=GKE % "nvidia-l4"), hints=(hint,)) == []


def test_the_pool_that_a_file_of_the_repository_defines_is_no_statement_of_the_workload() -> None:
    pool = b"""\
apiVersion: karpenter.sh/v1
kind: NodePool
metadata: {name: big}
spec:
  template:
    metadata: {labels: {pool: big}}
    spec:
      requirements:
        - {key: node.kubernetes.io/instance-type, operator: In, values: [g6.xlarge]}
"""
    assert told(pod("accelerator=l40s", selector="nodeSelector: {pool: big}"), files={"pool.yaml": pool}) == []
