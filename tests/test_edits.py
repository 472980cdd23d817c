"""Edits carried out on the text: the file read again states the new value; what is not plainly stated is not written."""

from __future__ import annotations

from collections.abc import Mapping

import pytest
import samples

from gpulint import adapters
from gpulint.report.model import Suggestion
from gpulint.source import documents
from gpulint.suggestions import changed_role, edits
from gpulint.suggestions.edits import apply
from gpulint.workload import Role, Unknown, Value

POD = """\
apiVersion: apps/v1
kind: Deployment
metadata: {{name: chat}}
spec:
  replicas: 2
  template:
    spec:
{placed}
      containers:
        - name: server
          image: vllm/vllm-openai:v0.10.1
          args:
            - --model=meta-llama/Llama-3.1-8B-Instruct
            - --max-model-len
            - "8192"
            - --tensor-parallel-size=2
{further}
          resources:
            limits:
              nvidia.com/gpu: "{gpus}"
            requests:
              nvidia.com/gpu: {gpus}
"""


def pod(placed: str = "", further: str = "", gpus: object = 2) -> str:
    selector = f"      nodeSelector:\n        {placed}" if placed else ""
    return POD.format(placed=selector, further=further, gpus=gpus)


def roles(path: str, text: str, files: Mapping[str, str] | None = None) -> list[Role]:
    held = {name: content.encode() for name, content in {**(files or {}), path: text}.items()}
    found = []
    for document in documents.load(path, text.encode()).documents:
        adapter = adapters.find_adapter(document)
        for workload in adapters.workloads(adapter, document, samples.ExampleRepository(held)) if adapter else ():
            found += workload.roles
    return found


def role(path: str, text: str) -> Role:
    return next(one for one in roles(path, text) if one.value("gpus_per_pod") is not None)


def carried_out(path: str, text: str, values: Mapping[str, Value]) -> str | None:
    written = edits.write_values(role(path, text), values)
    return None if written is None else apply.apply_edits(Suggestion("", written), {path: text.encode()})[path].decode()


SKYPILOT = """\
resources:
  accelerators: {asked}
num_nodes: 2
run: |
  torchrun --nnodes=2 --nproc_per_node=8 train.py
"""
DSTACK = """\
type: service
name: chat
image: vllm/vllm-openai:v0.10.1
commands:
  - vllm serve meta-llama/Llama-3.1-8B-Instruct --max-model-len 8192
port: 8000
resources:
  gpu: {asked}
"""
TRUSS = """\
model_name: Llama 3.1 8B
resources:
  accelerator: {asked}
  use_gpu: true
"""
KUBEAI = """\
apiVersion: kubeai.org/v1
kind: Model
metadata: {{name: chat}}
spec:
  features: [TextGeneration]
  url: hf://meta-llama/Llama-3.1-8B-Instruct
  engine: VLLM
  resourceProfile: {asked}
  minReplicas: 1
  maxReplicas: 1
"""
SLURM = """\
#!/bin/bash
#SBATCH --nodes=2
#SBATCH {asked}
srun torchrun --nnodes=2 --nproc_per_node=4 train.py
"""
FILES = {
    "pod.yaml": pod,
    "sky.yaml": lambda asked: SKYPILOT.format(asked=asked),
    "chat.dstack.yml": lambda asked: DSTACK.format(asked=asked),
    "config.yaml": lambda asked: TRUSS.format(asked=asked),
    "model.yaml": lambda asked: KUBEAI.format(asked=asked),
    "job.sh": lambda asked: SLURM.format(asked=asked),
}
GKE = "cloud.google.com/gke-accelerator: {}"
NFD = "nvidia.com/gpu.product: {}"
AWS = "node.kubernetes.io/instance-type: {}"

