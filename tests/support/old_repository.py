"""Three hundred manifests as a company might have left them: a third has old defects, a fifth no GPU, some are broken YAML.

`python tests/support/old_repository.py FOLDER` writes them.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple


class Kind(NamedTuple):
    """One kind of file: how many, where, its text, and the old defects: what should stand there, and what does."""

    count: int
    path: str
    text: str
    defects: tuple[tuple[str, str], ...] = ()


TEAMS = ("search", "support", "ads", "fraud", "docs")
WORDS = ("answers", "chat", "ranker", "summary", "labels", "intent", "voice", "drafts", "triage", "reviews", "topics")
SERVED = (
    ("Qwen/Qwen2.5-7B-Instruct", "nvidia-l4", 1),
    ("meta-llama/Llama-3.1-8B-Instruct", "nvidia-l4", 1),
    ("mistralai/Mistral-7B-Instruct-v0.3", "nvidia-l4", 1),
    ("Qwen/Qwen2.5-14B-Instruct", "nvidia-tesla-a100", 1),
    ("meta-llama/Llama-3.1-70B-Instruct", "nvidia-h100-80gb", 4),
)
"""Checkpoint, card and number of cards that go together."""

DEPLOYMENT = """\
apiVersion: apps/v1
kind: Deployment
metadata:
  name: @NAME@
  namespace: @TEAM@
spec:
  replicas: 1
  selector:
    matchLabels: {app: @NAME@}
  template:
    metadata:
      labels: {app: @NAME@}
    spec:
      nodeSelector:
        cloud.google.com/gke-accelerator: @CARD@
      containers:
        - name: server
          image: vllm/vllm-openai:v0.10.1
          args:
            - --model=@MODEL@
            - --max-model-len=8192
            - --tensor-parallel-size=@GPUS@
          ports:
            - containerPort: 8000
          startupProbe:
            httpGet: {path: /health, port: 8000}
            periodSeconds: 10
            failureThreshold: 90
          resources:
            limits:
              cpu: "8"
              memory: 192Gi
              nvidia.com/gpu: @GPUS@
          volumeMounts:
            - {name: shm, mountPath: /dev/shm}
      volumes:
        - name: shm
          emptyDir: {medium: Memory, sizeLimit: 8Gi}
"""
KSERVE = """\
apiVersion: serving.kserve.io/v1beta1
kind: InferenceService
metadata:
  name: @NAME@
  namespace: @TEAM@
spec:
  predictor:
    minReplicas: 1
    nodeSelector:
      cloud.google.com/gke-accelerator: @CARD@
    containers:
      - name: kserve-container
        image: vllm/vllm-openai:v0.10.1
        args: [--model=@MODEL@, --max-model-len=8192, --tensor-parallel-size=@GPUS@]
        resources:
          limits: {cpu: "8", memory: 192Gi, nvidia.com/gpu: @GPUS@}
        volumeMounts:
          - {name: shm, mountPath: /dev/shm}
    volumes:
      - name: shm
        emptyDir: {medium: Memory, sizeLimit: 8Gi}
"""
RAY = """\
apiVersion: ray.io/v1
kind: RayCluster
metadata:
  name: @NAME@
  namespace: @TEAM@
spec:
  headGroupSpec:
    rayStartParams: {num-gpus: "0"}
    template:
      spec:
        containers:
          - name: ray-head
            image: rayproject/ray:2.40.0
            resources:
              limits: {cpu: "4", memory: 16Gi}
  workerGroupSpecs:
    - groupName: gpu
      replicas: 2
      minReplicas: 2
      maxReplicas: 4
      rayStartParams: {num-gpus: "1"}
      template:
        spec:
          nodeSelector:
            cloud.google.com/gke-accelerator: nvidia-l4
          containers:
            - name: ray-worker
              image: rayproject/ray:2.40.0-gpu
              resources:
                limits: {cpu: "8", memory: 32Gi, nvidia.com/gpu: 1}
