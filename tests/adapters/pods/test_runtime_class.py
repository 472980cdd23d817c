"""Runtime classes: GPUs that a pod gets without a request for them."""

from __future__ import annotations

import pytest
import reading

ALL = "unknown: the runtime class gives the container every GPU of its node, and their number is not stated"
OLLAMA = "name: ollama, image: 'ollama/ollama:0.3.5'"
PULLS = "lifecycle: {postStart: {exec: {command: [sh, -c, 'for m in $PRELOAD; do ollama run $m; done']}}}"


def pod(runtime: str, *containers: str) -> str:
    listed = ", ".join(f"{{{container}}}" for container in containers)
    return f"apiVersion: v1\nkind: Pod\nmetadata: {{name: a}}\nspec: {{{runtime}containers: [{listed}]}}\n"


def visible(devices: str) -> str:
    return f"{OLLAMA}, env: [{{name: NVIDIA_VISIBLE_DEVICES, value: '{devices}'}}]"


@pytest.mark.parametrize(
    ("container", "gpus"),
    [
        pytest.param(OLLAMA, ALL, id="every GPU"),
        pytest.param(visible("all"), ALL, id="every GPU by its variable"),
        pytest.param(visible("0,2"), 2, id="two by their indices"),
        pytest.param(visible("GPU-fef8089b-4820-abfc-e83e-94318197576e"), 1, id="one by its UUID"),
    ],
)
def test_an_engine_gets_the_gpus_of_its_runtime_class(container: str, gpus: object) -> None:
    found = reading.role(pod("runtimeClassName: nvidia, ", container))
    assert reading.values(found, "engine", "gpus_per_pod") == ["ollama", gpus]


def test_a_model_that_a_variable_lists_is_loaded_after_the_start_on_one_gpu() -> None:
    listed = f"{OLLAMA}, env: [{{name: PRELOAD, value: llama3.1}}], {PULLS}"
    found = reading.role(pod("runtimeClassName: nvidia, ", listed))
    assert reading.values(found, "checkpoint", "gpus_per_pod") == ["meta-llama/Llama-3.1-8B-Instruct", 1]


@pytest.mark.parametrize(
    "text",
    [
        pytest.param(pod("", OLLAMA), id="no runtime class"),
        pytest.param(pod("runtimeClassName: gvisor, ", OLLAMA), id="another runtime class"),
        pytest.param(pod("runtimeClassName: nvidia, ", visible("void")), id="no device is visible"),
        pytest.param(pod("runtimeClassName: nvidia, ", "name: web, image: 'nginx:1'"), id="no engine"),
    ],
)
def test_a_pod_without_gpus_or_an_engine_is_no_workload(text: str) -> None:
    assert not reading.workloads(text)


def test_a_container_beside_one_that_requests_gpus_has_none() -> None:
    asks = "name: s, image: 'vllm/vllm-openai:v0.10.1', args: [--model=a/b], resources: {limits: {nvidia.com/gpu: 1}}"
    assert reading.role(pod("runtimeClassName: nvidia, ", asks, OLLAMA)).name == "s"