STATED: tuple[tuple[str, str, Mapping[str, Value], str], ...] = (
    ("pod.yaml", GKE.format("nvidia-l4"), {"accelerator": "h100-sxm-80gb"}, GKE.format("nvidia-h100-80gb")),
    ("pod.yaml", NFD.format("NVIDIA-L4-SHARED"), {"accelerator": "t4"}, NFD.format("Tesla-T4-SHARED")),
    (
        "pod.yaml",
        NFD.format("NVIDIA-A100-SXM4-80GB-MIG-3g.40gb"),
        {"accelerator": "h100-sxm-80gb"},
        NFD.format("NVIDIA-H100-80GB-HBM3-MIG-3g.40gb"),
    ),
    (
        "pod.yaml",
        NFD.format("NVIDIA-A100-SXM4-80GB-MIG-3g.40gb"),
        {"mig_profile": "1g.10gb"},
        NFD.format("NVIDIA-A100-SXM4-80GB-MIG-1g.10gb"),
    ),
    ("pod.yaml", AWS.format("g5.12xlarge"), {"accelerator": "l4"}, AWS.format("g6.12xlarge")),
    ("pod.yaml", AWS.format("g5.12xlarge"), {"instance_type": "g5.48xlarge"}, AWS.format("g5.48xlarge")),
    ("sky.yaml", "H100:8", {"accelerator": "h200-sxm-141gb"}, "H200:8"),
    ("sky.yaml", "H100:8", {"gpus_per_pod": 4}, "H100:4"),
    ("sky.yaml", "H100", {"gpus_per_pod": 4}, "H100:4"),
    ("sky.yaml", "H100", {"gpus_per_pod": 4, "accelerator": "l4"}, "L4:4"),
    ("sky.yaml", "{H100: 8}", {"accelerator": "a100-sxm4-80gb", "gpus_per_pod": 4}, "{A100-80GB: 4}"),
    ("sky.yaml", '["L4:8"]', {"accelerator": "t4"}, '["T4:8"]'),
    ("sky.yaml", '["H100:8"]', {"accelerator": "b200-sxm-180gb"}, '["B200:8"]'),
    ("chat.dstack.yml", "H100", {"accelerator": "a100-sxm4-80gb"}, "A100:80GB"),
    ("chat.dstack.yml", "H100:2", {"accelerator": "a100-sxm4-80gb", "gpus_per_pod": 4}, "A100:80GB:4"),
    ("chat.dstack.yml", "H100", {"gpus_per_pod": 2}, "H100:2"),
    ("config.yaml", "H100", {"accelerator": "l4"}, "L4"),
    ("config.yaml", "H100:2", {"accelerator": "a100-sxm4-80gb", "gpus_per_pod": 4}, "A100:4"),
    ("config.yaml", "L4", {"gpus_per_pod": 2}, "L4:2"),
    ("model.yaml", "nvidia-gpu-l4:2", {"accelerator": "h100-sxm-80gb", "gpus_per_pod": 1}, "nvidia-gpu-h100:1"),
    ("job.sh", "--gres=gpu:a100:4", {"gpus_per_pod": 2}, "--gres=gpu:a100:2"),
    ("job.sh", "--gres=gpu:4", {"gpus_per_pod": 8}, "--gres=gpu:8"),
    ("job.sh", "--gpus-per-node=h100:4", {"accelerator": "l40s"}, "--gpus-per-node=l40s:4"),
    ("job.sh", "--gpus-per-node=4", {"gpus_per_pod": 8}, "--gpus-per-node=8"),
)


@pytest.mark.parametrize(("path", "asked", "values", "expected"), STATED)
def test_another_value_stands_where_the_present_one_is_stated_and_is_read_again(
    path: str, asked: str, values: Mapping[str, Value], expected: str
) -> None:
    text = FILES[path](asked)
    after = carried_out(path, text, values)
    assert after == text.replace(asked, expected)
    again = role(path, after)
    assert {name: again.value(name) for name in values} == values


