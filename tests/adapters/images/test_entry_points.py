"""Words behind the entry point of an image are its arguments, whatever program they name."""

from __future__ import annotations

import textwrap
from typing import cast

import pytest

from gpulint.pipeline import enrichment
from gpulint.pipeline.rule_tests.samples import ExampleRepository
from gpulint.source.repository import Repository

COMPOSE = """
    services:
      chat:
        {keys}
        deploy: {{resources: {{reservations: {{devices: [{{driver: nvidia, count: 1, capabilities: [gpu]}}]}}}}}}
"""


def read(name: str, keys: str, **files: str) -> object:
    text = textwrap.dedent(COMPOSE).format(keys=keys)
    held = ExampleRepository({"compose.yaml": text.encode(), **{path: text.encode() for path, text in files.items()}})
    repository = cast("Repository", held)
    (document,) = repository.read_documents("compose.yaml")
    ((role,),) = (workload.roles for workload in enrichment.read(document, repository))
    return role.value(name)


@pytest.mark.parametrize(
    ("keys", "repeated"),
    [
        ("image: vllm/vllm-openai:v0.11.0\n    command: vllm serve m --port 80", "vllm serve"),
        ("image: docker.io/vllm/vllm-openai\n    command: [serve, Qwen/Qwen3-8B]", "serve Qwen/Qwen3-8B"),
        ("image: vllm/vllm-openai:v0.4.2\n    command: python3 -m vllm.entrypoints.openai.api_server", "python3 -m"),
        ("image: ollama/ollama\n    command: /bin/sh -c 'ollama serve'", "sh"),
        ("image: ollama/ollama\n    command: serve", None),
        ("image: vllm/vllm-openai:v0.11.0\n    command: --model serve/m", None),
        ("image: vllm/vllm-openai:v0.11.0\n    command: [serve, --model, m]", None),
        ("image: vllm/vllm-openai:v0.11.0\n    command: Qwen/Qwen3-8B --port 80", None),
        ("image: vllm/vllm-openai:v0.11.0\n    entrypoint: vllm\n    command: serve m", None),
        ("image: vllm/vllm-openai:v0.11.0\n    entrypoint: ''\n    command: vllm serve m", None),
        ("image: team/vllm-openai:v0.11.0\n    command: vllm serve m", None),
        ("image: ghcr.io/ggml-org/llama.cpp:server-cuda\n    command: llama-server -m /m.gguf", "llama-server -m"),
        ("image: ghcr.io/ggml-org/llama.cpp:full-cuda\n    command: llama-server -m /m.gguf", None),
    ],
)
def test_a_program_behind_an_entry_point_is_repeated(keys: str, repeated: str | None) -> None:
    assert read("repeated_program", keys) == repeated


@pytest.mark.parametrize(
    ("lines", "repeated"),
    [
        ('CMD ["vllm", "serve", "m"]', "vllm serve"),
        ("CMD vllm serve m", "sh"),
        ('ENTRYPOINT ["vllm"]\nCMD ["serve", "m"]', None),
        ('ENTRYPOINT []\nCMD ["vllm", "serve", "m"]', None),
        ('CMD ["--model", "m"]', None),
    ],
)
def test_the_command_of_a_dockerfile_follows_the_entry_point_of_its_base(lines: str, repeated: str | None) -> None:
    assert read("repeated_program", "build: .", Dockerfile=f"FROM vllm/vllm-openai:v0.11.0\n{lines}\n") == repeated


@pytest.mark.parametrize(
    ("line", "malformed"),
    [
        ("CMD ['python', 'train.py']", "['python', 'train.py']"),
        ('CMD ["python", "train.py", env.NAME]', '["python", "train.py", env.NAME]'),
        ('CMD ["python", "train.py"]', None),
        ("CMD [ -f /a ] && python train.py", None),
        ("CMD python train.py", None),
    ],
)
def test_a_list_that_is_no_json_is_a_malformed_start(line: str, malformed: str | None) -> None:
    assert read("malformed_start", "build: .", Dockerfile=f"FROM python:3.12\n{line}\n") == malformed