"""
SBATCH = """\
#!/bin/bash
#SBATCH --job-name=@NAME@
#SBATCH --nodes=2
#SBATCH --ntasks-per-node=1
#SBATCH --gpus-per-node=8
#SBATCH --cpus-per-task=64
#SBATCH --mem=0
#SBATCH --time=2-00:00:00
head_node=$(scontrol show hostnames "$SLURM_JOB_NODELIST" | head -n 1)
srun torchrun --nnodes=2 --nproc-per-node=8 --rdzv-id="$SLURM_JOB_ID" \\
  --rdzv-backend=c10d --rdzv-endpoint="$head_node:29500" train.py --config configs/@NAME@.yaml
"""
COMPOSE = """\
services:
  @NAME@:
    image: vllm/vllm-openai:v0.10.1
    command: --model @MODEL@ --max-model-len 8192 --tensor-parallel-size @GPUS@
    ipc: host
    ports: ["8000:8000"]
    deploy:
      resources:
        reservations:
          devices:
            - driver: nvidia
              count: @GPUS@
              capabilities: [gpu]
"""
VALUES = """\
servingEngineSpec:
  modelSpec:
    - name: @NAME@
      repository: vllm/vllm-openai
      tag: v0.10.1
      modelURL: @MODEL@
      replicaCount: 1
      requestCPU: 8
      requestMemory: 32Gi
      requestGPU: @GPUS@
      shmSize: 8Gi
      vllmConfig:
        maxModelLen: 8192
        tensorParallelSize: @GPUS@
      nodeSelectorTerms:
        - matchExpressions:
            - {key: cloud.google.com/gke-accelerator, operator: In, values: [@CARD@]}
"""
AXOLOTL = """\
base_model: @MODEL@
adapter: lora
lora_r: 16
lora_alpha: 32
lora_target_linear: true
datasets:
  - path: data/@NAME@.jsonl
    type: alpaca
sequence_len: 2048
sample_packing: true
micro_batch_size: 2
gradient_accumulation_steps: 8
num_epochs: 2
optimizer: adamw_torch
lr_scheduler: cosine
learning_rate: 0.0002
bf16: true
gradient_checkpointing: true
attn_implementation: flash_attention_2
output_dir: out/@NAME@
"""
DEEPSPEED = """\
{
  "train_micro_batch_size_per_gpu": 4,
  "gradient_accumulation_steps": 8,
  "gradient_clipping": 1.0,
  "bf16": {"enabled": true},
  "zero_optimization": {
    "stage": 2,
    "overlap_comm": true,
    "contiguous_gradients": true
  }
}
"""
TASK = """\
name: @NAME@
resources:
  infra: gcp
  accelerators: L4:1
run: |
  vllm serve Qwen/Qwen2.5-7B-Instruct --max-model-len 8192
"""
SERVICE = """\
apiVersion: v1
kind: Service
metadata: {name: @NAME@-http, namespace: @TEAM@}
spec:
  selector: {app: @NAME@}
  ports: [{port: 80, targetPort: 8000}]
"""
FRONTEND = """\
apiVersion: apps/v1
kind: Deployment
metadata: {name: @NAME@-web, namespace: @TEAM@}
spec:
  replicas: 2
  selector: {matchLabels: {app: @NAME@-web}}
  template:
    metadata: {labels: {app: @NAME@-web}}
    spec:
      containers:
        - name: web
          image: nginx:1.27
          resources: {limits: {cpu: "1", memory: 256Mi}}
"""
BROKEN = """\
apiVersion: apps/v1
kind: Deployment
metadata:
  name: @NAME@-old
