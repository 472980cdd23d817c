"""Triton models: which files are one, where the instances run, and what the backend's own files say."""

from __future__ import annotations

from collections.abc import Mapping

import pytest
from reading import values
from samples import ExampleRepository

from gpulint import adapters
from gpulint.source import documents
from gpulint.workload import Role, Unknown, Workload

PATH = "models/chat/config.pbtxt"


def workloads(text: str, files: Mapping[str, str] | None = None) -> list[Workload]:
    held = ExampleRepository({path: content.encode() for path, content in (files or {}).items()})
    loaded = documents.load(PATH, text.encode())
    return [one for document in loaded.documents for one in adapters.read(document, held)]


def role(text: str, files: Mapping[str, str] | None = None) -> Role:
    (workload,) = workloads(text, files)
    (found,) = workload.roles
    return found


def asked(found: Role, name: str) -> object:
    value = found.value(name)
    return f"unknown: {value.category}" if isinstance(value, Unknown) else value


def test_a_model_configuration_is_recognised() -> None:
    (document,) = documents.load(PATH, b'backend: "onnxruntime"\nmax_batch_size: 8\ninput { name: "x" }').documents
    adapter = adapters.find_adapter(document)
    assert adapter is not None
    assert adapters.kind(adapter, document) == "Triton config.pbtxt"


@pytest.mark.parametrize(
    "text",
    [
        pytest.param('node { name: "x" op: "Const" }', id="a TensorFlow graph"),
        pytest.param('item { id: 1 name: "cat" }', id="a label map"),
        pytest.param('name: "x"', id="a name alone"),
    ],
)
def test_another_message_is_none(text: str) -> None:
    (document,) = documents.load(PATH, text.encode()).documents
    assert adapters.find_adapter(document) is None


@pytest.mark.parametrize(
    "text",
    [
        pytest.param('backend: "python"\ninstance_group { kind: KIND_CPU count: 4 }', id="on the CPU"),
        pytest.param('platform: "ensemble"\nensemble_scheduling { step { model_name: "a" } }', id="an ensemble"),
        pytest.param('backend: "onnxruntime"\nmax_batch_size: 8', id="wherever Triton puts it"),
    ],
)
def test_what_may_compute_on_the_cpu_is_no_workload(text: str) -> None:
    assert workloads(text) == []


@pytest.mark.parametrize(
    ("group", "gpus", "replicas"),
    [
        ("kind: KIND_GPU count: 1 gpus: [0]", 1, 1),
        ("kind: KIND_GPU count: 2 gpus: [0, 1]", 2, 4),
        ("kind: KIND_GPU gpus: 3", 1, 1),
        ("kind: KIND_GPU count: 1", "unknown: any host", "unknown: any host"),
        ("kind: KIND_GPU count: ${instances} gpus: [0]", 1, "unknown: "),
    ],
)
def test_the_gpus_and_instances_of_a_group(group: str, gpus: object, replicas: object) -> None:
    found = role(f'name: "chat"\nbackend: "python"\ninstance_group [ {{ {group} }} ]')
    assert (asked(found, "gpus_per_pod"), asked(found, "replicas")) == (gpus, replicas)
    assert found.value("gpus_per_replica") == 1


def test_the_vllm_backend_reads_its_engines_arguments_beside_the_configuration() -> None:
    text = 'backend: "vllm"\ninstance_group [ { count: 1 kind: KIND_MODEL } ]'
    engine = '{"model": "Qwen/Qwen3-8B", "tensor_parallel_size": 2, "enforce_eager": true, "max_model_len": 4096}'
    found = role(text, {"models/chat/1/model.json": engine})
    assert values(found, "engine", "checkpoint", "tensor_parallel", "max_model_len") == [
        "vllm",
        "Qwen/Qwen3-8B",
        2,
        4096,
    ]
    assert "impossible_argument" not in found.fields


def test_without_that_file_its_arguments_are_in_another_object() -> None:
    found = role('backend: "vllm"')
    assert (asked(found, "engine"), asked(found, "checkpoint")) == ("vllm", "unknown: another object")


def test_a_program_of_ones_own_names_its_checkpoint_by_a_parameter() -> None:
    found = role(
        'backend: "python"\ninstance_group { kind: KIND_GPU gpus: [0] }\n'
        'parameters { key: "model_name" value { string_value: "Qwen/Qwen3-8B" } }\n'
        'parameters { key: "tensor_parallel_size" value { string_value: "1" } }'
    )
    assert asked(found, "engine") == "unknown: own program"
    assert values(found, "checkpoint", "tensor_parallel") == ["Qwen/Qwen3-8B", 1]


def test_what_a_tool_fills_in_is_a_placeholder() -> None:
    found = role(
        'backend: "tensorrtllm"\nmax_batch_size: ${triton_max_batch_size}\n'
        'parameters: { key: "gpt_model_path" value: { string_value: "${engine_dir}" } }\n'
        'parameters: { key: "kv_cache_free_gpu_mem_fraction" value: { string_value: "0.9" } }'
    )
    assert values(found, "engine", "kv_cache_free_fraction") == ["tensorrt-llm", 0.9]
    assert asked(found, "checkpoint") == "unknown: placeholder"


def test_a_model_of_vllm_has_one_gpu_for_each_rank() -> None:
    engine = '{"model": "Qwen/Qwen3-8B", "tensor_parallel_size": 2, "pipeline_parallel_size": 2}'
    assert role('backend: "vllm"', {"models/chat/1/model.json": engine}).value("gpus_per_pod") == 4
