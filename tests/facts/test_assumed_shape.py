"""Training of a checkpoint that only its name describes: weights and states are evaluated, all else stays open."""

from __future__ import annotations

import pytest
import samples

RUN = """\
# gpulint: accelerator=ACCELERATOR gpus=GPUS
base_model: acme/Wombat-14B
datasets: [{path: a/b, type: alpaca}]
sequence_len: 2048
micro_batch_size: 1
num_epochs: 1
optimizer: adamw_torch
bf16: true
gradient_checkpointing: true
"""
ADAPTERS = "adapter: lora\nlora_r: 16\nlora_target_linear: true\n"
ZERO = "deepspeed: {zero_optimization: {stage: 3}, bf16: {enabled: true}}\n"


def _find(accelerator: str, gpus: int, more: str = "") -> list[str]:
    """Return the rules about memory that fire on a run."""
    text = RUN.replace("ACCELERATOR", accelerator).replace("GPUS", str(gpus)) + more
    return [finding.rule for finding in samples.report(text, "run.yml").open if finding.rule.startswith("training-")]


@pytest.mark.parametrize(
    ("accelerator", "gpus", "more", "rule"),
    [
        ("l4", 1, "", "training-weights-exceed-memory"),  # 14 billion weights of 2 bytes: 26 GiB on 22
        ("l4", 1, ADAPTERS, "training-weights-exceed-memory"),
        ("a100-sxm4-80gb", 1, "", "training-states-exceed-memory"),  # 8 bytes a weight: 104 GiB on 79
        ("l4", 8, ZERO, "training-states-exceed-memory"),  # 16 bytes a weight over 8 ranks: 26 GiB on 22
    ],
)
def test_weights_and_states_that_cannot_fit_are_found(accelerator: str, gpus: int, more: str, rule: str) -> None:
    assert _find(accelerator, gpus, more) == [rule]


@pytest.mark.parametrize(
    ("accelerator", "gpus", "more"),
    [
        ("h200-sxm-141gb", 1, ""),
        ("a100-sxm4-80gb", 1, ADAPTERS),
        ("l4", 1, f"{ADAPTERS}load_in_8bit: true\n"),
        ("a100-sxm4-80gb", 8, ZERO),
        ("l40s", 8, ZERO),
    ],
)
def test_weights_and_states_that_may_fit_are_not(accelerator: str, gpus: int, more: str) -> None:
    assert _find(accelerator, gpus, more) == []


def test_activations_of_such_a_checkpoint_stay_open() -> None:
    text = RUN.replace("ACCELERATOR", "h200-sxm-141gb").replace("GPUS", "1")
    (found,) = samples.roles(samples.report(text, "run.yml"))
    assert {one.rule: one.needs for one in found.not_evaluated}["training-does-not-fit"] == ("architecture",)
