"""Where nothing tells what a program holds besides its weights, the weights decide over all of its GPUs."""

from __future__ import annotations

import pytest
import samples

from gpulint.report.model import Severity

RULE = "weights-exceed-all-gpus"
NIM = """
apiVersion: apps.nvidia.com/v1alpha1
kind: NIMService
metadata: {{name: chat}}
spec:
  image: {{repository: nvcr.io/nim/{image}, tag: 1.8.4}}
  {selector}
  resources: {{limits: {{nvidia.com/gpu: {gpus}}}}}
"""
TRUSS = """
model_name: chat
model_metadata: {{repo_id: {checkpoint}}}
resources: {{accelerator: "{accelerator}", use_gpu: true}}
"""
VLLM = """
apiVersion: v1
kind: Pod
metadata: {{name: chat}}
spec:
  nodeSelector: {{cloud.google.com/gke-accelerator: nvidia-l4}}
  containers:
    - name: server
      image: vllm/vllm-openai:v0.10.1
      args: [--model={checkpoint}, $(EXTRA)]
      envFrom: [{{configMapRef: {{name: elsewhere}}}}]
      resources: {{limits: {{nvidia.com/gpu: 1}}}}
"""


def nim(image: str, product: str, gpus: int) -> str:
    """A NIM on GPUs of a product, or on any."""
    selector = f"nodeSelector: {{nvidia.com/gpu.product: {product}}}" if product else ""
    return NIM.format(image=image, selector=selector, gpus=gpus)


def truss(checkpoint: str, accelerator: str) -> str:
    """A program of one's own that loads a checkpoint."""
    return TRUSS.format(checkpoint=checkpoint, accelerator=accelerator)


def verdict(text: str, path: str = "deploy/pod.yaml") -> str:
    """The verdict on the only role."""
    (role,) = samples.roles(samples.report(text, path=path))
    return role.verdict


KAITO = """
apiVersion: kaito.sh/v1beta1
kind: Workspace
metadata: {{name: chat}}
resource: {{instanceType: {machine}, labelSelector: {{matchLabels: {{apps: chat}}}}}}
inference: {{preset: {{name: {preset}}}}}
"""
KSERVE = """
apiVersion: serving.kserve.io/v1beta1
kind: InferenceService
metadata: {{name: chat}}
spec:
  predictor:
    nodeSelector: {{node.kubernetes.io/instance-type: g5.xlarge}}
    model:
      modelFormat: {{name: huggingface}}
      storageUri: pvc://models/{folder}
      args: [--max-model-len=1024]
      resources: {{limits: {{nvidia.com/gpu: 1}}}}
"""


HOPELESS = [
    pytest.param(
        KSERVE.format(folder="acme-chat-405b"),
        "pod.yaml",
        RULE,
        id="even in 4 bits by the folder's name",
    ),
    pytest.param(
        nim("meta/llama-3.1-70b-instruct", "NVIDIA-L40S", 1), "pod.yaml", RULE, id="70B has no profile below FP8"
    ),
    pytest.param(nim("meta/llama-3.1-405b-instruct", "NVIDIA-L4", 1), "pod.yaml", RULE, id="405B in 16 bits on 24 GB"),
    pytest.param(truss("meta-llama/Llama-3.1-405B-Instruct", "L4"), "config.yaml", RULE, id="405B even in 4 bits"),
    pytest.param(
        VLLM.format(checkpoint="meta-llama/Llama-3.1-405B-Instruct"),
        "pod.yaml",
        "weights-exceed-memory",
        id="no argument that is not read helps",
    ),
]


@pytest.mark.parametrize(("text", "path", "rule"), HOPELESS)
def test_what_no_assignment_holds_is_an_error(text: str, path: str, rule: str) -> None:
    found = samples.report(text, path=path)
    (role,) = (role for workload in found.workloads for role in workload.roles)
    expected = Severity.ERROR if role.engine else Severity.WARNING  # an unknown program may keep weights in host memory
    assert samples.severities(found)[rule] is expected
    assert verdict(text, path) == "does not fit in any case"


SOUND = [
    pytest.param(
        nim("meta/llama-3.1-8b-instruct", "NVIDIA-L40S", 1),
        "pod.yaml",
        "BF16 weights fit: 14.96 of 44.34 GiB",
        id="NIM",
    ),
    pytest.param(
        nim("meta/llama-3.1-70b-instruct", "NVIDIA-H100-80GB-HBM3", 1),
        "pod.yaml",
        "depends on profile: weights fit with FP8",
        id="NIM on the smallest GPU that a profile takes",
    ),
    pytest.param(
        nim("meta/llama-3.1-70b-instruct", "NVIDIA-A100-SXM4-80GB", 1),
        "pod.yaml",
        "depends on profile: weights fit with INT8",
        id="NIM on a GPU without FP8",
    ),
    pytest.param(
        # 8.03 billion weights in 8 bits are 7.5 GiB, and with the vocabulary's two tables in 16 bits 8.5 GiB
        nim("meta/llama-3.1-8b-instruct", "", 1),
        "pod.yaml",
        "needs 1 × L4 24GB for the weights: likely 8.5 to 8.7 GiB per GPU",
        id="NIM on any GPU",
    ),
    pytest.param(
        truss("meta-llama/Llama-3.1-8B-Instruct", "L4"),
        "config.yaml",
        "16-bit weights fit: 14.96 of 22.03 GiB",
        id="own program",
    ),
    pytest.param(
        truss("meta-llama/Llama-3.1-70B-Instruct", "H100"),
        "config.yaml",
        "depends on number format of the weights: weights fit with 4-bit or 8-bit",
        id="own program that may quantise",
    ),
    pytest.param(
        truss("acme/Chat-13B", "A10G"),
        "config.yaml",
        "depends on number format of the weights: weights fit with 4-bit or 8-bit",
        id="an unknown network of a known size",
    ),
    pytest.param(
        KAITO.format(machine="Standard_ND96isr_H100_v5", preset="deepseek-r1-0528"),
        "pod.yaml",
        "weights likely fit on 16 GPUs: 40.06 of 79.19 GiB",
        id="KAITO takes two machines",
    ),
    pytest.param(
        KAITO.format(machine="Standard_NC24ads_A100_v4", preset="llama-3.1-8b-instruct"),
        "pod.yaml",
        "weights likely fit on 1 GPU: 14.96 of 79.15 GiB",
        id="KAITO takes one machine",
    ),
    pytest.param(
        KSERVE.format(folder="acme-chat-8b"),
        "pod.yaml",
        "16-bit weights likely fit: 18.12 of 22.06 GiB",
        id="the folder's name states a size",
    ),
    pytest.param(
        VLLM.format(checkpoint="Qwen/Qwen2.5-7B-Instruct"),
        "pod.yaml",
        "likely fits in every case",
        id="arguments that are not read",
    ),
]


@pytest.mark.parametrize(("text", "path", "expected"), SOUND)
def test_what_some_assignment_holds_is_no_error(text: str, path: str, expected: str) -> None:
    found = samples.report(text, path=path)
    assert not [finding for finding in found.findings if finding.rule in (RULE, "weights-exceed-memory")]
    assert verdict(text, path) == expected


def test_without_a_checkpoint_only_the_checkpoint_is_asked_for() -> None:
    text = 'model_name: own\nresources: {accelerator: "L4", use_gpu: true}\n'
    (role,) = samples.roles(samples.report(text, path="config.yaml"))
    assert role.verdict == "not evaluated"
    assert [entry.needs for entry in role.not_evaluated if entry.rule == RULE] == [("checkpoint",)]
