"""Training memory: the sums that papers, documentation and traces publish, and each fitted term's direction."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from gpulint.catalog import architecture, tables
from gpulint.facts import resolver
from gpulint.facts.model import Facts, Missing
from gpulint.pipeline import memory_breakdown
from gpulint.source import documents
from gpulint.source.repository import WorkTree
from gpulint.workload import Field, Origin, Role

NOWHERE = Origin(documents.load("nowhere.yaml", b"{}").documents[0], ())
GIB = 2**30
LLAMA_7B = "meta-llama/Llama-2-7b-hf"
LLAMA_8B = "meta-llama/Llama-3.1-8B"
BERT = "google-bert/bert-base-uncased"
MIXTRAL = "mistralai/Mixtral-8x7B-v0.1"
PLAIN: Mapping[str, Any] = {
    "engine": "transformers",
    "accelerator": "h100-sxm-80gb",
    "tensor_parallel": 1,
    "pipeline_parallel": 1,
    "gpus_per_replica": 1,
    "micro_batch_size": 1,
    "sequence_length": 4096,
    "training_dtype": "bfloat16",
    "parameter_dtype": "bfloat16",
    "sharding": "none",
    "optimizer": "adamw-single",
    "activation_checkpointing": "none",
    "packed": True,
}
"""A run of Transformers' Trainer on one GPU in pure bfloat16, as in the traces."""


def known(checkpoint: str = LLAMA_8B, **stated: Any) -> Facts:
    fields = {name: Field(value) for name, value in {**PLAIN, "checkpoint": checkpoint, **stated}.items()}
    return resolver.resolve(Role("trainer", NOWHERE, fields), architecture.resolve(checkpoint))


def expected_value(found: Facts, name: str) -> float:
    value = found.expected(name)
    assert isinstance(value, int | float), (name, value, found.reasons)
    return float(value)


def gib(found: Facts, name: str) -> float:
    return expected_value(found, name) / GIB


# ---- states


def test_mixed_precision_adam_keeps_112_gb_for_7_billion_parameters_and_not_84() -> None:
    """ZeRO, section 3.1: 2 bytes of weight, 2 of gradient, 12 of master copy and moments."""
    found = known(parameters=7_000_000_000, sharding="deepspeed", zero_stage=0, **of_a_trainer("deepspeed"))
    assert expected_value(found, "state_bytes_per_gpu") == pytest.approx(112e9, rel=0.001)


def of_a_trainer(engine: str) -> dict[str, Any]:
    return {"engine": engine, "loss_kernel": "plain", "master_weights": True}


@pytest.mark.parametrize(("stage", "published_gb"), [(0, 120.0), (1, 31.4), (2, 16.6), (3, 1.9)])
def test_the_stages_of_zero_are_those_of_its_first_figure(stage: int, published_gb: float) -> None:
    """ZeRO, figure 1: 7.5 billion parameters on 64 GPUs, Adam with K = 12."""
    found = known(
        parameters=7_500_000_000,
        sharding="deepspeed",
        zero_stage=stage,
        gpus_per_replica=64,
        **of_a_trainer("deepspeed"),
    )
    assert expected_value(found, "state_bytes_per_gpu") / 1e9 == pytest.approx(published_gb, abs=0.06)


@pytest.mark.parametrize(
    ("optimizer", "master", "bytes_each"),
    [
        *(("adamw", True, 12), ("adamw", False, 8), ("sgd", True, 4), ("sgd-momentum", True, 8), ("lion", False, 4)),
        *(
            ("muon", True, 8),
            ("adafactor", False, 0),
            ("adamw-8bit", True, 6.03125),
            ("adamw-8bit", False, 2.03125),
        ),
    ],
)
def test_optimizers_keep_what_their_papers_say(optimizer: str, master: bool, bytes_each: float) -> None:
    """EleutherAI cookbook, calc_transformer_mem.py, for 32-bit states: AdamW 12, Muon 8, SGD 8 with the master copy."""
    found = known(optimizer=optimizer, master_weights=master, parameter_dtype="float32")
    assert expected_value(found, "optimizer_bytes_per_parameter") == bytes_each


