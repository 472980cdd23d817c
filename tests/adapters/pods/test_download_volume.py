"""The volume of the weights: which mount holds the download cache, and where its size stands."""

from __future__ import annotations

import textwrap
from typing import Any

import pytest
import reading

GIB = 2**30


def room(mount: str, volume: str = "", claim: str = "", env: str = "", model: str = "Qwen/Qwen3-8B") -> list[Any]:
    """The size that is found for a StatefulSet whose container has this mount."""
    lines = f"""
        apiVersion: apps/v1
        kind: StatefulSet
        metadata: {{name: chat}}
        spec:
          volumeClaimTemplates: [{claim}]
          template:
            spec:
              volumes: [{volume}]
              containers:
                - name: server
                  image: vllm/vllm-openai:v0.10.1
                  args: [--model={model}]
                  env: [{env}]
                  volumeMounts: [{mount}]
                  resources: {{limits: {{nvidia.com/gpu: 1}}}}
        """
    return reading.values(reading.role(textwrap.dedent(lines)), "model_volume_bytes")


HUB = "{name: cache, mountPath: /root/.cache/huggingface}"
EMPTY = "{name: cache, emptyDir: {sizeLimit: 10Gi}}"
OWN = "{name: cache, ephemeral: {volumeClaimTemplate: {spec: {resources: {requests: {storage: 30Gi}}}}}}"
CLAIM = "{metadata: {name: cache}, spec: {resources: {requests: {storage: 50Gi}}}}"


@pytest.mark.parametrize(
    ("found", "expected"),
    [
        pytest.param(room(HUB, EMPTY), 10 * GIB, id="an emptyDir with a limit"),
        pytest.param(room("{name: cache, mountPath: /root/.cache/}", EMPTY), 10 * GIB, id="a folder above"),
        pytest.param(room(HUB, OWN), 30 * GIB, id="an ephemeral claim"),
        pytest.param(room(HUB, claim=CLAIM), 50 * GIB, id="a claim of the StatefulSet"),
        pytest.param(
            room("{name: cache, mountPath: /models}", EMPTY, env="{name: HF_HOME, value: /models/hub}"),
            10 * GIB,
            id="the cache that a variable names",
        ),
        pytest.param(room(HUB, "{name: cache, emptyDir: {}}"), None, id="an emptyDir without a limit"),
        pytest.param(room(HUB, "{name: cache, persistentVolumeClaim: {claimName: c}}"), None, id="a claim elsewhere"),
        pytest.param(room("{name: cache, mountPath: /cache}", EMPTY), None, id="another folder"),
        pytest.param(room("{name: cache, mountPath: /root/.cache/hugging}", EMPTY), None, id="a similar folder"),
        pytest.param(room(HUB, EMPTY, model="/models/own"), None, id="weights that are not downloaded"),
        pytest.param(
            room(HUB, EMPTY, env="{name: HF_HOME, valueFrom: {configMapKeyRef: {name: c, key: d}}}"),
            None,
            id="a cache that another object names",
        ),
    ],
)
def test_the_size_is_that_of_the_volume_under_the_cache(found: list[Any], expected: int | None) -> None:
    assert found == [expected]


def test_weights_that_an_argument_moves_are_not_in_the_cache() -> None:
    assert room(HUB, EMPTY, model="Qwen/Qwen3-8B, --download-dir=/models") == [None]


def test_weights_of_another_hub_are_not_in_the_cache() -> None:
    assert room(HUB, EMPTY, env="{name: VLLM_USE_MODELSCOPE, value: 'True'}") == [None]
