"""Answers on runs whose program, network or matrices nothing names: states alone, tests of GPUs, a size from a name."""

from __future__ import annotations

import re

import pytest
import samples

from gpulint.report import verdicts
from gpulint.report.model import RoleSummary, Severity

ZERO3 = '{"zero_optimization": {"stage": 3}, "bf16": {"enabled": true}, "train_micro_batch_size_per_gpu": 1}'
ZERO1 = ZERO3.replace('"stage": 3', '"stage": 1')
LORA = """
base_model: {model}
adapter: lora
lora_r: 16
lora_target_modules: [{matrices}]
sequence_len: 2048
micro_batch_size: 1
sample_packing: true
bf16: true
optimizer: adamw_torch
datasets: [{{path: acme/data, type: alpaca}}]
"""
POD = """
apiVersion: v1
kind: Pod
metadata: {{name: {name}}}
spec:
  nodeSelector: {{cloud.google.com/gke-accelerator: nvidia-l4}}
  containers:
    - name: main
      image: {image}
      command: [{command}]
      resources: {{limits: {{nvidia.com/gpu: 1}}}}
"""


def only_role(text: str, path: str) -> RoleSummary:
    """The only role of a file."""
    (role,) = samples.roles(samples.report(text, path=path))
    return role


def test_a_sharding_file_tells_what_a_network_needs() -> None:
    # 7 billion parameters at 16 bytes are 104 GiB: shared by two GPUs they fit on 80 GB each; stage 1 keeps weights and
    # gradients on every GPU, so that a single GPU of 141 GB is cheaper.
    taken = r"likely (?:49|5[0-2]) to (?:5[3-9]|6\d) GiB per GPU"  # 52 GiB each, and the gradients that ZeRO-3 gathers
    needed = f"7 billion parameters need 2 × A100 SXM4 80GB for the states: {taken}"
    assert re.fullmatch(f"depends on the network: {needed}", only_role(ZERO3, "zero3.json").verdict)
    assert "H200" in only_role(ZERO1, "zero1.json").verdict


@pytest.mark.parametrize(
    ("model", "matrices", "needed"),
    [
        # 14.2 GiB of weights, and without recomputation more than 8 GiB of activations and logits for 2,048 tokens
        pytest.param("Qwen/Qwen2.5-7B", "q_proj, v_proj", "needs 1 × L40S 48GB", id="matrices that are listed"),
        pytest.param("Qwen/Qwen2.5-7B", "c_attn, w1", "needs 1 × L40S 48GB", id="matrices that are not"),
        # the L4 is the cheapest GPU that computes in bfloat16
        pytest.param("acme/Own-450M", "q_proj, v_proj", "needs 1 × L4 24GB", id="a network of known size"),
    ],
)
def test_adapters_of_unknown_matrices_or_networks_are_bounded(model: str, matrices: str, needed: str) -> None:
    assert only_role(LORA.format(model=model, matrices=matrices), "lora.yaml").verdict.startswith(needed)


@pytest.mark.parametrize(
    ("image", "command", "verdict"),
    [
        ("ubuntu:22.04", "nvidia-smi, -L", "no model: nvidia-smi only tests the GPUs"),
        ("acme/dev:1", "sleep, infinity", "no model: sleep only holds the GPUs"),
        (
            "nvcr.io/nvidia/k8s/cuda-sample:nbody",
            "/tmp/sample, --benchmark",
            "no model: the image cuda-sample:nbody only tests the GPUs",
        ),
        ("acme/train:1", "python, train.py", "not evaluated"),
    ],
)
def test_a_program_that_runs_no_model_is_no_open_question(image: str, command: str, verdict: str) -> None:
    role = only_role(POD.format(name="pod", image=image, command=command), "pod.yaml")
    assert role.verdict == verdict
    assert verdicts.sort_verdict(verdict) == (verdicts.FIT if verdict.startswith("no model") else verdicts.UNKNOWN)


SERVICE = """
apiVersion: serving.kserve.io/v1beta1
kind: InferenceService
metadata: {{name: {name}}}
spec:
  predictor:
    nodeSelector: {{cloud.google.com/gke-accelerator: nvidia-l4}}
    containers:
      - name: kserve-container
        image: acme/server:1
        resources: {{limits: {{nvidia.com/gpu: 1}}}}
"""


@pytest.mark.parametrize(
    ("path", "name", "verdict"),
    [
        ("pod.yaml", "chat-8b", "16-bit weights fit"),
        ("models/llama-3-8b/pod.yaml", "chat", "16-bit weights fit"),
        ("models/llama-3-8b/pod.yaml", "chat-70b", "not evaluated"),  # the names do not agree
        ("pod.yaml", "chat", "not evaluated"),
    ],
)
def test_a_size_in_the_names_is_assumed(path: str, name: str, verdict: str) -> None:
    assert verdict in only_role(SERVICE.format(name=name), path).verdict


def test_a_finding_on_an_assumed_size_is_one_step_lower_and_says_so() -> None:
    found = samples.report(SERVICE.format(name="chat-405b"), path="pod.yaml")
    (finding,) = (finding for finding in found.findings if finding.rule == "weights-exceed-all-gpus")
    assert (
        finding.severity is Severity.NOTE
    )  # an unknown program may keep weights in host memory, and the size is assumed
    assert "the model is assumed from the name chat-405b" in finding.message


UNSLOTH = """
import torch
from transformers import TrainingArguments
from trl import SFTTrainer
from unsloth import FastLanguageModel
model, tokenizer = FastLanguageModel.from_pretrained("unsloth/Llama-3.2-3B-Instruct", max_seq_length=2048, load_in_4bit=True)
model = FastLanguageModel.get_peft_model(model, r=16, target_modules=["q_proj", "v_proj"])
SFTTrainer(model=model, args=TrainingArguments(per_device_train_batch_size=2, FORMAT)).train()
"""


@pytest.mark.parametrize(
    ("number_format", "needed"),
    [
        pytest.param("bf16=True", "needs 1 × L4 24GB: likely ", id="bfloat16, which a T4 does not compute"),
        pytest.param(
            "fp16=not torch.cuda.is_bf16_supported(), bf16=torch.cuda.is_bf16_supported()",
            "needs 1 × Tesla T4 16GB: likely ",
            id="the format that the GPU has",
        ),
    ],
)
def test_a_program_that_takes_either_half_needs_no_bfloat16(number_format: str, needed: str) -> None:
    """2.2 GB of 4-bit weights, adapters, and two samples of 2,048 tokens with recomputation: less than 12 GiB."""
    program = UNSLOTH.replace("FORMAT", number_format)
    assert only_role(program, "train.py").verdict.startswith(needed)
