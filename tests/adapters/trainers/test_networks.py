"""Networks that the settings of a trainer state: what the report knows of a role without a checkpoint."""

from __future__ import annotations

import pytest
import samples

from gpulint import adapters
from gpulint.facts import checkpoints
from gpulint.report.model import RoleSummary
from gpulint.source import documents

NEOX = """\
pipe_parallel_size: 1
model_parallel_size: 2
num_layers: 44
hidden_size: 6144
num_attention_heads: 64
seq_length: 2048
max_position_embeddings: 2048
pos_emb: rotary
no_weight_tying: true
gpt_j_residual: true
tokenizer_type: HFTokenizer
vocab_file: ./data/20B_tokenizer.json
train_micro_batch_size_per_gpu: 4
zero_optimization: {stage: 1}
optimizer: {type: Adam}
checkpoint_activations: true
precision: bfloat16
"""
LLAMA = """\
pipe_parallel_size: 1
model_parallel_size: 1
make_vocab_size_divisible_by: 1
num_layers: 40
hidden_size: 5120
intermediate_size: 40960
num_attention_heads: 40
max_position_embeddings: 2048
pos_emb: rotary
no_weight_tying: true
norm: rmsnorm
use_bias_in_attn_linear: false
use_bias_in_mlp: false
activation: swiglu
mlp_multiple_of: 256
tokenizer_type: SPMTokenizer
vocab_file: data/tokenizer.model
"""
NEMO = """\
trainer: {devices: 8, num_nodes: 2, precision: bf16}
exp_manager: {}
model:
  micro_batch_size: 1
  global_batch_size: 128
  tensor_model_parallel_size: 2
  encoder_seq_length: 4096
  max_position_embeddings: 4096
  num_layers: 32
  hidden_size: 4096
  ffn_hidden_size: 11008
  num_attention_heads: 32
  normalization: rmsnorm
  bias: false
  activation: fast-swiglu
  position_embedding_type: rope
  share_embeddings_and_output_weights: false
  activations_checkpoint_granularity: null
  tokenizer: {library: sentencepiece, model: '${data_dir}/llama.model'}
  optim: {name: mcore_distributed_optim}
"""
GPT3 = """\
trainer: {devices: 8, num_nodes: 1, precision: bf16}
exp_manager: {}
model:
  micro_batch_size: 4
  global_batch_size: 256
  encoder_seq_length: 2048
  max_position_embeddings: 2048
  num_layers: 12
  hidden_size: 768
  ffn_hidden_size: ${multiply:4, ${.hidden_size}}
  num_attention_heads: 12
  tokenizer: {library: megatron, type: GPT2BPETokenizer}
  optim: {name: distributed_fused_adam}
"""
MPT = """\
variables: {max_seq_len: 2048}
max_seq_len: ${variables.max_seq_len}
model:
  name: mpt_causal_lm
  d_model: 4096
  n_heads: 32
  n_layers: 32
  expansion_ratio: 4
  max_seq_len: ${variables.max_seq_len}
  vocab_size: 50432
  no_bias: true
  attn_config: {alibi: true}
optimizer: {name: decoupled_adamw}
precision: amp_bf16
global_train_batch_size: 64
device_train_microbatch_size: 2
fsdp_config: {sharding_strategy: FULL_SHARD, activation_checkpointing: true}
max_duration: 1ep
"""
HARDWARE = "# gpulint: accelerator=h100-sxm-80gb gpus=8\n"
COUNTED = {
    "GPT-NeoX-20B": ("20B.yml", NEOX, 20_554_567_680),
    "GPT-NeoX with hyphens": ("20B.yml", NEOX.replace("num_layers", '"num-layers"'), 20_554_567_680),
    "GPT-NeoX, LLaMA 13B": ("13B.yml", LLAMA, 13_015_864_320),
    "NeMo, Llama 2 7B": ("llama.yaml", NEMO, 6_738_415_616),
    "LLM-Foundry, MPT 7B": ("mpt.yaml", MPT, 6_649_286_656),
    "LLM-Foundry, MPT 7B with positions and biases": (
        "mpt.yaml",
        MPT.replace("  no_bias: true\n  attn_config: {alibi: true}\n", ""),
        6_659_121_152,  # 2,048 · 4,096 positions, 9 · 4,096 biases of matrices a layer, 65 · 4,096 of norms
    ),
    "NeMo, GPT-3 126M": ("gpt.yaml", GPT3, 125_262_336),  # 12 l h² + 13 l h + (50304 + 2048) h + 2 h
}


