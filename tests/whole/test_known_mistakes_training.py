"""Mistakes of training runs, and what only looks like one, as small specs of our own.

The rule and the line (marked) of each mistake were written down before the rules were.
"""

from __future__ import annotations

from typing import NamedTuple

import pytest
from samples import marked_line, of_rule, report, roles, severities

from gpulint.report.model import Severity


class Spec(NamedTuple):
    """A file of our own, and the path by which its format is told."""

    text: str
    path: str = "spec.yaml"


RANKS_BEYOND_GPUS = Spec("""
apiVersion: kubeflow.org/v1
kind: PyTorchJob
metadata: {name: protein}
spec:
  nprocPerNode: "4"  # <- here
  pytorchReplicaSpecs:
    Worker:
      replicas: 2
      template:
        spec:
          nodeSelector: {node.kubernetes.io/instance-type: g5.12xlarge}
          containers:
            - name: pytorch
              image: nvcr.io/nvidia/pytorch:24.05-py3
              command: [torchrun, pretrain.py]
              resources: {limits: {nvidia.com/gpu: 1}}
""")
ELASTIC_ON_CPU = Spec("""
apiVersion: kubeflow.org/v1
kind: PyTorchJob
metadata: {name: protein}
spec:
  elasticPolicy:
    rdzvBackend: c10d
    minReplicas: 1
    maxReplicas: 8
    metrics:
      - type: Resource
        resource:
          name: cpu  # <- here
          target: {type: Utilization, averageUtilization: 80}
  pytorchReplicaSpecs:
    Worker:
      replicas: 2
      template:
        spec:
          nodeSelector: {node.kubernetes.io/instance-type: g5.xlarge}
          containers:
            - name: pytorch
              image: nvcr.io/nvidia/pytorch:24.05-py3
              command: [torchrun, pretrain.py]
              resources: {limits: {nvidia.com/gpu: 1}}
""")
BEYOND_POSITIONS = Spec("""
base_model: TinyLlama/TinyLlama_v1.1
datasets: [{path: data.jsonl, type: alpaca}]
sequence_len: 4096  # <- here
adapter: lora
lora_r: 16
lora_target_linear: true
micro_batch_size: 1
gradient_accumulation_steps: 4
num_epochs: 1
optimizer: adamw_torch
bf16: true
""")
STAGES_BEYOND_GPUS = Spec(
    """#!/bin/bash
#SBATCH --nodes=4
#SBATCH --gres=gpu:4
#SBATCH --constraint=v100-32g
PP_SIZE=8
srun torchrun --nproc_per_node 4 --nnodes 4 pretrain_gpt.py --tensor-model-parallel-size 4 \\
  --pipeline-model-parallel-size $PP_SIZE --num-layers 40 --hidden-size 6144 --num-attention-heads 32 --seq-length 1024 \\
  --max-position-embeddings 1024 --micro-batch-size 6 --global-batch-size 768 --fp16  # <- above
""",
    "train.slurm",
)
HIDDEN_GPUS = Spec(
    """#!/bin/bash
#SBATCH --nodes=1
#SBATCH --gres=gpu:4
export CUDA_VISIBLE_DEVICES=0  # <- here
python run_clm.py --model_name_or_path openai-community/gpt2 --do_train --per_device_train_batch_size 4 --output_dir out
""",
    "train.slurm",
)
RETIRED_VARIABLES = Spec(
    """#!/bin/bash
#SBATCH --nodes=2
#SBATCH --ntasks-per-node=1
#SBATCH --gres=gpu:8
#export NCCL_LL_THRESHOLD=0
export NCCL_TREE_THRESHOLD=0  # <- here
srun torchrun --nproc_per_node 8 --nnodes 2 train.py
""",
    "train.slurm",
)


def nemo(name: str, trainer: str, model: str) -> Spec:
    """A configuration of NeMo's launcher."""
    return Spec(
        f"""run: {{name: {name}, results_dir: out}}
trainer:
{trainer}
  precision: bf16
  max_steps: 1000
model:
{model}
""",
        f"conf/training/{name}.yaml",
    )