def test_an_optimizer_in_the_backward_pass_keeps_no_gradients() -> None:
    assert expected_value(known(optimizer="adamw-in-backward"), "gradient_bytes") == 0


@pytest.mark.parametrize(("moments", "bytes_each"), [(None, 12), ("bfloat16", 6)])
def test_a_precision_aware_optimizer_halves_moments_and_master_copy(moments: str | None, bytes_each: int) -> None:
    """Megatron-LM, --exp-avg-dtype bf16: two moments of 2 bytes, and the lower half of the 32-bit weight (2 bytes)."""
    stated = {"optimizer": "adam-fused", "sharding": "megatron", "moment_dtype": moments}
    assert (
        expected_value(known(**{**of_a_trainer("megatron-lm"), **stated}), "optimizer_bytes_per_parameter")
        == bytes_each
    )


@pytest.mark.parametrize(
    ("engine", "sharding"), [("openrlhf", "deepspeed"), ("deepspeed", "none"), ("megatron-bridge", "none")]
)
def test_trainers_without_a_measured_case_answer_more_widely(engine: str, sharding: str) -> None:
    stated = {"engine": engine, "sharding": sharding, "zero_stage": 2}
    found, measured = known(**stated).scenarios("activation_ratio"), known().scenarios("activation_ratio")
    assert not isinstance(found, Missing)
    assert not isinstance(measured, Missing)
    assert float(found.worst) - float(found.best) > float(measured.worst) - float(measured.best)  # type: ignore[arg-type]
    assert gib(known(**stated), "training_peak_bytes") > 0


@pytest.mark.parametrize(("zero_init", "verdict"), [(False, "does not fit"), (True, "fits")])
def test_without_zero_init_every_card_holds_the_whole_network_first(zero_init: bool, verdict: str) -> None:
    """DeepSpeed's engine moves the whole network to the card: 8.03 billion weights of 2 bytes on 14.6 GiB of a T4."""
    stated = {"sharding": "deepspeed", "zero_stage": 3, "gpus_per_replica": 32, "zero_init": zero_init}
    found = known(accelerator="t4", sequence_length=256, loss_kernel="fused", **stated)
    assert memory_breakdown.find_verdict(found) == verdict


def test_experts_that_no_other_rank_holds_are_not_shared_out() -> None:
    """Mixtral on 8 ranks of expert parallelism: 45.1 of 46.7 billion parameters are experts, an eighth on each."""
    stated = {"sharding": "distributed-optimizer", "gpus_per_replica": 8, "expert_parallel_size": 8}
    found = known(MIXTRAL, **{**of_a_trainer("megatron-lm"), **stated})
    experts, dense = 45_097_156_608 / 8, 46_702_792_704 - 45_097_156_608
    assert expected_value(found, "optimizer_state_bytes") == pytest.approx(12 * (experts + dense / 8), rel=0.001)


# ---- adapters


def test_tables_that_are_trained_beside_adapters_are_copies() -> None:
    """PEFT's modules_to_save for Llama-3.1-8B: two tables of 128,256 x 4,096 and LoRA of rank 8 on queries and values."""
    adapted = {"lora_rank": 8, "lora_targets": "qv"}
    lora = 8 * 32 * (4096 + 4096 + 4096 + 1024)
    assert expected_value(known(**adapted), "trainable_parameters") == lora
    assert expected_value(known(**adapted, trained_tables=2), "trainable_parameters") == lora + 2 * 128_256 * 4096


