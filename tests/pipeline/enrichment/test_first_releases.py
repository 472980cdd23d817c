"""A checkpoint that came after the library in use is named; an unknown release says nothing."""

from __future__ import annotations

from typing import cast

import pytest

from gpulint.pipeline import enrichment
from gpulint.pipeline.rule_tests.samples import ExampleRepository
from gpulint.source.repository import Repository
from gpulint.workload import Role

POD = """
apiVersion: v1
kind: Pod
metadata: {{name: chat}}
spec:
  containers:
    - name: server
      image: {image}
      args: ["--model={model}"]
      resources: {{limits: {{nvidia.com/gpu: 1}}}}
"""
PROGRAM = """
from transformers import AutoModelForCausalLM
model = AutoModelForCausalLM.from_pretrained("{model}", device_map="auto")
"""


def read(path: str, files: dict[str, str]) -> Role:
    held = ExampleRepository({name: text.encode() for name, text in files.items()})
    repository = cast("Repository", held)
    (workload,) = (one for document in repository.read_documents(path) for one in enrichment.read(document, repository))
    return workload.roles[0]


@pytest.mark.parametrize(
    ("image", "model", "first"),
    [
        ("vllm/vllm-openai:v0.8.3", "Qwen/Qwen3-8B", "0.8.4"),
        ("vllm/vllm-openai:v0.6.6.post1", "Qwen/Qwen3-8B", "0.8.4"),
        ("vllm/vllm-openai:v0.8.4", "Qwen/Qwen3-8B", None),
        ("vllm/vllm-openai:v0.10.0", "Qwen/Qwen3-8B", None),
        ("vllm/vllm-openai:latest", "Qwen/Qwen3-8B", None),
        ("vllm/vllm-openai:v0.8.3", "Qwen/Qwen2.5-7B-Instruct", None),
        ("vllm/vllm-openai:v0.8.3", "team/Qwen3-8B", None),
    ],
)
def test_an_engine_older_than_its_checkpoint(image: str, model: str, first: str | None) -> None:
    assert read("pod.yaml", {"pod.yaml": POD.format(image=image, model=model)}).value("first_release") == first


@pytest.mark.parametrize(
    ("pinned", "model", "first"),
    [
        ("torch==2.1.0\ntransformers==4.35.2\n", "meta-llama/Llama-3.2-3B", "4.43.0"),
        ("transformers[torch] == 4.50.3", "Qwen/Qwen3-8B", "4.51.0"),
        ("transformers==4.36", "Qwen/Qwen2.5-7B", "4.37.0"),
        ("transformers==4.43.0", "meta-llama/Llama-3.2-3B", None),
        ("transformers==4.51", "Qwen/Qwen3-8B", None),
        ("transformers==4.35.2", "meta-llama/Llama-2-7b-hf", None),
        ("transformers>=4.35.2", "Qwen/Qwen3-8B", None),
        ("transformers==4.*", "Qwen/Qwen3-8B", None),
        ("# transformers==4.35.2", "Qwen/Qwen3-8B", None),
        ("sentence-transformers==2.2.2", "Qwen/Qwen3-8B", None),
        ("transformers==4.35.2; python_version < '3.9'\ntransformers==4.53.0", "Qwen/Qwen3-8B", None),
        ("", "Qwen/Qwen3-8B", None),
    ],
)
def test_a_pinned_library_older_than_its_checkpoint(pinned: str, model: str, first: str | None) -> None:
    role = read("app/serve.py", {"app/serve.py": PROGRAM.format(model=model), "requirements.txt": pinned})
    assert role.value("first_release") == first


def test_a_pin_is_assumed_to_be_what_is_installed() -> None:
    files = {"app/serve.py": PROGRAM.format(model="Qwen/Qwen3-8B"), "app/requirements.txt": "transformers==4.40.0"}
    field = read("app/serve.py", files).fields["too_old_release"]
    assert (field.value, field.origins[0].text()) == ("transformers 4.40.0", "4.40.0")
    assert field.assumption == "the release that requirements.txt pins is assumed to be installed"
