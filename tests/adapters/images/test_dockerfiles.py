"""A Dockerfile is a workload if its image serves a model and nothing else in the repository builds or runs it."""

from __future__ import annotations

import pytest

from gpulint.adapters.images import dockerfiles
from gpulint.pipeline import enrichment
from gpulint.pipeline.rule_tests.samples import ExampleRepository
from gpulint.source import documents
from gpulint.workload import Role, Unknown

SERVER = 'FROM vllm/vllm-openai:v0.10.1\nCMD ["--model", "Qwen/Qwen3-32B", "--max-model-len", "8192"]\n'


def read(text: str, path: str = "chat/Dockerfile", **others: str) -> list[Role]:
    files = {path: text, **others}
    repository = ExampleRepository({name: one.encode() for name, one in files.items()})
    (document,) = repository.read_documents(path)
    assert dockerfiles.claims(document)
    return [role for workload in enrichment.read(document, repository) for role in workload.roles]


def find_line(role: Role, name: str) -> tuple[str, int]:
    location = role.fields[name].origins[0].location()
    return location.path, location.line


def test_the_server_of_an_image_is_read_on_a_machine_that_nothing_states() -> None:
    (role,) = read(SERVER)
    assert {name: role.value(name) for name in ("engine", "engine_version", "checkpoint", "max_model_len")} == {
        "engine": "vllm",
        "engine_version": "0.10.1",
        "checkpoint": "Qwen/Qwen3-32B",
        "max_model_len": 8192,
    }
    assert isinstance(role.value("gpus_per_pod"), Unknown)
    assert isinstance(role.value("accelerator"), Unknown)
    assert role.open_ended == ""
    assert find_line(role, "checkpoint") == ("chat/Dockerfile", 2)


@pytest.mark.parametrize(
    ("text", "engine", "checkpoint"),
    [
        pytest.param(
            "FROM nvidia/cuda:12.4.1-runtime-ubuntu22.04\nRUN pip install vllm==0.9.1\nENV MODEL_ID=Qwen/Qwen3-8B\n"
            "CMD vllm serve $MODEL_ID --max-model-len 4096\n",
            "vllm",
            "Qwen/Qwen3-8B",
            id="a shell and a variable",
        ),
        pytest.param(
            "FROM python:3.12\nRUN pip install vllm\n"
            'CMD ["python", "-m", "vllm.entrypoints.openai.api_server", "--model", "Qwen/Qwen3-8B"]\n',
            "vllm",
            "Qwen/Qwen3-8B",
            id="a module",
        ),
        pytest.param(
            "FROM lmsysorg/sglang:v0.5.4\n"
            'ENTRYPOINT ["python3", "-m", "sglang.launch_server", "--model-path", "Qwen/Qwen3-8B"]\n',
            "sglang",
            "Qwen/Qwen3-8B",
            id="SGLang",
        ),
        pytest.param(
            "FROM ghcr.io/huggingface/text-generation-inference:3.3.4\nENV MODEL_ID=Qwen/Qwen3-8B\n",
            "tgi",
            "Qwen/Qwen3-8B",
            id="the program of the base image, by a variable",
        ),
        pytest.param(
            "FROM ollama/ollama:0.12.0\nRUN ollama serve & sleep 5 && ollama pull gemma3:27b\n",
            "ollama",
            "google/gemma-3-27b-it",
            id="a model that is pulled",
        ),
        pytest.param(
            "FROM ollama/ollama:0.12.0\nENV MODEL=gemma3:27b\nRUN ollama serve & sleep 5 && ollama pull $MODEL\n",
            "ollama",
            "google/gemma-3-27b-it",
            id="a model that is pulled by a variable",
        ),
        pytest.param(
            'FROM ghcr.io/ggml-org/llama.cpp:server-cuda\nCMD ["-hf", "ggml-org/gemma-3-4b-it-GGUF"]\n',
            "llama.cpp",
            "ggml-org/gemma-3-4b-it",
            id="llama.cpp on GPUs",
        ),
    ],
)
def test_the_ways_to_start_a_server(text: str, engine: str, checkpoint: str) -> None:
    (role,) = read(text)
    assert (role.value("engine"), role.value("checkpoint")) == (engine, checkpoint)