def test_unsloth_keeps_one_input_for_queries_keys_and_values_and_one_for_the_mlp() -> None:
    """unsloth/kernels/fast_lora.py saves X in 16 bits once in LoRA_QKV and once in LoRA_MLP; PEFT casts one for each matrix."""
    adapted = {"lora_rank": 8, "lora_targets": "qkvogud"}
    assert expected_value(known(engine="unsloth", **adapted), "adapter_activation_bytes") == 2 * 2 * 4096


@pytest.mark.parametrize(
    ("checkpoint", "rank", "targets", "printed"),
    [
        ("meta-llama/Llama-3.3-70B-Instruct", 16, "qkvogud", 207_093_760),  # Unsloth's notebook
        ("meta-llama/Llama-3.2-3B", 32, "qv", 9_175_040),  # PEFT's method comparison
    ],
)
def test_adapters_have_the_parameters_that_are_printed(checkpoint: str, rank: int, targets: str, printed: int) -> None:
    assert expected_value(known(checkpoint, lora_rank=rank, lora_targets=targets), "trainable_parameters") == printed


def test_a_quantised_base_without_adapters_is_not_sized() -> None:
    found = known(quantization="nf4")
    assert isinstance(found.expected("training_peak_bytes"), Missing)
    assert "no LoRA rank" in found.reasons["trainable_parameters"]


def test_a_base_in_4_bits_holds_experts_of_one_tensor_in_16() -> None:
    """Unsloth's notebook of gemma-4-26B-A4B in 4 bits: 46.4 GiB reserved after loading."""
    stated = {"engine": "unsloth", "quantization": "nf4-double", "lora_rank": 8, "lora_targets": "qkvogud"}
    found = known("google/gemma-4-26B-A4B-it", **stated)
    assert gib(found, "training_weight_bytes") == pytest.approx(46.4, rel=0.02)


# ---- activations: traces under PyTorch's fake tensors (reference: transformers 5.23, torch 2.13, one step, bfloat16)


@pytest.mark.parametrize(
    ("checkpoint", "layer_gib"), [(LLAMA_7B, 0.7115), (LLAMA_8B, 0.7660), ("meta-llama/Llama-3.1-70B", 1.5165)]
)
def test_a_layer_keeps_what_was_traced(checkpoint: str, layer_gib: float) -> None:
    assert gib(known(checkpoint), "kept_layer_bytes") == pytest.approx(layer_gib, rel=0.002)


@pytest.mark.parametrize(
    ("checkpoint", "traced_bytes"),
    [
        ("CohereLabs/c4ai-command-r7b-12-2024", 192_652),
        ("EleutherAI/gpt-neo-1.3B", 319_496),
        ("LGAI-EXAONE/EXAONE-4.0-1.2B", 91_432),
        ("allenai/OLMo-1B-hf", 106_576),
        ("bigscience/bloom-1b1", 245_768),
        ("mosaicml/mpt-7b", 524_296),
        ("nvidia/Nemotron-Mini-4B-Instruct", 84_078),
        ("openai/gpt-oss-20b", 560_696),
        ("swiss-ai/Apertus-8B-2509", 353_577),
        ("tencent/Hunyuan-A13B-Instruct", 486_253),
        ("microsoft/Phi-mini-MoE-instruct", 101_681),
        ("MiniMaxAI/MiniMax-M2.5", 331_285),
    ],
)
def test_a_layer_keeps_of_a_token_what_was_traced(checkpoint: str, traced_bytes: int) -> None:
    """What one layer more adds after the forward pass at 2,048 tokens, by Transformers' choice of attention (torch 2.15)."""
    found = known(checkpoint, sequence_length=2048)
    kept = sum(expected_value(found, f"{part}_bytes") for part in ("norm", "attention_activation", "mlp_activation"))
    assert kept == pytest.approx(traced_bytes, rel=0.005)