FEWER_SEQUENCES_THAN_COPIES = nemo(
    "falcon_7b",
    "  devices: 8\n  num_nodes: 16",
    "  micro_batch_size: 1\n  global_batch_size: 32  # <- here\n"
    "  tensor_model_parallel_size: 1\n  pipeline_model_parallel_size: 1",
)
BATCH_OF_ONE = nemo(
    "mixtral_8x22b",
    "  devices: 8\n  num_nodes: 48",
    "  micro_batch_size: 1\n  global_batch_size: 1  # <- here\n"
    "  tensor_model_parallel_size: 8\n  pipeline_model_parallel_size: 2",
)
BATCH_OF_FEWER_RANKS = nemo(
    "siglip",
    "  devices: 8\n  num_nodes: 8",
    "  micro_batch_size: 36\n  global_batch_size: 288  # <- here\n"
    "  tensor_model_parallel_size: 1\n  pipeline_model_parallel_size: 1",
)
BATCH_OF_HALF_THE_COPIES = nemo(
    "squad",
    "  devices: 8\n  num_nodes: 4",
    "  tensor_model_parallel_size: 2\n  pipeline_model_parallel_size: 1\n"
    "  global_batch_size: 8  # <- here\n  micro_batch_size: 1",
)
DEVICES_BEYOND_GPUS = Spec("""
apiVersion: trainer.kubeflow.org/v1alpha1
kind: TrainJob
metadata: {name: molecules}
spec:
  runtimeRef: {name: flux-distributed}
  trainer:
    numNodes: 2
    numProcPerNode: 1
    image: ghcr.io/example/lammps:gpu
    command: [lmp_gpu, -k, "on", g, "8", -sf, kk, -in, in.reaxff]  # <- here
    resourcesPerNode:
      limits: {nvidia.com/gpu: "1"}
""")
PARTITIONED_LAYERS = Spec(
    """#!/bin/bash
#SBATCH --nodes=24
#SBATCH --ntasks-per-node=1
#SBATCH --gres=gpu:8
#SBATCH --constraint=a100
#SBATCH --time=20:00:00
srun torchrun --nproc_per_node 8 --nnodes 24 --rdzv_backend c10d pretrain_gpt.py --deepspeed \\
  --pp-partition-method 'type:transformer|embedding' --tensor-model-parallel-size 4 --pipeline-model-parallel-size 12 \\
  --num-layers 70 --hidden-size 14336 --num-attention-heads 112 --seq-length 2048 --max-position-embeddings 2048 \\
  --micro-batch-size 2 --rampup-batch-size 192 16 9_765_625 --global-batch-size 2048 --bf16 --checkpoint-activations
""",
    "train.slurm",
)
RANKS_OF_TWO_PODS = Spec("""
apiVersion: batch/v1
kind: Job
metadata: {name: finetune}
spec:
  completions: 2
  parallelism: 2
  completionMode: Indexed
  template:
    spec:
      nodeSelector: {cloud.google.com/gke-accelerator: nvidia-l4}
      restartPolicy: OnFailure
      containers:
        - name: trainer
          image: registry.example/trainer:v1
          command:
            - bash
            - -c
            - >-
              accelerate launch --num_processes 4 --num_machines 2 --machine_rank $JOB_COMPLETION_INDEX
              --main_process_ip head --main_process_port 29500 finetune.py
          resources: {limits: {nvidia.com/gpu: 2}}
          volumeMounts: [{name: shm, mountPath: /dev/shm}]
      volumes: [{name: shm, emptyDir: {medium: Memory}}]
""")
LAUNCHER_WITHOUT_GPUS = Spec("""
apiVersion: kubeflow.org/v2beta1
kind: MPIJob
metadata: {name: allreduce}
spec:
  slotsPerWorker: 8
  mpiReplicaSpecs:
    Launcher:
      replicas: 1
      template:
        spec:
          containers:
            - name: launcher
              image: registry.example/nccl-tests:v2
              command: [mpirun, -np, "16", /opt/all_reduce_perf]
              resources: {limits: {cpu: 2}}
    Worker:
      replicas: 2
      template:
        spec:
          nodeSelector: {cloud.google.com/gke-accelerator: nvidia-h100-80gb}
          containers:
            - name: worker
              image: registry.example/nccl-tests:v2
              command: [/usr/sbin/sshd, -De]
              resources: {limits: {nvidia.com/gpu: 8}}
              volumeMounts: [{name: shm, mountPath: /dev/shm}]
          volumes: [{name: shm, emptyDir: {medium: Memory}}]
""")

MISTAKES = {
    "D25": (RANKS_BEYOND_GPUS, "processes-exceed-gpus", Severity.ERROR),
    "D26": (ELASTIC_ON_CPU, "elastic-training-follows-cpu", Severity.WARNING),
    "D30": (BEYOND_POSITIONS, "sequence-beyond-positions", Severity.NOTE),
    "D31": (STAGES_BEYOND_GPUS, "world-not-divisible", Severity.ERROR),
    "D32": (HIDDEN_GPUS, "granted-gpus-hidden", Severity.WARNING),
    "D33": (RETIRED_VARIABLES, "variable-retired", Severity.NOTE),
    "D34": (FEWER_SEQUENCES_THAN_COPIES, "batch-not-divisible", Severity.ERROR),
    "D35": (BATCH_OF_ONE, "batch-not-divisible", Severity.ERROR),
    "D36": (BATCH_OF_FEWER_RANKS, "batch-not-divisible", Severity.ERROR),
    "D37": (BATCH_OF_HALF_THE_COPIES, "batch-not-divisible", Severity.ERROR),
    "D44": (DEVICES_BEYOND_GPUS, "devices-beyond-gpus", Severity.WARNING),
}
LOOK_ALIKES = {"N01": PARTITIONED_LAYERS, "N03": RANKS_OF_TWO_PODS, "N10": LAUNCHER_WITHOUT_GPUS}
ABOVE = "# <- above"
"""The mark of a line that cannot hold one: the command goes on behind it."""


@pytest.mark.parametrize("name", MISTAKES)
def test_the_mistake_is_found_at_its_line(name: str) -> None:
    spec, rule, severity = MISTAKES[name]
    (found,) = of_rule(report(spec.text, spec.path), rule)
    assert (found.location.line, found.severity) == (_line(spec.text), severity)


@pytest.mark.parametrize("name", MISTAKES)
def test_nothing_else_of_the_mistake_s_spec_is_an_error(name: str) -> None:
    spec, rule, _ = MISTAKES[name]
    said = severities(report(spec.text, spec.path))
    assert [other for other, severity in said.items() if severity is Severity.ERROR and other != rule] == []


@pytest.mark.parametrize("name", LOOK_ALIKES)
def test_what_only_looks_like_a_mistake_stays_silent(name: str) -> None:
    spec = LOOK_ALIKES[name]
    found = report(spec.text, spec.path)
    assert roles(found)
    assert severities(found) == {}


def _line(text: str) -> int | None:
    """The marked line; of a command that goes on, the one in front of the mark's."""
    marked = next((number for number, line in enumerate(text.splitlines(), 1) if line.endswith(ABOVE)), None)
    return marked_line(text) if marked is None else marked - 2
