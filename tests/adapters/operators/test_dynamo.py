"""Dynamo: the components of a graph are pods that the operator makes, with the engine behind each worker."""

from __future__ import annotations

import textwrap

import pytest
import reading

from gpulint.workload import Role, Unknown

COUNTS = ("gpus_per_pod", "pods_per_replica", "gpus_per_replica", "replicas")


def graph(services: str, kind: str = "DynamoGraphDeployment", further: str = "") -> str:
    head = f"apiVersion: nvidia.com/v1alpha1\nkind: {kind}\nmetadata: {{name: chat}}\nspec:\n{further}"
    return f"{head}  services:\n{textwrap.indent(textwrap.dedent(services).strip(chr(10)), '    ')}\n"


FRONTEND = """
Frontend:
  componentType: frontend
  replicas: 1
  extraPodSpec: {mainContainer: {image: "nvcr.io/nvidia/ai-dynamo/vllm-runtime:0.6.1"}}
"""
WORKER = """
decode:
  componentType: worker
  subComponentType: decode
  replicas: 2
  multinode: {nodeCount: 2}
  resources:
    limits:
      gpu: "8"
      memory: 200Gi
      custom: {rdma/ib: "8"}
  extraPodSpec:
    nodeSelector: {nvidia.com/gpu.product: NVIDIA-H100-80GB-HBM3}
    mainContainer:
      image: nvcr.io/nvidia/ai-dynamo/vllm-runtime:0.6.1
      command: [python3, -m, dynamo.vllm]
      args: [--model, Qwen/Qwen3-32B, --connector, nixl, --tensor-parallel-size, "16", --max-model-len=16384]
"""


def worker(module: str, *arguments: str, image: str = "example.com/runtime:1") -> Role:
    listed = ", ".join(arguments)
    return reading.role(
        graph(
            f"""
            Worker:
              resources: {{limits: {{gpu: "2"}}}}
              extraPodSpec:
                mainContainer:
                  image: {image}
                  command: [python3, -m, {module}]
                  args: [{listed}]
            """
        )
    )


def test_a_worker_over_several_nodes() -> None:
    """dynamo deploy/operator/api/v1alpha1/common.go: `gpu` is nvidia.com/gpu of each node."""
    found = reading.workload(graph(FRONTEND + WORKER))
    assert (found.name, found.kind, found.adapter) == ("chat", "inference", "dynamo")
    (role,) = found.roles
    assert role.name == "decode"
    assert reading.values(role, *COUNTS) == [8, 2, 16, 2]
    assert reading.values(role, "engine", "checkpoint", "tensor_parallel", "max_model_len", "accelerator") == [
        *("vllm", "Qwen/Qwen3-32B", 16, 16384),
        "h100-sxm-80gb",
    ]
    assert reading.values(role, "rdma_devices", "accelerator_resource") == [8, "nvidia.com/gpu"]
    assert reading.source(role, "gpus_per_pod") == '"8"'


@pytest.mark.parametrize(
    ("lines", "default"),
    [
        ("", False),
        ("sharedMemory: {size: 80Gi}", False),
        ("sharedMemory: {disabled: true}", True),
    ],
)
def test_the_operator_mounts_shared_memory_unless_it_is_switched_off(lines: str, default: bool) -> None:
    """dynamo deploy/operator/internal/consts: 8Gi by default."""
    text = WORKER.replace("  replicas: 2\n", f"  replicas: 2\n  {lines}\n")
    assert reading.values(reading.role(graph(text)), "shared_memory_default") == [default]


def test_another_gpu_resource() -> None:
    role = reading.role(graph(WORKER.replace('gpu: "8"', "gpu: 4\n      gpuType: amd.com/gpu")))
    assert reading.values(role, "accelerator_resource", "gpus_per_pod") == ["amd.com/gpu", 4]


@pytest.mark.parametrize(
    ("module", "arguments", "engine", "checkpoint", "ranks"),
    [
        ("dynamo.vllm", ("--model=Qwen/Qwen3-8B", "-tp", "'2'"), "vllm", "Qwen/Qwen3-8B", 2),
        ("dynamo.sglang", ("--model-path", "Qwen/Qwen3-8B", "--tp", "'2'"), "sglang", "Qwen/Qwen3-8B", 2),
        ("dynamo.sglang.worker", ("--model-path=Qwen/Qwen3-8B", "--tp=2"), "sglang", "Qwen/Qwen3-8B", 2),
        (
            "dynamo.trtllm",
            ("--model-path", "Qwen/Qwen3-8B", "--tensor-parallel-size", "'2'"),
            *("tensorrt-llm", "Qwen/Qwen3-8B", 2),
        ),
    ],
)
def test_a_worker_takes_its_engines_arguments(
    module: str, arguments: tuple[str, ...], engine: str, checkpoint: str, ranks: int
) -> None:
    role = worker(module, *arguments)
    assert reading.values(role, "engine", "checkpoint", "tensor_parallel") == [engine, checkpoint, ranks]


