"""Errors for what a program's own source refuses, and warnings where a release may load it."""

from __future__ import annotations

import pytest
import samples

EXPERTS = """\
apiVersion: v1
kind: Pod
metadata: {{name: chat}}
spec:
  nodeSelector: {{{selector}}}
  containers:
    - name: server
      image: {image}
      command: [{command}]
      args: [{arguments}]
      resources: {{limits: {{{resource}: 8}}}}
      volumeMounts: [{{name: shm, mountPath: /dev/shm}}]
  volumes: [{{name: shm, emptyDir: {{medium: Memory}}}}]
"""
H200 = "cloud.google.com/gke-accelerator: nvidia-h200-141gb"
VLLM, SGLANG = 'vllm, serve, "MiniMaxAI/MiniMax-M2.5"', "python3, -m, sglang.launch_server"
RULES = {"expert-blocks-split", "quantised-shard-misaligned"}


def read_severities(image: str, arguments: str, selector: str = H200, resource: str = "nvidia.com/gpu") -> set[str]:
    command = SGLANG if "sglang" in image else VLLM
    spec = EXPERTS.format(selector=selector, image=image, command=command, arguments=arguments, resource=resource)
    return {f"{one.rule} {one.severity.word}" for one in samples.report(spec).open if one.rule in RULES}


ERROR, WARNING = {"expert-blocks-split error"}, {"quantised-shard-misaligned warning"}


@pytest.mark.parametrize(
    ("image", "expected"),
    [
        ("vllm/vllm-openai:v0.12.0", ERROR),
        ("vllm/vllm-openai:v0.25.0", ERROR),
        ("vllm/vllm-openai:v0.29.0", WARNING),
        ("vllm/vllm-openai:latest", WARNING),
    ],
)
def test_vllm_until_0_25_refuses_experts_of_192_columns(image: str, expected: set[str]) -> None:
    assert read_severities(image, "--tensor-parallel-size=8, --max-model-len=8192") == expected


@pytest.mark.parametrize(
    "arguments",
    ["--tensor-parallel-size=4", "--tensor-parallel-size=8, --enable-expert-parallel", "--tensor-parallel-size=2"],
)
def test_whole_blocks_and_whole_experts_are_loaded(arguments: str) -> None:
    assert read_severities("vllm/vllm-openai:v0.12.0", f"{arguments}, --max-model-len=8192") == set()


@pytest.mark.parametrize(
    "further",
    ["--ep-size=8", "--moe-a2a-backend=deepep", "--enable-ep-moe", "--enable-deepep-moe", "--moe-dp-size=2"],
)
def test_sglang_spreads_whole_experts_or_wider_shards(further: str) -> None:
    arguments = f'--model-path, "MiniMaxAI/MiniMax-M2.5", --tp-size=8, --context-length=8192, {further}'
    assert ERROR.isdisjoint(read_severities("lmsysorg/sglang:v0.5.4", arguments))


def test_sglang_refuses_them_on_nvidia_and_may_pad_them_on_amd() -> None:
    arguments = '--model-path, "MiniMaxAI/MiniMax-M2.5", --tp-size=8, --context-length=8192'
    assert read_severities("lmsysorg/sglang:v0.5.6", arguments) == ERROR
    label = "amd.com/gpu.product-name: AMD_Instinct_MI300X_OAM"
    assert read_severities("lmsysorg/sglang:v0.5.6-rocm700-mi30x", arguments, label, "amd.com/gpu") == WARNING


SLICES = """\
apiVersion: v1
kind: Pod
metadata: {{name: sliced}}
spec:
  nodeSelector: {{{selector}}}
  containers:
    - name: server
      image: {image}
      args: [--model=meta-llama/Llama-3.1-8B-Instruct, --max-model-len=8192, {sizes}]
      resources: {{limits: {{nvidia.com/mig-3g.40gb: 2}}}}
      volumeMounts: [{{name: shm, mountPath: /dev/shm}}]
  volumes: [{{name: shm, emptyDir: {{medium: Memory}}}}]
"""
ON_SLICES = {"ranks-on-mig-slices", "tensor-parallel-over-mig"}
ONE, EIGHT = (f"node.kubernetes.io/instance-type: a2-ultragpu-{count}g" for count in (1, 8))
PRODUCT = "nvidia.com/gpu.product: NVIDIA-A100-SXM4-80GB"
REFUSED, WARNED = {"ranks-on-mig-slices error"}, {"tensor-parallel-over-mig warning"}
TENSOR = "--tensor-parallel-size=2"


@pytest.mark.parametrize(
    ("selector", "tag", "sizes", "expected"),
    [
        (ONE, "v0.25.0", TENSOR, REFUSED),
        (ONE, "v0.10.1", "--pipeline-parallel-size=2", REFUSED),
        (ONE, "v0.26.0", TENSOR, WARNED),
        (ONE, "latest", TENSOR, WARNED),
        (EIGHT, "v0.25.0", TENSOR, WARNED),
        (PRODUCT, "v0.25.0", TENSOR, WARNED),
        (ONE, "v0.10.1", "--tensor-parallel-size=1", set()),
    ],
)
def test_ranks_on_slices_are_an_error_where_two_share_a_gpu(
    selector: str, tag: str, sizes: str, expected: set[str]
) -> None:
    """Slices of separate GPUs work with recent drivers, as two of RTX PRO 6000 did with vLLM in 2026."""
    spec = SLICES.format(selector=selector, image=f"vllm/vllm-openai:{tag}", sizes=sizes)
    found = samples.report(spec).open
    assert {f"{one.rule} {one.severity.word}" for one in found if one.rule in ON_SLICES} == expected
