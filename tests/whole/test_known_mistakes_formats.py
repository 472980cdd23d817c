"""Mistakes and look-alikes of the formats themselves: objects, charts, scripts, as small specs of our own.

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


PINNED_LEADER = Spec("""
apiVersion: leaderworkerset.x-k8s.io/v1
kind: LeaderWorkerSet
metadata: {name: coder}
spec:
  replicas: 1
  leaderWorkerTemplate:
    size: 2
    leaderTemplate:
      spec:
        nodeSelector: {cloud.google.com/gke-accelerator: nvidia-h100-80gb}
        containers:
          - name: leader
            image: vllm/vllm-openai:v0.11.0
            command: [vllm, serve, Qwen/Qwen2.5-72B-Instruct]
            args: [--tensor-parallel-size=8, --pipeline-parallel-size=2, --max-model-len=8192]
            resources: {limits: {nvidia.com/gpu: 8}}
            volumeMounts: [{name: shm, mountPath: /dev/shm}]
        volumes: [{name: shm, emptyDir: {medium: Memory}}]
    workerTemplate:  # <- here
      spec:
        containers:
          - name: worker
            image: vllm/vllm-openai:v0.11.0
            command: [sh, -c, "ray start --address=$(LWS_LEADER_ADDRESS):6379 --block"]
            resources: {limits: {nvidia.com/gpu: 8}}
            volumeMounts: [{name: shm, mountPath: /dev/shm}]
        volumes: [{name: shm, emptyDir: {medium: Memory}}]
""")
HALF_A_GPU = Spec(
    """
servingEngineSpec:
  runtimeClassName: ""
  modelSpec:
    - name: small
      repository: vllm/vllm-openai
      tag: v0.11.0
      modelURL: Qwen/Qwen2.5-0.5B-Instruct
      replicaCount: 2
      requestCPU: 4
      requestMemory: 16Gi
      requestGPU: 0.5  # <- here
      vllmConfig: {maxModelLen: 4096}
""",
    "values-small.yaml",
)
DEVICE_BY_HAND = Spec("""
apiVersion: v1
kind: Pod
metadata: {name: decoder}
spec:
  containers:
    - name: engine
      image: lmcache/vllm-openai:v0.3.9
      command: [vllm, serve, Qwen/Qwen2.5-3B-Instruct, --port=8100]
      env:
        - name: CUDA_VISIBLE_DEVICES
          value: "1"  # <- here
      resources: {requests: {cpu: 8, memory: 32Gi}}
""")
DEVICE_BY_HAND_IN_CHART = Spec(
    """
servingEngineSpec:
  runtimeClassName: ""
  modelSpec:
    - name: decoder
      repository: lmcache/vllm-openai
      tag: v0.3.9
      modelURL: Qwen/Qwen2.5-3B-Instruct
      requestCPU: 8
      requestMemory: 32Gi
      # requestGPU: 1
      lmcacheConfig:
        enabled: true
        cudaVisibleDevices: "1"  # <- here
""",
    "values-decode.yaml",
)
SERIES_EACH = Spec("""
apiVersion: keda.sh/v1alpha1
kind: ScaledObject
metadata: {name: chat}
spec:
  scaleTargetRef: {name: chat-vllm}
  minReplicaCount: 1
  maxReplicaCount: 3
  triggers:
    - type: prometheus
      metadata:
        serverAddress: http://prometheus.monitoring.svc:9090
        query: vllm:num_requests_waiting  # <- here
        threshold: "4"
""")
OLD_API = Spec("""
apiVersion: autoscaling/v2beta2  # <- here
kind: HorizontalPodAutoscaler
metadata: {name: chat-vllm}
spec:
  scaleTargetRef: {apiVersion: apps/v1, kind: Deployment, name: chat-vllm}
  maxReplicas: 3
""")
PRIVILEGED = Spec("""
apiVersion: apps/v1
kind: Deployment
metadata: {name: chat}
spec:
  template:
    spec:
      nodeSelector: {cloud.google.com/gke-accelerator: nvidia-l4}
      containers:
        - name: engine
          image: vllm/vllm-openai:v0.11.0
          args: [--model=Qwen/Qwen2.5-7B-Instruct, --max-model-len=4096]
          securityContext:
            privileged: true  # <- here
          resources: {limits: {nvidia.com/gpu: 1}}
""")
PRIVILEGED_IN_CHART = Spec(
    """
