"""Objects of other files: what a document refers to is read from there, and placed at the reference."""

from __future__ import annotations

from pathlib import Path

import pytest

from gpulint.pipeline import check
from gpulint.policy.resolved import ResolvedPolicy
from gpulint.policy.rules.rule import load_shipped
from gpulint.report.model import Report
from gpulint.source import repository

DEPLOYMENT = """\
apiVersion: apps/v1
kind: Deployment
metadata: {name: chat}
spec:
  template:
    spec:
      nodeSelector: {cloud.google.com/gke-accelerator: nvidia-l4}
      containers:
        - name: server
          image: vllm/vllm-openai:v0.11.0
          args: [--model=$(MODEL), --max-model-len=8192]
          envFrom: [{configMapRef: {name: models}}]
          resources: {limits: {nvidia.com/gpu: 1}}
"""
LARGE = """\
apiVersion: v1
kind: ConfigMap
metadata: {name: models}
data:
  MODEL: meta-llama/Llama-3.3-70B-Instruct
"""
SMALL = LARGE.replace("meta-llama/Llama-3.3-70B-Instruct", "Qwen/Qwen3-4B")


def checked(root: Path, monkeypatch: pytest.MonkeyPatch, files: dict[str, str], path: str, below: str = ".") -> Report:
    """The report on one file of a repository, from a folder of it."""
    (root / ".git").mkdir()
    for name, text in files.items():
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        (root / name).write_text(text, encoding="utf-8")
    monkeypatch.chdir(root / below)
    rules = load_shipped()
    tree = repository.WorkTree(root)
    found = check.check_files(tree.sources([path]), tree, ResolvedPolicy(tuple(rules.values()), tuple(rules)))
    assert found.failures == ()
    return found


def places(report: Report) -> list[tuple[str, str, int]]:
    return [(one.rule, one.location.path, one.location.line) for one in report.findings]


def test_a_config_map_of_another_file_gives_the_model(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    found = checked(tmp_path, monkeypatch, {"a/chat.yaml": DEPLOYMENT, "b/models.yaml": LARGE}, "a/chat.yaml")
    assert places(found) == [("weights-exceed-memory", "a/chat.yaml", 12)]


def test_a_run_in_a_folder_sees_the_whole_repository(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    found = checked(tmp_path, monkeypatch, {"a/chat.yaml": DEPLOYMENT, "b/models.yaml": LARGE}, "chat.yaml", "a")
    assert places(found) == [("weights-exceed-memory", "chat.yaml", 12)]


def test_the_object_of_the_same_folder_is_meant(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    files = {"a/chat.yaml": DEPLOYMENT, "a/models.yaml": SMALL, "b/models.yaml": LARGE}
    assert places(checked(tmp_path, monkeypatch, files, "a/chat.yaml")) == []


def test_of_several_objects_elsewhere_none_is_meant(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    files = {"a/chat.yaml": DEPLOYMENT, "b/models.yaml": SMALL, "c/models.yaml": LARGE}
    found = checked(tmp_path, monkeypatch, files, "a/chat.yaml")
    assert places(found) == []
    assert found.workloads[0].roles[0].architecture.startswith("?")


def test_a_generator_of_kustomize_makes_the_config_map(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    literal = "MODEL=meta-llama/Llama-3.3-70B-Instruct"
    generated = f"resources: [chat.yaml]\nconfigMapGenerator: [{{name: models, literals: [{literal}]}}]\n"
    files = {"a/chat.yaml": DEPLOYMENT, "a/kustomization.yaml": generated}
    found = checked(tmp_path, monkeypatch, files, "a/chat.yaml")
    assert found.workloads[0].roles[0].architecture == "meta-llama/Llama-3.3-70B-Instruct"


def test_a_link_out_of_the_repository_is_not_followed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    outside = tmp_path / "outside.yaml"
    outside.write_text(LARGE, encoding="utf-8")
    root = tmp_path / "repository"
    root.mkdir()
    (root / "models.yaml").symlink_to(outside)
    assert places(checked(root, monkeypatch, {"chat.yaml": DEPLOYMENT}, "chat.yaml")) == []


AUTOSCALER = """\
apiVersion: autoscaling/v2
kind: HorizontalPodAutoscaler
metadata: {name: vllm-chat}
spec:
  scaleTargetRef: {apiVersion: apps/v1, kind: Deployment, name: chat}
  maxReplicas: 4
  metrics:
    - type: Resource
      resource: {name: cpu, target: {type: Utilization, averageUtilization: 80}}
"""
SERVED = DEPLOYMENT.replace("$(MODEL)", "Qwen/Qwen3-4B")
FOLLOWS_CPU = [("autoscaler-follows-cpu", "hpa.yaml", 9)]


@pytest.mark.parametrize("path", ["chat.yaml", "hpa.yaml", "."])
def test_an_autoscaler_of_the_folder_is_judged_once_from_either_file(
    path: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    files = {"chat.yaml": SERVED, "hpa.yaml": AUTOSCALER, "models.yaml": SMALL}
    assert places(checked(tmp_path, monkeypatch, files, path)) == FOLLOWS_CPU


def test_an_autoscaler_of_another_folder_is_not_joined(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    files = {"a/chat.yaml": SERVED, "b/hpa.yaml": AUTOSCALER, "a/models.yaml": SMALL}
    assert places(checked(tmp_path, monkeypatch, files, ".")) == []


SETTINGS = "model: meta-llama/Llama-3.3-70B-Instruct\ntensor-parallel-size: 4\nmax-model-len: 8192\n"
SERVED_BY_SCRIPT = "#!/bin/bash\n#SBATCH --gpus-per-node=8\nvllm serve --config settings/vllm.yaml\n"
SERVED_BY_COMPOSE = """\
services:
  chat:
    image: vllm/vllm-openai:v0.11.0
    command: [--config, /etc/vllm/vllm.yaml]
    ipc: host
    volumes: ["./settings:/etc/vllm:ro"]
    deploy: {resources: {reservations: {devices: [{driver: nvidia, count: 8, capabilities: [gpu]}]}}}
"""
SERVED_BY_TASK = "resources: {accelerators: 'H100:8'}\nrun: vllm serve --config settings/vllm.yaml\n"


@pytest.mark.parametrize(
    ("path", "text", "line"),
    [("serve.sbatch", SERVED_BY_SCRIPT, 3), ("compose.yaml", SERVED_BY_COMPOSE, 4), ("sky.yaml", SERVED_BY_TASK, 2)],
)
def test_a_settings_file_of_the_repository_states_the_arguments(
    path: str, text: str, line: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    files = {path: text, "settings/vllm.yaml": SETTINGS}
    assert ("gpus-left-idle", path, line) in places(checked(tmp_path, monkeypatch, files, path))


def test_without_the_settings_file_nothing_is_assumed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    found = checked(tmp_path, monkeypatch, {"serve.sbatch": SERVED_BY_SCRIPT}, "serve.sbatch")
    assert places(found) == []