def _read(path: str, text: str) -> RoleSummary:
    """Return the summary of the one role of a file on eight H100."""
    (found,) = samples.roles(samples.report(HARDWARE + text, path))
    return found


@pytest.mark.parametrize("name", COUNTED)
def test_a_stated_network_is_counted_to_the_unit(name: str) -> None:
    path, text, parameters = COUNTED[name]
    (document,) = documents.load(path, text.encode()).documents
    adapter = adapters.find_adapter(document)
    assert adapter is not None
    (workload,) = adapters.workloads(adapter, document, samples.ExampleRepository({}))
    resolved = checkpoints.find_stated(workload.roles[0])
    assert resolved is not None and resolved.architecture is not None
    assert resolved.architecture.parameters == parameters


@pytest.mark.parametrize("name", COUNTED)
def test_a_run_with_a_stated_network_has_a_verdict(name: str) -> None:
    path, text, _ = COUNTED[name]
    found = _read(path, text)
    assert found.verdict not in ("", "not evaluated"), found.not_evaluated


OPEN = {
    "a network of another kind": NEOX + 'attention_config: [[["gmlp"], 44]]\n',
    "an MLP whose matrices do not fit together": LLAMA.replace("mlp_multiple_of: 256\n", "").replace("40960", "14336"),
    "heads that do not divide the width": NEOX.replace("num_attention_heads: 64", "num_attention_heads: 50"),
    "no number of heads": NEOX.replace("num_attention_heads: 64\n", ""),
    "a factor without end": NEOX + "expansion_factor: .inf\n",
    "a width beyond all": NEOX.replace("6144", "9" * 300),
    "a NeMo beyond all": NEMO.replace("4096\n  ffn", f"{'9' * 300}\n  ffn"),
    "a ratio that is no number": MPT.replace("expansion_ratio: 4", "expansion_ratio: .nan"),
    "layers of several kinds": MPT.replace("  no_bias", "  block_overrides: {order: []}\n  no_bias"),
    "a vocabulary from outside": MPT.replace("50432", "${vocabulary}"),
    "a norm of one number": NEOX + "norm: scalenorm\n",
}


@pytest.mark.parametrize("name", OPEN)
def test_a_network_that_is_not_counted_stays_open(name: str) -> None:
    assert _read("a.yml", OPEN[name]).verdict == "not evaluated"


def test_a_network_of_two_stacks_is_not_counted_as_a_decoder() -> None:
    text = GPT3.replace("model:\n", "model:\n  decoder: {num_layers: 12}\n")
    assert _read("t5.yaml", text).verdict == "not evaluated"


def test_a_vocabulary_that_the_file_does_not_state_is_an_assumption() -> None:
    (stated, assumed) = (_read("llama.yaml", text).assumptions for text in (NEMO + "  vocab_size: 32000\n", NEMO))
    said = "the tokenizer has 32,000 entries, the fewest of listed networks of this shape"
    assert said not in stated
    assert said in assumed


def test_what_another_file_of_gpt_neox_can_state_is_open() -> None:
    (found,) = samples.roles(samples.report(LLAMA, "13B.yml"))
    assert {one.name for one in found.open} >= {"optimizer", "sharding", "number format"}
    assert "trained weights" not in {one.name for one in found.open}


RECIPE = """\
tokenizer: {_component_: torchtune.models.llama3.llama3_tokenizer, max_seq_len: 4096}
model: {_component_: torchtune.models.llama3.llama3_8b}
optimizer: {_component_: torch.optim.AdamW, fused: true}
loss: {_component_: torchtune.modules.loss.LinearCrossEntropyLoss}
batch_size: 2
dtype: bf16
enable_activation_checkpointing: true
compile: false
"""


def test_a_recipe_of_torchtune_leaves_no_setting_open() -> None:
    found = _read("8B_full.yaml", RECIPE)
    assert (found.open, "arguments" in found.unknown) == ((), False)


@pytest.mark.parametrize("key", ["ref_checkpointer: {}", "teacher_model: {a: 1}", "grpo_samples: 4"])
def test_a_recipe_with_a_second_network_has_no_verdict_of_the_first(key: str) -> None:
    assert _read("8B_dpo.yaml", f"{RECIPE}{key}\n").verdict == "not evaluated"
