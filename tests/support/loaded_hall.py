"""A hall and a service that is placed in it."""

from __future__ import annotations

HALL = """\
apiVersion: gpulint/v1
kind: Facility
metadata: {name: ams1}
spec:
  pue: 1.3
  energy_price: 0.1
  pools:
    - {name: h100, labels: {pool: h100}, network: 3200 Gb/s, network_kind: infiniband}
    - {name: train, partition: gpu}
    - {name: batch, queue: batch}
  racks:
    - name: r[1-2]
      pool: h100
      servers: [{type: dgx-h100, count: 2}]
    - name: t1
      pool: train
      servers: [{type: dgx-h200, count: 2}]
    - name: q1
      pool: batch
      servers: [{type: dgx-h100}]
"""
SERVICE = """\
apiVersion: apps/v1
kind: Deployment
metadata: {{name: {name}, namespace: {namespace}}}
spec:
  replicas: {replicas}
  template:
    spec:
      nodeSelector: {{pool: {pool}}}
      containers:
        - name: server
          image: vllm/vllm-openai:v0.11.0
          args: [--model=Qwen/Qwen3-32B, --max-model-len=16384]
          resources: {{limits: {{nvidia.com/gpu: {gpus}}}}}
"""


def service(name: str = "chat", replicas: int = 8, gpus: int = 1, pool: str = "h100", namespace: str = "ml") -> str:
    return SERVICE.format(name=name, replicas=replicas, gpus=gpus, pool=pool, namespace=namespace)
