"""Settings of a repository's own training program: read in the words that trainers share."""

from __future__ import annotations

import pytest
import samples

from gpulint.report.model import RoleSummary

QLORA = """
experiment_name: chat
model: {model_name_or_path: meta-llama/Llama-3.1-8B-Instruct, torch_dtype: bfloat16, max_seq_length: 512}
quantization: {load_in_4bit: true, bnb_4bit_quant_type: nf4}
lora: {r: 16, lora_alpha: 32, target_modules: [q_proj, k_proj, v_proj, o_proj, gate_proj, up_proj, down_proj]}
training: {num_train_epochs: 1, per_device_train_batch_size: 1, learning_rate: 2.0e-4, optim: paged_adamw_8bit, bf16: true,
  gradient_checkpointing: true}
sagemaker: {instance_type: ml.g5.2xlarge, instance_count: 1}
"""
FULL = """
policy_name: meta-llama/Meta-Llama-3-8B
precision: bf16
sft_training:
  learning_rate: 2e-5
  batch_size: 8
  gradient_accumulation: 4
  max_length: 2048
  packing: true
  gradient_checkpointing: false
  fsdp: {enabled: true, activation_checkpointing: true}
"""


def only_role(text: str, path: str = "configs/sft.yaml") -> RoleSummary:
    """The only role of a file."""
    (role,) = samples.roles(samples.report(text, path=path))
    return role


def list_facts(role: RoleSummary) -> dict[str, object]:
    """The likely value of each fact of a role, by name."""
    return {fact.name: fact.values.expected for fact in role.facts}


def test_nested_sections_are_read_with_the_machine() -> None:
    role = only_role(QLORA)
    facts = list_facts(role)
    assert role.accelerator == "1 × A10G 24GB"
    assert facts["micro_batch_size"] == 1
    # 8.03 billion parameters in nf4 are 5.3 GiB with the embeddings in 16 bits; 512 tokens with recomputation add less
    # than 6 GiB whatever the loss is, so 22 GiB hold every choice
    assert "fits" in role.verdict and "not" not in role.verdict


def test_recomputation_that_one_of_two_keys_switches_on_holds() -> None:
    facts = list_facts(only_role(FULL))
    assert facts["activation_checkpointing"] == "full"
    assert facts["sharding"] == "fsdp"
    assert facts["micro_batch_size"] == 8


@pytest.mark.parametrize(
    "text",
    [
        pytest.param("learning_rate: 0.1\nmax_depth: 6\nepochs: 10\nmodel: xgboost\n", id="no model of a hub"),
        pytest.param("model: meta-llama/Llama-3.1-8B\ntemperature: 0.1\n", id="nothing trains"),
        pytest.param(
            "eval: {model: meta-llama/Llama-3.1-8B}\nlearning_rate: 0.1\nepochs: 3\n", id="a judge of answers"
        ),
        pytest.param("model: ${MODEL}/Llama-3.1-8B\nlearning_rate: 0.1\nepochs: 3\n", id="a placeholder"),
    ],
)
def test_other_settings_are_not_claimed(text: str) -> None:
    assert not samples.roles(samples.report(text, path="configs/sft.yaml"))


def test_sections_that_are_switched_off_state_nothing() -> None:
    # without the quantization the weights take 15 GiB, and 22 GiB hold no optimizer for all of them
    text = QLORA.replace("quantization: {", "quantization: {enabled: false, ").replace(
        "lora: {", "lora: {enabled: false, "
    )
    assert "fits in every case" not in only_role(text).verdict