def test_a_script_of_the_image_is_read() -> None:
    text = 'FROM vllm/vllm-openai:v0.10.1\nCOPY start.sh /start.sh\nENV MODEL=Qwen/Qwen3-8B\nENTRYPOINT ["/start.sh"]\n'
    (role,) = read(text, **{"chat/start.sh": '#!/bin/bash\nexec vllm serve "$MODEL" --tensor-parallel-size 2\n'})
    assert (role.value("checkpoint"), role.value("tensor_parallel")) == ("Qwen/Qwen3-8B", 2)
    assert find_line(role, "tensor_parallel") == ("chat/start.sh", 2)


def test_the_script_that_an_image_starts_is_no_second_workload() -> None:
    files = {
        "chat/Dockerfile": 'FROM vllm/vllm-openai:v0.10.1\nCOPY start.sh /start.sh\nENTRYPOINT ["/start.sh"]\n',
        "chat/start.sh": "#!/bin/bash\nexec vllm serve Qwen/Qwen3-8B\n",
        "chat/other.sh": "#!/bin/bash\nexec vllm serve Qwen/Qwen3-4B\n",
    }
    repository = ExampleRepository({name: text.encode() for name, text in files.items()})
    found = {
        name: len(list(enrichment.read(document, repository)))
        for name in files
        for document in repository.read_documents(name)
    }
    assert found == {"chat/Dockerfile": 1, "chat/start.sh": 0, "chat/other.sh": 1}


def test_a_settings_file_of_the_image_is_read() -> None:
    text = (
        "FROM vllm/vllm-openai:v0.10.1\nWORKDIR /app\nCOPY config.yaml /app/config.yaml\n"
        'ENTRYPOINT ["vllm", "serve", "Qwen/Qwen3-32B-AWQ", "--config", "config.yaml"]\nCMD ["--port", "80"]\n'
    )
    (role,) = read(text, **{"chat/config.yaml": "max-model-len: 16384\n"})
    assert role.value("max_model_len") == 16384


def test_what_is_added_behind_an_entry_point_is_open() -> None:
    entry = 'FROM vllm/vllm-openai:v0.10.1\nENTRYPOINT ["vllm", "serve", "Qwen/Qwen3-32B"]\n'
    (role,) = read(entry)
    assert role.open_ended == dockerfiles.OPEN
    (role,) = read(entry + 'CMD ["--max-model-len", "8192"]\n')
    assert role.open_ended == ""


@pytest.mark.parametrize(("script", "is_open"), [('vllm serve a/b "$@"', True), ("vllm serve a/b", False)])
def test_a_script_takes_further_arguments_only_if_it_names_them(script: str, is_open: bool) -> None:
    text = 'FROM vllm/vllm-openai:v0.10.1\nWORKDIR /app\nCOPY start.sh .\nENTRYPOINT ["./start.sh"]\n'
    (role,) = read(text, **{"chat/start.sh": f"#!/bin/bash\n{script}\n"})
    assert bool(role.open_ended) is is_open


@pytest.mark.parametrize(
    "text",
    [
        pytest.param("FROM vllm/vllm-openai:v0.10.1\n", id="no model"),
        pytest.param("FROM ollama/ollama\nARG MODEL\nRUN ollama serve & ollama pull $MODEL\n", id="no pulled model"),
        pytest.param('FROM vllm/vllm-openai:v0.10.1\nENTRYPOINT ["vllm", "serve"]\n', id="no model behind the server"),
        pytest.param("FROM vllm/vllm-openai:v0.10.1\nCMD vllm serve $MODEL\n", id="a variable without a value"),
        pytest.param('FROM python:3.12\nCMD ["python", "vllm_client.py"]\n', id="another program"),
        pytest.param(
            'FROM ghcr.io/ggml-org/llama.cpp:server\nCMD ["-m", "/models/qwen3-8b-q4_k_m.gguf"]\n', id="a processor"
        ),
    ],
)
def test_an_image_that_serves_no_model_of_its_own_is_no_workload(text: str) -> None:
    assert read(text) == []


