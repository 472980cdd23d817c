"""Batch jobs, launchers and clusters whose lines say different things."""

from __future__ import annotations

import pytest
import samples

OURS = frozenset(
    {
        *(
            "launcher-waits-for-nodes",
            "launcher-counts-fewer-nodes",
            "launcher-on-first-node-only",
            "launcher-in-every-task",
        ),
        *(
            "rendezvous-on-localhost",
            "standalone-on-several-nodes",
            "visible-device-beyond-allocation",
            "gpus-isolated-by-task",
        ),
        *(
            "cores-fewer-than-ranks",
            "data-loaders-over-cores",
            "cores-unstated",
            "time-limit-missing",
            "requeue-refused",
        ),
        *("whole-node-for-one-gpu", "candidate-too-small", "spot-without-store", "ray-gpus-beyond-limit"),
        *("launcher-nodes-differ-from-pods", "gang-never-restarted"),
        *("ray-gpus-below-limit", "cluster-without-autostop", "volume-smaller-than-weights"),
    }
)
TWO_NODES = "#SBATCH --nodes=2\n#SBATCH --gpus-per-node=8\n#SBATCH --exclusive\n#SBATCH --time=1:00:00\n"
HEAD = "--rdzv_backend=c10d --rdzv_endpoint=$HEAD:29500"


def said(text: str) -> set[str]:
    """The rules of schedulers that speak."""
    report = samples.report(text)
    assert report.failures == ()
    return {finding.rule for finding in report.open} & OURS


def job(lines: str, command: str) -> str:
    return f"#!/bin/bash\n{lines}{command}\n"


@pytest.mark.parametrize(
    ("command", "rule"),
    [
        (f"srun torchrun --nnodes 3 --nproc_per_node 8 {HEAD} t.py", "launcher-waits-for-nodes"),
        (f"srun torchrun --nnodes 1 --nproc_per_node 8 {HEAD} t.py", "launcher-counts-fewer-nodes"),
        (f"torchrun --nnodes $SLURM_NNODES --nproc_per_node 8 {HEAD} t.py", "launcher-on-first-node-only"),
        ("bash -c 'accelerate launch --num_machines 2 --num_processes 16 t.py'", "launcher-on-first-node-only"),
        (f"srun --ntasks-per-node 8 torchrun --nnodes 2 --nproc_per_node 8 {HEAD} t.py", "launcher-in-every-task"),
        (
            "srun torchrun --nnodes 2 --nproc_per_node 8 --master_addr 127.0.0.1 --master_port 29500 t.py",
            "rendezvous-on-localhost",
        ),
        ("export MASTER_ADDR=localhost\nsrun --ntasks-per-node 8 python t.py", "rendezvous-on-localhost"),
        ("srun torchrun --standalone --nproc_per_node 8 t.py", "standalone-on-several-nodes"),
    ],
)
def test_a_launcher_that_does_not_go_with_its_job_is_said(command: str, rule: str) -> None:
    if "MASTER_ADDR" in command:
        command = command.replace(
            "python -m torch.distributed.run", "accelerate launch --num_machines 2 --num_processes 16"
        )
    assert rule in said(job(TWO_NODES, command))


@pytest.mark.parametrize(
    "command",
    [
        f"srun torchrun --nnodes 2 --nproc_per_node 8 {HEAD} t.py",
        f"srun --ntasks-per-node 1 torchrun --nnodes $SLURM_NNODES --nproc_per_node 8 {HEAD} t.py",
        f"srun --ntasks-per-node 8 torchrun --nnodes 16 --nproc_per_node 1 {HEAD} t.py",
        f"mpirun -np 2 -npernode 1 torchrun --nnodes 2 --nproc_per_node 8 {HEAD} t.py",
        f"for host in a b; do ssh $host torchrun --nnodes 2 --nproc_per_node 8 {HEAD} t.py; done",
        "deepspeed --hostfile hosts t.py",
        f"srun torchrun --nnodes 1:2 --nproc_per_node 8 {HEAD} t.py",
        "srun --ntasks-per-node 8 python t.py",
    ],
)
def test_a_launcher_that_goes_with_its_job_is_silent(command: str) -> None:
    assert said(job(TWO_NODES, command)) == set()


ONE_NODE = "#SBATCH --time=1:00:00\n#SBATCH --cpus-per-task=16\n"


