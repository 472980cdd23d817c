"""Models of compose files: what Docker Model Runner serves."""

from __future__ import annotations

import pytest
import samples
from reading import values

from gpulint import adapters
from gpulint.source import documents
from gpulint.workload import Role, Unknown

TOP = "services: {{app: {{image: app, models: [llm]}}}}\nmodels:\n  llm: {{model: '{}'{}}}\n"


def find_roles(text: str) -> list[Role]:
    (document,) = documents.load("compose.yaml", text.encode()).documents
    return [role for found in adapters.read(document, samples.ExampleRepository({})) for role in found.roles]


def test_a_model_of_a_compose_file_is_served_by_llama_cpp() -> None:
    (role,) = find_roles(TOP.format("ai/llama3.2:3B-Q4_K_M", ""))
    found = values(role, "engine", "checkpoint", "quantization", "max_model_len", "gpus_per_pod")
    assert found == ["llama.cpp", "meta-llama/Llama-3.2-3B-Instruct", "gguf-q4_k_m", 4096, 1]


def test_its_context_and_flags_are_those_of_the_server() -> None:
    (role,) = find_roles(
        TOP.format("ai/qwen3:8B-Q4_K_M", ", context_size: 8192, runtime_flags: ['-np 2', '-ctk q8_0']")
    )
    assert values(role, "checkpoint", "max_num_seqs") == ["Qwen/Qwen3-8B", 2]
    assert role.fields["checkpoint"].origins[0].path == ("models", "llm", "model")


def test_an_older_service_names_its_model_as_a_provider() -> None:
    text = "services:\n  llm:\n    provider: {type: model, options: {model: 'ai/qwen3:8B-Q4_K_M'}}\n"
    (role,) = find_roles(text)
    assert values(role, "engine", "checkpoint") == ["llama.cpp", "Qwen/Qwen3-8B"]


@pytest.mark.parametrize(
    ("name", "checkpoint"),
    [
        ("hf.co/bartowski/Llama-3.2-1B-Instruct-GGUF", "bartowski/Llama-3.2-1B-Instruct"),
        ("ai/acme:12B-Q4_K_M", "ai/acme:12B-Q4_K_M"),
        ("ai/smollm2", None),  # Docker Hub decides the size
        ("ai/acme:newest", None),
        ("$MODEL", None),
    ],
)
def test_a_name_tells_the_model_only_with_its_size(name: str, checkpoint: str | None) -> None:
    (role,) = find_roles(TOP.format(name, ""))
    value = role.value("checkpoint")
    assert (None if isinstance(value, Unknown) else value) == checkpoint


@pytest.mark.parametrize(
    "text",
    [
        "services: {app: {image: app}}\nmodels: {llm: {}}\n",
        "services: {app: {image: app}}\nmodels: [llm]\n",
        "services: {db: {provider: {type: awesomecloud, options: {model: small}}}}\n",
    ],
)
def test_what_names_no_model_is_none(text: str) -> None:
    assert not find_roles(text)
