"""KServe: predictors on their serving runtimes, and the decode and prefill workloads of LLM services."""

from __future__ import annotations

import textwrap

import pytest
import reading
from samples import ExampleRepository

from gpulint import adapters
from gpulint.source import documents
from gpulint.workload import Role, Unknown, Workload

COUNTS = ("gpus_per_pod", "pods_per_replica", "gpus_per_replica", "replicas")


def workloads(text: str, **files: str) -> list[Workload]:
    """The workloads of a spec beside other files."""
    others = {f"{name}.yaml": textwrap.dedent(content).lstrip("\n").encode() for name, content in files.items()}
    loaded = documents.load("spec.yaml", textwrap.dedent(text).lstrip("\n").encode())
    return [found for document in loaded.documents for found in adapters.read(document, ExampleRepository(others))]


def role(text: str, **files: str) -> Role:
    (found,) = workloads(text, **files)
    (only,) = found.roles
    return only


def predictor(lines: str, group: str = "serving.kserve.io/v1beta1") -> str:
    head = f"apiVersion: {group}\nkind: InferenceService\nmetadata: {{name: chat}}\nspec:\n  predictor:\n"
    return head + textwrap.indent(textwrap.dedent(lines).strip("\n"), "    ") + "\n"


# ---- predictors


@pytest.mark.parametrize("group", ["serving.kserve.io/v1beta1", "serving.kubeflow.org/v1beta1"])
def test_a_predictor_of_its_own_containers_is_a_pod(group: str) -> None:
    lines = """
    minReplicas: 2
    containers:
      - name: kserve-container
        image: vllm/vllm-openai:v0.10.1
        args: [--model=Qwen/Qwen3-8B, --tensor-parallel-size=4]
        resources: {limits: {nvidia.com/gpu: 4}}
    """
    found = role(predictor(lines, group))
    assert reading.values(found, *COUNTS, "engine", "tensor_parallel") == [4, 1, 4, 2, "vllm", 4]


@pytest.mark.parametrize(
    ("key", "engine", "program"),
    [
        ("pytorch", "torchserve", None),
        ("triton", "triton", None),
        ("tensorflow", "unknown: the format is served by tensorflow_model_server", "tensorflow_model_server"),
        ("sklearn", "unknown: the format is served by sklearnserver", "sklearnserver"),
    ],
)
def test_a_framework_is_served_by_kserves_own_runtime(key: str, engine: str, program: str | None) -> None:
    """kserve v0.20.0 config/runtimes, supportedModelFormats."""
    found = role(
        predictor(f"{key}: {{storageUri: 'gs://models/flowers', resources: {{limits: {{nvidia.com/gpu: 1}}}}}}")
    )
    assert reading.values(found, "engine", "program", "gpus_per_pod") == [engine, program, 1]
    assert found.name == key
    assert found.value("checkpoint") == Unknown("what gs://models/flowers holds is not stated", "another object")


def test_the_model_of_a_predictor_is_a_container() -> None:
    found = role(predictor("model: {modelFormat: {name: huggingface}, resources: {limits: {nvidia.com/gpu: 2}}}"))
    assert found.name == "model"
    assert reading.values(found, *COUNTS) == [2, 1, 2, 1]
    assert found.value("engine") == Unknown("the format is served by huggingfaceserver", "operator preset")


def huggingface(*arguments: str) -> Role:
    listed = ", ".join(arguments)
    return role(
        predictor(
            f"model: {{modelFormat: {{name: huggingface}}, args: [{listed}], storageUri: 'hf://Qwen/Qwen3-8B',"
            " resources: {limits: {nvidia.com/gpu: 2}}}"
        )
    )


