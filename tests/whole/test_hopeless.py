"""Training and serving that cannot fit are errors, whatever the command leaves open; what may fit is none."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path

import pytest

import gpulint
from gpulint.report.model import Severity

LARGE = "meta-llama/Llama-3.1-70B-Instruct"
RUN_CLM = "run_clm.py --model_name_or_path {model} --do_train --bf16 --per_device_train_batch_size 1 --block_size 512"
SFT = "--model_name_or_path {model} --bf16 --per_device_train_batch_size 1 --max_length 512"
NEMO_RANK = " ".join(
    f"trainer.strategy.{kind}_parallel_size=1" for kind in ("tensor_model", "pipeline_model", "context")
)


def check(folder: Path, command: str, image: str = "registry.example/train:1", **settings: object) -> gpulint.Report:
    """Report on a pod of one A100 40GB that runs a command; `settings` are of its spec, `files` of the repository."""
    files: Mapping[str, str] = settings.pop("files", {})  # type: ignore[assignment]
    container = {
        "name": "main",
        "image": image,
        "command": command.format(model=LARGE).split(),
        "resources": {"limits": {"nvidia.com/gpu": 1}},
        **({"volumeMounts": [{"name": "home", "mountPath": "/root"}]} if "volumes" in settings else {}),
    }
    pod = {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": "pod"},
        "spec": {
            "nodeSelector": {"cloud.google.com/gke-accelerator": "nvidia-tesla-a100"},
            "containers": [container],
            **settings,
        },
    }
    for name, text in {"pod.yaml": json.dumps(pod), **files}.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(text)
    return gpulint.check(folder)


def list_errors(report: gpulint.Report) -> list[str]:
    """Return the rules of the errors."""
    return [finding.rule for finding in report.open if finding.severity is Severity.ERROR]


WEIGHTS = "training-weights-exceed-memory"


@pytest.mark.parametrize(
    "command",
    [
        f"torchrun --nproc_per_node 1 examples/pytorch/language-modeling/{RUN_CLM}",
        "litgpt finetune_full {model} --precision bf16-true",
        "litgpt finetune {model} --precision bf16-true",
        "tune run --nproc_per_node 1 full_finetune_distributed --config llama3_1/70B_full fsdp_cpu_offload=False",
        "tune run --nproc_per_node 1 lora_finetune_distributed --config llama3_1/70B_lora",
        "torchrun --nproc_per_node 1 -m torchtitan.train --model.name llama3 --model.flavor 70B",
        f"nemo llm pretrain --factory llama3_70b trainer.devices=1 trainer.num_nodes=1 {NEMO_RANK}",
        "uv run examples/run_sft.py policy.model_name={model} cluster.gpus_per_node=1 cluster.num_nodes=1",
        "deepspeed --num_gpus 1 --module openrlhf.cli.train_sft --pretrain {model} --bf16",
        "torchrun --nproc_per_node 1 -m verl.trainer.fsdp_sft_trainer model.partial_pretrain={model}",
        "python unsloth-cli.py --model_name {model}",
        "python3 -m MaxText.train MaxText/configs/base.yml model_name=llama3.1-70b hardware=gpu",
        "colossalai run --nproc_per_node 1 applications/ColossalChat/examples/training_scripts/lora_finetune.py"
        " --pretrained {model} --plugin zero2",
        "deepspeed --num_gpus 1 training/step1_supervised_finetuning/main.py --model_name_or_path {model} --deepspeed",
        f"torchrun --nproc_per_node 1 src/open_r1/sft.py {SFT}",
    ],
)
def test_a_70b_model_trained_on_one_gpu_of_40_gb_is_an_error(command: str, tmp_path: Path) -> None:
    assert list_errors(check(tmp_path, command)) == [WEIGHTS]


def test_a_recipe_for_several_gpus_does_not_start_on_one(tmp_path: Path) -> None:
    command = "nemo llm pretrain --factory llama3_70b trainer.devices=1 trainer.num_nodes=1"
    assert list_errors(check(tmp_path, command)) == ["world-not-divisible"]


@pytest.mark.parametrize(
    "command",
    [
        # The recipe keeps the states in host memory, and a machine may have enough of it.
        "tune run --nproc_per_node 1 full_finetune_distributed --config llama3_1/70B_full",
        "tune run --nproc_per_node 1 full_finetune_distributed --config llama3_1/70B_full model=own.network",
        f"nemo llm pretrain --factory llama3_70b trainer.devices=1 trainer.num_nodes=1 {NEMO_RANK} model.config.num_layers=1",
        f"nemo llm finetune --factory llama3_70b trainer.devices=1 trainer.num_nodes=1 {NEMO_RANK} peft=lora",
        "torchrun --nproc_per_node 1 -m torchtitan.train --model.name llama3 --model.flavor debugmodel",
        "torchrun --nproc_per_node 1 -m torchtitan.train --model.name llama3 --model.flavor 70B --training.enable_cpu_offload",
        "torchrun --nproc_per_node 1 -m torchtitan.train --model.name llama3 --model.flavor 70B --job.config_file own.toml",
        "uv run examples/run_sft.py --config own.yaml policy.model_name={model} cluster.gpus_per_node=1",
        "uv run examples/run_sft.py policy.model_name={model} policy.dtensor_cfg.cpu_offload=true",
        "deepspeed --num_gpus 1 --module openrlhf.cli.train_sft --pretrain {model} --bf16 --zero_stage 3 --own_flag 1",
        "deepspeed --num_gpus 1 --module openrlhf.cli.train_sft --pretrain Qwen/Qwen2.5-32B --load_in_4bit --lora_rank 8"
        " --micro_train_batch_size 1 --max_len 512 --gradient_checkpointing",
        "torchrun --nproc_per_node 1 -m verl.trainer.fsdp_sft_trainer model.partial_pretrain={model} model.fsdp_config=own",
        "python unsloth-cli.py --model_name Qwen/Qwen2.5-32B --load_in_4bit --max_seq_length 512 --per_device_train_batch_size 1",
        "python3 -m MaxText.train own.yml model_name=llama3.1-70b hardware=gpu",
        "python3 -m MaxText.train MaxText/configs/base.yml model_name=llama3.1-70b optimizer_memory_host_offload=true"
        " parameter_memory_host_offload=true",
        "colossalai run --nproc_per_node 1 applications/ColossalChat/examples/training_scripts/lora_finetune.py"
        " --pretrained {model} --plugin gemini_auto",
        f"torchrun --nproc_per_node 1 {RUN_CLM}",
        f"accelerate launch --num_processes 1 -m trl.scripts.sft {SFT}",
    ],
)
def test_settings_that_may_fit_are_no_error(command: str, tmp_path: Path) -> None:
    assert list_errors(check(tmp_path, command)) == []


ACCELERATE = f"accelerate launch --num_processes 1 -m trl.scripts.sft {SFT}"
PUBLISHED = "huggingface/trl:0.19.0"


def test_a_published_image_alone_has_no_configuration_of_a_user(tmp_path: Path) -> None:
    assert list_errors(check(tmp_path, ACCELERATE, PUBLISHED)) == [WEIGHTS]
    assert list_errors(check(tmp_path, f"torchrun --nproc_per_node 1 {RUN_CLM}", PUBLISHED)) == [WEIGHTS]


@pytest.mark.parametrize(
    ("image", "settings"),
    [
        ("registry.example/trl:1", {}),
        (PUBLISHED, {"volumes": [{"name": "home", "persistentVolumeClaim": {"claimName": "home"}}]}),
        (PUBLISHED, {"initContainers": [{"name": "setup", "image": "registry.example/setup:1"}]}),
    ],
)
def test_other_files_may_configure_a_launcher(image: str, settings: dict[str, object], tmp_path: Path) -> None:
    assert list_errors(check(tmp_path, ACCELERATE, image, **settings)) == []


def test_an_empty_volume_brings_no_files(tmp_path: Path) -> None:
    shared_memory = {"volumes": [{"name": "home", "emptyDir": {"medium": "Memory"}}]}
    assert list_errors(check(tmp_path, ACCELERATE, PUBLISHED, **shared_memory)) == [WEIGHTS]


@pytest.mark.parametrize(
    ("command", "copy"),
    [
        (f"torchrun --nproc_per_node 1 /workspace/open-r1/src/open_r1/sft.py {SFT}", "src/open_r1/sft.py"),
        ("uv run examples/run_sft.py policy.model_name={model} cluster.gpus_per_node=1", "examples/run_sft.py"),
        ("deepspeed --module openrlhf.cli.train_sft --pretrain {model} --bf16", "openrlhf/cli/train_sft.py"),
    ],
)
def test_a_repositorys_own_copy_of_a_program_may_differ(command: str, copy: str, tmp_path: Path) -> None:
    assert list_errors(check(tmp_path, command, files={copy: "# changed"})) == []


def test_a_recipe_in_the_repository_precedes_that_of_the_release(tmp_path: Path) -> None:
    recipe = (
        "model: {_component_: torchtune.models.llama3_2.llama3_2_1b}\ntokenizer: {max_seq_len: 512}\nbatch_size: 1\n"
        "optimizer: {_component_: torch.optim.AdamW}\ndtype: bf16\n"
    )
    command = "tune run --nproc_per_node 1 full_finetune_distributed --config llama3_1/70B_lora"
    script = "#!/bin/bash\n#SBATCH --gpus-per-node=1\n#SBATCH --constraint=a100-40gb\n" + command + "\n"
    (tmp_path / "recipes/configs/llama3_1").mkdir(parents=True)
    (tmp_path / "recipes/configs/llama3_1/70B_lora.yaml").write_text(recipe)
    (tmp_path / "train.sbatch").write_text(script)
    roles = [role for workload in gpulint.check(tmp_path).workloads for role in workload.roles]
    assert [error for role in roles for error in [role.verdict] if "not fit" in error] == []


@pytest.mark.parametrize(
    ("image", "machine", "errors"),
    [
        ("ollama/ollama:0.11.0", "g6.xlarge", ["layers-exceed-host-memory"]),
        ("ollama/ollama:0.11.0", "g6.16xlarge", []),
        ("ollama/ollama:0.30.0", "g6.xlarge", []),
    ],
)
def test_ollama_refuses_layers_that_the_machine_cannot_hold(
    image: str, machine: str, errors: list[str], tmp_path: Path
) -> None:
    (tmp_path / "pod.yaml").write_text(f"""apiVersion: v1
kind: Pod
metadata: {{name: chat}}
spec:
  nodeSelector: {{node.kubernetes.io/instance-type: {machine}}}
  containers:
    - name: server
      image: {image}
      command: [bash, -c, "ollama serve & sleep 5 && ollama run llama3.1:70b-instruct-fp16"]
      resources: {{limits: {{nvidia.com/gpu: 1}}}}
""")
    assert list_errors(gpulint.check(tmp_path)) == errors
