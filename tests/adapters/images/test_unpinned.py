"""Dockerfiles that leave the release of their engine to the day of the build."""

from __future__ import annotations

import pytest

from gpulint.adapters.images import unpinned
from gpulint.pipeline.rule_tests.samples import ExampleRepository

CUDA = "FROM nvidia/cuda:12.8.1-devel-ubuntu22.04\n"
CLONE = f"{CUDA}RUN git clone https://github.com/vllm-project/vllm.git\n"


def lines(text: str, path: str = "Dockerfile", **others: str) -> list[int]:
    """The lines of a Dockerfile that are reported."""
    names = {name.replace("_", "."): one for name, one in others.items()}
    repository = ExampleRepository({path: text.encode(), **{name: one.encode() for name, one in names.items()}})
    (document,) = repository.read_documents(path)
    return [problem.location.line for problem in unpinned.find_problems(document, repository)]  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("text", "line"),
    [
        ("FROM vllm/vllm-openai:latest\n", 1),
        ("FROM vllm/vllm-openai\n", 1),
        ("ARG BASE=lmsysorg/sglang:latest\nFROM $BASE\n", 1),
        ("FROM ollama/ollama:latest\n", 1),
        ("FROM ghcr.io/other/vllm-gb10:latest\nENV NVIDIA_VISIBLE_DEVICES=all\n", 1),
        (f"{CUDA}RUN pip install vllm\n", 2),
        (f"{CUDA}RUN pip install flask \\\n    'sglang[all]'\n", 3),
        (f"{CUDA}RUN pip install 'vllm>=0.8'\n", 2),
        (CLONE, 2),
        (f"{CLONE}RUN cd vllm && git checkout main\n", 2),
    ],
)
def test_what_a_later_build_may_change_is_reported(text: str, line: int) -> None:
    assert lines(text) == [line]


@pytest.mark.parametrize(
    "text",
    [
        "FROM vllm/vllm-openai:v0.11.0\n",
        "FROM vllm/vllm-openai@sha256:00ff\n",
        "FROM vllm/vllm-openai:nightly-2025-08-25\n",
        "ARG TAG\nFROM vllm/vllm-openai:$TAG\n",
        "FROM ubuntu:latest\n",
        "FROM vllm/vllm-openai:v0.11.0\nRUN pip install --no-index vllm\n",
        f"{CUDA}RUN pip install vllm==0.11.0\n",
        f"{CUDA}RUN pip install 'vllm>=0.8,<0.9'\n",
        f"{CUDA}RUN pip install vllm~=0.11.0\n",
        f"{CUDA}RUN pip install -c constraints.txt vllm\n",
        f"{CUDA}RUN pip install vllm==0.11.0\nRUN pip install vllm[audio]\n",
        f"{CUDA}RUN pip install vllm-dist/*.whl\n",
        f"{CUDA}RUN git clone --branch v0.11.0 https://github.com/vllm-project/vllm.git\n",
        f"{CLONE}RUN cd vllm && git checkout v0.11.0\n",
        f"{CUDA}RUN git clone https://github.com/acme/chat.git\n",
    ],
)
def test_what_is_chosen_is_not_reported(text: str) -> None:
    assert lines(text) == []


def test_a_base_image_that_a_description_builds_is_the_authors_own() -> None:
    text = "FROM acme/worker-vllm:latest\nENV CUDA_HOME=/usr/local/cuda\n"
    assert lines(text, README_md="docker push acme/other-vllm:latest\n") == [1]
    assert lines(text, README_md="docker build -t acme/worker-vllm:latest .\n") == []


def test_a_dockerfile_of_tests_is_not_deployed() -> None:
    assert lines("FROM vllm/vllm-openai:latest\n", path="tests/Dockerfile") == []