SEVERAL = {
    "gpus": (pod(gpus=2), {"gpus_per_pod": 4}, pod(gpus=4)),
    "ranks": (pod(), {"tensor_parallel": 1}, pod().replace("size=2", "size=1")),
    "length": (pod(), {"max_model_len": 4096}, pod().replace("8192", "4096")),
    "replicas": (pod(), {"replicas": 3}, pod().replace("replicas: 2", "replicas: 3")),
    "visible devices": (
        pod(further='          env: [{name: CUDA_VISIBLE_DEVICES, value: "0,1"}]'),
        {"gpus_per_pod": 1},
        pod(further='          env: [{name: CUDA_VISIBLE_DEVICES, value: "0"}]', gpus=1),
    ),
    "Autopilot's nodes": (
        pod(f'{GKE.format("nvidia-l4")}\n        cloud.google.com/gke-accelerator-count: "2"'),
        {"gpus_per_pod": 4},
        pod(f'{GKE.format("nvidia-l4")}\n        cloud.google.com/gke-accelerator-count: "4"', gpus=4),
    ),
    "a slice instead of a card": (
        pod(NFD.format("NVIDIA-A100-SXM4-80GB"), gpus=1),
        {"mig_profile": "1g.10gb"},
        pod(NFD.format("NVIDIA-A100-SXM4-80GB"), gpus=1).replace("nvidia.com/gpu:", "nvidia.com/mig-1g.10gb:"),
    ),
}


@pytest.mark.parametrize("name", SEVERAL)
def test_every_place_that_states_a_quantity_changes_with_it(name: str) -> None:
    text, values, expected = SEVERAL[name]
    assert carried_out("pod.yaml", text, values) == expected
    again = role("pod.yaml", expected)
    assert {quantity: again.value(quantity) for quantity in values} == values


COMPOSE = """\
services:
  chat:
    image: vllm/vllm-openai:v0.10.1
    command: [--model, meta-llama/Llama-3.1-8B-Instruct]
    deploy: {{resources: {{reservations: {{devices: [{{driver: nvidia, {asked}, capabilities: [gpu]}}]}}}}}}
"""


def test_a_count_of_a_service_is_stated_anew() -> None:
    text = COMPOSE.format(asked="count: 1")
    after = carried_out("compose.yaml", text, {"gpus_per_pod": 2, "tensor_parallel": 2})
    assert after is not None
    assert COMPOSE.format(asked="count: 2").replace("Instruct]", "Instruct, --tensor-parallel-size=2]") == after
    assert role("compose.yaml", after).value("gpus_per_pod") == 2


def test_a_slice_on_gke_is_a_further_label_of_the_node() -> None:
    text = pod(GKE.format("nvidia-tesla-a100"), gpus=1)
    (edit,) = edits.write_values(role("pod.yaml", text), {"mig_profile": "1g.5gb"}) or ()
    assert (edit.new, edit.how) == ("cloud.google.com/gke-gpu-partition-size: 1g.5gb", "key")
    again = role(
        "pod.yaml", apply.apply_edits(Suggestion("", (edit,)), {"pod.yaml": text.encode()})["pod.yaml"].decode()
    )
    assert again.value("mig_profile") == "1g.5gb"
    assert again.value("accelerator_resource") == "nvidia.com/gpu"


RAY = """\
apiVersion: ray.io/v1
kind: RayCluster
metadata: {{name: ray}}
spec:
  headGroupSpec:
    rayStartParams: {{}}
    template: {{spec: {{containers: [{{name: head, image: "rayproject/ray:2.40.0"}}]}}}}
  workerGroupSpecs:
    - groupName: gpus
      replicas: {replicas}
      minReplicas: {least}
      maxReplicas: {most}
      rayStartParams: {{}}
      template:
        spec:
          containers:
            - name: worker
              image: rayproject/ray:2.40.0-gpu
              resources: {{limits: {{nvidia.com/gpu: 1}}}}
"""


