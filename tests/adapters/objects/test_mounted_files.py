"""Files that a container has from a ConfigMap: the script it starts, the settings its server is given."""

from __future__ import annotations

import pytest
import reading

POD = """\
apiVersion: v1
kind: ConfigMap
metadata: {{name: files}}
data:
  run.sh: |
    #!/bin/bash
    export RANKS=4
    vllm serve Qwen/Qwen3-8B --tensor-parallel-size $RANKS
  vllm.yaml: |
    model: Qwen/Qwen3-4B
    tensor-parallel-size: 4
    enforce-eager: true
  trt.yaml: |
    tensor_parallel_size: 2
    kv_cache_config: {{free_gpu_memory_fraction: 0.8}}
---
apiVersion: v1
kind: Pod
metadata: {{name: chat}}
spec:
  volumes:
    - {{name: files, configMap: {{name: files{items}}}}}
  containers:
    - name: server
      image: {image}
      {command}
      volumeMounts: [{mount}]
      resources: {{limits: {{nvidia.com/gpu: 4}}}}
"""
WHOLE = "{name: files, mountPath: /files}"


def role(command: str, mount: str = WHOLE, items: str = "", image: str = "vllm/vllm-openai:v0.11.0") -> reading.Role:
    (found,) = reading.workloads(POD.format(command=command, mount=mount, items=items, image=image))
    return found.roles[0]


def test_the_script_of_a_config_map_is_read_in_place() -> None:
    found = role("command: [/bin/bash, /files/run.sh]")
    assert reading.values(found, "checkpoint", "tensor_parallel") == ["Qwen/Qwen3-8B", 4]
    assert reading.place(found, "checkpoint") == "8:16-29"


def test_settings_of_a_file_are_arguments() -> None:
    found = role("args: [--config, /files/vllm.yaml]")
    assert reading.values(found, "checkpoint", "tensor_parallel", "enforce_eager") == ["Qwen/Qwen3-4B", 4, True]
    assert reading.place(found, "tensor_parallel") == "11:27-28"


@pytest.mark.parametrize("arguments", ["[--config=/files/vllm.yaml, -tp, '2']", "[-tp=2, --config, /files/vllm.yaml]"])
def test_the_command_line_wins_over_the_file(arguments: str) -> None:
    assert reading.values(role(f"args: {arguments}"), "tensor_parallel") == [2]


def test_the_file_wins_with_tensorrt_llm() -> None:
    command = "command: [trtllm-serve, Qwen/Qwen3-8B, --tp_size, '1', --extra_llm_api_options, /files/trt.yaml]"
    found = role(command, image="nvcr.io/nvidia/tensorrt-llm/release:1.0.0")
    assert reading.values(found, "engine", "tensor_parallel") == ["tensorrt-llm", 2]


@pytest.mark.parametrize(
    ("mount", "items", "path"),
    [
        ("{name: files, mountPath: /etc/run.sh, subPath: run.sh}", "", "/etc/run.sh"),
        (WHOLE, ", items: [{key: run.sh, path: start.sh}]", "/files/start.sh"),
    ],
)
def test_a_key_may_have_another_name_in_the_container(mount: str, items: str, path: str) -> None:
    found = role(f"command: [bash, {path}]", mount, items)
    assert reading.values(found, "checkpoint") == ["Qwen/Qwen3-8B"]


@pytest.mark.parametrize("path", ["/files/absent.yaml", "/elsewhere/vllm.yaml", "vllm.yaml"])
def test_settings_that_cannot_be_found_may_state_anything(path: str) -> None:
    found = role(f"args: [--model=Qwen/Qwen3-8B, --config={path}]")
    assert found.open_ended == "--config names a file with further arguments"
