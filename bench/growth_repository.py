"""CPU seconds of `gpulint check` on generated repositories of growing size, and the exponent with which they grow.

    python bench/growth_repository.py NAME=PATH/TO/gpulint ... [--kinds KIND ...] [--sizes N ...]

NAME labels an installation. Every repository is written to a temporary directory, and all installations check it in turn.
A figure is the user and system time of the child (wait4). The exponent is the slope of a line through the logarithms of
size and time; the time on an empty repository, the start-up, is subtracted first. An exponent over 1.1 is marked, with
exit code 1.
"""

from __future__ import annotations

import argparse
import shutil
import sys
import tempfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path

import alone
from growth import MOST, SIZES, fit_exponent
from speed import Cost, spent

SUGGESTED = 20
"""Deployments with a defect in every repository of the kind `suggestions`."""
Files = Iterator[tuple[str, str]]

PLAIN = """\
apiVersion: v1
kind: ConfigMap
metadata: {{name: settings-{n}, namespace: team-{team}}}
data: {{MODEL: meta-llama/Llama-3.1-8B-Instruct, LEVEL: "{n}"}}
---
apiVersion: apps/v1
kind: Deployment
metadata: {{name: web-{n}, namespace: team-{team}}}
spec:
  replicas: 3
  selector: {{matchLabels: {{app: web-{n}}}}}
  template:
    metadata: {{labels: {{app: web-{n}}}}}
    spec:
      containers:
        - name: web
          image: nginx:1.27
          envFrom: [{{configMapRef: {{name: settings-{n}}}}}]
          ports: [{{containerPort: 80}}]
          resources: {{limits: {{memory: 256Mi, cpu: "1"}}}}
"""
CHAT = """\
apiVersion: apps/v1
kind: Deployment
metadata: {{name: chat-{n}}}
spec:
  selector: {{matchLabels: {{app: chat-{n}}}}}
  template:
    metadata: {{labels: {{app: chat-{n}}}}}
    spec:
      nodeSelector: {{cloud.google.com/gke-accelerator: {card}}}
      containers:
        - name: server
          image: vllm/vllm-openai:v0.10.1
          envFrom: [{{configMapRef: {{name: flags-{n}}}}}]
          args: [--model=$(MODEL), --max-model-len=32768, --tensor-parallel-size={tp}]
          resources: {{limits: {{nvidia.com/gpu: {tp}}}}}
          volumeMounts: [{{name: shm, mountPath: /dev/shm}}, {{name: weights, mountPath: /models}}]
      volumes:
        - {{name: shm, emptyDir: {{medium: Memory}}}}
        - {{name: weights, persistentVolumeClaim: {{claimName: weights-{n}}}}}
"""
SERVICE = """\
apiVersion: v1
kind: Service
metadata: {{name: chat-{n}}}
spec: {{selector: {{app: chat-{n}}}, ports: [{{port: 8000}}]}}
"""
SCALER = """\
apiVersion: autoscaling/v2
kind: HorizontalPodAutoscaler
metadata: {{name: chat-{n}}}
spec:
  scaleTargetRef: {{apiVersion: apps/v1, kind: Deployment, name: chat-{n}}}
  minReplicas: 2
  maxReplicas: 6
  metrics:
    - type: Pods
      pods:
        metric: {{name: "vllm:num_requests_running"}}
        target: {{type: AverageValue, averageValue: "32"}}
"""
BUDGET = """\
apiVersion: policy/v1
kind: PodDisruptionBudget
metadata: {{name: chat-{n}}}
spec: {{minAvailable: 1, selector: {{matchLabels: {{app: chat-{n}}}}}}}
"""
CLAIM = """\
apiVersion: v1
kind: PersistentVolumeClaim
metadata: {{name: weights-{n}}}
spec: {{accessModes: [ReadWriteMany], storageClassName: filestore, resources: {{requests: {{storage: 100Gi}}}}}}
"""
FLAGS = """\
apiVersion: v1
kind: ConfigMap
metadata: {{name: flags-{n}}}
data: {{MODEL: meta-llama/Llama-3.1-8B-Instruct}}
"""
BASE = "apiVersion: kustomize.config.k8s.io/v1beta1\nkind: Kustomization\nresources: [deployment.yaml, service.yaml]\n"
OVERLAY = """\
apiVersion: kustomize.config.k8s.io/v1beta1
kind: Kustomization
resources: [../../base]
patches: [{{path: replicas.yaml}}]
images: [{{name: nginx, newTag: "1.{n}"}}]
"""
PATCH = "apiVersion: apps/v1\nkind: Deployment\nmetadata: {{name: web-{n}}}\nspec: {{replicas: 5}}\n"
VALUES = """\
replicaCount: 2
image: {{repository: registry.example/web, tag: "{n}"}}
service: {{type: ClusterIP, port: 80}}
resources: {{limits: {{cpu: "1", memory: 1Gi}}}}
"""
CHART = "apiVersion: v2\nname: web-{n}\nversion: 0.1.{n}\n"
LIBRARY = """\
#!/bin/bash
export NCCL_DEBUG=WARN
export MODEL=meta-llama/Llama-3.1-8B
setup() {
  module load cuda/12.4
  source "$HOME/venv/bin/activate"
}
""" + "".join(f'export SETTING_{number}="${{SETTING_{number}:-{number}}}"\n' for number in range(40))
JOB = """\
#!/bin/bash
#SBATCH --job-name=train-{n}
#SBATCH --nodes=2
#SBATCH --gpus-per-node=h100:8
#SBATCH --ntasks-per-node=1
source {library}
export WANDB_NAME=run-{n}
srun torchrun --nnodes=$SLURM_NNODES --nproc_per_node=8 pretrain_gpt.py --tensor-model-parallel-size 4 \\
  --pipeline-model-parallel-size 2 --micro-batch-size 1 --global-batch-size 64 --seq-length 4096
"""
LAUNCH = "#!/bin/bash\ntorchrun --nnodes=1 --nproc_per_node=8 src/train.py sft.yaml\n"
POOLED = """\
apiVersion: v1
kind: Pod
metadata: {{name: pooled-{n}}}
spec:
  nodeSelector: {{team: team-{n}}}
  containers:
    - name: server
      image: vllm/vllm-openai:v0.10.1
      args: [--model=meta-llama/Llama-3.1-8B-Instruct, --max-model-len=32768]
      resources: {{limits: {{nvidia.com/gpu: 1}}}}
"""
POOL = """\
resource "google_container_node_pool" "pool_{n}" {{
  name       = "pool-{n}"
  cluster    = "main-{n}"
  node_count = 2
  node_config {{
    machine_type = "a3-highgpu-8g"
    labels       = {{ team = "team-{n}" }}
  }}
}}
"""
TRAINER = """\
### model
model_name_or_path: meta-llama/Llama-3.1-8B-Instruct
### method
stage: sft
do_train: true
finetuning_type: lora
lora_rank: 8
lora_target: all
cutoff_len: 2048
output_dir: saves/run-{n}
per_device_train_batch_size: 1
gradient_accumulation_steps: 8
learning_rate: 1.0e-4
num_train_epochs: 3.0
bf16: true
"""