@pytest.mark.parametrize(
    ("before", "after"),
    [((2, 2, 2), (3, 2, 3)), ((2, 1, 4), (3, 1, 4)), ((2, 0, 2), (3, 0, 3))],
)
def test_bounds_that_a_number_of_pods_would_leave_move_with_it(
    before: tuple[int, int, int], after: tuple[int, int, int]
) -> None:
    names = ("replicas", "least", "most")
    text, expected = (RAY.format(**dict(zip(names, numbers, strict=True))) for numbers in (before, after))
    assert carried_out("ray.yaml", text, {"pods_per_replica": 3}) == expected
    assert role("ray.yaml", expected).value("pods_per_replica") == 3


def test_the_bounds_of_a_model_that_does_not_scale_move_together() -> None:
    text = KUBEAI.format(asked="nvidia-gpu-l4:1")
    after = carried_out("model.yaml", text, {"replicas": 2})
    assert after == text.replace("Replicas: 1", "Replicas: 2")
    assert role("model.yaml", after).value("replicas") == 2


FURTHER: Mapping[str, tuple[str, str, Mapping[str, Value], tuple[tuple[str, str], ...]]] = {
    "KServe": (
        "isvc.yaml",
        """\
apiVersion: serving.kserve.io/v1beta1
kind: InferenceService
metadata:
  name: chat
  annotations: {serving.kserve.io/gke-accelerator: nvidia-l4}
spec:
  predictor:
    minReplicas: 1
    maxReplicas: 1
    model:
      modelFormat: {name: huggingface}
      args: [--model_id=meta-llama/Llama-3.1-8B-Instruct, --tensor-parallel-size=2]
      resources: {limits: {nvidia.com/gpu: 2}, requests: {nvidia.com/gpu: 2}}
""",
        {"accelerator": "h100-sxm-80gb", "gpus_per_pod": 1, "tensor_parallel": 1},
        (("nvidia-l4", "nvidia-h100-80gb"), ("nvidia.com/gpu: 2", "nvidia.com/gpu: 1"), ("size=2", "size=1")),
    ),
    "LeaderWorkerSet": (
        "lws.yaml",
        """\
apiVersion: leaderworkerset.x-k8s.io/v1
kind: LeaderWorkerSet
metadata: {name: wide}
spec:
  replicas: 1
  leaderWorkerTemplate:
    size: 2
    workerTemplate:
      spec:
        containers:
          - name: server
            image: vllm/vllm-openai:v0.10.1
            args: [--model, meta-llama/Llama-3.1-405B-Instruct, --tensor-parallel-size, "16"]
            resources: {limits: {nvidia.com/gpu: "8"}}
""",
        {"tensor_parallel": 8, "pipeline_parallel": 2, "replicas": 2},
        (('"16"', '"8", "--pipeline-parallel-size=2"'), ("replicas: 1", "replicas: 2")),
    ),
    "a NIM's environment": (
        "nim.yaml",
        """\
apiVersion: apps.nvidia.com/v1alpha1
kind: NIMService
metadata: {name: chat}
spec:
  image: {repository: nvcr.io/nim/meta/llama-3.1-70b-instruct, tag: 1.8.4}
  replicas: 1
  env:
    - name: NIM_TENSOR_PARALLEL_SIZE
      value: "4"
    - name: NIM_MAX_MODEL_LEN
      value: "8192"
  resources: {limits: {nvidia.com/gpu: 4}}
""",
        {"tensor_parallel": 2, "gpus_per_pod": 2, "max_model_len": 4096, "replicas": 2},
        (
            ('"4"', '"2"'),
            ('"8192"', '"4096"'),
            ("nvidia.com/gpu: 4", "nvidia.com/gpu: 2"),
            ("replicas: 1", "replicas: 2"),
        ),
    ),
    "the chart of production-stack": (
        "values.yaml",
        """\
servingEngineSpec:
  modelSpec:
    - name: chat
      repository: vllm/vllm-openai
      tag: v0.10.1
      modelURL: meta-llama/Llama-3.1-8B-Instruct
      replicaCount: 2
      requestCPU: 6
      requestMemory: 16Gi
      requestGPU: 4  # one node
      vllmConfig:
        tensorParallelSize: 4
        maxModelLen: 8192
""",
        {"tensor_parallel": 2, "gpus_per_pod": 2, "max_model_len": 4096, "replicas": 3},
        (
            ("requestGPU: 4", "requestGPU: 2"),
            ("Size: 4", "Size: 2"),
            ("Len: 8192", "Len: 4096"),
            ("replicaCount: 2", "replicaCount: 3"),
        ),
    ),
    "a variable of the container": (
        "job.yaml",
        """\
apiVersion: batch/v1
kind: Job
metadata: {name: chat}
spec:
  template:
    spec:
      containers:
        - name: server
          image: vllm/vllm-openai:v0.10.1
          env: [{name: RANKS, value: '4'}]
          args: [--model=meta-llama/Llama-3.1-8B-Instruct, "--tensor-parallel-size=$(RANKS)"]
          resources: {limits: {nvidia.com/gpu: 4}}
""",
        {"tensor_parallel": 2, "gpus_per_pod": 2},
        (("'4'", "'2'"), ("gpu: 4", "gpu: 2")),
    ),
    "Ray Serve": (
        "serve.yaml",
        """\
apiVersion: ray.io/v1
kind: RayService
metadata: {name: chat}
spec:
  serveConfigV2: |
    applications:
      - name: llms
        import_path: ray.serve.llm:build_openai_app
        args:
          llm_configs:
            - model_loading_config: {model_id: chat, model_source: Qwen/Qwen2.5-7B-Instruct}
              accelerator_type: A10G
              engine_kwargs: {tensor_parallel_size: 4, max_model_len: 8192}
              deployment_config: {num_replicas: 1}
  rayClusterConfig:
    headGroupSpec:
      rayStartParams: {}
      template: {spec: {containers: [{name: head, image: "rayproject/ray-llm:2.49.0"}]}}
    workerGroupSpecs:
      - groupName: gpus
        replicas: 1
        rayStartParams: {}
        template:
          spec:
            containers:
              - name: worker
                image: rayproject/ray-llm:2.49.0
                resources: {limits: {nvidia.com/gpu: 4}}
""",
        {"accelerator": "l4", "tensor_parallel": 2, "replicas": 2, "max_model_len": 4096},
        (("A10G", "L4"), ("size: 4", "size: 2"), ("num_replicas: 1", "num_replicas: 2"), ("8192", "4096")),
    ),
    "DeepSpeed's configuration": (
        "ds_config.json",
        """\
{
  "train_micro_batch_size_per_gpu": 8,
  "gradient_accumulation_steps": 1,
  "zero_optimization": {"stage": 2}
}
""",
        {"micro_batch_size": 4, "gradient_accumulation_steps": 2, "zero_stage": 3},
        (('gpu": 8', 'gpu": 4'), ('steps": 1', 'steps": 2'), ('stage": 2', 'stage": 3')),
    ),
    "a switch in the words of its key": (
        "qlora.yaml",
        """\
base_model: meta-llama/Llama-3.2-3B
datasets: [{path: data.jsonl, type: alpaca}]
micro_batch_size: 8
gradient_checkpointing: false
sequence_len: 2048
adapter: lora
""",
        {"activation_checkpointing": "full", "micro_batch_size": 4},
        (("checkpointing: false", "checkpointing: true"), ("batch_size: 8", "batch_size: 4")),
    ),
}