@pytest.mark.parametrize(
    ("arguments", "length", "ranks"),
    [
        (("--max_model_len=4096", "--tensor-parallel-size=2"), 4096, 2),
        (("--model_name=chat", "--backend=vllm", "--max_length=2048"), 2048, None),
        (("--model_name", "chat", "--tensor_parallel_size", "'2'", "--enforce-eager"), None, 2),
    ],
)
def test_the_hugging_face_server_takes_vllms_arguments(arguments: tuple[str, ...], length: int, ranks: int) -> None:
    found = huggingface(*arguments)
    assert reading.values(found, "engine", "max_model_len", "tensor_parallel") == ["vllm", length, ranks]
    assert reading.values(found, "checkpoint") == ["hf://Qwen/Qwen3-8B"]
    assert "unknown_argument" not in found.fields


@pytest.mark.parametrize(
    "arguments", [("--backend=huggingface", "--max_length=512"), ("--model_name=chat",), ("--task=fill_mask",)]
)
def test_without_vllms_arguments_the_server_chooses_its_backend(arguments: tuple[str, ...]) -> None:
    value = huggingface(*arguments).value("engine")
    assert isinstance(value, Unknown)
    assert value.category == "operator preset"


def test_a_model_id_is_the_checkpoint() -> None:
    found = huggingface("--model_id=meta-llama/Llama-3.1-8B-Instruct", "--gpu-memory-utilization=0.9")
    assert reading.values(found, "checkpoint") == ["meta-llama/Llama-3.1-8B-Instruct"]


RUNTIME = """
apiVersion: serving.kserve.io/v1alpha1
kind: ServingRuntime
metadata: {name: own}
spec:
  supportedModelFormats: [{name: vLLM}]
  nodeSelector: {nvidia.com/gpu.product: NVIDIA-H100-80GB-HBM3}
  containers:
    - name: kserve-container
      image: vllm/vllm-openai:v0.10.1
      command: [python3, -m, vllm.entrypoints.openai.api_server]
      args: [--model=/mnt/models, "--served-model-name={{.Name}}", --max-model-len=4096]
      env: [{name: HF_HOME, value: /tmp}]
      resources: {limits: {nvidia.com/gpu: 2, memory: 32Gi}}
"""
SERVICE = predictor(
    """
    model:
      modelFormat: {name: vLLM}
      runtime: own
      storageUri: hf://Qwen/Qwen3-32B
      args: [--tensor-parallel-size=4]
      resources: {limits: {nvidia.com/gpu: 4}}
    """
)


def test_the_predictor_states_its_own_over_those_of_the_runtime() -> None:
    """Arguments follow each other, all else is merged (kserve v0.20.0 inferenceservice/utils MergeRuntimeContainers)."""
    found = role(SERVICE, runtime=RUNTIME)
    names = (
        "engine",
        "engine_version",
        "max_model_len",
        "tensor_parallel",
        "gpus_per_pod",
        "accelerator",
        "checkpoint",
    )
    assert reading.values(found, *names) == [
        "vllm",
        "0.10.1",
        4096,
        4,
        4,
        "h100-sxm-80gb",
        "hf://Qwen/Qwen3-32B",
    ]
    assert found.open_ended == ""


def test_what_the_runtime_states_is_shown_where_it_is_named_and_where_it_stands() -> None:
    found = role(SERVICE, runtime=RUNTIME)
    origins = found.fields["max_model_len"].origins
    assert [(origin.location().path, origin.text()) for origin in origins] == [
        ("spec.yaml", "own"),
        ("runtime.yaml", "--max-model-len=4096"),
    ]
    assert reading.source(found, "tensor_parallel") == "--tensor-parallel-size=4"


def test_a_runtime_of_the_same_file_needs_no_reference() -> None:
    (found,) = workloads(RUNTIME + "---\n" + SERVICE)
    assert reading.source(found.roles[0], "max_model_len") == "--max-model-len=4096"


@pytest.mark.parametrize("kind", ["ServingRuntime", "ClusterServingRuntime", "LLMInferenceServiceConfig"])
def test_a_template_alone_is_no_workload(kind: str) -> None:
    text = textwrap.dedent(RUNTIME.replace("kind: ServingRuntime", f"kind: {kind}")).lstrip("\n")
    (document,) = documents.load("spec.yaml", text.encode()).documents
    adapter = adapters.find_adapter(document)
    assert adapter is not None
    assert adapters.kind(adapter, document) == f"serving.kserve.io/{kind}"
    assert list(adapter.workloads(document, ExampleRepository())) == []


