"""What unseen repositories showed of the formats of the fourth issue: the smallest spec of each cause."""

from __future__ import annotations

import pytest
import samples

from gpulint.adapters import scripts
from gpulint.source import documents
from gpulint.workload import Role, Unknown

# ---- C: charts and GitOps


SHARED = """\
apiVersion: v1
kind: Pod
metadata: {name: chat}
spec:
  containers:
    - name: server
      image: vllm/vllm-openai:v0.10.1
      args: [--model=Qwen/Qwen2.5-1.5B-Instruct, --max-model-len=4096, --gpu-memory-utilization=0.3]
      resources: {limits: {RESOURCE: 1}}
"""


@pytest.mark.parametrize(
    ("resource", "plugin", "said"),
    [
        ("nvidia.com/gpu", "sharing: {timeSlicing: {resources: [{name: nvidia.com/gpu, replicas: 4}]}}", []),
        ("gpu.intel.com/xe", "values: {sharedDevNum: 3}", []),
        ("nvidia.com/gpu", "values: {sharedDevNum: 3}", ["util-too-low"]),
        ("nvidia.com/gpu", "flags: {migStrategy: none}", ["util-too-low"]),
    ],
)
def test_a_small_share_of_a_card_that_the_device_plugin_hands_out_in_shares_is_no_waste(
    resource: str, plugin: str, said: list[str]
) -> None:
    found = samples.report(SHARED.replace("RESOURCE", resource), files={"plugin.yaml": plugin.encode()})
    assert [one.rule for one in samples.of_rule(found, "util-too-low")] == said
    (role,) = samples.roles(found)
    assert role.accelerator.startswith("1 ")


def test_a_container_that_runs_beside_the_others_from_the_start_is_a_role_and_one_that_ends_is_none() -> None:
    text = """\
apiVersion: v1
kind: Pod
metadata: {name: chat}
spec:
  initContainers:
    - {name: warm, image: a/b:1, resources: {limits: {nvidia.com/gpu: 1}}}
    - {name: beside, image: a/b:1, restartPolicy: Always, resources: {limits: {nvidia.com/gpu: 1}}}
  containers:
    - {name: main, image: a/c:1, resources: {limits: {nvidia.com/gpu: 1}}}
"""
    assert [role.name for role in samples.roles(samples.report(text))] == ["main", "beside"]


def test_of_an_ollama_server_that_pulls_nothing_each_request_names_the_model() -> None:
    text = """\
apiVersion: v1
kind: Pod
metadata: {name: chat}
spec:
  containers:
    - {name: server, image: ollama/ollama:0.12.0, resources: {limits: {nvidia.com/gpu: 1}}}
"""
    (role,) = samples.roles(samples.report(text))
    assert [(one.quantity, one.category) for one in role.explained if one.quantity == "checkpoint"] == [
        ("checkpoint", "caller's variable")
    ]


# ---- A: scripts and their launchers

COUNTED = ("gpus_per_pod", "pods_per_replica")


def started(text: str, beside: dict[str, str] | None = None, path: str = "jobs/run.sh") -> list[Role]:
    """The roles of a script, beside other files of its repository."""
    tree = samples.ExampleRepository({name: content.encode() for name, content in (beside or {}).items()})
    (document,) = documents.load(path, text.encode()).documents
    return [role for workload in scripts.workloads(document, tree) for role in workload.roles]


def told(role: Role, *names: str) -> list[object]:
    """Values of a role; a question mark where the role says why one is not known."""
    return ["?" if isinstance(value := role.value(name), Unknown) else value for name in names]


@pytest.mark.parametrize(
    ("text", "name", "counts"),
    [
        ("CUDA_VISIBLE_DEVICES=4,5 accelerate launch --num_processes 2 tune.py\n", "tune", [2, 1]),
        ("accelerate launch --num_processes 8 tune.py\n", "tune", [8, 1]),
        ("srun --gpus=1 setup.sh python pretrain.py\n", "pretrain", [1, 1]),
        ("#SBATCH -N 2 --gres=gpu:4\nsrun /fsx/profiled torchrun --nproc_per_node 4 t.py\n", "t", [4, 2]),
        ("#SBATCH -N 2 --gres=gpu:4\nsrun shifter -V a:/a --image=b python t.py\n", "t", [4, 2]),
        ("singularity run --nv image.sif python tune.py\n", "tune", ["?", 1]),
        ("srun -n 8 --ntasks-per-node=8 --gpus-per-task=1 python train.py\n", "train", [8, 1]),
        ("srun -p h --gres=gpu:8 -n1 bash /home/me/train.sh\n", "job", [8, 1]),
        ("sbatch -N 2 --gres=gpu:a100:4 <<EOF\n#!/bin/bash\nsrun bash train.sh\nEOF\n", "job", [4, 2]),
        ('sbatch --gres=gpu:2 --wrap "python train.py"\n', "train", [2, 1]),
        ("#SBATCH <MORE OPTIONS> --nodes=4 --gres=gpu:8\nsrun python t.py\n", "t", [8, 4]),
        (
            "#SBATCH --nodes=4 --ntasks-per-node=8 --exclusive\nexport NCCL_DEBUG=INFO\nsrun python t.py\n",
            "t",
            [8, 4],
        ),
        ("#SBATCH --partition=gpu --nodes=2\nsrun python t.py\n", "t", ["?", 2]),
        ("ray start --head --num-gpus 8\nray job submit -- python3 train.py\n", "train", [8, "?"]),
        ("python submit.py --gpus 8 -- torchrun --nproc_per_node=8 t.py\n", "t", [8, 1]),
        ("python submit.py --num_nodes 2 -- accelerate launch --num_processes 8 t.py\n", "t", ["?", "?"]),
        ("export RANK=$SLURM_PROCID N=$SLURM_NNODES\nexport NCCL_DEBUG=INFO\npython t.py\n", "t", ["?", "?"]),
        (
            "#SBATCH --gres=gpu:1\npython3 - <<EOF\nprint(1)\nEOF\npapermill a.ipynb b.ipynb --kernel python3\n",
            "papermill",
            [1, 1],
        ),
        ("srun --gpus=1 --mounts=/a:/a,`pwd`:`pwd` python t.py\n", "t", [1, 1]),
    ],
)
def test_a_program_behind_what_clusters_put_in_front_of_it_has_the_gpus_that_are_stated(
    text: str, name: str, counts: list[object]
) -> None:
    (role,) = started(text)
    assert (role.name, told(role, *COUNTED)) == (name, counts)


