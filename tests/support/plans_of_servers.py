"""Servers for tests of plans, and the plan of one."""

from __future__ import annotations

import json

import samples

from gpulint.pipeline.plan import plan_file
from gpulint.policy.resolved import ResolvedPolicy
from gpulint.policy.rules.rule import load_shipped
from gpulint.report.model import Plan
from gpulint.source.repository import Source

SERVER = """\
apiVersion: apps/v1
kind: Deployment
metadata:
  name: {name}
{annotations}spec:
  replicas: {replicas}
  template:
    spec:
      nodeSelector: {{{selector}}}
      containers:
        - name: server
          image: vllm/vllm-openai:v0.11.0
          args:
            - --model={checkpoint}
            - --max-model-len={length}
            - --tensor-parallel-size={ranks}
          resources: {{limits: {{nvidia.com/gpu: {gpus}}}}}
          volumeMounts: [{{name: shm, mountPath: /dev/shm}}, {{name: weights, mountPath: /models}}]
      volumes: [{{name: shm, emptyDir: {{medium: Memory}}}}, {{name: weights, persistentVolumeClaim: {{claimName: w}}}}]
"""
GKE = "cloud.google.com/gke-accelerator"


def server(checkpoint: str, card: str, ranks: int = 1, gpus: int | None = None, length: int = 8192, **more: str) -> str:
    """A Deployment of vLLM; `more` are its objectives."""
    stated = "".join(f"    gpulint/{key.replace('_', '-')}: {json.dumps(value)}\n" for key, value in more.items())
    return SERVER.format(
        name="chat",
        checkpoint=checkpoint,
        selector=card if ":" in card else f"{GKE}: {card}",
        ranks=ranks,
        gpus=gpus or ranks,
        length=length,
        replicas=1,
        annotations=f"  annotations:\n{stated}" if stated else "",
    )


def planned(text: str, line: int | None = None, **given: object) -> Plan:
    """The plan of the one role of a text."""
    rules = tuple(load_shipped().values())
    source = Source(samples.find_path(text), text.encode())
    (found,) = plan_file(source, line, samples.ExampleRepository(), ResolvedPolicy(rules, **given))  # type: ignore[arg-type]
    return found