servingEngineSpec:
  containerSecurityContext:
    privileged: true  # <- here
  modelSpec:
    - name: chat
      repository: vllm/vllm-openai
      tag: v0.11.0
      modelURL: Qwen/Qwen2.5-7B-Instruct
      requestGPU: 1
      vllmConfig: {maxModelLen: 4096}
""",
    "values-chat.yaml",
)
CAP_BESIDE = Spec(
    """
servingEngineSpec:
  modelSpec:
    - name: chat
      repository: vllm/vllm-openai
      tag: v0.11.0
      modelURL: Qwen/Qwen2.5-7B-Instruct
      requestGPU: 1
      nodeSelector:  # <- here
        pool: gpu
""",
    "values-oke.yaml",
)
SOCKETS = Spec("""
apiVersion: leaderworkerset.x-k8s.io/v1
kind: LeaderWorkerSet
metadata: {name: coder}
spec:
  replicas: 1
  leaderWorkerTemplate:
    size: 2
    workerTemplate:
      spec:
        nodeSelector: {cloud.google.com/gke-accelerator: nvidia-h100-80gb}
        containers:
          - name: engine
            image: vllm/vllm-openai:v0.11.0
            command: [sh, -c, "vllm serve Qwen/Qwen2.5-72B-Instruct -tp=8 -pp=2 --max-model-len=8192"]
            env:
              - name: NCCL_NET
                value: Socket  # <- here
            resources: {limits: {nvidia.com/gpu: 8, rdma/ib: 1}}
            volumeMounts: [{name: shm, mountPath: /dev/shm}]
        volumes: [{name: shm, emptyDir: {medium: Memory}}]
""")
SCALED_BY_CPU = Spec("""
apiVersion: apps.nvidia.com/v1alpha1
kind: NIMService
metadata: {name: chat}
spec:
  image: {repository: nvcr.io/nim/meta/llama-3.1-8b-instruct, tag: "1.8.4"}
  authSecret: ngc-api-secret
  storage: {pvc: {name: models}}
  resources: {limits: {nvidia.com/gpu: 1}}
  nodeSelector: {nvidia.com/gpu.product: NVIDIA-L40S}
  expose: {service: {type: ClusterIP, port: 8000}}
  scale:
    enabled: true
    hpa:
      minReplicas: 1
      maxReplicas: 4
      metrics:
        - type: Resource
          resource:
            name: cpu  # <- here
            target: {type: Utilization, averageUtilization: 75}
""")
SCALED_BY_AN_OBJECT = Spec("""
apiVersion: autoscaling/v2
kind: HorizontalPodAutoscaler
metadata: {name: chat}
spec:
  scaleTargetRef: {apiVersion: apps/v1, kind: Deployment, name: chat}
  maxReplicas: 4
  metrics:
    - type: Resource
      resource:
        name: cpu  # <- here
        target: {type: Utilization, averageUtilization: 75}
---
apiVersion: apps/v1
kind: Deployment
metadata: {name: chat}
spec:
  template:
    spec:
      nodeSelector: {cloud.google.com/gke-accelerator: nvidia-l4}
      containers:
        - name: engine
          image: vllm/vllm-openai:v0.11.0
          args: [--model=Qwen/Qwen2.5-7B-Instruct, --max-model-len=4096]
          resources: {limits: {nvidia.com/gpu: 1}}
""")
UNUSED_MEMORY = Spec("""
apiVersion: serving.kserve.io/v1alpha1
kind: LLMInferenceService
metadata: {name: coder}
spec:
  model: {uri: "hf://Qwen/Qwen2.5-72B-Instruct", name: Qwen/Qwen2.5-72B-Instruct}
  replicas: 1
  parallelism: {tensor: 8}
  template:
    nodeSelector: {cloud.google.com/gke-accelerator: nvidia-h100-80gb}
    containers:
      - name: main
        image: vllm/vllm-openai:v0.11.0
        env: [{name: VLLM_ADDITIONAL_ARGS, value: "--max-model-len=8192"}]
        resources: {limits: {nvidia.com/gpu: 8}}
    volumes:
      - name: shared-mem  # <- here
        emptyDir: {medium: Memory, sizeLimit: 32Gi}
