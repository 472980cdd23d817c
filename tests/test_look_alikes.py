"""Files that only look like deployments are named and left alone."""

from __future__ import annotations

import pytest
import samples

from gpulint import adapters
from gpulint.source import documents

WORKFLOW = """\
on: [push]
jobs:
  test:
    runs-on: [self-hosted, gpu]
    container: {image: "nvidia/cuda:12.4", options: "--gpus all"}
    steps: [{run: "torchrun --nproc_per_node 8 test.py"}]
"""
DASHBOARD = '{"panels": [{"targets": [{"expr": "DCGM_FI_DEV_GPU_UTIL"}]}], "schemaVersion": 39}'
DEVCONTAINER = """\
{
  // "image": "cpu",
  "image": "pytorch", "runArgs": ["--gpus=all"],
  "remoteEnv": {"PATH": "${containerEnv:PATH}:${containerWorkspaceFolder}"}, "customizations": {}
}
"""
STEPS = "steps:\n  - label: gpu tests\n    agents: {queue: gpu_4_queue}\n    command: vllm serve facebook/opt-125m\n"


@pytest.mark.parametrize(
    ("path", "text", "kind"),
    [
        (".github/workflows/gpu.yml", WORKFLOW, "GitHub Actions workflow"),
        ("gpu.json", DASHBOARD, "Grafana dashboard"),
        (".devcontainer/devcontainer.json", DEVCONTAINER, "devcontainer"),
        ("pipeline.yaml", STEPS, "Buildkite pipeline"),
    ],
)
def test_it_is_named_and_nothing_is_said_of_it(path: str, text: str, kind: str) -> None:
    found = samples.report(text, path)
    assert [one.kind for one in found.documents] == [kind]
    assert (found.workloads, found.findings, found.failures) == ((), (), ())


@pytest.mark.parametrize("text", ["steps: [{run: make}]\ngpu: 1\n", "jobs: 4\nstage: gpu\n", "[gpu, steps]\n"])
def test_what_may_be_anything_else_is_not_claimed(text: str) -> None:
    (document,) = documents.load("a.yaml", text.encode()).documents
    assert adapters.find_adapter(document) is None