def test_fully_sharded_weights_are_gathered_by_layer_and_the_tables_reduced_last() -> None:
    """Llama-3.1-8B over 64 ranks: tables of 1.96 GiB in 16 bits; gradients and their 32-bit buffer when the backward ends."""
    found = known(
        sharding="fsdp", gpus_per_replica=64, gpus_per_pod=64, parameter_dtype="float32", reduction_dtype="float32"
    )
    table, layer = 128_256 * 4096, 218_112_128  # a layer's matrices and norms, the last norm shared out over 32 layers
    assert expected_value(found, "gathered_bytes") == pytest.approx(2 * (2 * table + layer), rel=1e-6)
    assert expected_value(found, "waiting_bytes") == pytest.approx(2 * (table + layer), rel=1e-6)
    assert expected_value(found, "root_reduction_bytes") == pytest.approx((2 + 4) * 2 * table, rel=1e-6)


def test_weights_that_stay_gathered_after_the_forward_pass_are_shards_between_steps() -> None:
    """FSDP's stage 2: 32-bit shards of an eighth, and the whole in 16 bits while a step runs."""
    found = known(sharding="fsdp", zero_stage=2, gpus_per_replica=8, gpus_per_pod=8, parameter_dtype="float32")
    assert expected_value(found, "training_weight_bytes") == 8_030_261_248 * 4 / 8
    assert expected_value(found, "gathered_bytes") == 8_030_261_248 * 2


def test_ddp_holds_buckets_beside_the_gradients() -> None:
    """Measured with PyTorch's allocator on a CPU: two bytes a parameter more than the same step without DDP, at its peak."""
    ddp = known(sharding="ddp", gpus_per_replica=8, gpus_per_pod=8, activation_checkpointing="full")
    alone = known(activation_checkpointing="full")
    apart = expected_value(ddp, "training_peak_bytes") - expected_value(alone, "training_peak_bytes")
    assert apart == pytest.approx(2 * 8_030_261_248, rel=1e-6)


def test_adapters_have_one_input_where_one_matrix_projects_and_none_on_a_gate_that_is_not_there() -> None:
    """MPT-7B, all linear, 32-bit adapters: inputs of Wqkv, out_proj and up_proj (4,096 wide) and of down_proj (16,384)."""
    found = known("mosaicml/mpt-7b", lora_rank=16, lora_targets="qkvogud", adapter_dtype="float32", autocast=False)
    assert expected_value(found, "adapter_activation_bytes") == 4 * (3 * 4096 + 16384)


def test_a_step_peaks_where_it_was_traced() -> None:
    """Llama-2-7B: 62.01 GiB in the backward pass, 62.76 in the foreach optimizer; with full recomputation 50.69 without it."""
    assert gib(known(LLAMA_7B), "training_peak_bytes") == pytest.approx(62.01, rel=0.005)
    assert gib(known(LLAMA_7B, optimizer="adamw"), "training_peak_bytes") == pytest.approx(62.76, rel=0.001)
    assert gib(known(LLAMA_7B, activation_checkpointing="full"), "training_peak_bytes") == pytest.approx(
        50.69, rel=0.02
    )


def test_a_large_vocabulary_peaks_in_the_loss() -> None:
    """Llama-3.1-8B, 4,096 tokens: 75.39 GiB in the backward pass without recomputation."""
    assert gib(known(LLAMA_8B), "training_peak_bytes") == pytest.approx(75.39, rel=0.005)


def test_fused_kernels_keep_34_bytes_a_value_of_gpts_layer_without_dropout() -> None:
    """Korthikanti et al., equation 6: 34 sbh with flash attention, of which 2 are dropout masks."""
    shape = {"hidden": 2048, "intermediate": 8192, "attention_heads": 16, "kv_heads": 16, "head_dim": 128}
    found = known(LLAMA_8B, activation_ratio=1, training_kernels="fused", gated_mlp=False, family="", **shape)
    assert expected_value(found, "kept_layer_bytes") / (4096 * 2048) == pytest.approx(32, rel=0.01)