@pytest.mark.parametrize(
    "runtimes",
    [
        pytest.param({}, id="none"),
        pytest.param({"one": RUNTIME, "two": RUNTIME}, id="two of the name"),
        pytest.param({"one": RUNTIME.replace("serving.kserve.io", "example.com")}, id="another group"),
    ],
)
def test_a_runtime_that_is_not_surely_known_decides_for_itself(runtimes: dict[str, str]) -> None:
    text = SERVICE.replace("name: vLLM", "name: own-format")
    found = role(text, **runtimes)
    assert found.value("engine") == Unknown("the runtime decides what serves", "another object")
    assert reading.source(found, "engine") == "own"
    assert found.open_ended == "the serving runtime may add arguments"


# ---- several nodes and replicas


def spread(worker: str, gpus: str = "resources: {limits: {nvidia.com/gpu: 8}}") -> list[object]:
    lines = f"model: {{modelFormat: {{name: huggingface}}, {gpus}}}\nworkerSpec: {worker}"
    return reading.values(role(predictor(lines)), *COUNTS, "tensor_parallel", "pipeline_parallel")


def test_nodes_together_hold_the_ranks() -> None:
    """kserve v0.20.0 inferenceservice/components/predictor.go computeRayNodeAndGPUs."""
    worker = (
        "{pipelineParallelSize: 2, tensorParallelSize: 8, containers: [{resources: {limits: {nvidia.com/gpu: 8}}}]}"
    )
    assert spread(worker) == [8, 2, 16, 1, 8, 2]


def test_a_worker_without_resources_has_as_many_gpus_as_the_head() -> None:
    assert spread("{pipelineParallelSize: 2, tensorParallelSize: 8}") == [8, 2, 16, 1, 8, 2]


def test_sizes_that_are_not_stated_are_one() -> None:
    assert spread("{pipelineParallelSize: 2}", "resources: {limits: {nvidia.com/gpu: 1}}") == [1, 2, 2, 1, 1, 2]


@pytest.mark.parametrize(
    ("lines", "replicas", "least"),
    [
        ("", 1, 1),
        ("minReplicas: 3", 3, 3),
        ("minReplicas: 2\nmaxReplicas: 2", 2, 2),
        ("maxReplicas: 0", 1, 1),
        ("minReplicas: 1\nmaxReplicas: 4", "unknown: an autoscaler decides", 1),
        ("minReplicas: 0", "unknown: an autoscaler starts the first replica", 0),
    ],
)
def test_replicas_are_known_where_nothing_moves_them(lines: str, replicas: object, least: int) -> None:
    found = role(predictor(f"{lines}\ntriton: {{resources: {{limits: {{nvidia.com/gpu: 1}}}}}}"))
    assert reading.values(found, "replicas", "replicas_least") == [replicas, least]


@pytest.mark.parametrize(
    ("lines", "metric"),
    [
        ("maxReplicas: 4\nscaleMetric: cpu", "cpu"),
        ("maxReplicas: 4\nscaleMetric: concurrency", None),
        ("maxReplicas: 1\nscaleMetric: cpu", None),
    ],
)
def test_cpu_moves_only_replicas_that_move(lines: str, metric: str | None) -> None:
    found = role(predictor(f"{lines}\ntriton: {{resources: {{limits: {{nvidia.com/gpu: 1}}}}}}"))
    assert reading.values(found, "autoscaler_metric") == [metric]


def test_a_transformer_without_gpus_is_no_role() -> None:
    text = predictor("triton: {resources: {limits: {nvidia.com/gpu: 1}}}")
    text += "  transformer:\n    containers: [{name: kserve-container, image: 'example.com/cut:1'}]\n"
    (found,) = workloads(text)
    assert [one.name for one in found.roles] == ["triton"]


# ---- LLM services