def _write_mixed(size: int) -> Files:
    """Of 40 files, 29 are plain objects, charts and overlays; in every fourth folder one workload does not fit."""
    yield "lib/common.sh", LIBRARY
    for n in range(size // 40):
        team = f"teams/team-{n}"
        for number in range(17):
            yield f"{team}/web/object-{number}.yaml", PLAIN.format(n=f"{n}-{number}", team=n)
        yield f"{team}/kustomize/base/kustomization.yaml", BASE
        yield f"{team}/kustomize/base/deployment.yaml", PLAIN.format(n=f"{n}-base", team=n)
        for name in ("staging", "production"):
            yield f"{team}/kustomize/overlays/{name}/kustomization.yaml", OVERLAY.format(n=n)
            yield f"{team}/kustomize/overlays/{name}/replicas.yaml", PATCH.format(n=f"{n}-base")
        yield f"{team}/chart/Chart.yaml", CHART.format(n=n)
        yield f"{team}/chart/values.yaml", VALUES.format(n=n)
        for number in range(4):
            yield f"{team}/settings/{number}.json", f'{{"name": "team-{n}-{number}", "level": {number}}}\n'
        yield from _write_joined(f"{team}/chat", n, "nvidia-l4" if n % 4 == 0 else "nvidia-h100-80gb", 1)
        yield f"{team}/chat/budget.yaml", BUDGET.format(n=n)
        yield f"{team}/chat/pooled.yaml", POOLED.format(n=n)
        yield f"{team}/jobs/train.sbatch", JOB.format(n=n, library="../../../lib/common.sh")
        yield f"{team}/trainer/sft.yaml", TRAINER.format(n=n)
        yield f"{team}/trainer/train.sh", LAUNCH
        yield f"{team}/terraform/main.tf", POOL.format(n=n)


def _write_joined(folder: str, n: int, card: str, tp: int) -> Files:
    shapes = {
        "deployment": CHAT,
        "service": SERVICE,
        "scaler": SCALER,
        "claim": CLAIM,
        "flags": FLAGS,
    }
    for name, shape in shapes.items():
        yield f"{folder}/{name}.yaml", shape.format(n=n, card=card, tp=tp)


def _write_scripts(size: int) -> Files:
    yield "lib/common.sh", LIBRARY
    for n in range(size - 1):
        yield f"jobs/{n % 100}/train-{n}.sbatch", JOB.format(n=n, library="../../lib/common.sh")


def _write_workloads(size: int) -> Files:
    for n in range(size // 5):
        yield from _write_joined(f"apps/{n}", n, "nvidia-h100-80gb", 1)


def _write_flat_workloads(size: int) -> Files:
    """All objects in one folder, each in a file of its own, with a disruption budget for each workload."""
    shapes = {"deployment": CHAT, "service": SERVICE, "scaler": SCALER, "budget": BUDGET, "flags": FLAGS}
    for n in range(size // 5):
        for name, shape in shapes.items():
            yield f"apps/{name}-{n}.yaml", shape.format(n=n, card="nvidia-h100-80gb", tp=1)


def _write_suggestions(size: int) -> Files:
    """A fixed number of workloads that do not fit, among plain objects."""
    for n in range(SUGGESTED):
        text = CHAT.format(n=n, card="nvidia-l4", tp=2).replace("$(MODEL)", "meta-llama/Llama-3.1-70B-Instruct")
        yield f"chat/{n}/deployment.yaml", text
    for n in range(size - SUGGESTED):
        yield f"apps/{n % 200}/object-{n}.yaml", PLAIN.format(n=n, team=n % 200)


KINDS: Mapping[str, Callable[[int], Files]] = {
    "files": _write_mixed,
    "scripts": _write_scripts,
    "workloads": _write_workloads,
    "one folder": _write_flat_workloads,
    "suggestions": _write_suggestions,
}


def main() -> None:
    """Print the time of each size and the exponent, by kind and installation."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("installed", nargs="+", metavar="NAME=GPULINT")
    parser.add_argument("--kinds", nargs="*", default=list(KINDS), choices=list(KINDS))
    parser.add_argument("--sizes", nargs="*", type=int, default=list(SIZES))
    arguments = parser.parse_args()
    programs = {name: Path(path).absolute() for name, _, path in (word.partition("=") for word in arguments.installed)}
    rows: list[tuple[str, ...]] = [
        ("kind", "installed", *(f"{size:,}" for size in arguments.sizes), "exponent", "peak MiB")
    ]
    exceeded = False
    with tempfile.TemporaryDirectory() as folder:
        for kind in arguments.kinds:
            for name, costs in _measure(Path(folder), kind, arguments.sizes, programs).items():
                start, *spans = costs
                times_s = (one.cpu_s - start.cpu_s for one in spans)
                exponent = fit_exponent(dict(zip(arguments.sizes, times_s, strict=True)))
                exceeded |= exponent > MOST
                mark = " EXCEEDED" if exponent > MOST else ""
                peak = max(one.peak_mib for one in spans)
                times = (f"{one.cpu_s:.2f} s" for one in spans)
                rows.append((kind, name, *times, f"{exponent:.2f}{mark}", f"{peak:.0f}"))
                print("  ".join(rows[-1]), file=sys.stderr, flush=True)
    print(alone.table(rows))
    sys.exit(exceeded)


def _measure(folder: Path, kind: str, sizes: Sequence[int], programs: Mapping[str, Path]) -> dict[str, list[Cost]]:
    """Return the cost on an empty repository and on each size, by installation."""
    costs: dict[str, list[Cost]] = {name: [] for name in programs}
    for size in (0, *sizes):
        root = write(folder / f"{kind}-{size}", KINDS[kind](size) if size else iter(()))
        for name, program in programs.items():
            costs[name].append(spent([str(program), "check", "--exit-zero", "."], root))
        shutil.rmtree(root)
    return costs


def write(root: Path, files: Files) -> Path:
    """Write a repository and return its root."""
    (root / ".git").mkdir(parents=True)
    for path, text in files:
        place = root / path
        place.parent.mkdir(parents=True, exist_ok=True)
        place.write_text(text, encoding="utf-8")
    return root


if __name__ == "__main__":
    main()