@pytest.mark.parametrize(
    "others",
    [
        pytest.param({"compose.yaml": "services:\n  llm:\n    build: chat\n    gpus: all\n"}, id="compose builds it"),
        pytest.param(
            {
                "compose.yaml": "services:\n  llm:\n    image: own/llm\n    build: {context: ., dockerfile: chat/Dockerfile}\n"
            },
            id="compose builds it by its path",
        ),
        pytest.param(
            {"k8s/chat.yaml": "spec:\n  containers:\n  - image: registry.example.com/team/chat:1\n"},
            id="a manifest names its folder",
        ),
        pytest.param(
            {
                "build.sh": "#!/bin/sh\ndocker build -t example.com/team/llm:1 chat\n",
                "values.yaml": "image:\n  repository: example.com/team/llm\n",
            },
            id="a chart names what a script builds",
        ),
        pytest.param(
            {"run.sh": "#!/bin/sh\ndocker build -t llm chat\ndocker run --gpus all llm\n"},
            id="a script runs what it builds",
        ),
        pytest.param({"fly.toml": '[build]\ndockerfile = "chat/Dockerfile"\n'}, id="a platform builds it"),
        pytest.param(
            {"deploy.yaml": "image: example.com/x:1\nlimits: {nvidia.com/gpu: 1}\n"}, id="the only Dockerfile"
        ),
        pytest.param(
            {
                "Dockerfile.big": 'FROM example.com/chat:1\nCMD ["--model", "Qwen/Qwen3-8B"]\n',
            },
            id="another Dockerfile builds on it",
        ),
    ],
)
def test_an_image_that_another_file_runs_is_no_second_workload(others: dict[str, str]) -> None:
    assert read(SERVER, **others) == []


@pytest.mark.parametrize(
    "others",
    [
        pytest.param({"compose.yaml": "services:\n  web:\n    build: web\n"}, id="compose builds another"),
        pytest.param({"k8s/web.yaml": "spec:\n  containers:\n  - image: redis:7\n"}, id="a manifest without GPUs"),
        pytest.param(
            {"k8s/llm.yaml": "image: vllm/vllm-openai:v0.10.1\nlimits: {nvidia.com/gpu: 1}\n"}, id="a published image"
        ),
        pytest.param({"README.md": "docker build -t llm chat && docker run --gpus all llm"}, id="a README"),
        pytest.param({".github/workflows/ci.yml": "on: push\nenv: {A: b}\njobs: {}\n"}, id="a workflow"),
    ],
)
def test_other_files_do_not_run_it(others: dict[str, str]) -> None:
    assert len(read(SERVER, **others)) == 1


@pytest.mark.parametrize("path", ["tests/Dockerfile", "a/.devcontainer/Dockerfile", "docs/chat/Dockerfile"])
def test_images_of_tests_and_docs_are_not_deployed(path: str) -> None:
    assert read(SERVER, path) == []


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("Dockerfile", True),
        ("Dockerfile.gpu", True),
        ("Dockerfile-gpu", True),
        ("chat.dockerfile", True),
        ("a/Containerfile", True),
        ("Dockerfile.dockerignore", False),
        ("Dockerfile.md", False),
        ("dockerfile-stages.png", False),
        ("DockerfileOllama", True),
        ("Dockerfile.j2", False),
        ("dockerfile.yaml", False),
        ("dockerfile.py", False),
        ("my_dockerfile_notes", False),
    ],
)
def test_names_of_dockerfiles(name: str, expected: bool) -> None:
    assert documents.is_build(name) is expected
