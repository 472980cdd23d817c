"""NIM: which images serve a language model, what their variables and profiles state, and the operator's objects."""

from __future__ import annotations

import textwrap

import pytest
import reading
import samples

from gpulint.engines.serving import nim
from gpulint.facts import checkpoints, resolver
from gpulint.facts.model import Missing
from gpulint.workload import Role, Unknown

GPU = "resources: {limits: {nvidia.com/gpu: 8}}"
IMAGES = {
    "meta/llama-3.1-8b-instruct": {"checkpoint": "meta-llama/Llama-3.1-8B-Instruct"},
    "deepseek-ai/deepseek-r1": {"checkpoint": "deepseek-ai/DeepSeek-R1"},
    "nvidia/llama-3.2-nv-embedqa-1b-v2": {"checkpoint": "nvidia/llama-3.2-nv-embedqa-1b-v2"},
}


@pytest.fixture(autouse=True)
def _images(monkeypatch: pytest.MonkeyPatch) -> None:
    """Three images, whatever the catalog lists."""
    monkeypatch.setattr(nim, "_images", lambda: IMAGES)


def _expected(of: Role, name: str) -> object:
    found = resolver.resolve(of, checkpoints.resolve(of, "spec.yaml", samples.ExampleRepository(), None)).expected(name)
    return sorted(found.names) if isinstance(found, Missing) else found


def nim_role(variables: str = "", image: str = "nvcr.io/nim/meta/llama-3.1-8b-instruct:1.8.4") -> Role:
    lines = "".join(
        f"  - {{name: {name}, value: {value!r}}}\n"
        for name, _, value in (one.partition("=") for one in variables.split())
    )
    return reading.started(f"image: {image}\n{GPU}\nenv:\n{lines or '  []'}")


# ---- which images are


@pytest.mark.parametrize(
    ("image", "checkpoint"),
    [
        ("nvcr.io/nim/meta/llama-3.1-8b-instruct:1.8.4", "meta-llama/Llama-3.1-8B-Instruct"),
        (
            "registry.example.com:5000/mirror/nim/meta/llama-3.1-8b-instruct@sha256:00",
            "meta-llama/Llama-3.1-8B-Instruct",
        ),
        ("nvcr.io/nim/deepseek-ai/deepseek-r1:1.7.3", "deepseek-ai/DeepSeek-R1"),
        (
            "nvcr.io/nim/acme/foo-30b-chat:1.12.0",
            "unknown: the catalog does not list the model of acme/foo-30b-chat",
        ),
        ("nvcr.io/nim/nvidia/llm-nim:1.14", None),
    ],
)
def test_the_image_is_the_model(image: str, checkpoint: str | None) -> None:
    assert reading.values(nim_role(image=image), "engine", "checkpoint") == ["nim", checkpoint]


@pytest.mark.parametrize(
    "image",
    [
        "nvcr.io/nim/nvidia/llama-3.2-nv-embedqa-1b-v2:1.3.1",
        "nvcr.io/nim/nvidia/llama-3.2-nv-rerankqa-1b-v2:1.3.1",
        "nvcr.io/nim/nvidia/parakeet-1-1b-ctc-en-us:1.0.0",
        "nvcr.io/nim/nvidia/nemoretriever-page-elements-v2:1.2.0",
        "nvcr.io/nvidia/tritonserver:24.12-py3",
        "example.com/nim-router:1",
    ],
)
def test_an_image_that_serves_no_language_model_decides_what_runs(image: str) -> None:
    role = nim_role(image=image)
    assert reading.values(role, "checkpoint") == [None]
    assert role.value("program") == Unknown("the image decides what runs", "image default")


def test_another_program_in_the_image_is_no_server() -> None:
    lines = f"image: nvcr.io/nim/meta/llama-3.1-8b-instruct:1.8.4\ncommand: [list-model-profiles]\n{GPU}"
    assert reading.values(reading.started(lines), "engine") == [None]