def test_tensor_and_sequence_parallelism_share_a_layer_out() -> None:
    """Korthikanti et al., equation 4: everything is divided by the ranks."""
    whole = expected_value(known(training_kernels="fused"), "kept_layer_bytes")
    ranks = {"tensor_parallel": 4, "gpus_per_replica": 4, "training_kernels": "fused"}
    assert expected_value(known(sequence_parallel=True, **ranks), "kept_layer_bytes") == pytest.approx(whole / 4)
    assert expected_value(known(**ranks), "kept_layer_bytes") > whole / 4


@pytest.mark.parametrize(
    ("stages", "micro_batches", "virtual", "in_flight"), [(8, 64, 1, 8), (8, 4, 1, 4), (4, 16, 2, 5.5)]
)
def test_the_first_stage_keeps_the_micro_batches_of_its_schedule(
    stages: int, micro_batches: int, virtual: int, in_flight: float
) -> None:
    """Narayanan et al. 2021, section 2.2; Korthikanti et al., section 4.2.3: interleaving costs (1 + (p − 1) / (p v))."""
    stated = {"pipeline_parallel": stages, "gradient_accumulation_steps": micro_batches, "virtual_stages": virtual}
    assert expected_value(known(gpus_per_replica=stages, **stated), "micro_batches_in_flight") == in_flight


def test_recomputation_and_a_fused_loss_only_ever_save() -> None:
    peaks = [gib(known(activation_checkpointing=kind), "training_peak_bytes") for kind in ("none", "products", "full")]
    assert peaks == sorted(peaks, reverse=True)
    assert expected_value(known(loss_kernel="fused"), "loss_bytes") < expected_value(known(), "loss_bytes") / 10


# ---- what was measured (torchtitan benchmarks/, commit 9dec370: Llama 3.1 on H100 of 96 GB, reserved memory)


@pytest.mark.parametrize(("gpus", "measured_gib"), [(8, 82.4), (128, 67.0)])
def test_torchtitans_llama_8b_lies_inside_the_interval(gpus: int, measured_gib: float) -> None:
    found = known(
        engine="torchtitan",
        gpus_per_replica=gpus,
        sequence_length=8192,
        micro_batch_size=2,
        activation_checkpointing="products",
        optimizer="adamw-fused",
        parameter_dtype="float32",
        sharding="fsdp",
    )
    ends = found.ends("training_reserved_bytes")
    assert ends is not None
    low, high = (end / GIB for end in ends if isinstance(end, int | float))
    assert low < measured_gib < high
    assert gib(found, "training_reserved_bytes") == pytest.approx(measured_gib, rel=0.08)


# ---- nothing is guessed


@pytest.mark.parametrize(
    "name", ["optimizer", "activation_checkpointing", "sharding", "parameter_dtype", "loss_kernel"]
)
def test_what_no_default_covers_is_asked_for(name: str) -> None:
    stated = {key: value for key, value in PLAIN.items() if key != name}
    stated |= {"engine": "colossalai", "gpus_per_replica": 8, "training_kernels": "fused"}
    stated |= {} if name == "loss_kernel" else {"loss_kernel": "plain"}
    fields = {key: Field(value) for key, value in {**stated, "checkpoint": LLAMA_8B}.items()}
    found = resolver.resolve(Role("trainer", NOWHERE, fields), architecture.resolve(LLAMA_8B))
    assert name in found.missing(["training_peak_bytes"])


def test_a_micro_batch_that_is_not_stated_leaves_the_states_known() -> None:
    found = known(micro_batch_size=None, parameter_dtype="float32")
    assert isinstance(found.expected("training_peak_bytes"), Missing)
    assert gib(found, "state_bytes_per_gpu") == pytest.approx(16 * 8_030_261_248 / GIB, rel=0.001)
    assert memory_breakdown.find_verdict(found) == "does not fit"


# ---- dropout


