"""Evidence of a repository's hardware: its READMEs and its node pools, and when they suggest nothing."""

from __future__ import annotations

from pathlib import Path

import pytest
import samples

import gpulint

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
PROGRAM = """\
import torch
from transformers import AutoModelForCausalLM

model = AutoModelForCausalLM.from_pretrained("Qwen/Qwen3-0.6B", torch_dtype=torch.bfloat16)
model.to("cuda")
model.generate(max_new_tokens=64)
"""


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


# ---- what a README states as its hardware


OTHERS = "\nThe upgrade to H100 comes next year. Half as fast as A100.\n"


@pytest.mark.parametrize(
    "text",
    [
        "# Chat on 1x L4\n",
        "## Hardware\n\n- Intel i7, 64 GB\n- L4, 24 GB\n",
        "## Hardware\n\n| Node | CPU | Card |\n|---|---|---|\n| n1 | i7 | L4 |\n| n2 | i7 | L4 |\n",
        "| Node | GPU |\n|---|---|\n| n1 | L4 |\n",
        "- **GPU**: NVIDIA L4 (24 GB)\n",
        "| GPU | L4 24GB |\n",
        "## 硬件\n\n- 服务器: 1 张 L4\n",
        "- 显卡: L4\n",
    ],
)
def test_what_a_readme_states_as_its_hardware_precedes_what_it_mentions(text: str) -> None:
    assert shown({"README.md": text + OTHERS}) == "1 × L4 24GB"


@pytest.mark.parametrize(
    "text",
    [
        "Tested on L4.\n",
        "The benchmark ran on an L4.\n",
        "## Benchmarks\n\nL4: 20 requests a second\n",
        "## Supported GPUs\n\n- L4\n",
        "## Tested hardware\n\n- L4\n",
        "| GPU | tok/s |\n|---|---|\n| L4 | 20 tok/s |\n",
        "Not supported on L4.\n",
        "Faster than on an L4.\n",
        "Compared with the L4, everything is slow.\n",
        "L4 is unsupported.\n",
        "## Roadmap\n\nServe on L4.\n",
        "- GPU: L4 or larger\n",
        "在 L4 上测试\n",
        "支持 L4\n",
        "- **GPU**: Radeon RX 7900 XTX laptop\n",
    ],
)
def test_a_measurement_a_comparison_or_a_list_of_what_is_possible_is_no_machine(text: str) -> None:
    assert shown({"README.md": text}) == OPEN


def shown_program(readme: str, folder: Path) -> str:
    """The GPUs of a program that any machine may run, beside a README."""
    (folder / "train.py").write_text(PROGRAM)
    (folder / "README.md").write_text(readme)
    (role,) = samples.roles(gpulint.check(folder))
    return role.accelerator


@pytest.mark.parametrize(
    ("text", "accelerator"),
    [
        ("All models are trained and evaluated on a single RTX 3090 GPU.\n", "1 × GeForce RTX 3090 24GB"),
        ("Tested on an RTX A4500 (20GB)\n", "1 × RTX A4500 20GB"),
        ("| **GPU used** | RTX 3050 4GB |\n", "1 × GeForce RTX 3050 Laptop GPU 4GB"),
        ("| Training Environment | RTX 3060 Laptop 6GB VRAM |\n", "1 × GeForce RTX 3060 Laptop GPU 6GB"),
        ("- 本 repo 以 RTX 3060 Ti 8G 单卡为例子\n", "1 × GeForce RTX 3060 Ti 8GB"),
        ("Developed on my laptop with an RTX 4070.\n", "1 × GeForce RTX 4070 Laptop GPU 8GB"),
        ("Trained on an RTX A4500.\n\n- T4 (16GB) - $0.15/hr\n- RTX 4090 (24GB) - fastest\n", "1 × RTX A4500 20GB"),
        ("Tested on an RTX 3090.\n```bash\n# Free GPU\necho T4\n```\n", "1 × GeForce RTX 3090 24GB"),
    ],
)
def test_on_what_somebody_ran_a_program_is_its_machine(text: str, accelerator: str, tmp_path: Path) -> None:
    assert shown_program(text, tmp_path) == accelerator


@pytest.mark.parametrize(
    "text",
    [
        "Tested on L4 and trained on A100.\n",
        "## Benchmarks\n\n| GPU | tok/s |\n|---|---|\n| L4 | 20 tok/s |\n| T4 | 9 tok/s |\n",
        "## Supported GPUs\n\n- L4\n",
        "Training on a T4 or larger.\n",
        "Requires at least an RTX 3090.\n",
        "## Supported\n\nTested on L4.\n",
        "We provided a Colab notebook for a free T4 GPU. Two models fine-tuned using it are available.\n",
    ],
)
def test_what_is_possible_is_no_machine_of_a_program(text: str, tmp_path: Path) -> None:
    assert "?" in shown_program(text, tmp_path)


def test_a_program_that_spreads_over_all_gpus_has_the_one_card_of_its_machine(tmp_path: Path) -> None:
    program = PROGRAM.replace("torch_dtype", 'device_map="auto", torch_dtype')
    (tmp_path / "train.py").write_text(program)
    for text, counted in (("- GPU: RTX 4090\n", True), ("- GPU: 2x RTX 4090\n", False), ("- GPUs: H100\n", False)):
        (tmp_path / "README.md").write_text(text)
        (role,) = samples.roles(gpulint.check(tmp_path))
        assert any(entry.startswith("1 GPU, as line 1 of ") for entry in role.assumptions) is counted