spec:
  template:
    spec:
      containers:
        - name: server
          image: vllm/vllm-openai:v0.6.0
          args: [--model=@MODEL@, --tensor-parallel-size=@GPUS@
          resources:
            limits:
              nvidia.com/gpu: @GPUS@
"""

KINDS = (
    Kind(
        90,
        "apps/@TEAM@/@NAME@.yaml",
        DEPLOYMENT,
        (
            ("--max-model-len=8192", "--max-model-len=131072"),
            ("--tensor-parallel-size=@GPUS@", "--tensor-parallel-size=8"),
            ("            - --max-model-len", "            - --kv-cache-dtype=fp9\n            - --max-model-len"),
            ("nvidia.com/gpu: @GPUS@", "nvidia.com/gpu: 8"),
            ("--max-model-len=8192", "--max-model-len=8192\n            - --max-num-batched-token=4096"),
            ("emptyDir: {medium: Memory, sizeLimit: 8Gi}", "emptyDir: {}"),
            ("memory: 192Gi", "memory: 4Gi"),
            ("cloud.google.com/gke-accelerator: @CARD@", "cloud.google.com/gke-accelerator: @CARD@-gpu"),
            ("failureThreshold: 90", "failureThreshold: 2"),
        ),
    ),
    Kind(
        30,
        "serving/@TEAM@/@NAME@.yaml",
        KSERVE,
        (
            ("--tensor-parallel-size=@GPUS@", "--tensor-parallel-size=3"),
            ("--max-model-len=8192", "--max-model-len=262144"),
            ("nvidia.com/gpu: @GPUS@", "nvidia.com/gpu: 0.5"),
        ),
    ),
    Kind(
        15,
        "ray/@NAME@.yaml",
        RAY,
        (
            ('num-gpus: "1"', 'num-gpus: "4"'),
            ("nvidia.com/gpu: 1}", "nvidia.com/gpu: 1}\n                requests: {nvidia.com/gpu: 2}"),
        ),
    ),
    Kind(
        40,
        "train/@NAME@.sbatch",
        SBATCH,
        (
            ("--nproc-per-node=8", "--nproc-per-node=4"),
            ("--nnodes=2", "--nnodes=4"),
            ("--ntasks-per-node=1", "--ntasks-per-node=8"),
        ),
    ),
    Kind(
        20,
        "compose/@NAME@/docker-compose.yml",
        COMPOSE,
        (("--max-model-len 8192", "--max-model-length 8192"), ("count: @GPUS@", "count: 16")),
    ),
    Kind(
        25,
        "helm/@NAME@/values.yaml",
        VALUES,
        (("tensorParallelSize: @GPUS@", "tensorParallelSize: 8"), ("maxModelLen: 8192", "maxModelLength: 8192")),
    ),
    Kind(
        15,
        "configs/axolotl/@NAME@.yaml",
        AXOLOTL,
        (
            ("bf16: true", "bf16: true\nfp16: true"),
            ("micro_batch_size", "microbatch_size"),
            ("attn_implementation: flash_attention_2", "flash_attention: true"),
        ),
    ),
    Kind(
        10,
        "configs/deepspeed/@NAME@.json",
        DEEPSPEED,
        (('"bf16": {"enabled": true}', '"bf16": {"enabled": true},\n  "fp16": {"enabled": true}'),),
    ),
    Kind(10, "sky/@NAME@.yaml", TASK, (("accelerators: L4:1", "accelerators: L4:3"), ("8192", "262144"))),
    Kind(20, "apps/@TEAM@/@NAME@-service.yaml", SERVICE),
    Kind(20, "apps/@TEAM@/@NAME@-web.yaml", FRONTEND),
    Kind(5, "attic/@NAME@.yaml", BROKEN),
)


def files() -> Iterator[tuple[str, str]]:
    """Path and text of each file; every third of a kind that has defects has one."""
    for kind in KINDS:
        for number in range(kind.count):
            text = kind.text
            if kind.defects and number % 3 == 0:
                right, wrong = kind.defects[number // 3 % len(kind.defects)]
                text = text.replace(right, wrong)
            model, card, gpus = SERVED[number % len(SERVED)]
            said = {
                "NAME": name(number),
                "TEAM": TEAMS[number % len(TEAMS)],
                "MODEL": model,
                "CARD": card,
                "GPUS": str(gpus),
            }
            yield filled(kind.path, said), filled(text, said)


def name(number: int) -> str:
    """A name for each number: a word, and from the second round on which one it is."""
    turn, word = divmod(number, len(WORDS))
    return WORDS[word] + (f"-{turn + 1}" if turn else "")


def filled(text: str, said: dict[str, str]) -> str:
    for key, value in said.items():
        text = text.replace(f"@{key}@", value)
    return text


def write(folder: Path) -> int:
    """Write all files below a folder; returns how many."""
    count = 0
    for path, text in files():
        place = folder / path
        place.parent.mkdir(parents=True, exist_ok=True)
        place.write_text(text, encoding="utf-8")
        count += 1
    return count


if __name__ == "__main__":
    print(write(Path(sys.argv[1])))
