"""Evidence of a repository's hardware: its READMEs and its node pools, and when they suggest nothing."""

from __future__ import annotations

import pytest
import samples

POD = """\
apiVersion: v1
kind: Pod
metadata: {name: chat}
spec:
  containers:
    - name: server
      image: vllm/vllm-openai:v0.11.0
      args: [--model=Qwen/Qwen3-32B, --max-model-len=4096]
      resources: {limits: {nvidia.com/gpu: 1}}
"""
POOL = """\
resource "google_container_node_pool" "%s" {
  name    = "%s"
  cluster = "main"
  node_config {
    machine_type = "%s"
  }
}
"""
OPEN = "1 × nvidia.com/gpu"


def shown(files: dict[str, str]) -> str:
    """The GPUs of a pod in a folder of a repository with further files."""
    held = {name: text.encode() for name, text in files.items()}
    (role,) = samples.roles(samples.report(POD, path="serving/chat/pod.yaml", files=held))
    return role.accelerator


@pytest.mark.parametrize(
    ("files", "accelerator"),
    [
        ({"README.md": "Serves chat on NVIDIA L4 GPUs.\n"}, "1 × L4 24GB"),
        ({"README.md": "export MACHINE_TYPE=g2-standard-8\n"}, "1 × L4 24GB"),
        ({"README.md": "--accelerator type=nvidia-l4,count=1\n"}, "1 × L4 24GB"),
        ({"serving/README.md": "Runs on L4.\n", "README.md": "Runs on L40S.\n"}, "1 × L4 24GB"),
        ({"README.md": "| L4 | L40S | H100 |\n"}, OPEN),
        ({"serving/README.md": "| L4 | L40S |\n", "README.md": "Runs on L4.\n"}, OPEN),
        ({"README.md": "You need a GPU such as the L4.\n"}, OPEN),
        ({"other/README.md": "Runs on L4.\n"}, OPEN),
    ],
)
def test_the_nearest_readme_that_names_one_accelerator_suggests_it(files: dict[str, str], accelerator: str) -> None:
    assert shown(files) == accelerator


def test_the_only_gpu_machine_of_the_node_pools_suggests_its_accelerator() -> None:
    gpus, others = POOL % ("gpu", "gpu", "g2-standard-8"), POOL % ("cpu", "cpu", "e2-standard-4")
    assert shown({"infra/main.tf": gpus + others}) == "1 × L4 24GB"
    assert shown({"infra/main.tf": gpus + POOL % ("big", "big", "a3-highgpu-8g")}) == OPEN
    assert shown({"infra/main.tf": gpus, "README.md": "Runs on L40S.\n"}) == OPEN


def test_a_finding_on_suggested_hardware_is_one_step_lower_and_names_its_source() -> None:
    held = {"README.md": b"Runs on L4.\n"}
    found = samples.report(POD, path="pod.yaml", files=held)
    (finding,) = samples.of_rule(found, "weights-exceed-memory")
    assert (finding.severity.name, "assumed from line 1 of README.md" in finding.message) == ("WARNING", True)
