"""Ollama: how a server is recognised, what its environment states, and what it leaves to the CPU."""

from __future__ import annotations

import pytest
import reading
from samples import of_rule, report

from gpulint.catalog import architecture, tables
from gpulint.engines.serving import ollama
from gpulint.facts import resolver
from gpulint.facts.model import Facts
from gpulint.workload import Field, Unknown

GPU = "resources: {limits: {nvidia.com/gpu: 1}}"


# ---- which containers are servers


@pytest.mark.parametrize(
    "lines",
    [
        pytest.param("image: ollama/ollama:0.12.3", id="the image"),
        pytest.param("image: ollama/ollama:0.12.3\nargs: [serve]", id="its own argument"),
        pytest.param("image: docker.io/ollama/ollama@sha256:00", id="by digest"),
        pytest.param("image: registry.example.com:5000/mirror/ollama:1", id="a private mirror"),
        pytest.param("image: example.com/app:1\ncommand: [/bin/ollama, serve]", id="the program"),
        pytest.param(
            "image: example.com/app:1\ncommand: [sh, -c, 'ollama serve & sleep 5; ollama pull granite3.3:2b; wait']",
            id="in a script that pulls a model",
        ),
        pytest.param("image: example.com/app:1\ncommand: [sh, -c, 'OLLAMA_HOST=0.0.0.0 exec ollama serve']", id="exec"),
    ],
)
def test_a_server_is_recognised(lines: str) -> None:
    assert reading.values(reading.started(f"{lines}\n{GPU}"), "engine", "max_model_len_stated") == ["ollama", False]


@pytest.mark.parametrize(
    "lines",
    [
        pytest.param("image: ollama/ollama:0.12.3\nargs: [pull, llama3.3]", id="the image pulls"),
        pytest.param("image: ollama/ollama:0.12.3\ncommand: [ollama, run, llama3.3]", id="a client"),
        pytest.param("image: ghcr.io/open-webui/open-webui:ollama", id="a front end"),
        pytest.param("image: example.com/ollama-exporter:1", id="an exporter"),
        pytest.param("image: example.com/app:1\ncommand: [echo, ollama, serve]", id="only the words"),
    ],
)
def test_what_is_no_server_has_no_engine(lines: str) -> None:
    assert reading.values(reading.started(f"{lines}\n{GPU}"), "engine") == [None]


@pytest.mark.parametrize(
    ("image", "release"),
    [
        ("ollama/ollama:0.12.3", "0.12.3"),
        ("ollama/ollama:0.12.3-rocm", "0.12.3"),
        ("docker.io/ollama/ollama:0.12.3@sha256:00", "0.12.3"),
        ("ollama/ollama:latest", None),
        ("ollama/ollama", None),
        ("registry.example.com/team/ollama:1.2.3", None),
        ("registry.example.com/team/ollama:0.12.3-patched", "0.12.3"),
        ("registry.example.com/team/ollama:0.1.0", None),
        ("ollama/ollama@sha256:00", None),
    ],
)
def test_the_tag_of_the_image_tells_the_release_or_it_stays_unknown(image: str, release: str | None) -> None:
    assert reading.values(reading.started(f"image: {image}\n{GPU}"), "engine_version") == [release]


# ---- the environment


@pytest.mark.parametrize(
    ("variable", "value", "quantity", "read"),
    [
        ("OLLAMA_CONTEXT_LENGTH", "8192", "max_model_len", 8192),
        ("OLLAMA_CONTEXT_LENGTH", "8192", "max_model_len_stated", True),
        ("OLLAMA_CONTEXT_LENGTH", "8k", "max_model_len", "unknown: 8k is not a number"),
        ("OLLAMA_NUM_PARALLEL", "4", "max_num_seqs", 4),
        ("OLLAMA_KV_CACHE_TYPE", "q8_0", "kv_cache_dtype", "q8_0"),
        ("OLLAMA_LLM_LIBRARY", "cpu_avx2", "device", "cpu"),
        ("OLLAMA_GPU_OVERHEAD", "536870912", "memory_budget_bytes", "unknown: OLLAMA_GPU_OVERHEAD reserves memory"),
        ("OLLAMA_CONTEXT_LENGTH", "0", "max_model_len", None),
        ("OLLAMA_NUM_PARALLEL", "0", "max_num_seqs", None),
        ("OLLAMA_LLM_LIBRARY", "cuda_v12", "device", None),
        ("OLLAMA_MAX_LOADED_MODELS", "4", "max_num_seqs", None),
    ],
)
def test_a_variable_is_read_as_ollama_reads_it(variable: str, value: str, quantity: str, read: object) -> None:
    found = reading.started(f"image: ollama/ollama:0.12.3\nenv: [{{name: {variable}, value: '{value}'}}]\n{GPU}")
    assert reading.values(found, quantity) == [read]


