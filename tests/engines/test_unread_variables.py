"""Unread variables: names of an engine's own form that it does not read, and names that it or a script reads."""

from __future__ import annotations

from pathlib import Path

import pytest
import reading

import gpulint

VLLM = "image: vllm/vllm-openai:TAG\nargs: [--model=Qwen/Qwen3-8B]\n"
OLLAMA = "image: ollama/ollama:0.12.3\nresources: {limits: {nvidia.com/gpu: 1}}\n"


def find(container: str, name: str, value: str = "1") -> tuple[list[object], list[object]]:
    role = reading.started(f"{container}env: [{{name: {name}, value: '{value}'}}]")
    return reading.values(role, "unread_engine_variable"), reading.values(role, "unread_engine_variable_instead")


@pytest.mark.parametrize(
    ("name", "instead"),
    [
        ("VLLM_GPU_MEMORY_UTILIZATION", "its argument --gpu-memory-utilization sets this"),
        ("VLLM_TENSOR_PARALLEL_SIZE", "its argument --tensor-parallel-size sets this"),
        ("VLLM_TP_SIZE", "its argument --tensor-parallel-size sets this"),
        ("VLLM_DEVICE", "remove it: vLLM finds the GPUs by itself"),
    ],
)
def test_vllm_reads_no_variable_that_is_named_after_an_argument(name: str, instead: str) -> None:
    """vllm/envs.py reads each variable by its name."""
    assert find(VLLM.replace("TAG", "v0.11.0"), name) == ([name], [instead])


@pytest.mark.parametrize(
    "name",
    [
        pytest.param("VLLM_LOGGING_LEVEL", id="read"),
        pytest.param("VLLM_PORT", id="read, though an argument has the same name"),
        pytest.param("VLLM_OF_OUR_TEAM", id="no argument has this name"),
        pytest.param("GPU_MEMORY_UTILIZATION", id="not named after the engine"),
        pytest.param("OLLAMA_NUM_GPU", id="named after another engine"),
    ],
)
def test_a_variable_that_vllm_or_something_else_reads_is_left_alone(name: str) -> None:
    assert find(VLLM.replace("TAG", "v0.11.0"), name) == ([None], [None])


@pytest.mark.parametrize(("tag", "found"), [("v0.11.0", None), ("v0.19.0", "VLLM_ATTENTION_BACKEND")])
def test_a_variable_that_a_later_release_dropped_is_read_before(tag: str, found: str | None) -> None:
    """vllm-project/vllm pull request 26315 deprecates it in favour of --attention-backend."""
    assert find(VLLM.replace("TAG", tag), "VLLM_ATTENTION_BACKEND")[0] == [found]


@pytest.mark.parametrize(
    ("name", "found"),
    [
        ("OLLAMA_NUM_GPU", "OLLAMA_NUM_GPU"),
        ("OLLAMA_MAX_VRAM", "OLLAMA_MAX_VRAM"),
        ("OLLAMA_SPEED", "OLLAMA_SPEED"),
        ("OLLAMA_CONTEXT_LENGTH", None),
        ("OLLAMA_KEEPALIVE", None),
    ],
    ids=["an option of requests", "dropped", "invented", "read", "a slip, which another rule reports"],
)
def test_ollama_reads_no_other_names_than_those_of_its_help(name: str, found: str | None) -> None:
    assert find(OLLAMA, name)[0] == [found]


@pytest.mark.parametrize(
    "container",
    [
        "image: registry.example/vllm-server:1\ncommand: [./serve.sh]\n",
        "image: intelanalytics/ipex-llm-inference-cpp-xpu:latest\ncommand: [ollama, serve]\n",
    ],
    ids=["a script starts the engine", "a build for other devices reads more"],
)
def test_an_image_whose_script_may_read_the_variable_is_left_alone(container: str) -> None:
    for name in ("VLLM_TP_SIZE", "OLLAMA_NUM_GPU"):
        role = reading.started(
            f"{container}env: [{{name: {name}, value: '1'}}]\nresources: {{limits: {{nvidia.com/gpu: 1}}}}"
        )
        assert reading.values(role, "unread_engine_variable") == [None]


def test_a_command_that_uses_the_variable_reads_it() -> None:
    command = "image: vllm/vllm-openai:v0.11.0\ncommand: [sh, -c, 'vllm serve Qwen/Qwen3-8B --dtype $VLLM_DTYPE']\n"
    assert find(command, "VLLM_DTYPE", "bfloat16")[0] == [None]


@pytest.mark.parametrize(("environment", "found"), [("environment: [OLLAMA_URL=x]", 1), ("env_file: [.env]", 0)])
def test_a_file_of_variables_serves_other_programs_too(environment: str, found: int, tmp_path: Path) -> None:
    (tmp_path / ".env").write_text("OLLAMA_URL=http://ollama:11434\n")
    lines = ["services:", "  ollama:", "    image: ollama/ollama:0.12.3", f"    {environment}", "    gpus: all"]
    (tmp_path / "compose.yaml").write_text("\n".join(lines))
    report = gpulint.check([str(tmp_path)])
    assert len([one for one in report.findings if one.rule == "engine-variable-never-read"]) == found