""")
UNUSED_MEMORY_OF_A_DEPLOYMENT = Spec("""
apiVersion: apps/v1
kind: Deployment
metadata: {name: chat}
spec:
  template:
    spec:
      nodeSelector: {cloud.google.com/gke-accelerator: nvidia-l4}
      containers:
        - name: engine
          image: vllm/vllm-openai:v0.11.0
          args: [--model=Qwen/Qwen2.5-7B-Instruct, --max-model-len=4096]
          resources: {limits: {nvidia.com/gpu: 1}}
      volumes:
        - name: shared-mem  # <- here
          emptyDir: {medium: Memory}
""")
NO_ROOM = Spec("""
apiVersion: apps/v1
kind: Deployment
metadata: {name: experts}
spec:
  template:
    spec:
      nodeSelector: {cloud.google.com/gke-accelerator: nvidia-h100-80gb}
      containers:
        - name: engine
          image: vllm/vllm-openai:v0.11.0
          args:
            - --model=Qwen/Qwen3-30B-A3B
            - --data-parallel-size=8
            - --enable-expert-parallel
            - --max-model-len=8192
            - --gpu-memory-utilization=0.98  # <- here
          env:
            - {name: VLLM_ALL2ALL_BACKEND, value: deepep_low_latency}
          resources: {limits: {nvidia.com/gpu: 8}}
          volumeMounts: [{name: shm, mountPath: /dev/shm}]
      volumes: [{name: shm, emptyDir: {medium: Memory}}]
""")
TAB = Spec("""
apiVersion: kueue.x-k8s.io/v1beta1
kind: ClusterQueue
metadata: {name: gpus}
spec:
  resourceGroups:
    - coveredResources: [nvidia.com/gpu, rdma/ib]
      flavors:
        - name: h100
          resources:
            - name: nvidia.com/gpu
              nominalQuota: 16
\t\t\t- name: rdma/ib
\t\t\t  nominalQuota: 2
""")
KILLED_WHILE_LOADING = Spec("""
apiVersion: apps/v1
kind: Deployment
metadata: {name: reasoner}
spec:
  template:
    spec:
      nodeSelector: {cloud.google.com/gke-accelerator: nvidia-h200-141gb}
      containers:
        - name: engine
          image: vllm/vllm-openai:v0.11.0
          command: [vllm, serve, deepseek-ai/DeepSeek-R1]
          args: [--tensor-parallel-size=8, --max-model-len=8192]
          livenessProbe:  # <- here
            httpGet: {path: /health, port: 8000}
            periodSeconds: 10
            failureThreshold: 3
          resources: {limits: {nvidia.com/gpu: 8}}
          volumeMounts: [{name: shm, mountPath: /dev/shm}]
      volumes: [{name: shm, emptyDir: {medium: Memory}}]
""")
ONE_VISIBLE = Spec(
    """
modelArtifacts: {uri: "hf://Qwen/Qwen2.5-7B-Instruct", name: Qwen/Qwen2.5-7B-Instruct, size: 20Gi}
routing: {servicePort: 8000}
decode:
  create: true
  replicas: 1
  parallelism: {tensor: 2}
  containers:
    - name: vllm
      image: ghcr.io/llm-d/llm-d-cuda:v0.4.0
      modelCommand: vllmServe
      args: [--max-model-len=4096]
      env:
        - name: CUDA_VISIBLE_DEVICES
          value: "0"  # <- here
prefill:
  create: false
""",
    "values-pd.yaml",
)
GAUDI_ON_NVIDIA = Spec(
    """
modelArtifacts: {uri: "hf://Qwen/Qwen2.5-7B-Instruct", name: Qwen/Qwen2.5-7B-Instruct, size: 20Gi}
routing: {servicePort: 8000}
decode:
  create: false
prefill:
  create: true
  replicas: 1
  containers:
    - name: vllm
      image: vault.habana.ai/gaudi-docker/vllm-plugin:1.22.0  # <- here
      modelCommand: vllmServe
      args: [--max-model-len=4096]
""",
    "values-pd.yaml",
)
XPU_ON_GAUDI = Spec(
    """
modelArtifacts: {uri: "hf://Qwen/Qwen2.5-7B-Instruct", name: Qwen/Qwen2.5-7B-Instruct, size: 20Gi}
routing: {servicePort: 8000}
accelerator: {type: intel-gaudi}
decode:
  create: true
  replicas: 1
  containers:
    - name: vllm
      image: intel/vllm:0.11.0-xpu  # <- here
      modelCommand: vllmServe
      args: [--max-model-len=4096]