def engine_of(path: str, text: str) -> Role:
    found = roles(path, text)
    return next((one for one in found if one.text("engine")), found[0])


@pytest.mark.parametrize("name", FURTHER)
def test_formats_state_their_values_anew(name: str) -> None:
    path, text, values, pairs = FURTHER[name]
    expected = text
    for old, new in pairs:
        assert old in text
        expected = expected.replace(old, new)
    before = engine_of(path, text)
    written = edits.write_values(before, values)
    assert written is not None
    after = apply.apply_edits(Suggestion("", written), {path: text.encode()})[path].decode()
    assert after == expected
    again = engine_of(path, after)
    assert {quantity: again.value(quantity) for quantity in values} == values


BESIDE_ANCHORS = """\
apiVersion: apps/v1
kind: Deployment
metadata: {name: chat}
spec:
  template:
    spec:
      nodeSelector: &nodes
        node.kubernetes.io/instance-type: p5.48xlarge
      containers:
        - name: server
          image: vllm/vllm-openai:v0.10.1
          command:
            - sh
            - -c
            - >-
              vllm serve meta-llama/Llama-3.1-70B-Instruct
              --tensor-parallel-size 8 --max-model-len 8192
          resources: &whole
            limits: {nvidia.com/gpu: 8}
        - name: second
          image: busybox
          resources: *whole
---
other: *nodes
"""