def test_the_place_of_a_setting_is_its_variable() -> None:
    found = reading.started(
        f"image: ollama/ollama:0.12.3\nenv: [{{name: OLLAMA_CONTEXT_LENGTH, value: '8192'}}]\n{GPU}"
    )
    assert reading.source(found, "max_model_len") == "'8192'"


def test_variables_of_another_object_leave_the_settings_open() -> None:
    found = reading.started(f"image: ollama/ollama:0.12.3\nenvFrom: [{{configMapRef: {{name: settings}}}}]\n{GPU}")
    assert found.open_ended == "envFrom may state further settings"


# ---- names of models


ROWS = (
    {"name": "llama3.3", "tag": "70b", "checkpoint": "meta-llama/Llama-3.3-70B-Instruct", "type": "Q4_K_M"},
    {"name": "llama3.3", "tag": "latest", "checkpoint": "meta-llama/Llama-3.3-70B-Instruct", "type": "Q4_K_M"},
)


@pytest.mark.parametrize(
    ("name", "checkpoint", "quantization"),
    [
        ("llama3.3:70b", "meta-llama/Llama-3.3-70B-Instruct", "gguf-q4_k_m"),
        ("ollama://llama3.3:70b", "meta-llama/Llama-3.3-70B-Instruct", "gguf-q4_k_m"),
        ("llama3.3", "meta-llama/Llama-3.3-70B-Instruct", "gguf-q4_k_m"),
        ("library/llama3.3:70b", "meta-llama/Llama-3.3-70B-Instruct", "gguf-q4_k_m"),
        ("hf.co/bartowski/Llama-3.3-70B-Instruct-GGUF:Q8_0", "bartowski/Llama-3.3-70B-Instruct", "gguf-q8_0"),
    ],
)
def test_a_listed_name_tells_checkpoint_and_type(
    name: str, checkpoint: str, quantization: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(tables, "rows", lambda table: ROWS if table == "ollama" else ())
    found = ollama.read_model_name(name)
    assert (found["checkpoint"].value, found["quantization"].value) == (checkpoint, quantization)


@pytest.mark.parametrize("name", ["llama3.3:1b", "team/private:70b", "llama3"])
def test_an_unlisted_name_is_unknown_and_never_guessed(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tables, "rows", lambda table: ROWS if table == "ollama" else ())
    assert all(isinstance(field.value, Unknown) for field in ollama.read_model_name(name).values())


# ---- defaults by release, read in the released sources (envconfig/config.go, server/routes.go)


def known(image: str, gpus: int = 1, product: str = "nvidia-l4") -> Facts:
    """The facts of a pod on cards of a Google Cloud label that serves Llama-3.3-70B in Q4_K_M."""
    role = reading.role(
        f"""
        apiVersion: v1
        kind: Pod
        metadata: {{name: chat}}
        spec:
          nodeSelector: {{cloud.google.com/gke-accelerator: {product}}}
          containers:
            - name: server
              image: {image}
              resources: {{limits: {{nvidia.com/gpu: {gpus}}}}}
        """
    )
    model = {"checkpoint": Field("meta-llama/Llama-3.3-70B-Instruct"), "quantization": Field("gguf-q4_k_m")}
    return resolver.resolve(role.having(**model), architecture.resolve("meta-llama/Llama-3.3-70B-Instruct"))


@pytest.mark.parametrize(
    ("release", "gpus", "length", "parallel"),
    [
        ("0.5.13", 1, 2048, 4),
        ("0.6.7", 1, 4096, 2),
        ("0.12.3", 1, 4096, 1),
        ("0.15.5", 1, 4096, 1),
        ("0.15.5", 2, 32_768, 1),
        ("0.32.15", 4, 262_144, 1),
    ],
)
def test_defaults_are_those_of_the_release_and_of_the_memory(
    release: str, gpus: int, length: int, parallel: int
) -> None:
    found = known(f"ollama/ollama:{release}", gpus)
    assert [found.expected(name) for name in ("max_model_len", "max_num_seqs")] == [length, parallel]


def test_a_70b_model_leaves_layers_of_an_l4_to_the_cpu_and_none_of_four() -> None:
    """kubeai, manifests/models/llama-3.3-70b-ollama-l4.yaml: about 40 GiB on one card of 24 GB."""
    one, four = known("ollama/ollama:0.12.3"), known("ollama/ollama:0.12.3", gpus=4)
    assert one.expected("gpu_layers_fitted") is True
    assert float(one.expected("unplaced_bytes")) == pytest.approx(17.0 * 2**30, rel=0.05)  # type: ignore[arg-type]
    assert four.expected("unplaced_bytes") == 0
    assert one.expected("weight_bytes_per_gpu") == one.expected("device_memory_bytes")


def test_an_unnamed_model_is_not_judged() -> None:
    found = report(
        "apiVersion: v1\nkind: Pod\nmetadata: {name: chat}\nspec:\n"
        "  nodeSelector: {cloud.google.com/gke-accelerator: nvidia-l4}\n"
        "  containers:\n    - name: server\n      image: ollama/ollama:0.12.3\n"
        "      resources: {limits: {nvidia.com/gpu: 1}}\n"
    )
    assert of_rule(found, "layers-fall-back-to-cpu") == []


# ---- the model that the container's own commands pull


GPU = "resources: {limits: {nvidia.com/gpu: 1}}"


@pytest.mark.parametrize(
    "lines",
    [
        pytest.param(
            "image: ollama/ollama:0.9.0\ncommand: [sh, -c, 'ollama serve & sleep 5; ollama pull llama3.1:8b; wait']",
            id="in the same script",
        ),
        pytest.param(
            "image: ollama/ollama:0.9.0\nlifecycle: {postStart: {exec: {command: [sh, -c, 'ollama pull llama3.1:8b']}}}",
            id="after the start",
        ),
        pytest.param(
            "image: ollama/ollama:0.9.0\nlifecycle: {postStart: {exec: {command: [ollama, run, 'llama3.1:8b']}}}",
            id="after the start, without a shell",
        ),
    ],
)
def test_the_one_model_that_is_pulled_is_the_checkpoint(lines: str) -> None:
    found = reading.started(f"{lines}\n{GPU}")
    assert reading.values(found, "engine", "checkpoint", "quantization") == [
        "ollama",
        "meta-llama/Llama-3.1-8B-Instruct",
        "gguf-q4_k_m",
    ]


def test_of_several_models_that_are_pulled_the_largest_must_run() -> None:
    script = "ollama serve & ollama pull nomic-embed-text; ollama pull llama3.1:8b; wait"
    found = reading.started(f"image: ollama/ollama:0.9.0\ncommand: [sh, -c, '{script}']\n{GPU}")
    assert reading.values(found, "checkpoint") == ["meta-llama/Llama-3.1-8B-Instruct"]


def test_an_annotation_names_a_model_as_ollama_does() -> None:
    found = reading.role(
        """
        apiVersion: v1
        kind: Pod
        metadata: {name: chat, annotations: {gpulint/model: "llama3.1:8b"}}
        spec:
          containers:
            - name: server
              image: ollama/ollama:0.9.0
              resources: {limits: {nvidia.com/gpu: 1}}
        """
    )
    assert reading.values(found, "checkpoint", "quantization") == ["meta-llama/Llama-3.1-8B-Instruct", "gguf-q4_k_m"]