prefill:
  create: false
""",
    "values-pd.yaml",
)
NO_DRAIN = Spec("""
apiVersion: policy/v1
kind: PodDisruptionBudget
metadata: {name: chat}
spec:
  minAvailable: 2  # <- here
  selector: {matchLabels: {app: chat}}
---
apiVersion: apps/v1
kind: Deployment
metadata: {name: chat}
spec:
  replicas: 2
  template:
    metadata: {labels: {app: chat}}
    spec:
      nodeSelector: {cloud.google.com/gke-accelerator: nvidia-l4}
      containers:
        - name: engine
          image: vllm/vllm-openai:v0.11.0
          args: [--model=Qwen/Qwen2.5-7B-Instruct, --max-model-len=4096]
          resources: {limits: {nvidia.com/gpu: 1}}
""")
NO_DRAIN_IN_CHART = Spec(
    """
vllm:
  model: Qwen/Qwen2.5-7B-Instruct
  extraArgs: [--max-model-len=4096]
  image: {repository: vllm/vllm-openai, tag: v0.11.0}
  resources: {limits: {nvidia.com/gpu: 1}, requests: {nvidia.com/gpu: 1}}
  workload:
    type: deployment
    deployment: {replicaCount: 1}
  autoScale: {enabled: true, minReplicas: 1, maxReplicas: 3}
pdb:
  enabled: true
  minAvailable: 1  # <- here
""",
    "values.yaml",
)
HUNG_FOR_HOURS = Spec(
    """
vllm:
  model: Qwen/Qwen2.5-7B-Instruct
  extraArgs: [--max-model-len=4096]
  image: {repository: vllm/vllm-openai, tag: v0.11.0}
  resources: {limits: {nvidia.com/gpu: 1}, requests: {nvidia.com/gpu: 1}}
  livenessProbe:  # <- here
    httpGet: {path: /health}
    periodSeconds: 10
    failureThreshold: 1800
  workload:
    type: deployment
    deployment: {replicaCount: 2}
""",
    "values.yaml",
)
BY_HAND_AND_GRANTED = Spec("""
apiVersion: apps/v1
kind: Deployment
metadata: {name: chat}
spec:
  template:
    spec:
      nodeSelector: {cloud.google.com/gke-accelerator: nvidia-l4}
      containers:
        - name: engine
          image: vllm/vllm-openai:v0.11.0
          args: [--model=Qwen/Qwen2.5-7B-Instruct, --max-model-len=4096]
          env:
            - name: CUDA_VISIBLE_DEVICES
              value: "0"  # <- here
          resources: {limits: {nvidia.com/gpu: 1}}
""")
MOVING = Spec("""
apiVersion: apps/v1
kind: Deployment
metadata: {name: chat}
spec:
  template:
    spec:
      nodeSelector: {cloud.google.com/gke-accelerator: nvidia-l4}
      containers:
        - name: engine
          image: lmsysorg/sglang:latest  # <- here
          command: [python3, -m, sglang.launch_server, --model-path=Qwen/Qwen2.5-7B-Instruct]
          resources: {limits: {nvidia.com/gpu: 1}}