def test_a_node_pool_is_no_machine_of_a_program_whose_readme_names_others(tmp_path: Path) -> None:
    (tmp_path / "main.tf").write_text(POOL % ("gpu", "gpu", "g2-standard-8"))
    assert shown_program("Local: an RTX 4060. Cloud: A10G.\n", tmp_path).startswith("1 × ?")


def test_two_stated_products_that_differ_suggest_nothing() -> None:
    assert shown({"README.md": "| GPU | L4 |\n\n- GPU: H100\n"}) == OPEN


def test_what_agents_are_told_counts_only_if_it_states_the_hardware() -> None:
    assert shown({"CLAUDE.md": "- **Hardware target**: L4 (24GB VRAM)\n"}) == "1 × L4 24GB"
    assert shown({"CLAUDE.md": "It runs well with an L4.\n"}) == OPEN
    assert shown({"README.md": "Runs on L40S.\n", "CLAUDE.md": "- GPU: L4\n"}) == "1 × L40S 48GB"


# ---- output of nvidia-smi, and inventories


SMI = """\
+-----------------------------------------------------------------------------------------+
| NVIDIA-SMI 550.54.15              Driver Version: 550.54.15      CUDA Version: 12.4     |
|   0  NVIDIA L4                      On  |   00000000:00:03.0 Off |                    0 |
| N/A   44C    P8             12W /   72W |       1MiB /  23034MiB |      0%      Default |
"""


@pytest.mark.parametrize(
    ("name", "text", "accelerator"),
    [
        ("docs/nvidia-smi.txt", SMI, "1 × L4 24GB"),
        ("logs/gpu_info.log", "GPU 0: NVIDIA L4 (UUID: GPU-1)\nGPU 1: NVIDIA L4 (UUID: GPU-2)\n", "1 × L4 24GB"),
        ("nvidia_smi.txt", SMI + SMI.replace("NVIDIA L4 ", "NVIDIA L40S "), OPEN),
        ("nvidia-smi.txt", "the output for an NVIDIA L4 goes here\n", OPEN),
        ("notes.txt", SMI, OPEN),
        ("inventory/hosts.ini", "[gpu]\nl40s-node1 ansible_host=10.0.0.1\nl40s-node2\n[web]\nweb1\n", "1 × L40S 48GB"),
        ("hosts.yml", "all:\n  hosts:\n    dgx-h100-01:\n", "1 × H100 SXM5 80GB"),
        (".ssh/config", "Host h100-01\n  HostName 10.0.0.1\n", "1 × H100 SXM5 80GB"),
        ("inventory.ini", "l40s-node1\nh100-node1\n", OPEN),
        ("inventory.ini", "web1\ndb2\ngpu02\n", OPEN),
    ],
)
def test_files_about_machines_suggest_their_accelerator(name: str, text: str, accelerator: str) -> None:
    assert shown({name: text}) == accelerator


def test_a_machine_file_that_disagrees_with_the_readme_suggests_nothing() -> None:
    assert shown({"README.md": "Runs on L40S.\n", "nvidia-smi.txt": SMI}) == OPEN


# ---- records of runs


def record(*names: str) -> dict[str, str]:
    """The records of Weights & Biases of runs on these GPUs."""
    text = '{"os": "Linux", "gpu":  "%s", "gpu_count":  1}'
    return {f"wandb/run-{at}/files/wandb-metadata.json": text % name for at, name in enumerate(names)}


def test_the_one_accelerator_of_all_recorded_runs_is_suggested() -> None:
    assert shown(record("Tesla T4", "Tesla T4")) == "1 × Tesla T4 16GB"
    assert shown(record("Tesla T4", "NVIDIA L4")) == OPEN
    assert shown(record("NVIDIA GeForce MX450")) == OPEN


# ---- partitions that documents describe


JOB = """\
#!/bin/bash
#SBATCH --partition=fat
#SBATCH --gres=gpu:4
srun vllm serve Qwen/Qwen3-32B --tensor-parallel-size 4 --max-model-len 4096
"""
TABLE = "| Partition | Nodes |\n|---|---|\n| gpu | 4x L40S |\n| `fat` | 8x B200 |\n"


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("README.md", TABLE),
        ("docs/cluster.md", "The fat partition has 8x B200 a node; it is full.\n"),
        (
            "README.md",
            '    subgraph Fat["Fat Partition (8x B200 / node)"]\n    subgraph GPU["GPU Partition (4x L40S)"]\n',
        ),
        ("README.md", "- `--partition=fat`: B200\n- `--partition=gpu`: L40S\n"),
    ],
)
def test_the_accelerator_of_a_partition_that_a_document_describes(name: str, text: str) -> None:
    (role,) = samples.roles(samples.report(JOB, path="serve.sbatch", files={name: text.encode()}))
    assert role.accelerator == "4 × B200 SXM 180GB"


@pytest.mark.parametrize(
    "text",
    [
        TABLE.replace("`fat`", "big"),
        "The fat partition has B200 and L40S.\n",
        TABLE + "The fat partition has H100.\n",
        "The fat-old partition has 8x B200, and gpu 4x L40S.\n",
    ],
)
def test_other_descriptions_of_partitions_leave_the_accelerator_open(text: str) -> None:
    (role,) = samples.roles(samples.report(JOB, path="serve.sbatch", files={"README.md": text.encode()}))
    assert role.accelerator.startswith("4 × ? (")