@pytest.mark.parametrize(("release", "kept"), [("4.40.2", 54_263_808), ("4.41.0", 25_976_832)])
def test_bert_keeps_scores_and_masks_until_its_attention_was_fused(release: str, kept: int) -> None:
    """A layer of BERT-base, 32 bits, 512 tokens of width 768: 66 bytes a value (norms 16, masks 2, attention 16, MLP 32) and
    for each of 12 x 512 scores a softmax, a mask and its product (4 + 1 + 4); fused one 32-bit sum a head instead."""
    stated = {"training_dtype": "float32", "parameter_dtype": "float32", "sequence_length": 512, "activation_ratio": 1}
    assert expected_value(known(BERT, engine_version=release, **stated), "layer_activation_bytes") == kept


# ---- terms


TERMS: Mapping[str, Mapping[str, Any]] = {
    "length_share": {},
    "loss_bytes_per_logit": {},
    "expert_imbalance": {"checkpoint": MIXTRAL, "expert_parallel_size": 8, "gpus_per_replica": 8, "sharding": "fsdp"},
    "layer_gradient_multiple": {"activation_checkpointing": "full", "loss_kernel": "fused", "micro_batch_size": 16},
    "live_parameters": {"sharding": "deepspeed", "zero_stage": 3, "gpus_per_replica": 8},
    "bucket_parameters": {
        **dict.fromkeys(("zero_stage", "gradient_accumulation_steps"), 2),
        "sharding": "deepspeed",
        "gpus_per_replica": 8,
        "loss_kernel": "fused",
        "micro_batch_size": 4,
    },
    "activation_ratio": {},
    "allocator_excess": {},
    "allocator_slack_bytes": {},
    "frozen_excess": {"quantization": "nf4", "lora_rank": 8, "lora_targets": "qv"},
    "training_context_bytes": {},
    "gathered_share": {"sharding": "fsdp", "gpus_per_replica": 8, "activation_checkpointing": "full"},
    "gathered_tables": {"sharding": "fsdp", "gpus_per_replica": 8, "activation_checkpointing": "full"},
    "foreach_copies": {"optimizer": "adamw", "sequence_length": 64},
    "quantised_inputs": {"quantization": "nf4", "lora_rank": 8, "lora_targets": "qv"},
    "loaded_parameter_bytes": {"parameter_dtype": "as-loaded"},
    "kept_scores": {"checkpoint": BERT, "sequence_length": 512},
    "loaded_excess": {"lora_rank": 8, "lora_targets": "qv"},
    "realised_ratio": {},
    "adapted_experts": {"checkpoint": MIXTRAL, "lora_rank": 8, "lora_targets": "qvgud"},
    "critic_gradient_bytes": {"training_method": "ppo", "critic_placement": "gpu"},
    "unlisted_reward_size": {"training_method": "ppo", "reward_checkpoint": "models/judgement-of-answers"},
    "rollout_realised": {
        "training_method": "grpo",
        "rollout_engine": "vllm",
        "rollout_mode": "colocate",
        "rollout_share": 0.5,
    },
    "scoring_bytes_per_logit": {"training_method": "grpo", "log_prob_micro_batch_size": 64},
}
"""Each fitted term of training, and a role in which it matters."""


@pytest.mark.parametrize("term", TERMS)
def test_more_of_a_fitted_term_takes_more_memory(term: str) -> None:
    rows = [row for row in tables.rows("fitted") if row["name"] == term]
    low, high = min(float(row["best"]) for row in rows), max(float(row["worst"]) for row in rows)
    stated = {key: value for key, value in TERMS[term].items() if key != "checkpoint"}
    checkpoint = str(TERMS[term].get("checkpoint", LLAMA_8B))
    steps = [low + (high - low) * step / 4 for step in range(5)]
    needed = [expected_value(known(checkpoint, **{**stated, term: value}), "training_device_bytes") for value in steps]
    assert needed == sorted(needed)
    assert needed[0] < needed[-1]


