"""Files that tests use: nobody deploys them, so what is wrong there is one step less severe."""

from __future__ import annotations

import pytest
import samples

from gpulint.report.model import Severity

WRONG = """
apiVersion: v1
kind: Pod
metadata: {name: chat}
spec:
  nodeSelector: {cloud.google.com/gke-accelerator: nvidia-l4}
  containers:
    - name: server
      image: vllm/vllm-openai:latest
      args: [--model=Qwen/Qwen2.5-7B-Instruct, --max-model-len=4096, --tensor-parallel-size=4]
      resources: {limits: {nvidia.com/gpu: 2}}
"""


@pytest.mark.parametrize(
    "path", ["tests/assets/pod.yaml", "vendor/fixtures/pod.yaml", "core/functional_tests/a/pod.yaml"]
)
def test_an_error_in_a_file_that_tests_use_is_a_warning_and_a_note_is_left_out(path: str) -> None:
    found = samples.severities(samples.report(WRONG, path=path))
    assert found["parallel-size-exceeds-gpus"] is Severity.WARNING
    assert "engine-image-unpinned" not in found


@pytest.mark.parametrize("path", ["pod.yaml", "test/pod.yaml", "latests/pod.yaml", "tests.yaml"])
def test_any_other_file_keeps_its_severities(path: str) -> None:
    found = samples.severities(samples.report(WRONG, path=path))
    assert found["parallel-size-exceeds-gpus"] is Severity.ERROR
    assert found["engine-image-unpinned"] is Severity.NOTE