def service(lines: str, version: str = "v1alpha2") -> str:
    head = f"apiVersion: serving.kserve.io/{version}\nkind: LLMInferenceService\nmetadata: {{name: chat}}\nspec:\n"
    return head + textwrap.indent(textwrap.dedent(lines).strip("\n"), "  ") + "\n"


MAIN = """
model: {uri: "hf://Qwen/Qwen2.5-7B-Instruct", name: qwen}
replicas: 3
template:
  containers:
    - name: main
      resources: {limits: {nvidia.com/gpu: 2}}
"""


@pytest.mark.parametrize("version", ["v1alpha1", "v1alpha2"])
def test_a_service_runs_vllm_on_its_model(version: str) -> None:
    """kserve v0.20.0 config/llmisvcconfig/config-llm-template.yaml."""
    found = role(service(MAIN, version))
    assert reading.values(found, *COUNTS, "engine", "checkpoint", "shared_memory_default") == [
        *(2, 1, 2, 3),
        *("vllm", "Qwen/Qwen2.5-7B-Instruct", False),
    ]
    assert reading.source(found, "checkpoint") == "Qwen/Qwen2.5-7B-Instruct"


def test_the_variable_is_a_command_line_with_places() -> None:
    env = """
      env:
        - name: VLLM_ADDITIONAL_ARGS
          value: >-
            --max-model-len 8192
            --gpu-memory-utilization=0.95
            --kv-transfer-config '{"kv_connector":"OffloadingConnector","kv_connector_extra_config":{"cpu_bytes_to_use":1024}}'
"""
    found = role(service(MAIN + env))
    assert reading.values(found, "max_model_len", "gpu_memory_utilization", "host_kv_bytes") == [8192, 0.95, 1024]
    assert [reading.source(found, name) for name in ("max_model_len", "gpu_memory_utilization")] == [
        "8192",
        "--gpu-memory-utilization=0.95",
    ]


@pytest.mark.parametrize("empty", ["", "~", "null"])
def test_an_empty_degree_is_no_argument(empty: str) -> None:
    assert role(service(f"parallelism: {{tensor: {empty}}}\n" + MAIN)).value("tensor_parallel") is None


def test_arguments_of_the_container_come_last() -> None:
    found = role(service("parallelism: {tensor: 1}\n" + MAIN + "      args: [--tensor-parallel-size=2]\n"))
    assert reading.values(found, "tensor_parallel") == [2]


def test_a_command_of_its_own_replaces_the_operators() -> None:
    lines = MAIN + "      image: example.com/app:1\n      command: [python3, serve.py]\n"
    found = role(service(lines))
    assert reading.values(found, "engine", "checkpoint")[0] != "vllm"


NODES = """
model: {uri: "pvc://weights", name: deepseek-ai/DeepSeek-R1}
parallelism: {data: 32, dataLocal: 8, expert: true, tensor: 1}
template: {containers: [{name: main, resources: {limits: {nvidia.com/gpu: 8}}}]}
worker: {containers: [{name: main, resources: {limits: {nvidia.com/gpu: 8}}}]}
"""


def test_data_parallel_ranks_are_spread_over_nodes() -> None:
    """kserve v0.20.0 pkg/apis/serving/v1alpha2 ParallelismSpec.GetSize: 32 / 8 nodes."""
    found = role(service(NODES))
    assert reading.values(found, *COUNTS, "data_parallel", "tensor_parallel", "expert_parallel") == [
        *(8, 4, 32, 1),
        *(32, 1, True),
    ]


def test_without_workers_one_node_serves() -> None:
    found = role(service(NODES.split("worker:", maxsplit=1)[0]))
    assert reading.values(found, "pods_per_replica", "gpus_per_replica", "data_parallel") == [1, 8, None]


def test_pipeline_stages_are_nodes() -> None:
    text = NODES.replace("{data: 32, dataLocal: 8, expert: true, tensor: 1}", "{pipeline: 2, tensor: 8}")
    assert reading.values(role(service(text)), "pods_per_replica", "pipeline_parallel") == [2, 2]