@pytest.mark.parametrize(
    ("lines", "command", "rules"),
    [
        ("#SBATCH --gres=gpu:2\n", "CUDA_VISIBLE_DEVICES=2,3 python t.py", {"visible-device-beyond-allocation"}),
        ("#SBATCH --gres=gpu:4\n", "CUDA_VISIBLE_DEVICES=2,3 python t.py", set()),
        ("#SBATCH --gres=gpu:1\n", "CUDA_VISIBLE_DEVICES=$SLURM_LOCALID python t.py", set()),
        ("#SBATCH --gres=gpu:1\n#SBATCH --exclusive\n", "python t.py", {"whole-node-for-one-gpu"}),
        ("#SBATCH --gres=gpu:1\n#SBATCH --exclusive=user\n", "python t.py", set()),
        ("#SBATCH --gres=gpu:32\n", "torchrun --nproc_per_node 32 t.py", {"cores-fewer-than-ranks"}),
        ("#SBATCH --gres=gpu:8\n", "torchrun --nproc_per_node 8 t.py", set()),
    ],
)
def test_what_a_job_of_one_node_is_given_is_held_against_what_it_takes(
    lines: str, command: str, rules: set[str]
) -> None:
    assert said(job(f"{ONE_NODE}{lines}", command)) == rules


def test_lines_of_another_scheduler_are_left_alone() -> None:
    assert said("#!/bin/bash\n#PBS -l select=2:ngpus=8\ntorchrun --nproc_per_node 8 train.py\n") == set()


def test_a_disk_of_skypilot_is_held_against_the_weights() -> None:
    text = "resources: {{accelerators: 'H100:8', disk_size: {}}}\nrun: vllm serve meta-llama/Llama-3.1-70B-Instruct -tp 8\n"
    assert said(text.format(100)) == {"volume-smaller-than-weights"}
    assert said(text.format(512)) == set()
    assert said(f"{text.format(100)}file_mounts: {{/models: s3://models}}\n") == set()


def test_candidates_that_all_hold_the_weights_are_silent() -> None:
    text = "resources: {{accelerators: {}}}\nrun: vllm serve Qwen/Qwen2.5-14B-Instruct --max-model-len 4096\n"
    assert said(text.format("{L4: 1, A100-80GB: 1}")) == {"candidate-too-small"}
    assert said(text.format("{L4: 4, A100-80GB: 1}")) == set()
    assert said(text.format("{some-new-card: 1, L4: 1}")) == set()


def test_a_spot_run_that_names_a_store_is_silent() -> None:
    text = "resources: {{accelerators: 'A100:8', use_spot: true}}\nrun: torchrun --nproc_per_node 8 t.py {}\n"
    assert said(text.format("")) == {"spot-without-store"}
    assert said(text.format("--out s3://bucket/run")) == set()
    assert said(text.format("--resume_from latest")) == set()


def test_several_pods_that_meet_at_localhost_are_said() -> None:
    text = """
apiVersion: kubeflow.org/v1
kind: PyTorchJob
metadata: {{name: train}}
spec:
  pytorchReplicaSpecs:
    Worker:
      replicas: {}
      template:
        spec:
          containers:
            - name: pytorch
              image: pytorch/pytorch:2.8.0
              command: [torchrun, --nnodes=2, --nproc_per_node=8, --rdzv_endpoint=localhost:29500, train.py]
              resources: {{limits: {{nvidia.com/gpu: 8}}}}
"""
    assert "rendezvous-on-localhost" in said(text.format(2))
    assert "rendezvous-on-localhost" not in said(text.format(1))
    assert "launcher-nodes-differ-from-pods" in said(text.format(3))
    assert "launcher-nodes-differ-from-pods" not in said(text.format(2))
    assert "launcher-nodes-differ-from-pods" not in said(text.format(3).replace("--nnodes=2", "--nnodes=1:3"))
    assert "launcher-nodes-differ-from-pods" not in said(text.format(3).replace("--nnodes=2", "--nnodes=$(PET_NNODES)"))


@pytest.mark.parametrize(
    ("told", "granted", "rules"),
    [
        ('"8"', "4", {"ray-gpus-beyond-limit"}),
        ('"2"', "4", {"ray-gpus-below-limit"}),
        ('"0"', "4", set()),
        ('"4"', "4", set()),
        ('"{{ .Values.gpus }}"', "4", set()),
    ],
)
def test_what_ray_is_told_of_is_held_against_the_limits(told: str, granted: str, rules: set[str]) -> None:
    text = f"""
apiVersion: ray.io/v1
kind: RayCluster
metadata: {{name: a}}
spec:
  workerGroupSpecs:
    - groupName: gpu
      replicas: 1
      rayStartParams: {{num-gpus: {told}}}
      template:
        spec: {{containers: [{{name: w, image: rayproject/ray, resources: {{limits: {{nvidia.com/gpu: {granted}}}}}}}]}}
"""
    assert said(text) == rules


@pytest.mark.parametrize(
    ("command", "rules"),
    [
        ("sky launch train.yaml", {"cluster-without-autostop"}),
        ("sky launch -i 10 train.yaml", set()),
        ("sky launch --down train.yaml", set()),
        ("sky launch train.yaml\nsky down -y train", set()),
        ("sky jobs launch train.yaml", set()),
        ("echo sky launch train.yaml", set()),
        ("sky launch $OPTIONS train.yaml", set()),
    ],
)
def test_a_cluster_that_nothing_stops_is_said(command: str, rules: set[str]) -> None:
    assert said(f"#!/bin/bash\n# gpu\n{command}\n") == rules
