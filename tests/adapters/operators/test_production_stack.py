"""VLLMRuntime: the fields become the deployment that the production stack's operator makes."""

from __future__ import annotations

import pytest
import reading

from gpulint.workload import Unknown

RUNTIME = """
apiVersion: production-stack.vllm.ai/v1alpha1
kind: VLLMRuntime
metadata: {name: chat}
spec:
  model:
    modelURL: meta-llama/Llama-3.1-8B-Instruct
    enableLoRA: true
    maxModelLen: 4096
    dtype: bfloat16
    maxNumSeqs: 32
  vllmConfig:
    enablePrefixCaching: true
    tensorParallelSize: 2
    gpuMemoryUtilization: "0.8"
    maxLoras: 4
    extraArgs: [--max-lora-rank, "32"]
  lmCacheConfig:
    enabled: true
    cpuOffloadingBufferSize: "15"
  deploymentConfig:
    resources: {cpu: "5", memory: 32Gi, gpu: "2"}
    image: {registry: docker.io, name: "vllm/vllm-openai:v0.10.1"}
    replicas: 3
"""


def test_fields_become_arguments_at_their_places() -> None:
    """production-stack 0.1.12 operator/internal/controller/vllmruntime_controller.go, deploymentForVLLMRuntime."""
    found = reading.workload(RUNTIME)
    assert (found.name, found.kind, found.adapter) == ("chat", "inference", "production_stack")
    (role,) = found.roles
    names = (
        "engine",
        "engine_version",
        "checkpoint",
        "max_model_len",
        "weight_dtype",
        "max_num_seqs",
        "tensor_parallel",
    )
    assert reading.values(role, *names) == [
        *("vllm", "0.10.1", "meta-llama/Llama-3.1-8B-Instruct", 4096, "bfloat16", 32, 2),
    ]
    assert reading.values(role, "gpu_memory_utilization", "enable_lora", "max_loras", "max_lora_rank") == [
        0.8,
        True,
        4,
        32,
    ]
    assert reading.values(role, "enable_prefix_caching", "enable_chunked_prefill") == [True, False]
    assert [reading.source(role, name) for name in ("tensor_parallel", "gpu_memory_utilization")] == ["2", '"0.8"']


def test_gpus_memory_and_replicas() -> None:
    role = reading.role(RUNTIME)
    names = ("gpus_per_pod", "pods_per_replica", "gpus_per_replica", "replicas", "host_memory_bytes", "host_kv_bytes")
    assert reading.values(role, *names) == [2, 1, 2, 3, 32 * 2**30, 15 * 2**30]
    assert len(role.fields["gpus_per_pod"].origins) == 1


@pytest.mark.parametrize(("name", "resource"), [("nvidia.com/mig-3g.40gb", "3g.40gb"), ("amd.com/gpu", None)])
def test_a_named_gpu_resource(name: str, resource: str | None) -> None:
    role = reading.role(RUNTIME.replace('gpu: "2"', f'gpu: "2", gpuType: {name}'))
    assert reading.values(role, "accelerator_resource", "mig_profile", "gpus_per_pod") == [name, resource, 2]


def test_node_selector_terms_name_the_accelerator() -> None:
    terms = "[{matchExpressions: [{key: nvidia.com/gpu.product, operator: In, values: [NVIDIA-L40S]}]}]"
    text = RUNTIME.replace("    replicas: 3\n", f"    replicas: 3\n    nodeSelectorTerms: {terms}\n")
    assert reading.values(reading.role(text), "accelerator") == ["l40s"]


@pytest.mark.parametrize(("lines", "default"), [("", True), ("    shmSize: 24Gi\n", False)])
def test_shared_memory_is_mounted_where_a_size_is_stated(lines: str, default: bool) -> None:
    text = RUNTIME.replace("    replicas: 3\n", f"    replicas: 3\n{lines}")
    assert reading.values(reading.role(text), "shared_memory_default") == [default]


def test_zero_and_empty_fields_are_no_arguments() -> None:
    text = RUNTIME.replace("tensorParallelSize: 2", "tensorParallelSize: 0").replace("dtype: bfloat16", 'dtype: ""')
    text = text.replace("maxModelLen: 4096", "maxModelLen: 0").replace("enableLoRA: true", "enableLoRA: false")
    role = reading.role(text)
    assert reading.values(role, "tensor_parallel", "weight_dtype", "max_model_len", "enable_lora") == [None] * 4


@pytest.mark.parametrize("empty", ["", "~", "null"])
def test_fields_without_a_value_are_no_arguments(empty: str) -> None:
    found = reading.role(RUNTIME.replace("tensorParallelSize: 2", f"tensorParallelSize: {empty}"))
    assert found.value("tensor_parallel") is None


def test_without_lmcache_nothing_is_kept_in_host_memory() -> None:
    role = reading.role(RUNTIME.replace("enabled: true", "enabled: false"))
    assert reading.values(role, "host_kv_bytes") == [None]


@pytest.mark.parametrize(
    ("scaling", "replicas"),
    [
        ("{enabled: true, maxReplicas: 4}", Unknown("an autoscaler decides", "another object")),
        ("{enabled: false, maxReplicas: 4}", 3),
        ("{enabled: true, minReplicas: 3, maxReplicas: 3}", 3),
    ],
)
def test_an_autoscaler_moves_the_replicas(scaling: str, replicas: object) -> None:
    assert reading.role(f"{RUNTIME}  autoscalingConfig: {scaling}\n").value("replicas") == replicas


def test_the_earlier_layout_states_the_same_without_groups() -> None:
    """production-stack #479 of June 2025 put them into groups."""
    text = """
    apiVersion: production-stack.vllm.ai/v1alpha1
    kind: VLLMRuntime
    metadata: {name: chat}
    spec:
      tensorParallelSize: 2
      extraArgs: [--max-num-seqs, "64"]
      model: {modelURL: Qwen/Qwen3-8B}
      image: {registry: docker.io, name: "lmcache/vllm-openai:2025-05-05-v1"}
      resources: {gpu: "2"}
      replicas: 2
    """
    role = reading.role(text)
    assert reading.values(role, "tensor_parallel", "max_num_seqs", "gpus_per_pod", "replicas", "checkpoint") == [
        *(2, 64, 2, 2, "Qwen/Qwen3-8B"),
    ]


@pytest.mark.parametrize(
    "text",
    [
        pytest.param(RUNTIME.replace("production-stack.vllm.ai", "example.com"), id="another group"),
        pytest.param(RUNTIME.replace("kind: VLLMRuntime", "kind: VLLMRouter"), id="another kind"),
    ],
)
def test_other_objects_are_not_its(text: str) -> None:
    assert [found.adapter for found in reading.workloads(text) if found.adapter == "production_stack"] == []


def test_gpus_that_are_not_asked_for_may_come_with_the_runtime_class() -> None:
    role = reading.role(RUNTIME.replace(', gpu: "2"', ""))
    assert role.value("gpus_per_pod") == Unknown("the runtime class may give GPUs", "operator preset")


def test_a_pod_template_of_its_own_may_mount_shared_memory() -> None:
    template = "  podTemplate: {spec: {containers: []}}\n  deploymentConfig:"
    (role,) = reading.workload(RUNTIME.replace("  deploymentConfig:", template)).roles
    assert role.value("shared_memory_default") is False