def test_an_anchor_beside_a_place_does_not_hold_it() -> None:
    after = carried_out("pod.yaml", BESIDE_ANCHORS, {"tensor_parallel": 4})
    assert after == BESIDE_ANCHORS.replace("size 8", "size 4")
    assert edits.write_values(role("pod.yaml", BESIDE_ANCHORS), {"gpus_per_pod": 4}) is None


LEFT: Mapping[str, tuple[str, str, Mapping[str, Value]]] = {
    "an alias": (
        "pod.yaml",
        pod().replace('"2"', "&count 2").replace("nvidia.com/gpu: 2", "nvidia.com/gpu: *count"),
        {"gpus_per_pod": 4},
    ),
    "an anchor that is used again": (
        "pod.yaml",
        "x: &n 2\n" + pod().replace("replicas: 2", "replicas: *n"),
        {"replicas": 3},
    ),
    "a variable that nobody states": (
        "sky.yaml",
        SKYPILOT.format(asked="H100:8").replace("num_nodes: 2", "num_nodes: ${NODES}"),
        {"pods_per_replica": 4},
    ),
    "a card that the platform has no name for": ("config.yaml", TRUSS.format(asked="H100"), {"accelerator": "a40"}),
    "a card of another maker": ("model.yaml", KUBEAI.format(asked="nvidia-gpu-l4:1"), {"accelerator": "a30"}),
    "a range of counts": ("chat.dstack.yml", DSTACK.format(asked="H100:1..2"), {"gpus_per_pod": 2}),
    "a size beside the name": ("chat.dstack.yml", DSTACK.format(asked="H100:80GB:2"), {"accelerator": "l4"}),
    "several cards": ("sky.yaml", SKYPILOT.format(asked="{H100: 8, A100: 4}"), {"gpus_per_pod": 4}),
    "a label that describes the card": (
        "pod.yaml",
        pod(f"{NFD.format('NVIDIA-L4')}\n        nvidia.com/gpu.memory: '23034'"),
        {"accelerator": "t4"},
    ),
    "devices that are not the first": (
        "pod.yaml",
        pod(further='          env: [{name: CUDA_VISIBLE_DEVICES, value: "2,3"}]'),
        {"gpus_per_pod": 1},
    ),
    "a slice of a card that has none": (
        "pod.yaml",
        pod(NFD.format("NVIDIA-L4"), gpus=1),
        {"mig_profile": "1g.10gb"},
    ),
    "a slice on GKE beside a label that several cards satisfy": (
        "pod.yaml",
        pod(GKE.format("nvidia-tesla-t4"), gpus=1),
        {"mig_profile": "1g.5gb"},
    ),
    "devices in a list of their own": (
        "compose.yaml",
        COMPOSE.format(asked='device_ids: ["0"]'),
        {"gpus_per_pod": 2},
    ),
    "a name of the cluster's own": ("pod.yaml", pod("gpu.nvidia.com/class: H100"), {"accelerator": "h200-sxm-141gb"}),
    "a slice that the card does not have": (
        "pod.yaml",
        pod(NFD.format("NVIDIA-A100-SXM4-80GB"), gpus=1),
        {"mig_profile": "1g.5gb"},
    ),
    "a bound that would be left": (
        "ray.yaml",
        RAY.format(replicas=2, least=0, most=3),
        {"pods_per_replica": 4},
    ),
    "a number that another count is made of": (
        "job.sh",
        SLURM.format(asked="--gpus=8").replace("torchrun", "python"),
        {"pods_per_replica": 4},
    ),
    "a number format of another engine": (
        "compose.yaml",
        """\
services:
  chat:
    image: ghcr.io/ggml-org/llama.cpp:server-cuda
    command: [-m, /models/a.gguf, --cache-type-k, q8_0, --cache-type-v, q8_0]
    deploy: {resources: {reservations: {devices: [{driver: nvidia, count: 1, capabilities: [gpu]}]}}}
""",
        {"kv_cache_dtype": "fp8"},
    ),
    "a machine that is too small": ("pod.yaml", pod(AWS.format("g5.12xlarge")), {"instance_type": "g5.xlarge"}),
    "a machine with another card": ("pod.yaml", pod(AWS.format("g5.12xlarge")), {"instance_type": "g6.12xlarge"}),
}


