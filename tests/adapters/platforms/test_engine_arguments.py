"""A file of a server's arguments is a workload if it names its model and no other file names it."""

from __future__ import annotations

import textwrap

import pytest

from gpulint.adapters.platforms import engine_arguments
from gpulint.pipeline import enrichment
from gpulint.pipeline.rule_tests.samples import ExampleRepository
from gpulint.workload import Role, Unknown

VLLM = """
    model: Qwen/Qwen3-32B
    tensor-parallel-size: 2
    max-model-len: 32768
    enable-prefix-caching: true
"""


def read(text: str, path: str = "serve/vllm.yaml", **others: str) -> list[Role]:
    files = {path: text, **others}
    repository = ExampleRepository({name: textwrap.dedent(one).encode() for name, one in files.items()})
    (document,) = repository.read_documents(path)
    return [role for workload in enrichment.read(document, repository) for role in workload.roles]


def test_the_arguments_of_vllm_are_read_on_a_machine_that_nothing_states() -> None:
    (role,) = read(VLLM)
    assert {name: role.value(name) for name in ("engine", "checkpoint", "tensor_parallel", "max_model_len")} == {
        "engine": "vllm",
        "checkpoint": "Qwen/Qwen3-32B",
        "tensor_parallel": 2,
        "max_model_len": 32768,
    }
    assert isinstance(role.value("accelerator"), Unknown)
    assert role.open_ended == engine_arguments.OPEN
    assert role.fields["max_model_len"].origins[0].location().line == 4


@pytest.mark.parametrize(
    ("text", "engine"),
    [
        pytest.param("model: a/b\nmax_model_len: 4096\ngpu_memory_utilization: 0.9\n", "vllm", id="underscores"),
        pytest.param("model-path: a/b\ncontext-length: 4096\nmem-fraction-static: 0.8\n", "sglang", id="SGLang"),
        pytest.param("model: a/b\nmax-model-len: 4096\nnew-argument: 1\nport: 80\n", "vllm", id="an argument of later"),
    ],
)
def test_other_spellings(text: str, engine: str) -> None:
    (role,) = read(text)
    assert (role.value("engine"), role.value("checkpoint")) == (engine, "a/b")


@pytest.mark.parametrize(
    "text",
    [
        pytest.param("max-model-len: 4096\ngpu-memory-utilization: 0.9\nport: 80\n", id="no model"),
        pytest.param("model: a/b\nmax_model_len: 4096\ngpu_memory_utilization: 0.9\nprompt: x\n", id="an own program"),
        pytest.param("model: a/b\ntemperature: 0\nmax_tokens: 8\n", id="a client"),
        pytest.param("model: a/b\nmax-model-len: 4096\n", id="too few keys"),
        pytest.param("model: {name: a/b}\nmax-model-len: 4096\nport: 80\n", id="a model with keys"),
    ],
)
def test_another_file_is_none(text: str) -> None:
    assert read(text) == []


@pytest.mark.parametrize(
    "others",
    [
        pytest.param({"serve/run.sh": "#!/bin/sh\nvllm serve --config vllm.yaml\n"}, id="a script"),
        pytest.param({"compose.yaml": "services: {a: {volumes: ['./serve/vllm.yaml:/c.yaml']}}\n"}, id="a mount"),
    ],
)
def test_a_file_that_another_one_names_is_no_second_workload(others: dict[str, str]) -> None:
    assert read(VLLM, **others) == []