# ---- trainers: what their own tables measured, and how their sources keep states

LITGPT: Mapping[str, Any] = {
    **dict.fromkeys(("parameter_dtype", "activation_checkpointing", "optimizer"), None),
    "engine": "litgpt",
    "accelerator": "a100-sxm4-40gb",
    "sequence_length": 1304,
    "lora_rank": 8,
    "lora_targets": "qv",
}
"""LoRA on Alpaca as in LitGPT's resource tables; what is None is the trainer's default."""


def of_litgpt(gpus: int, **stated: Any) -> Facts:
    sharding = "fsdp" if gpus > 1 else "none"
    given = {**PLAIN, **LITGPT, "checkpoint": LLAMA_7B, "gpus_per_replica": gpus, "sharding": sharding, **stated}
    fields = {name: Field(value) for name, value in given.items() if value is not None}
    return resolver.resolve(Role("trainer", NOWHERE, fields), architecture.resolve(LLAMA_7B))


@pytest.mark.parametrize(("micro_batch_size", "printed_gb"), [(1, 22.18), (2, 22.47), (4, 23.39)])
def test_fsdp_of_litgpt_holds_the_whole_network_beside_its_shard(micro_batch_size: int, printed_gb: float) -> None:
    """LitGPT's resource tables, Llama-2-7B with LoRA on two A100: 12.55 GiB of weights and half of them again."""
    found = of_litgpt(2, micro_batch_size=micro_batch_size)
    assert gib(found, "training_peak_bytes") == pytest.approx(printed_gb * 1e9 / GIB, rel=0.05)


def test_four_bits_keep_the_inputs_of_frozen_matrices_in_litgpt() -> None:
    """LitGPT's resource tables, Llama-2-7B with LoRA on one A100: NF4 takes 14.14 GB, 16 bits 21.30 GB."""
    assert gib(of_litgpt(1), "training_peak_bytes") == pytest.approx(21.30e9 / GIB, rel=0.05)
    assert gib(of_litgpt(1, quantization="nf4"), "training_peak_bytes") == pytest.approx(14.14e9 / GIB, rel=0.1)


def test_paged_moments_lie_outside_the_allocator() -> None:
    """torchtune's README: Llama-3.1-8B in full with PagedAdamW8bit in the backward pass peaks at 18.9 GiB on a 24 GB card."""
    found = known(engine="torchtune", optimizer="paged-adamw-8bit-in-backward", activation_checkpointing="full")
    assert expected_value(found, "optimizer_state_bytes") == 0
    assert gib(found, "training_peak_bytes") == pytest.approx(18.9, rel=0.12)


def test_megatron_keeps_its_gradients_on_the_card_when_the_optimizer_is_offloaded() -> None:
    """32 bits for each weight of a rank; DeepSpeed sends 16-bit gradients to the host as they are made."""
    offloaded: dict[str, Any] = {"optimizer_offload": True, "gradient_dtype": "float32", "gpus_per_replica": 8}
    found = known(sharding="distributed-optimizer", **offloaded)
    assert expected_value(found, "gradient_bytes") == pytest.approx(4 * 8030261248)
    assert expected_value(found, "optimizer_state_bytes") == 0
    assert expected_value(known(sharding="deepspeed", zero_stage=2, **offloaded), "gradient_bytes") == 0


def test_adapters_reach_the_experts_of_megatron_alone() -> None:
    """Qwen3-30B-A3B at rank 8: 48 layers of 128 experts, three matrices between 2,048 and 768."""
    stated: dict[str, Any] = {"lora_rank": 8, "lora_targets": "gud"}
    routed = 8 * 48 * 128 * 3 * (2048 + 768)
    assert expected_value(known("Qwen/Qwen3-30B-A3B", engine="megatron-lm", **stated), "adapter_parameters") == routed
    assert expected_value(known("Qwen/Qwen3-30B-A3B", **stated), "adapter_parameters") == 0