@pytest.mark.parametrize("name", LEFT)
def test_what_is_not_plainly_stated_is_not_written(name: str) -> None:
    path, text, values = LEFT[name]
    assert edits.write_values(role(path, text), values) is None


@pytest.mark.parametrize(("path", "asked", "values", "expected"), STATED)
def test_what_was_judged_is_what_the_file_says_afterwards(
    path: str, asked: str, values: Mapping[str, Value], expected: str
) -> None:
    judged = changed_role.apply(role(path, FILES[path](asked)), values)
    again = role(path, FILES[path](expected))
    for name, field in judged.fields.items():
        if not isinstance(field.value, Unknown) and name in again.fields:
            assert again.value(name) == field.value, name


# ---- training runs


RUN = """\
apiVersion: v1
kind: ConfigMap
metadata: {name: settings}
data:
  zero.json: |
    {"bf16": {"enabled": true}, "zero_optimization": {"stage": 1, "offload_optimizer": {"device": "cpu"}}}
---
apiVersion: batch/v1
kind: Job
metadata: {name: sft}
spec:
  template:
    spec:
      containers:
        - name: trainer
          image: registry.example/train:v1
          command: [torchrun, --nproc_per_node=8, trl/scripts/sft.py]
          args:
            - --model_name_or_path=meta-llama/Llama-3.1-8B
            - --dataset_name=data
            - --deepspeed=/config/zero.json
            - --gradient_checkpointing=false
          resources: {limits: {nvidia.com/gpu: 8}}
          volumeMounts: [{name: config, mountPath: /config}]
      volumes: [{name: config, configMap: {name: settings}}]
"""


@pytest.mark.parametrize(
    ("values", "old", "new"),
    [
        ({"zero_stage": 2}, '"stage": 1', '"stage": 2'),
        ({"optimizer_offload": False}, '"device": "cpu"', '"device": "none"'),
        ({"activation_checkpointing": "full"}, "gradient_checkpointing=false", "gradient_checkpointing=true"),
    ],
)
def test_what_a_named_file_or_an_argument_says_changes_where_it_stands(
    values: Mapping[str, Value], old: str, new: str
) -> None:
    assert carried_out("run.yaml", RUN, values) == RUN.replace(old, new)


def test_fsdp_is_asked_for_with_its_wrapping_and_in_quotes_where_a_shell_reads_it() -> None:
    """huggingface/transformers 5.23.0 training_args.py: without auto_wrap the network is one unit."""
    listed = RUN.replace("            - --deepspeed=/config/zero.json\n", "")
    written = carried_out("run.yaml", listed, {"sharding": "fsdp"})
    assert written is not None and "- --fsdp=full_shard auto_wrap\n" in written
    script = "#!/bin/bash\n#SBATCH --gpus-per-node=8\ntorchrun --nproc_per_node=8 trl/scripts/sft.py --model_name_or_path=a/b\n"
    written = carried_out("run.sbatch", script, {"sharding": "fsdp"})
    assert written is not None and '--fsdp="full_shard auto_wrap"' in written