@pytest.mark.parametrize(
    ("tag", "release"),
    [("1.8.4", "1.8.4"), ("1.14", "1.14"), ("latest", None), ("1.0.0-variant", None), ("1.8.4-20250801", None)],
)
def test_the_tag_is_the_release_unless_a_model_numbers_its_own(tag: str, release: str | None) -> None:
    found = nim_role(image=f"nvcr.io/nim/meta/llama-3.1-8b-instruct:{tag}")
    assert reading.values(found, "engine_version") == [release]


def test_the_catalog_lists_images_by_organisation_and_name(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.undo()
    assert nim._images()["deepseek-ai/deepseek-r1"]["checkpoint"] == "deepseek-ai/DeepSeek-R1"


# ---- variables


@pytest.mark.parametrize(
    ("variables", "quantity", "value"),
    [
        ("NIM_TENSOR_PARALLEL_SIZE=2", "tensor_parallel", 2),
        ("NIM_PIPELINE_PARALLEL_SIZE=2", "pipeline_parallel", 2),
        ("NIM_MAX_MODEL_LEN=32768", "max_model_len", 32768),
        ("NIM_MODEL_NAME=hf://google/gemma-3-27b-it", "checkpoint", "hf://google/gemma-3-27b-it"),
        ("NIM_PEFT_SOURCE=/loras", "enable_lora", True),
        ("NIM_MAX_GPU_LORAS=8", "max_loras", 8),
        ("NIM_MAX_LORA_RANK=32", "max_lora_rank", 32),
        ("NIM_TENSOR_PARALLEL_SIZE=many", "tensor_parallel", "unknown: many is not a number"),
        ("NIM_SERVED_MODEL_NAME=chat", "checkpoint", "meta-llama/Llama-3.1-8B-Instruct"),
        ("NIM_MODEL_PROFILE=vllm-fp8-tp2", "tensor_parallel", 2),
        ("NIM_MODEL_PROFILE=vllm-fp8-tp2", "quantization", "fp8"),
        ("NIM_MODEL_PROFILE=tensorrt_llm-h100-bf16-tp4-pp2-latency", "pipeline_parallel", 2),
        ("NIM_MODEL_PROFILE=tensorrt_llm-h100-bf16-tp4-pp2-latency", "quantization", "bf16"),
        ("NIM_MODEL_PROFILE=07cd4f2bddd7a14ca84bab0a32602889fd0ae0eb", "tensor_parallel", None),
        ("NIM_KVCACHE_PERCENT=0.8", "gpu_memory_utilization", None),
        ("NIM_MODEL_PROFILE=vllm-bf16-tp1-pp1 NIM_KVCACHE_PERCENT=0.8", "gpu_memory_utilization", 0.8),
        ("NIM_MODEL_PROFILE=tensorrt_llm-l40s-fp8-tp1 NIM_KVCACHE_PERCENT=0.8", "kv_cache_free_fraction", 0.8),
        (
            "NIM_MODEL_PROFILE=vllm-fp8-tp2 NIM_TENSOR_PARALLEL_SIZE=4",
            "tensor_parallel",
            "unknown: the profile and the variable conflict",
        ),
        ("NIM_NUM_COMPUTE_NODES=2", "multi_node", True),
    ],
)
def test_a_variable_states_a_quantity(variables: str, quantity: str, value: object) -> None:
    assert reading.values(nim_role(variables), quantity) == [value]


def test_a_variable_is_found_at_its_value() -> None:
    found = nim_role("NIM_TENSOR_PARALLEL_SIZE=2")
    assert reading.source(found, "tensor_parallel") == "'2'"


def test_arguments_for_the_backend_count_more_than_variables_and_have_their_own_place() -> None:
    lines = (
        f"image: nvcr.io/nim/meta/llama-3.1-8b-instruct:2.0.6\n{GPU}\nenv:\n"
        "  - {name: NIM_TENSOR_PARALLEL_SIZE, value: '2'}\n"
        "  - {name: NIM_PASSTHROUGH_ARGS, value: --tensor-parallel-size 4 --enable-lora}\n"
    )
    found = reading.started(lines)
    assert reading.values(found, "tensor_parallel") == [4]
    assert reading.source(found, "tensor_parallel") == "4"


def test_arguments_of_another_backend_leave_the_rest_open() -> None:
    lines = (
        f"image: nvcr.io/nim/meta/llama-3.1-8b-instruct:2.0.6\n{GPU}\nenv:\n"
        "  - {name: NIM_PASSTHROUGH_ARGS, value: --tp-size 4}\n"
    )
    assert reading.started(lines).open_ended == "some arguments are of another backend"


def test_variables_of_another_object_may_state_the_rest() -> None:
    lines = f"image: nvcr.io/nim/meta/llama-3.1-8b-instruct:1.8.4\n{GPU}\nenvFrom: [{{configMapRef: {{name: more}}}}]"
    assert reading.started(lines).open_ended == "envFrom may state further settings"


def test_the_server_takes_arguments_of_its_own() -> None:
    lines = (
        f"image: nvcr.io/nim/meta/llama-3.1-8b-instruct:2.0.6\n{GPU}\nargs: [nim-serve, --tensor-parallel-size, '4']"
    )
    found = reading.started(lines)
    assert reading.values(found, "engine", "tensor_parallel") == ["nim", 4]


# ---- what follows from them


def test_half_of_eight_gpus_are_idle_when_only_four_ranks_are_asked_for() -> None:
    assert _expected(nim_role("NIM_TENSOR_PARALLEL_SIZE=4"), "spare_gpus") == 4


def test_without_a_size_the_profile_decides_at_the_start() -> None:
    assert _expected(nim_role(), "spare_gpus") == ["tensor_parallel"]


@pytest.mark.parametrize(
    ("variables", "image", "format_"),
    [
        ("NIM_MODEL_PROFILE=vllm-bf16-tp1", "nvcr.io/nim/meta/llama-3.1-8b-instruct:1.8.4", "bfloat16"),
        ("", "nvcr.io/nim/deepseek-ai/deepseek-r1:1.7.3", "fp8-block"),
        ("", "nvcr.io/nim/meta/llama-3.1-8b-instruct:1.8.4", ["weight_format"]),
        ("NIM_MODEL_PROFILE=vllm-int4_awq-tp1", "nvcr.io/nim/meta/llama-3.1-8b-instruct:1.8.4", ["weight_format"]),
    ],
)
def test_the_precision_is_known_from_a_profile_or_a_checkpoint_that_has_just_one(
    variables: str, image: str, format_: object
) -> None:
    assert _expected(nim_role(variables, image), "weight_format") == format_


def test_the_weights_of_llama_8b_in_16_bits_are_what_the_support_matrix_says_they_take() -> None:
    """15.04 to 15.05 on disk in FP16: docs.nvidia.com/nim/large-language-models/latest/support-matrix.html."""
    found = _expected(nim_role("NIM_MODEL_PROFILE=vllm-bf16-tp1"), "weight_bytes")
    assert isinstance(found, float)
    assert found / 2**30 == pytest.approx(15.0, abs=0.1)


# ---- the operator's objects

SERVICE = """
apiVersion: apps.nvidia.com/v1alpha1
kind: NIMService
metadata: {name: chat}
spec:
  image: {repository: nvcr.io/nim/meta/llama-3.1-8b-instruct, tag: "1.8.4"}
  nodeSelector: {nvidia.com/gpu.product: NVIDIA-H100-80GB-HBM3}
  storage:
    pvc: {create: true, size: 50Gi}
  replicas: 2
  resources: {limits: {nvidia.com/gpu: 4, memory: 64Gi}}
  env:
    - {name: NIM_TENSOR_PARALLEL_SIZE, value: "2"}
"""


def test_a_service_is_a_container_of_its_image() -> None:
    found = reading.workload(SERVICE)
    assert (found.name, found.kind, found.adapter) == ("chat", "inference", "nim")
    (role,) = found.roles
    assert reading.values(
        role, "engine", "engine_version", "checkpoint", "accelerator", "gpus_per_replica", "replicas"
    ) == [
        "nim",
        "1.8.4",
        "meta-llama/Llama-3.1-8B-Instruct",
        "h100-sxm-80gb",
        4,
        2,
    ]
    assert reading.values(
        role, "tensor_parallel", "shared_memory_default", "host_memory_bytes", "model_volume_bytes"
    ) == [
        2,
        False,
        64 * 2**30,
        50 * 2**30,
    ]
    assert reading.source(role, "engine_version") == '"1.8.4"'
    assert _expected(role, "spare_gpus") == 2


def test_several_nodes_hold_a_pipeline_stage_each() -> None:
    text = SERVICE.replace("  replicas: 2\n", "  replicas: 1\n  multiNode: {parallelism: {tensor: 4, pipeline: 2}}\n")
    role = reading.role(text.replace('  env:\n    - {name: NIM_TENSOR_PARALLEL_SIZE, value: "2"}\n', ""))
    assert reading.values(role, "tensor_parallel", "pipeline_parallel", "pods_per_replica", "gpus_per_replica") == [
        4,
        2,
        2,
        8,
    ]
    assert reading.source(role, "tensor_parallel") == "4"
    assert _expected(role, "spare_gpus") == 0


def test_a_variable_counts_more_than_the_field_the_operator_makes_one_of() -> None:
    text = SERVICE.replace("  replicas: 2\n", "  multiNode: {parallelism: {tensor: 4, pipeline: 2}}\n")
    assert reading.values(reading.role(text), "tensor_parallel", "pipeline_parallel") == [2, 2]


def test_the_profile_of_the_cache_selects_it() -> None:
    text = SERVICE.replace("pvc: {create: true, size: 50Gi}", "nimCache: {name: weights, profile: vllm-fp8-tp4}")
    role = reading.role(text.replace('  env:\n    - {name: NIM_TENSOR_PARALLEL_SIZE, value: "2"}\n', ""))
    assert reading.values(role, "tensor_parallel", "quantization", "model_volume_bytes") == [4, "fp8", None]


def test_an_image_for_any_model_has_it_from_the_cache() -> None:
    text = SERVICE.replace("pvc: {create: true, size: 50Gi}", "nimCache: {name: weights}")
    role = reading.role(text.replace("meta/llama-3.1-8b-instruct", "nvidia/llm-nim"))
    assert reading.values(role, "checkpoint") == ["unknown: the NIMCache weights decides the model"]


@pytest.mark.parametrize(
    ("old", "new", "reason"),
    [
        (
            "resources: {limits: {nvidia.com/gpu: 4, memory: 64Gi}}",
            "draResources: [{}]",
            "GPUs come from a resource claim",
        ),
        ("nvidia.com/gpu: 4, ", "", "the operator requests the GPUs of the profile"),
    ],
)
def test_gpus_that_the_service_does_not_count_are_unknown(old: str, new: str, reason: str) -> None:
    role = reading.role(SERVICE.replace(old, new))
    assert reading.values(role, "gpus_per_pod") == [f"unknown: {reason}"]


def test_a_pipeline_has_a_role_for_each_service_that_is_on() -> None:
    image = "{repository: nvcr.io/nim/meta/llama-3.1-8b-instruct, tag: 1.8.4}"
    one = f"spec: {{image: {image}, resources: {{limits: {{nvidia.com/gpu: 1}}}}}}"
    text = f"""
    apiVersion: apps.nvidia.com/v1alpha1
    kind: NIMPipeline
    metadata: {{name: rag}}
    spec:
      services:
        - {{name: chat, enabled: true, {one}}}
        - {{name: spare, enabled: false, {one}}}
    """
    assert [role.name for role in reading.workload(text).roles] == ["chat"]


def _cache(source: str, size: str = "100Gi") -> str:
    return f"""
    apiVersion: apps.nvidia.com/v1alpha1
    kind: NIMCache
    metadata: {{name: weights}}
    spec:
      source: {{{source}}}
      storage: {{pvc: {{create: true, size: {size}}}}}
    """


def test_a_cache_of_100_gib_is_smaller_than_the_weights_of_deepseek_r1() -> None:
    """The published FP8 weights are 671 billion parameters, about 689 GB (huggingface.co/deepseek-ai/DeepSeek-R1)."""
    found = reading.workload(_cache("ngc: {modelPuller: nvcr.io/nim/deepseek-ai/deepseek-r1:1.7.3}"))
    (role,) = found.roles
    assert found.kind == "unknown"
    assert reading.values(role, "checkpoint", "model_volume_bytes") == ["deepseek-ai/DeepSeek-R1", 100 * 2**30]
    assert reading.source(role, "model_volume_bytes") == "100Gi"
    weights = _expected(role, "weight_bytes")
    assert isinstance(weights, float)
    assert weights == pytest.approx(689e9, rel=0.03)


def test_a_cache_of_one_precision_says_so() -> None:
    source = "ngc: {modelPuller: nvcr.io/nim/meta/llama-3.1-8b-instruct:1.3.3, model: {precision: fp16}}"
    assert _expected(reading.role(_cache(source)), "weight_format") == "float16"


def test_a_cache_of_hugging_face_names_its_checkpoint() -> None:
    found = reading.role(
        _cache("hf: {namespace: google, modelName: gemma-3-27b-it, modelPuller: nvcr.io/nim/nvidia/llm-nim:1.12}")
    )
    assert reading.values(found, "checkpoint") == ["google/gemma-3-27b-it"]


def test_a_cache_of_an_unknown_model_says_nothing() -> None:
    assert reading.workloads(_cache("ngc: {modelPuller: nvcr.io/nim/nvidia/nv-embedqa-e5-v5:1.0.0}")) == []


# ---- claims, caches and scaling


def service(lines: str) -> str:
    head = "apiVersion: apps.nvidia.com/v1alpha1\nkind: NIMService\nmetadata: {name: chat}\nspec:\n"
    image = "  image: {repository: nvcr.io/nim/meta/llama-3.1-8b-instruct, tag: 1.8.4}\n"
    return head + image + textwrap.indent(textwrap.dedent(lines).strip("\n"), "  ") + "\n"


@pytest.mark.parametrize(
    ("devices", "gpus"),
    [
        ("[{name: gpu}]", 1),
        ("[{name: gpu, count: 2, deviceClassName: gpu.nvidia.com}]", 2),
        ("[{name: first}, {name: second, count: 3}]", 4),
        ("[{name: nic, deviceClassName: nic.example.com}]", "unknown: the claim decides the devices"),
    ],
)
def test_claims_that_the_operator_makes_ask_for_so_many_devices(devices: str, gpus: object) -> None:
    """k8s-nim-operator v3.1.2 api/apps/v1alpha1/dra_types.go: count 1 and class gpu.nvidia.com by default."""
    role = reading.role(service(f"draResources: [{{claimCreationSpec: {{devices: {devices}}}}}]"))
    assert reading.values(role, "gpus_per_pod", "gpus_per_replica")[0] == gpus


def test_the_selectors_of_a_claim_decide_the_card() -> None:
    devices = '[{name: gpu, celExpressions: [\'device.attributes["gpu.nvidia.com"].productName == "x"\']}]'
    role = reading.role(service(f"draResources: [{{claimCreationSpec: {{devices: {devices}}}}}]"))
    assert role.value("accelerator") == Unknown(
        "the accelerator depends on the selectors of the claim", "another object"
    )


def test_a_claim_template_of_the_same_file_tells_the_gpus() -> None:
    template = """
    apiVersion: resource.k8s.io/v1
    kind: ResourceClaimTemplate
    metadata: {name: two}
    spec: {spec: {devices: {requests: [{name: gpu, exactly: {deviceClassName: gpu.nvidia.com, count: 2}}]}}}
    ---
    """
    text = textwrap.dedent(template) + service("draResources: [{resourceClaimTemplateName: two}]")
    (found,) = [one for one in reading.workloads(text) if one.adapter == "nim"]
    assert reading.values(found.roles[0], "gpus_per_pod") == [2]


@pytest.mark.parametrize(
    ("lines", "category"),
    [("draResources: [{resourceClaimTemplateName: elsewhere}]", "another object"), ("replicas: 1", "operator preset")],
)
def test_gpus_that_the_file_does_not_count_are_explained(lines: str, category: str) -> None:
    value = reading.role(service(lines)).value("gpus_per_pod")
    assert isinstance(value, Unknown)
    assert value.category == category


def test_a_cache_of_the_same_file_names_the_model_of_an_image_for_any() -> None:
    text = """
    apiVersion: apps.nvidia.com/v1alpha1
    kind: NIMCache
    metadata: {name: held}
    spec:
      source: {hf: {namespace: Qwen, modelName: Qwen3-8B}}
      storage: {pvc: {name: claim}}
    ---
    apiVersion: apps.nvidia.com/v1alpha1
    kind: NIMService
    metadata: {name: chat}
    spec:
      image: {repository: nvcr.io/nim/nvidia/llm-nim, tag: "1.12"}
      storage: {nimCache: {name: held}}
      resources: {limits: {nvidia.com/gpu: 1}}
    """
    (found,) = [one for one in reading.workloads(text) if one.name == "chat"]
    role = found.roles[0]
    assert reading.values(role, "checkpoint") == ["Qwen/Qwen3-8B"]
    assert [reading.source(role, "checkpoint", nth) for nth in (0, 1)] == ["held", "Qwen3-8B"]


@pytest.mark.parametrize(
    ("metrics", "metric"),
    [
        ("[{type: Resource, resource: {name: cpu}}]", "cpu"),
        ("[{type: Resource, resource: {name: memory}}]", "memory"),
        ("[{type: Object, object: {metric: {name: gpu_cache_usage_perc}}}]", None),
        ("[{type: Resource, resource: {name: cpu}}, {type: Pods, pods: {metric: {name: waiting}}}]", None),
    ],
)
def test_what_alone_scales_a_service(metrics: str, metric: str | None) -> None:
    scale = f"scale: {{enabled: true, hpa: {{minReplicas: 2, maxReplicas: 3, metrics: {metrics}}}}}"
    role = reading.role(service(f"{scale}\nresources: {{limits: {{nvidia.com/gpu: 1}}}}"))
    assert reading.values(role, "autoscaler_metric", "replicas_least", "replicas") == [
        metric,
        2,
        "unknown: an autoscaler decides",
    ]


@pytest.mark.parametrize(
    ("env", "resource", "variable"),
    [
        ("NCCL_NET", "rdma/shared_device_a", "NCCL_NET"),
        ("NCCL_DEBUG", "rdma/shared_device_a", None),
        ("NCCL_NET", "example.com/disk", None),
    ],
)
def test_a_variable_that_keeps_nccl_off_the_rdma_devices(env: str, resource: str, variable: str | None) -> None:
    lines = f"env: [{{name: {env}, value: Socket}}]\nresources: {{limits: {{nvidia.com/gpu: 8, {resource}: 1}}}}"
    assert reading.values(reading.role(service(lines)), "rdma_switched_off") == [variable]