def test_the_experts_of_gpt_oss_are_in_four_bits_with_unsloth() -> None:
    """Unsloth's notebook of gpt-oss-20b trains on a T4 of 14.7 GiB: 20.9 billion parameters in 16 bits would be 39 GiB."""
    stated: dict[str, Any] = {"quantization": "nf4-double", "lora_rank": 8, "lora_targets": "qkvo"}
    assert gib(known("openai/gpt-oss-20b", engine="unsloth", **stated), "training_weight_bytes") < 14.7
    assert gib(known("openai/gpt-oss-20b", **stated), "training_weight_bytes") > 30


@pytest.mark.parametrize(("release", "bytes_each"), [("0.0.1", 12), ("0.2.0", 5)])
def test_torchtitan_compiles_its_loss_since_0_1(release: str, bytes_each: float) -> None:
    """Commits of 2024-12-18 turn the compiled loss off; with it the 32-bit copies of 16-bit logits are not kept."""
    found = known(engine="torchtitan", engine_version=release, compiled=True, loss_kernel="plain")
    assert expected_value(found, "loss_bytes_per_logit") == bytes_each


def test_the_gradient_takes_the_logits_place_under_sequence_parallelism_of_ms_swift() -> None:
    assert known(engine="ms-swift", context_parallel=8).expected("loss_kernel") == "in-place"
    assert known(engine="ms-swift").expected("loss_kernel") == "plain"


def test_the_scenarios_of_a_training_role_are_in_order() -> None:
    left = known().scenarios("training_headroom_bytes")
    assert not isinstance(left, Missing)
    best, middle, worst = (float(value or 0) for value in left)  # type: ignore[arg-type]
    assert best >= middle >= worst


# ---- gpulint size

SPEC = """apiVersion: gpulint/v1
kind: TrainingJob
metadata: {name: finetune}
spec:
  roles:
  - name: trainer
    engine: torchtitan
    checkpoint: meta-llama/Llama-3.1-8B
    accelerator: h100-sxm-80gb
    gpus_per_pod: 8
    tensor_parallel: 1
    pipeline_parallel: 1
    micro_batch_size: 2
    sequence_length: 8192
    training_dtype: bfloat16
    activation_checkpointing: full
"""


def test_a_training_job_of_our_own_spec_is_sized_by_the_terms_of_training(tmp_path: Path) -> None:
    file = tmp_path / "job.yaml"
    file.write_text(SPEC, encoding="utf-8")
    ((role, resolved),) = memory_breakdown.read_roles(str(file), "finetune", WorkTree(tmp_path), {}, None)
    table = memory_breakdown.build_table(role, resolved)
    assert table.missing == ()
    names = [row.name for row in table.terms]
    assert names == [
        *memory_breakdown.TRAINING_TERMS,
        *memory_breakdown.TRAINING_TOTALS,
        *memory_breakdown.TRAINING_SPEED[:4],
    ]
    assert table.verdict == "fits"


def test_the_loss_of_a_supervised_fine_tune_with_trl_is_bounded_by_those_of_its_releases() -> None:
    """Logits in 32 bits as Transformers keeps them, or none (chunked_nll): huggingface/trl f2cd5771 SFTConfig.loss_type."""
    each = known(engine="trl", loss_kernel="by-release").scenarios("loss_bytes_per_logit")
    plain = known(engine="trl", loss_kernel="plain").scenarios("loss_bytes_per_logit")
    fused = known(engine="trl", loss_kernel="fused").scenarios("loss_bytes_per_logit")
    assert not isinstance(each, Missing) and not isinstance(plain, Missing) and not isinstance(fused, Missing)
    assert each.best <= fused.best < plain.best <= each.expected  # type: ignore[operator]
    assert each.worst >= max(plain.worst, fused.worst)  # type: ignore[type-var]
