"""Number formats against cards: what runs natively, what runs weight-only, and what is refused, by release."""

from __future__ import annotations

import textwrap

import pytest
import samples

from gpulint.report.model import Severity

LLAMA = "meta-llama/Llama-3.1-8B-Instruct"
ACCELERATOR = "nvidia.com/gpu.product"
RULES = {"fp8-unsupported", "fp8-weight-only", "fp4-emulated", "quantisation-unsupported"}


def said(product: str, release: str, *arguments: str, model: str = LLAMA) -> dict[str, Severity]:
    """The rules on number formats that speak of one server on one card."""
    text = textwrap.dedent(
        f"""
        apiVersion: v1
        kind: Pod
        metadata: {{name: chat}}
        spec:
          nodeSelector: {{{ACCELERATOR}: {product}}}
          containers:
            - name: server
              image: vllm/vllm-openai:{release}
              args: [--model={model}, --max-model-len=2048{"".join(f", {one}" for one in arguments)}]
              resources: {{limits: {{nvidia.com/gpu: 1}}}}
        """
    )
    return {name: worst for name, worst in samples.severities(samples.report(text)).items() if name in RULES}


FP8, NVFP4 = "--quantization=fp8", "nvidia/Llama-3.1-8B-Instruct-FP4"

# Expected from vLLM's released sources, get_min_capability below model_executor/layers/quantization.
MUST_SPEAK = [
    # fp8.py: 89 in 0.5.0, 80 from 0.5.1 to 0.13, 75 since 0.14.0.
    ("NVIDIA-A100-SXM4-80GB", "v0.5.0", (FP8,), LLAMA, {"fp8-unsupported": Severity.ERROR}),
    ("NVIDIA-A100-SXM4-80GB", "v0.10.1", (FP8,), LLAMA, {"fp8-weight-only": Severity.NOTE}),
    ("Tesla-T4", "v0.13.0", (FP8,), LLAMA, {"fp8-unsupported": Severity.ERROR}),
    ("Tesla-T4", "v0.14.0", (FP8,), LLAMA, {"fp8-weight-only": Severity.NOTE}),
    ("Tesla-V100-SXM2-16GB", "v0.33.0", (FP8,), LLAMA, {"fp8-unsupported": Severity.ERROR}),
    # A release that is not stated may or may not have the kernel for Turing.
    ("Tesla-T4", "latest", (FP8,), LLAMA, {"fp8-unsupported": Severity.NOTE}),
    # modelopt.py: 100 in 0.8, 80 from 0.9 to 0.13, 75 since 0.14.0.
    (
        "NVIDIA-H100-80GB-HBM3",
        "v0.8.5",
        (),
        NVFP4,
        {"quantisation-unsupported": Severity.WARNING},
    ),  # only the name says FP4
    ("NVIDIA-H100-80GB-HBM3", "v0.10.1", (), NVFP4, {"fp4-emulated": Severity.NOTE}),
    ("Tesla-T4", "v0.13.0", (), NVFP4, {"quantisation-unsupported": Severity.WARNING}),
    # awq.py 75; gptq_marlin.py 80, 75 since 0.14.0; bitsandbytes.py 70; mxfp4.py 80.
    ("Tesla-V100-SXM2-32GB", "v0.10.1", ("--quantization=awq",), LLAMA, {"quantisation-unsupported": Severity.ERROR}),
    ("Tesla-T4", "v0.13.0", ("--quantization=gptq_marlin",), LLAMA, {"quantisation-unsupported": Severity.ERROR}),
    ("Tesla-P100-PCIE-16GB", "v0.10.1", ("-q=bitsandbytes",), LLAMA, {"quantisation-unsupported": Severity.ERROR}),
    ("Tesla-T4", "v0.10.1", (), "openai/gpt-oss-20b", {"quantisation-unsupported": Severity.ERROR}),
]


@pytest.mark.parametrize(("product", "release", "arguments", "model", "expected"), MUST_SPEAK)
def test_a_card_below_a_format_is_told(
    product: str, release: str, arguments: tuple[str, ...], model: str, expected: dict[str, Severity]
) -> None:
    assert said(product, release, *arguments, model=model) == expected


MUST_STAY_SILENT = [
    ("NVIDIA-H100-80GB-HBM3", "v0.10.1", (FP8,), LLAMA),
    ("NVIDIA-L4", "v0.10.1", (FP8,), LLAMA),
    ("NVIDIA-H100-80GB-HBM3", "v0.19.0", (), "openai/gpt-oss-120b"),
    ("NVIDIA-A100-SXM4-80GB", "v0.19.0", (), "openai/gpt-oss-20b"),
    ("NVIDIA-B200", "v0.19.0", (), NVFP4),
    ("NVIDIA-RTX-PRO-6000-Blackwell-Server-Edition", "v0.19.0", (), NVFP4),
    ("NVIDIA-GeForce-RTX-5090", "v0.19.0", (), NVFP4),
    ("Tesla-T4", "v0.14.0", ("--quantization=gptq_marlin",), LLAMA),
    ("Tesla-T4", "v0.10.1", ("--quantization=awq",), "TheBloke/OpenHermes-2.5-Mistral-7B-AWQ"),
    ("Tesla-V100-SXM2-32GB", "v0.10.1", ("--quantization=gptq",), LLAMA),
    ("Tesla-V100-SXM2-32GB", "v0.10.1", ("--quantization=bitsandbytes",), LLAMA),
    ("Tesla-P100-PCIE-16GB", "v0.28.0", ("--quantization=bitsandbytes",), LLAMA),  # bitsandbytes README: SM60+
    ("Tesla-V100-SXM2-16GB", "v0.10.1", (), LLAMA),
    ("NVIDIA-A100-80GB", "v0.10.1", (FP8,), LLAMA),
]


@pytest.mark.parametrize(("product", "release", "arguments", "model"), MUST_STAY_SILENT)
def test_a_card_that_runs_a_format_natively_or_as_it_was_made_is_not_told(
    product: str, release: str, arguments: tuple[str, ...], model: str
) -> None:
    assert said(product, release, *arguments, model=model) == {}


def test_the_capability_of_an_amd_card_is_not_compared_with_cuda_s() -> None:
    text = """
apiVersion: v1
kind: Pod
metadata: {name: chat, annotations: {gpulint/accelerator: mi300x}}
spec:
  containers:
    - name: server
      image: vllm/vllm-openai:v0.10.1
      args: [--model=meta-llama/Llama-3.1-8B-Instruct, --max-model-len=2048, --quantization=fp8]
      resources: {limits: {amd.com/gpu: 1}}
"""
    found = samples.report(text)
    assert RULES.isdisjoint(finding.rule for finding in found.open)
    assert RULES.isdisjoint(samples.not_evaluated(found))
