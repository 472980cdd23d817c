"""Cerebrium: the GPU of an app, and the program that it starts."""

from __future__ import annotations

import textwrap

import pytest

from gpulint.pipeline import enrichment
from gpulint.pipeline.rule_tests.samples import ExampleRepository
from gpulint.workload import Role, Unknown

PROGRAM = "from vllm import LLM\nllm = LLM('Qwen/Qwen3-14B', tensor_parallel_size=2)\n"


def read(text: str, path: str = "cerebrium.toml", **files: str) -> list[Role]:
    texts = {"cerebrium.toml": text, **files}
    repository = ExampleRepository({name: textwrap.dedent(one).encode() for name, one in texts.items()})
    (document,) = repository.read_documents(path)
    return [role for workload in enrichment.read(document, repository) for role in workload.roles]


def values(role: Role, *names: str) -> dict[str, object]:
    return {name: role.value(name) for name in names}


@pytest.mark.parametrize(
    ("hardware", "accelerator", "gpus"),
    [
        ('compute = "ADA_L40"', "l40s", 1),
        ('compute = "HOPPER_H100"\ngpu_count = 4', "h100-sxm-80gb", 4),
        ('gpu = "AMPERE A10"\ngpu_count = 2', "a10g", 2),
        ('compute = ["AMPERE_A100_80GB"]', "a100-sxm4-80gb", 1),
    ],
)
def test_an_app_gets_its_gpu(hardware: str, accelerator: str, gpus: int) -> None:
    (role,) = read(f"[cerebrium.hardware]\n{hardware}\n", **{"main.py": PROGRAM})
    assert values(role, "accelerator", "gpus_per_pod", "engine", "checkpoint", "tensor_parallel") == {
        "accelerator": accelerator,
        "gpus_per_pod": gpus,
        "engine": "vllm",
        "checkpoint": "Qwen/Qwen3-14B",
        "tensor_parallel": 2,
    }


def test_several_gpus_are_a_choice_of_the_platform() -> None:
    (role,) = read('[cerebrium.hardware]\ncompute = ["HOPPER_H100", "AMPERE_A100_80GB"]\n', **{"main.py": PROGRAM})
    left = role.value("accelerator")
    assert isinstance(left, Unknown)
    assert left.choices == ("a100-sxm4-80gb", "h100-sxm-80gb")


@pytest.mark.parametrize(
    "entrypoint",
    [
        '["vllm", "serve", "Qwen/Qwen3-14B", "--tensor-parallel-size", "2"]',
        '"vllm serve Qwen/Qwen3-14B --tensor-parallel-size 2"',
        '["python", "app/server.py"]',
    ],
)
def test_an_entry_point_of_its_own_starts_the_server(entrypoint: str) -> None:
    app = f'[cerebrium.hardware]\ncompute = "ADA_L4"\ngpu_count = 2\n[cerebrium.runtime.custom]\nentrypoint = {entrypoint}\n'
    (role,) = read(app, **{"app/server.py": PROGRAM})
    assert values(role, "engine", "checkpoint", "tensor_parallel") == {
        "engine": "vllm",
        "checkpoint": "Qwen/Qwen3-14B",
        "tensor_parallel": 2,
    }


def test_the_release_of_the_engine_is_that_of_the_dependencies() -> None:
    app = '[cerebrium.hardware]\ncompute = "ADA_L4"\n[cerebrium.dependencies.pip]\nvllm = "==0.8.5"\n'
    (role,) = read(app, **{"main.py": PROGRAM})
    assert role.value("engine_version") == "0.8.5"


def test_the_program_of_an_app_is_no_workload_of_its_own() -> None:
    assert read('[cerebrium.hardware]\ncompute = "ADA_L4"\n', "main.py", **{"main.py": PROGRAM}) == []


@pytest.mark.parametrize(
    "app",
    [
        '[cerebrium.hardware]\ncompute = "CPU"\ncpu = 2\n',
        "[cerebrium.hardware]\ncpu = 2\n",
        '[cerebrium.deployment]\nname = "x"\n',
    ],
)
def test_an_app_without_a_gpu_is_no_workload(app: str) -> None:
    assert read(app, **{"main.py": "print('cerebrium')"}) == []
