"""Served models: the vLLM model in Triton's repository of models, and the container that starts Triton."""

from __future__ import annotations

import pytest
import samples

COMPOSE = """\
services:
  triton:
    image: nvcr.io/nvidia/tritonserver:24.08-vllm-python-py3
    command: [tritonserver, --model-repository=/models]
    volumes: ['./models:/models']
    deploy: {resources: {reservations: {devices: [{driver: nvidia, device_ids: ['0', '1'], capabilities: [gpu]}]}}}
"""
VLLM = 'backend: "vllm"\ninstance_group [{kind: KIND_MODEL, count: 1}]\n'
ONNX = 'name: "b"\nbackend: "onnxruntime"\nmax_batch_size: 8\ninstance_group [{kind: KIND_GPU}]\n'
ENGINE = '{"model": "Qwen/Qwen3-8B", "tensor_parallel_size": 2, "max_model_len": 4096}'
MODEL = {"models/chat/config.pbtxt": VLLM, "models/chat/1/model.json": ENGINE}


def find_role(files: dict[str, str], path: str = "docker-compose.yml") -> tuple[str, str, str]:
    held = {name: text.encode() for name, text in files.items()}
    (role,) = samples.roles(samples.report(COMPOSE, path=path, files=held))
    return role.engine, role.architecture.partition(" ")[0], role.accelerator.partition(" ×")[0]


def test_triton_serves_the_one_model_of_its_repository() -> None:
    assert find_role(MODEL) == ("vllm", "Qwen/Qwen3-8B", "2")


def test_the_nearest_repository_of_models_counts() -> None:
    found = {f"a/{name}": text for name, text in MODEL.items()} | {"b/models/other/config.pbtxt": ONNX}
    assert find_role(found, "a/docker-compose.yml")[1] == "Qwen/Qwen3-8B"
    assert find_role(found, "b/docker-compose.yml")[:2] == ("triton", "?")


@pytest.mark.parametrize(
    "files",
    [
        pytest.param({}, id="no model"),
        pytest.param({"models/b/config.pbtxt": ONNX}, id="another backend"),
        pytest.param({**MODEL, "models/b/config.pbtxt": ONNX}, id="several models"),
    ],
)
def test_a_repository_that_tells_no_model_or_several_leaves_it_open(files: dict[str, str]) -> None:
    assert find_role(files)[:2] == ("triton", "?")


def test_a_model_without_engine_arguments_is_one_of_vllm_all_the_same() -> None:
    assert find_role({"models/chat/config.pbtxt": VLLM})[:2] == ("vllm", "?")


def test_a_finding_that_rests_on_the_model_says_so() -> None:
    held = {**MODEL, "models/chat/1/model.json": ENGINE.replace("Qwen3-8B", "Qwen3-32B").replace(": 2", ": 1")}
    found = samples.report(
        COMPOSE, path="docker-compose.yml", files={name: text.encode() for name, text in held.items()}
    )
    (finding,) = samples.of_rule(found, "gpus-left-idle")
    assert "the only one of its repository of models" in finding.message
