"""What a role takes of each GPU: all of it, or the part that is known."""

from __future__ import annotations

import pytest
import samples

from gpulint.report.model import RoleSummary
from gpulint.units import GIB

SERVER = """
apiVersion: v1
kind: Pod
metadata: {{name: chat}}
spec:
  {selector}
  containers:
    - name: main
      image: {image}
      args: [--model=Qwen/Qwen2.5-7B-Instruct, --max-model-len=8192, --max-num-seqs=1, --enforce-eager]
      resources: {{limits: {{nvidia.com/gpu: 1}}}}
"""
L40S = "nodeSelector: {cloud.google.com/gke-accelerator: nvidia-l40s}"
VLLM = "vllm/vllm-openai:v0.10.0"
FULL = """
base_model: Qwen/Qwen2.5-0.5B
sequence_len: 1024
micro_batch_size: 1
sample_packing: true
bf16: true
optimizer: {optimizer}
gradient_checkpointing: true
datasets: [{{path: acme/data, type: alpaca}}]
"""


def only_role(text: str, path: str = "pod.yaml") -> RoleSummary:
    (role,) = samples.roles(samples.report(text, path=path))
    return role


@pytest.mark.parametrize("selector", ["", L40S])
def test_a_server_takes_its_weights_its_cache_and_its_reserve(selector: str) -> None:
    """7.62 billion weights in 16 bits are 14.19 GiB; 8,192 tokens of 28 · 2 · 4 · 128 · 2 bytes are 0.44 GiB."""
    taken = only_role(SERVER.format(selector=selector, image=VLLM)).memory
    assert taken is not None
    assert taken.part == ""
    assert 14.63 * GIB < taken.low_bytes < taken.expected_bytes < taken.high_bytes < 19 * GIB


def test_hardware_that_fits_tells_what_is_taken_of_it() -> None:
    role = only_role(SERVER.format(selector="", image=VLLM))
    assert role.smallest[0].memory == role.memory
    assert role.verdict == "needs 1 × L4 24GB: 15 GiB per GPU"


def test_a_program_that_is_not_known_takes_at_least_its_weights() -> None:
    role = only_role(
        SERVER.format(selector=L40S, image="nvcr.io/nim/meta/llama-3.1-8b-instruct:1.8.4").replace("args", "x-args")
    )
    assert role.memory is not None
    assert role.memory.part == "weights"


def test_pageable_states_are_not_taken() -> None:
    """0.49 billion parameters of Adam in 8 bits are 2 bytes each, which a paged optimizer may move out."""
    whole, paged = (
        only_role(FULL.format(optimizer=name), "axolotl.yaml").memory for name in ("adamw_8bit", "paged_adamw_8bit")
    )
    assert whole is not None
    assert paged is not None
    assert whole.expected_bytes - paged.expected_bytes == pytest.approx(2 * 494e6, rel=0.05)