def test_weights_on_a_volume_are_taken_for_those_of_the_name() -> None:
    found = role(service(NODES))
    assert reading.values(found, "checkpoint") == ["deepseek-ai/DeepSeek-R1"]
    assert "from the model's name" in found.fields["checkpoint"].assumption


def test_a_name_that_is_no_hub_id_tells_nothing() -> None:
    found = role(service(NODES.replace("deepseek-ai/DeepSeek-R1", "chat")))
    assert found.value("checkpoint") == Unknown("what pvc://weights holds is not stated", "another object")


def test_prefill_and_decode_are_roles() -> None:
    prefill = "prefill:\n  replicas: 2\n  parallelism: {tensor: 4}\n"
    prefill += "  template: {containers: [{name: main, resources: {limits: {nvidia.com/gpu: 4}}}]}"
    (found,) = workloads(service(MAIN + prefill))
    assert [one.name for one in found.roles] == ["decode", "prefill"]
    assert [reading.values(one, "gpus_per_pod", "replicas", "tensor_parallel") for one in found.roles] == [
        [2, 3, None],
        [4, 2, 4],
    ]
    assert [one.text("checkpoint") for one in found.roles] == ["Qwen/Qwen2.5-7B-Instruct"] * 2


CONFIG = """
apiVersion: serving.kserve.io/v1alpha2
kind: LLMInferenceServiceConfig
metadata: {name: base}
spec:
  parallelism: {tensor: 2}
  template:
    containers:
      - name: main
        env: [{name: VLLM_ADDITIONAL_ARGS, value: "--max-model-len 4096"}]
        resources: {limits: {nvidia.com/gpu: 2}}
"""
BASED = """
model: {uri: "hf://Qwen/Qwen3-8B"}
baseRefs: [{name: base}]
"""


def test_a_configuration_is_merged_under_the_service() -> None:
    found = role(service(BASED), config=CONFIG)
    assert reading.values(found, "gpus_per_pod", "tensor_parallel", "max_model_len") == [2, 2, 4096]
    origins = found.fields["max_model_len"].origins
    assert [(origin.location().path, origin.text()) for origin in origins] == [
        ("spec.yaml", "base"),
        ("config.yaml", "4096"),
    ]
    assert found.open_ended == ""


def test_a_configuration_that_is_not_known_leaves_the_arguments_open() -> None:
    found = role(service(BASED + MAIN.split("replicas: 3")[1]))
    assert found.open_ended == "the configuration base may add arguments"


def test_the_operators_own_configurations_are_known() -> None:
    assert role(service(MAIN + "baseRefs: [{name: kserve-config-llm-template}]")).open_ended == ""


@pytest.mark.parametrize(("name", "unmounted"), [("shm", "shm"), ("dshm", None)])
def test_a_memory_volume_that_the_operator_does_not_mount(name: str, unmounted: str | None) -> None:
    """The operator's configuration mounts a volume of its own, dshm, which a template may state anew."""
    volumes = f"  volumes: [{{name: {name}, emptyDir: {{medium: Memory, sizeLimit: 40Gi}}}}]\n"
    assert reading.values(role(service(MAIN + volumes)), "unmounted_memory_volume") == [unmounted]


def test_annotations_claim_devices() -> None:
    annotations = (
        "{serving.kserve.io/exp-dra-device-class: gpu.nvidia.com, serving.kserve.io/exp-dra-device-count: '2'}"
    )
    text = service(MAIN.replace("limits: {nvidia.com/gpu: 2}", "limits: {cpu: 4}"))
    found = role(text.replace("{name: chat}", f"{{name: chat, annotations: {annotations}}}"))
    assert reading.values(found, "gpus_per_pod") == [2]
    assert found.value("accelerator") == Unknown("the accelerator depends on the device class", "queue or partition")


def test_a_service_without_a_template_asks_for_no_gpus_that_are_known() -> None:
    found = role(service("model: {uri: 'hf://Qwen/Qwen3-8B'}"))
    assert isinstance(found.value("gpus_per_pod"), Unknown)