""")


@pytest.mark.parametrize(
    ("spec", "rule"),
    [
        pytest.param(PINNED_LEADER, "selector-missing-on-workers", id="D06"),
        pytest.param(HALF_A_GPU, "gpu-count-fractional", id="D07"),
        pytest.param(DEVICE_BY_HAND, "visible-devices-without-gpu-request", id="D08 pod"),
        pytest.param(DEVICE_BY_HAND_IN_CHART, "visible-devices-without-gpu-request", id="D08 chart"),
        pytest.param(SERIES_EACH, "scaler-query-not-aggregated", id="D11"),
        pytest.param(OLD_API, "api-version-removed", id="D13"),
        pytest.param(PRIVILEGED, "privileged-gpu-container", id="D15 Deployment"),
        pytest.param(PRIVILEGED_IN_CHART, "privileged-gpu-container", id="D15 chart"),
        pytest.param(CAP_BESIDE, "unread-value", id="D16"),
        pytest.param(SOCKETS, "rdma-switched-off", id="D19"),
        pytest.param(SCALED_BY_CPU, "autoscaler-follows-cpu", id="D21 NIMService"),
        pytest.param(SCALED_BY_AN_OBJECT, "autoscaler-follows-cpu", id="D21 HorizontalPodAutoscaler"),
        pytest.param(UNUSED_MEMORY, "memory-volume-not-mounted", id="D22"),
        pytest.param(UNUSED_MEMORY_OF_A_DEPLOYMENT, "memory-volume-not-mounted", id="D22 Deployment"),
        pytest.param(NO_ROOM, "utilization-without-room-for-expert-buffers", id="D23"),
        pytest.param(KILLED_WHILE_LOADING, "startup-probe-missing", id="D40"),
        pytest.param(HUNG_FOR_HOURS, "liveness-probe-stretched", id="D40 stretched"),
        pytest.param(ONE_VISIBLE, "visible-devices-too-few", id="D41"),
        pytest.param(GAUDI_ON_NVIDIA, "image-of-another-vendor", id="D42"),
        pytest.param(XPU_ON_GAUDI, "image-of-another-vendor", id="D43"),
        pytest.param(BY_HAND_AND_GRANTED, "visible-devices-beside-request", id="D45"),
        pytest.param(NO_DRAIN, "disruption-budget-blocks-drain", id="D48"),
        pytest.param(NO_DRAIN_IN_CHART, "disruption-budget-blocks-drain", id="D48 chart"),
        pytest.param(MOVING, "engine-image-unpinned", id="D50"),
    ],
)
def test_a_known_mistake_of_a_format_is_found_at_its_line(spec: Spec, rule: str) -> None:
    found = of_rule(report(spec.text, path=spec.path), rule)
    assert [finding.location.line for finding in found] == [marked_line(spec.text)]


def test_a_tab_that_breaks_the_quota_of_the_fast_network_is_found() -> None:
    """D38: the line of the first tab, or the one before it where the parser gives up."""
    found = of_rule(report(TAB.text), "invalid-syntax")
    tab = next(number for number, line in enumerate(TAB.text.splitlines(), 1) if line.startswith("\t"))
    assert [abs(finding.location.line - tab) <= 1 for finding in found] == [True]


# ---- what a naive rule would complain of

DISABLED = Spec(
    """
servingEngineSpec:
  modelSpec:
    - name: sample
      enabled: false
      repository: vllm/vllm-openai
      tag: v0.11.0
      modelURL: Qwen/Qwen2.5-72B-Instruct
      requestGPU: 0.5
      requestGPUType: nvidia.com/mig-1g.10gb
      vllmConfig: {tensorParallelSize: 2, gpuMemoryUtilization: 0.98}
""",
    "values.yaml",
)
RAY_SHM = Spec("""
apiVersion: ray.io/v1
kind: RayService
metadata: {name: coder}
spec:
  serveConfigV2: |
    applications:
      - name: llm
        route_prefix: /
        import_path: ray.serve.llm:build_openai_app
        args:
          llm_configs:
            - model_loading_config: {model_id: coder, model_source: Qwen/Qwen2.5-32B-Instruct}
              engine_kwargs: {tensor_parallel_size: 4, max_model_len: 8192}
  rayClusterConfig:
    headGroupSpec:
      rayStartParams: {}
      template:
        spec:
          containers: [{name: ray-head, image: "rayproject/ray-llm:2.49.0-py311-cu128"}]
    workerGroupSpecs:
      - groupName: gpu
        replicas: 1
        rayStartParams: {}
        template:
          spec:
            nodeSelector: {cloud.google.com/gke-accelerator: nvidia-h100-80gb}
            containers:
              - name: ray-worker
                image: rayproject/ray-llm:2.49.0-py311-cu128
                resources: {limits: {nvidia.com/gpu: 4}}
""")
NIM_SHM = Spec("""
apiVersion: apps.nvidia.com/v1alpha1
kind: NIMService
metadata: {name: coder}
spec:
  image: {repository: nvcr.io/nim/meta/llama-3.1-70b-instruct, tag: "1.8.4"}
  authSecret: ngc-api-secret
  storage: {pvc: {name: models}}
  replicas: 1
  env: [{name: NIM_TENSOR_PARALLEL_SIZE, value: "4"}]
  resources: {limits: {nvidia.com/gpu: 4}}
  nodeSelector: {nvidia.com/gpu.product: NVIDIA-H100-80GB-HBM3}
  expose: {service: {type: ClusterIP, port: 8000}}
