"""Two commits of a repository for tests of the gate: what is right, what is wrong, and a run on them."""

from __future__ import annotations

from pathlib import Path

from click.testing import CliRunner, Result

import gpulint
from gpulint.cli import main

DEPLOYMENT = """\
apiVersion: apps/v1
kind: Deployment
metadata: {{name: {name}}}
spec:
  replicas: {replicas}
  selector: {{matchLabels: {{app: {name}}}}}
  template:
    metadata: {{labels: {{app: {name}}}}}
    spec:
      nodeSelector: {{cloud.google.com/gke-accelerator: {product}, node.kubernetes.io/instance-type: {machine}}}
      containers:
        - name: vllm
          image: vllm/vllm-openai:v0.10.1
          args: [--model={model}, --tensor-parallel-size={ranks}, --max-model-len=8192]
          resources: {{limits: {{nvidia.com/gpu: {gpus}}}}}
"""
EXCEEDS = "parallel-size-exceeds-gpus"


def deployment(
    name: str = "chat",
    ranks: int = 1,
    gpus: int = 1,
    replicas: int = 1,
    model: str = "Qwen/Qwen3-8B",
    product: str = "nvidia-l4",
    machine: str = "g2-standard-4",
) -> str:
    """A vLLM server; with more ranks than GPUs it has one error."""
    return DEPLOYMENT.format(
        name=name, ranks=ranks, gpus=gpus, replicas=replicas, model=model, product=product, machine=machine
    )


RIGHT = deployment()
WRONG = deployment(ranks=2)


def put(folder: Path, files: dict[str, str]) -> None:
    """Writes these files, and leaves no others."""
    for place in folder.rglob("*"):
        if place.is_file() and ".git" not in place.parts:
            place.unlink()
    for path, text in files.items():
        (folder / path).parent.mkdir(parents=True, exist_ok=True)
        (folder / path).write_bytes(text.encode())


def spoken(report: gpulint.Report) -> list[tuple[str, str]]:
    return [(one.rule, one.location.path) for one in report.open]


def run(*words: str) -> Result:
    return CliRunner().invoke(main, ["check", "--today", "2026-11-22", *words])