@pytest.mark.parametrize(
    "arguments",
    [
        ("--model", "Qwen/Qwen3-8B", "--endpoint", "dyn://a.b.c", "--is-prefill-worker"),
        ("--model", "Qwen/Qwen3-8B", "--namespace", "vllm", "--dyn-tool-call-parser", "hermes"),
        ("--model", "Qwen/Qwen3-8B", "--migration-limit=3"),
    ],
)
def test_arguments_of_the_wrapper_are_not_the_engines(arguments: tuple[str, ...]) -> None:
    role = worker("dynamo.vllm", *arguments, image="vllm/vllm-openai:v0.10.1")
    assert reading.values(role, "checkpoint") == ["Qwen/Qwen3-8B"]
    assert not [name for name in role.fields if name.endswith("_argument")]


@pytest.mark.parametrize("module", ["dynamo.frontend", "dynamo.planner", "dynamo.mocker", "dynamo.router"])
def test_what_serves_no_model_is_no_engine(module: str) -> None:
    assert worker(module, "--http-port=8000").text("engine") == ""


def test_components_without_gpus_are_no_roles() -> None:
    assert reading.workloads(graph(FRONTEND)) == []


def test_variables_of_the_graph_reach_every_component() -> None:
    shared = "  envs: [{name: MODEL, value: Qwen/Qwen3-8B}]\n"
    text = graph(WORKER.replace("--model, Qwen/Qwen3-32B", "--model, $(MODEL)"), further=shared)
    assert reading.values(reading.role(text), "checkpoint") == ["Qwen/Qwen3-8B"]


def test_a_scaling_adapter_moves_the_replicas() -> None:
    adapter = WORKER.replace("  replicas: 2\n", "  replicas: 2\n  scalingAdapter: {enabled: true}\n")
    assert reading.role(graph(adapter)).value("replicas") == Unknown("an autoscaler decides", "another object")
    off = adapter.replace("true", "false")
    assert reading.role(graph(off)).value("replicas") == 2


NEWER = """
apiVersion: nvidia.com/v1beta1
kind: DynamoGraphDeployment
metadata: {name: chat}
spec:
  components:
    - name: Frontend
      type: frontend
      podTemplate: {spec: {containers: [{name: main, image: "example.com/runtime:1"}]}}
    - name: Worker
      type: worker
      replicas: 3
      multinode: {}
      podTemplate:
        spec:
          containers:
            - name: main
              image: example.com/runtime:1
              command: [python3, -m, dynamo.sglang]
              args: [--model-path, Qwen/Qwen3-8B, --tp, "4"]
              resources: {limits: {nvidia.com/gpu: 2}}
"""


def test_a_later_version_lists_components_with_pod_templates() -> None:
    """dynamo deploy/operator/api/v1beta1/dynamocomponentdeployment_types.go; two nodes by default."""
    role = reading.role(NEWER)
    assert role.name == "Worker"
    assert reading.values(role, *COUNTS, "engine", "shared_memory_default") == [2, 2, 4, 3, "sglang", False]
    off = NEWER.replace("multinode: {}", 'sharedMemorySize: "0"')
    assert reading.values(reading.role(off), "pods_per_replica", "shared_memory_default") == [1, True]


def test_one_component_alone() -> None:
    text = """
    apiVersion: nvidia.com/v1alpha1
    kind: DynamoComponentDeployment
    metadata: {name: worker}
    spec:
      serviceName: Decode
      resources: {limits: {gpu: 1}}
      modelRef: {name: Qwen/Qwen3-8B}
      extraPodSpec: {mainContainer: {image: "example.com/runtime:1"}}
    """
    role = reading.role(text)
    assert (role.name, *reading.values(role, "gpus_per_pod", "checkpoint")) == ("Decode", 1, "Qwen/Qwen3-8B")


@pytest.mark.parametrize(
    "text",
    [
        pytest.param(graph("Worker: {}", kind="DynamoGraphDeploymentRequest"), id="a request"),
        pytest.param(graph("Worker:"), id="an empty service"),
        pytest.param(graph("Worker: 3"), id="a service that is none"),
        pytest.param(graph("Worker: {extraPodSpec: [1], resources: 2}"), id="parts of the wrong kind"),
    ],
)
def test_what_states_nothing_is_no_workload(text: str) -> None:
    assert reading.workloads(text) == []


SETTINGS = """
apiVersion: v1
kind: ConfigMap
metadata: {name: settings}
data:
  prefill.yaml: |
    tensor_parallel_size: 4
    max_batch_size: 16
---
"""


def test_a_file_of_options_from_a_config_map_counts_more_than_the_command() -> None:
    service = """
    prefill:
      resources: {limits: {gpu: "4"}}
      extraPodSpec:
        volumes: [{name: held, configMap: {name: settings}}]
        mainContainer:
          image: example.com/runtime:1
          volumeMounts: [{name: held, mountPath: /config}]
          command: [python3, -m, dynamo.trtllm]
          args: [--model-path, Qwen/Qwen3-8B, --tensor-parallel-size, "2", --extra-engine-args, /config/prefill.yaml]
    """
    (found,) = [one for one in reading.workloads(SETTINGS + graph(service)) if one.adapter == "dynamo"]
    assert reading.values(found.roles[0], "tensor_parallel", "max_num_seqs") == [4, 16]
    (apart,) = reading.workloads(graph(service))
    assert apart.roles[0].open_ended
