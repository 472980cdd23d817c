"""ConfigMaps of the same file: which variables a container has from them, and where each stands."""

from __future__ import annotations

import textwrap
from typing import Any

import pytest
import reading

MAP = """
apiVersion: v1
kind: ConfigMap
metadata: {{name: settings{namespace}}}
data:
  MODEL: Qwen/Qwen3-8B
  length: "4096"
  ranks: 2
---
"""


def started(environment: str, namespace: str = "", maps: int = 1) -> Any:
    """The role of a pod whose server takes its model, length and ranks from variables."""
    pod = f"""
        apiVersion: v1
        kind: Pod
        metadata: {{name: chat}}
        spec:
          containers:
            - name: server
              image: vllm/vllm-openai:v0.10.1
              args: [--model=$(MODEL), --max-model-len=$(LENGTH), --tensor-parallel-size=$(RANKS)]
              {environment}
              resources: {{limits: {{nvidia.com/gpu: 2}}}}
        """
    (found,) = reading.workloads(MAP.format(namespace=namespace) * maps + textwrap.dedent(pod))
    return found.roles[0]


KEYS = (
    "env: [{name: MODEL, valueFrom: {configMapKeyRef: {name: settings, key: MODEL}}},"
    " {name: LENGTH, valueFrom: {configMapKeyRef: {name: settings, key: length}}}, {name: RANKS, value: '2'}]"
)


def test_a_key_is_read_and_stands_in_the_config_map() -> None:
    found = started(KEYS)
    assert reading.values(found, "checkpoint", "max_model_len", "tensor_parallel") == ["Qwen/Qwen3-8B", 4096, 2]
    assert reading.source(found, "max_model_len") == '"4096"'
    assert reading.place(found, "max_model_len") == "6:11-17"


def test_a_whole_config_map_brings_its_keys_and_env_wins_over_it() -> None:
    found = started(
        "envFrom: [{configMapRef: {name: settings}}]\n              env: [{name: MODEL, value: Qwen/Qwen3-4B}]"
    )
    assert reading.values(found, "checkpoint") == ["Qwen/Qwen3-4B"]
    assert reading.values(started("envFrom: [{configMapRef: {name: settings}}]"), "checkpoint") == ["Qwen/Qwen3-8B"]


def test_a_prefix_is_part_of_the_name() -> None:
    found = started(
        "envFrom: [{configMapRef: {name: settings}, prefix: A_}]\n              env: [{name: MODEL, value: $(A_MODEL)}]"
    )
    assert reading.values(found, "checkpoint") == ["Qwen/Qwen3-8B"]


@pytest.mark.parametrize(
    ("environment", "namespace", "maps"),
    [
        pytest.param(KEYS, ", namespace: other", 1, id="another namespace"),
        pytest.param(KEYS, "", 2, id="two of the name"),
        pytest.param(KEYS.replace("key: MODEL", "key: model"), "", 1, id="another key"),
        pytest.param(KEYS.replace("configMapKeyRef", "secretKeyRef"), "", 1, id="a secret"),
        pytest.param("envFrom: [{secretRef: {name: settings}}]", "", 1, id="a whole secret"),
        pytest.param("envFrom: [{configMapRef: {name: others}}]", "", 1, id="of another file"),
    ],
)
def test_what_stands_elsewhere_is_unknown(environment: str, namespace: str, maps: int) -> None:
    (checkpoint,) = reading.values(started(environment, namespace, maps), "checkpoint")
    assert str(checkpoint).startswith("unknown: ")


def test_a_value_that_is_no_text_is_unknown() -> None:
    found = started(
        "env: [{name: MODEL, value: a/b}, {name: RANKS, valueFrom: {configMapKeyRef: {name: settings, key: ranks}}}]"
    )
    assert reading.values(found, "tensor_parallel") == ["unknown: RANKS of the ConfigMap settings is not text"]