def test_files_that_a_script_names_from_the_folder_above_its_own_are_found() -> None:
    text = (
        "main=$(dirname $(dirname $(realpath $0)))\nN=4\n"
        'source "$main/configs/size.sh"\nrun="deepspeed --num_nodes $N --num_gpus $SIZE t.py"\neval $run\n'
    )
    (role,) = started(text, {"configs/size.sh": "SIZE=8\n"})
    assert told(role, *COUNTED) == [8, 4]


def test_a_trainer_by_a_module_of_its_fork_is_that_trainer() -> None:
    (role,) = started("python3 -m verl.trainer.main_ppo_tools trainer.n_gpus_per_node=8 trainer.nnodes=2\n")
    assert told(role, "engine", *COUNTED) == ["verl", 8, 2]


def test_what_only_helps_a_training_stands_beside_it_in_one_workload() -> None:
    text = "#SBATCH --gres=gpu:8\nsrun trl vllm-serve --model a/b &\nsrun accelerate launch --num_processes 8 t.py\n"
    (document,) = documents.load("jobs/run.sh", text.encode()).documents
    (workload,) = scripts.workloads(document, samples.ExampleRepository({}))
    assert (workload.kind, [role.name for role in workload.roles]) == ("training", ["trl", "t"])


@pytest.mark.parametrize(
    "text",
    [
        "python -m torch.distributed.launch --nproc_per_node 8 t.py\n",
        "srun -n 8 --ntasks-per-node=8 --gres=card:8 python t.py\n",
        "composer -n 8 train.py\n",
        "python t.py --model_name_or_path a/b --per_device_train_batch_size 4\n",
    ],
)
def test_a_script_of_a_training_is_among_the_documents_although_it_never_says_what_a_gpu_is(text: str) -> None:
    assert [document.path for document in samples.report(text, "run.sh").documents] == ["run.sh"]


@pytest.mark.parametrize(
    "text",
    [
        "torchrun --nproc-per-node cpu train.py\n",
        "docker run -d --gpus all nvcr.io/nvidia/k8s/dcgm-exporter:3.3.9 -f /etc/c.csv\n",
        "srun --gres=gpu:1 --pty bash\n",
        "srun --gres=gpu:1 pip install deepspeed\n",
        "srun --gres=gpu:1 which python\n",
        "sbatch --gres=gpu:4 train.sh\n",
        "#SBATCH --partition=gpu\npython collect_results.py\n",
        "#SBATCH --partition=cpu --nodes=2\nsrun python t.py\n",
        "python make.py -- python serve.py\n",
        "kill -9 python train.py\n",
        "ray start --head --num-gpus 0\npython drive.py\n",
        "apptainer exec image.sif python tune.py\n",
        "export NCCL_DEBUG=INFO\npython prepare_data.py\n",
        "#SBATCH --gres=gpu:0\nsrun python t.py\n",
        "singularity run --nv image.sif bash\n",
    ],
)
def test_what_starts_nothing_on_gpus_is_no_workload(text: str) -> None:
    assert started(text) == []


# ---- B: compose and rented machines


SERVED = """\
services:
  chat:
    image: IMAGE
    command: --model MODEL --max-model-len 8192 --swap-space 4
    deploy: {resources: {reservations: {devices: [{driver: nvidia, count: 1, capabilities: [gpu]}]}}}
"""


@pytest.mark.parametrize(
    ("image", "rule"),
    [
        ("vllm/vllm-openai:latest", "argument-removed"),
        ("registry.example.com/vllm/vllm-openai:latest", "argument-removed"),
        ("example/vllm-serving:latest", "argument-outdated"),
        ("${REGISTRY:-example}/vllm-rocm:${TAG:-latest}", "argument-outdated"),
    ],
)
def test_only_the_makers_own_image_moves_to_a_release_without_the_argument(image: str, rule: str) -> None:
    found = samples.report(SERVED.replace("IMAGE", image).replace("MODEL", "Qwen/Qwen2.5-1.5B-Instruct"))
    assert [one.rule for one in found.findings if one.rule.startswith("argument-")] == [rule]


@pytest.mark.parametrize(
    ("model", "said"),
    [
        ("TinyLlama/TinyLlama-1.1B-Chat-v1.0", ["context-exceeds-trained-maximum"]),
        ("/models/TinyLlama-1.1B-Chat-v1.0", []),
    ],
)
def test_a_copy_of_a_checkpoint_may_declare_a_longer_context(model: str, said: list[str]) -> None:
    found = samples.report(SERVED.replace("IMAGE", "vllm/vllm-openai:v0.10.1").replace("MODEL", model))
    assert [one.rule for one in found.findings if one.rule == "context-exceeds-trained-maximum"] == said