""")
BUCKET = Spec("""
apiVersion: apps/v1
kind: Deployment
metadata: {name: chat}
spec:
  template:
    metadata: {annotations: {gke-gcsfuse/volumes: "true"}}
    spec:
      nodeSelector: {cloud.google.com/gke-accelerator: nvidia-l4}
      containers:
        - name: engine
          image: vllm/vllm-openai:v0.11.0
          args: [--model=Qwen/Qwen2.5-7B-Instruct, --max-model-len=4096]
          resources: {limits: {nvidia.com/gpu: 1}}
      volumes:
        - {name: gke-gcsfuse-cache, emptyDir: {medium: Memory}}
""")
COUNTED_AT_START = Spec(
    """
model_name: Coder
base_image: {image: "vllm/vllm-openai:v0.11.0"}
docker_server:
  start_command: sh -c "N=$(nvidia-smi -L | wc -l); vllm serve Qwen/Qwen2.5-32B-Instruct -tp $N --max-model-len 8192"
  server_port: 8000
resources: {accelerator: "H100:2", use_gpu: true}
""",
    "config.yaml",
)
DSTACK = Spec(
    """
type: service
name: coder
image: vllm/vllm-openai:v0.11.0
commands:
  - vllm serve Qwen/Qwen2.5-32B-Instruct --tensor-parallel-size $DSTACK_GPUS_NUM --max-model-len 8192
port: 8000
resources: {gpu: "H100:4", shm_size: 16GB}
""",
    "service.dstack.yml",
)
SKYPILOT = Spec(
    """
resources: {accelerators: "H100:4", image_id: "docker:vllm/vllm-openai:v0.11.0"}
run: |
  vllm serve Qwen/Qwen2.5-32B-Instruct --tensor-parallel-size $SKYPILOT_NUM_GPUS_PER_NODE --max-model-len 8192
""",
    "serve.sky.yaml",
)
CLAIMED = Spec("""
apiVersion: resource.k8s.io/v1
kind: ResourceClaimTemplate
metadata: {name: two-gpus}
spec:
  spec:
    devices:
      requests: [{name: gpus, exactly: {deviceClassName: gpu.nvidia.com, count: 2}}]
---
apiVersion: v1
kind: Pod
metadata: {name: coder}
spec:
  resourceClaims: [{name: gpus, resourceClaimTemplateName: two-gpus}]
  containers:
    - name: engine
      image: vllm/vllm-openai:v0.11.0
      args: [--model=Qwen/Qwen2.5-7B-Instruct, --max-model-len=4096, --tensor-parallel-size=2]
      env: [{name: CUDA_VISIBLE_DEVICES, value: "0,1"}]
      resources: {claims: [{name: gpus}], limits: {memory: 64Gi}}
      volumeMounts: [{name: shm, mountPath: /dev/shm}]
  volumes: [{name: shm, emptyDir: {medium: Memory}}]
""")
LAUNCHER = Spec("""
apiVersion: kubeflow.org/v2beta1
kind: MPIJob
metadata: {name: all-reduce}
spec:
  slotsPerWorker: 8
  mpiReplicaSpecs:
    Launcher:
      replicas: 1
      template:
        spec:
          containers:
            - name: mpi
              image: ghcr.io/example/nccl-tests:2.28
              command: [mpirun, -np, "16", -bind-to, none, /opt/nccl_tests/build/all_reduce_perf, -b, 512M, -e, 8G, -g, "1"]
              resources: {limits: {cpu: 2, memory: 1Gi}}
    Worker:
      replicas: 2
      template:
        spec:
          nodeSelector: {cloud.google.com/gke-accelerator: nvidia-h100-80gb}
          containers:
            - name: mpi
              image: ghcr.io/example/nccl-tests:2.28
              resources: {limits: {nvidia.com/gpu: 8, rdma/ib: 1}}
              volumeMounts: [{name: shm, mountPath: /dev/shm}]
          volumes: [{name: shm, emptyDir: {medium: Memory}}]
""")
PATCH = Spec("""
apiVersion: apps/v1
kind: Deployment
metadata: {name: chat}
spec:
  template:
    spec:
      containers:
        - name: engine
          args: [--model=Qwen/Qwen2.5-32B-Instruct-AWQ, --tensor-parallel-size=2]
          env: [{name: CUDA_VISIBLE_DEVICES, value: "0"}]
""")
TIMES_HUNDRED = Spec("""
apiVersion: keda.sh/v1alpha1
kind: ScaledObject
metadata: {name: chat}
spec:
  scaleTargetRef: {name: chat-vllm}
  minReplicaCount: 1
  maxReplicaCount: 3
  triggers:
    - type: prometheus
      metadata:
        serverAddress: http://prometheus.monitoring.svc:9090
        query: avg(vllm:gpu_cache_usage_perc{service="chat-vllm"}) * 100
        threshold: "40"
""")
ON_CPU = Spec("""
apiVersion: serving.kserve.io/v1alpha1
kind: LLMInferenceService
metadata: {name: tiny}
spec:
  model: {uri: "hf://facebook/opt-125m", name: facebook/opt-125m}
  replicas: 1
  template:
    containers:
      - name: main
        image: quay.io/example/vllm-cpu:v0.11.0
        securityContext: {privileged: true}
        resources: {limits: {cpu: 4, memory: 16Gi}}
        livenessProbe: {httpGet: {path: /health, port: 8000}, periodSeconds: 5, failureThreshold: 1}
""")
KUBEAI_ON_CPU = Spec("""
apiVersion: kubeai.org/v1
kind: Model
metadata: {name: tiny}
spec:
  features: [TextGeneration]
  url: ollama://qwen2.5:0.5b
  engine: OLlama
  resourceProfile: cpu:1
""")
OLD_COMMENT = Spec(
    """
# Coder on two GPUs, tensor parallel 2
model_name: Coder
base_image: {image: "vllm/vllm-openai:v0.11.0"}
docker_server:
  start_command: sh -c "vllm serve Qwen/Qwen2.5-7B-Instruct --tensor-parallel-size 1 --max-model-len 8192"
  server_port: 8000
resources: {accelerator: H100, use_gpu: true}
""",
    "config.yaml",
)


def loud(spec: Spec) -> dict[str, Severity]:
    """The rules that say more than a note of a spec, with everything read."""
    said = report(spec.text, path=spec.path)
    assert said.failures == ()
    return {name: severity for name, severity in severities(said).items() if severity > Severity.NOTE}


@pytest.mark.parametrize(
    "spec",
    [
        pytest.param(DISABLED, id="D14: an entry that is switched off contradicts itself"),
        pytest.param(RAY_SHM, id="N04: KubeRay mounts /dev/shm"),
        pytest.param(NIM_SHM, id="N04: the NIM operator mounts /dev/shm"),
        pytest.param(BUCKET, id="N05: the injected sidecar takes the volume in memory"),
        pytest.param(COUNTED_AT_START, id="N07: as many ranks as nvidia-smi counts"),
        pytest.param(DSTACK, id="N08: as many ranks as dstack gives GPUs"),
        pytest.param(SKYPILOT, id="N08: as many ranks as SkyPilot gives GPUs"),
        pytest.param(CLAIMED, id="N09: devices are claimed, no resource asked for"),
        pytest.param(LAUNCHER, id="N10: the launcher has no GPU, and starts sixteen ranks"),
        pytest.param(PATCH, id="N12: a kustomize patch has no resources of its own"),
        pytest.param(TIMES_HUNDRED, id="N14: a ratio times a hundred against 40"),
        pytest.param(ON_CPU, id="N15: an engine on CPUs"),
        pytest.param(KUBEAI_ON_CPU, id="N15: a profile of CPUs"),
        pytest.param(OLD_COMMENT, id="D49: the comment is older than the command"),
    ],
)
def test_a_look_alike_of_a_format_stays_silent(spec: Spec) -> None:
    assert loud(spec) == {}


@pytest.mark.parametrize(
    ("spec", "engine"),
    [
        pytest.param(RAY_SHM, "vllm", id="KubeRay"),
        pytest.param(NIM_SHM, "nim", id="NIM"),
        pytest.param(BUCKET, "vllm", id="gcsfuse"),
        pytest.param(COUNTED_AT_START, "vllm", id="nvidia-smi"),
        pytest.param(DSTACK, "vllm", id="dstack"),
        pytest.param(SKYPILOT, "vllm", id="SkyPilot"),
        pytest.param(CLAIMED, "vllm", id="DRA"),
        pytest.param(OLD_COMMENT, "vllm", id="comment"),
    ],
)
def test_a_look_alike_is_silent_because_it_was_understood(spec: Spec, engine: str) -> None:
    assert engine in [role.engine for role in roles(report(spec.text, path=spec.path))]
