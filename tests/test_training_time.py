"""Training time: operations and traffic that can be counted by hand, floors, rates, and each fitted term's direction."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pytest

from gpulint.catalog import architecture, tables
from gpulint.facts import resolver
from gpulint.facts.model import Facts, Missing
from gpulint.source import documents
from gpulint.workload import Field, Origin, Role

NOWHERE = Origin(documents.load("nowhere.yaml", b"{}").documents[0], ())
LLAMA_8B = "meta-llama/Llama-3.1-8B"
LLAMA_70B = "meta-llama/Llama-3.1-70B"
QWEN_MOE = "Qwen/Qwen3-30B-A3B"
NODE: Mapping[str, Any] = {
    "engine": "torchtitan",
    "task": "training",
    "accelerator": "h100-sxm-80gb",
    "gpus_per_replica": 8,
    "gpus_per_pod": 8,
    "pods_per_replica": 1,
    "tensor_parallel": 1,
    "pipeline_parallel": 1,
    "micro_batch_size": 2,
    "global_batch_size": 16,
    "sequence_length": 8192,
    "training_dtype": "bfloat16",
    "parameter_dtype": "float32",
    "sharding": "fsdp",
    "optimizer": "adamw-fused",
    "activation_checkpointing": "products",
}
"""Llama-3.1-8B as torchtitan trains it on one node."""
CLUSTER: Mapping[str, Any] = {
    "gpus_per_replica": 64,
    "pods_per_replica": 8,
    "network_bytes_per_s": 400e9,
    "network_kind": "infiniband",
    "tensor_parallel": 8,
    "pipeline_parallel": 4,
    "global_batch_size": 64,
}
"""The same over eight nodes of eight cards, each with 400 Gb/s."""


def known(checkpoint: str = LLAMA_8B, **stated: Any) -> Facts:
    fields = {name: Field(value) for name, value in {**NODE, "checkpoint": checkpoint, **stated}.items()}
    return resolver.resolve(Role("trainer", NOWHERE, fields), architecture.resolve(checkpoint))


def expected_value(found: Facts, name: str) -> float:
    value = found.expected(name)
    assert isinstance(value, int | float), (name, value, found.reasons)
    return float(value)


# ---- what can be counted


def test_a_step_of_llama_8b_costs_six_operations_for_each_parameter_and_token() -> None:
    """7,504,924,672 parameters without the embedding; 16 sequences of 8,192 tokens; 12 · 32 layers · 4,096 · 4,096 tokens."""
    found = known()
    assert expected_value(found, "step_tokens") == 131072
    assert expected_value(found, "matrix_step_flop") == pytest.approx(6 * 7_504_924_672 * 131072)
    assert expected_value(found, "attention_step_flop") == pytest.approx(131072 * 12 * 32 * 4096 * 4096)


def test_adapters_cost_four_operations_for_each_frozen_parameter() -> None:
    found = known(lora_rank=16, lora_targets="qv", parameter_dtype="bfloat16")
    assert expected_value(found, "matrix_step_flop") / (7_504_924_672 * 131072) == pytest.approx(4, rel=0.001)


def test_of_routed_experts_only_those_a_token_visits_are_computed() -> None:
    """Qwen3-30B-A3B: 3.3 of 30.5 billion parameters are active, 0.31 of them the embedding."""
    assert expected_value(known(QWEN_MOE), "matrix_parameters") == pytest.approx(3.05e9, rel=0.03)


def test_the_floor_is_the_dense_peak_and_nothing_else() -> None:
    """(6 · 7.505e9 + 6.44e9) · 131,072 operations on eight A100 of 312e12 a second, or H100 of 1979e12 in FP8."""
    assert expected_value(known(accelerator="a100-sxm4-80gb"), "step_floor_s") == pytest.approx(2.703, rel=0.001)
    assert expected_value(known(), "step_floor_s") == pytest.approx(0.4261, rel=0.001)


def test_the_floor_is_the_same_in_all_scenarios_where_sequences_are_packed() -> None:
    found = known().scenarios("step_floor_s")
    assert not isinstance(found, Missing)
    assert found.best == found.expected == found.worst


def test_fsdp_sends_three_times_the_weights_and_ddp_twice_the_gradients() -> None:
    """ZeRO, section 7: 3Ψ and 2Ψ, here of 8,030,261,248 parameters, 7/8 of which lie elsewhere; gradients in 32 bits."""
    share = 8_030_261_248 * 7 / 8
    assert expected_value(known(), "data_traffic_bytes") == pytest.approx(share * (2 * 2 + 4))
    assert expected_value(known(sharding="ddp", parameter_dtype="bfloat16"), "data_traffic_bytes") == pytest.approx(
        share * 2 * 2
    )


def test_a_hybrid_group_sends_only_its_shards_gradients_between_the_groups() -> None:
    network = {"network_bytes_per_s": 400e9, "network_kind": "infiniband"}
    one_group = expected_value(known(), "data_traffic_bytes")
    two = known(gpus_per_replica=16, pods_per_replica=2, global_batch_size=32, shard_group=8, **network)
    assert expected_value(two, "data_traffic_bytes") - one_group == pytest.approx(2 * 1 / 2 * 8_030_261_248 / 8 * 4)


def test_hybrid_sharding_spares_a_slow_network_what_stays_inside_a_node() -> None:
    """Of 116 GB a step of two micro-batches, each GPU sends 8 over its eighth of 100 Gb/s of TCP; the rest has NVLink."""
    slow = {"network_bytes_per_s": 12.5e9, "network_kind": "tcp", "gpus_per_replica": 16, "pods_per_replica": 2}
    whole, hybrid = (known(**slow, global_batch_size=64, shard_group=group) for group in (None, 8))
    assert expected_value(hybrid, "copy_traffic_bytes") == pytest.approx(2 * 8_030_261_248 / 8 * 4)
    assert expected_value(hybrid, "shard_bus_bytes_per_s") == pytest.approx(450e9 / 1.22, rel=0.1)
    assert expected_value(hybrid, "copy_nominal_bytes_per_s") == 12.5e9 / 8
    assert expected_value(hybrid, "step_s") < 0.6 * expected_value(whole, "step_s")


def test_hybrid_sharding_sums_gradients_between_its_copies_after_every_micro_batch() -> None:
    """PyTorch's FSDP2 all-reduces in each backward pass unless set_requires_all_reduce(False) is called."""
    network = {
        "network_bytes_per_s": 400e9,
        "network_kind": "infiniband",
        "gpus_per_replica": 16,
        "pods_per_replica": 2,
    }
    once, twice = (known(**network, global_batch_size=batch, shard_group=8) for batch in (32, 64))
    assert expected_value(twice, "accumulations") == 2 * expected_value(once, "accumulations")
    assert expected_value(twice, "copy_traffic_bytes") == 2 * expected_value(once, "copy_traffic_bytes")


def test_copies_of_whole_states_share_the_network_of_a_node_as_one_ring() -> None:
    """DDP: one ring passes each node once, whatever its GPUs; ranks of hybrid groups form a ring for each GPU."""
    network = {
        "network_bytes_per_s": 400e9,
        "network_kind": "infiniband",
        "gpus_per_replica": 16,
        "pods_per_replica": 2,
    }
    whole = known(**network, global_batch_size=32, sharding="ddp")
    assert (expected_value(whole, "state_copies"), expected_value(whole, "copy_nominal_bytes_per_s")) == (16, 400e9)
    hybrid = known(**network, global_batch_size=32, shard_group=8)
    assert (expected_value(hybrid, "state_copies"), expected_value(hybrid, "copy_nominal_bytes_per_s")) == (2, 50e9)


def test_four_sums_a_layer_cross_the_tensor_parallel_ranks() -> None:
    """Llama-3.1-70B, two copies of eight ranks: 4 · 80 · 7/4 · 65,536 tokens · 8,192 · 2 bytes."""
    found = known(LLAMA_70B, tensor_parallel=8, micro_batch_size=8, global_batch_size=8)
    assert expected_value(found, "tensor_traffic_bytes") == pytest.approx(4 * 80 * 7 / 4 * 65536 * 8192 * 2)


@pytest.mark.parametrize(
    ("stages", "parts", "batches", "schedule", "ratio"),
    [
        (8, 1, 32, None, 7 / 32),
        (8, 4, 32, "interleaved", 7 / 128),
        (8, 1, 32, "zb-h1", 7 / 96),
        (8, 2, 32, "zb-v", 0.0),
        (1, 1, 4, None, 0.0),
    ],
)
def test_the_waiting_of_a_pipeline_is_that_of_its_schedule(
    stages: int, parts: int, batches: int, schedule: str | None, ratio: float
) -> None:
    """Narayanan et al. 2021, section 2.2; Qi et al. 2023, table 2."""
    found = known(
        engine="megatron-lm",
        gpus_per_replica=stages,
        gpus_per_pod=stages,
        pipeline_parallel=stages,
        virtual_stages=parts,
        pipeline_schedule=schedule,
        micro_batch_size=1,
        global_batch_size=batches,
    )
    assert expected_value(found, "bubble_ratio") == pytest.approx(ratio)


def test_mfu_and_the_rate_agree_with_the_step() -> None:
    found = known()
    step_s, rate = expected_value(found, "step_s"), expected_value(found, "training_tokens_per_s_per_gpu")
    assert rate == pytest.approx(131072 / step_s / 8)
    counted = 6 * 7_504_924_672 + 12 * 32 * 4096 * 8192
    assert expected_value(found, "mfu") == pytest.approx(rate * counted / 989e12)
    assert expected_value(found, "hfu") > expected_value(found, "mfu")


def test_a_run_of_15_trillion_tokens_takes_its_steps() -> None:
    found = known(training_total_tokens=15e12, max_steps=None)
    assert expected_value(found, "run_steps") == 114_440_918
    assert expected_value(found, "training_run_s") == pytest.approx(114_440_918 * expected_value(found, "step_s"))


CARDS = ("a100-sxm4-80gb", "h100-sxm-80gb", "b200-sxm-180gb", "rtx-4090", "l4", "mi300x", "gaudi2", "rtx-5090")


@pytest.mark.parametrize("accelerator", CARDS)
@pytest.mark.parametrize("dtype", ["bfloat16", "fp8"])
def test_no_scenario_is_faster_than_the_floor(accelerator: str, dtype: str) -> None:
    found = known(accelerator=accelerator, training_dtype=dtype, compiled=True, activation_checkpointing="none")
    steps = found.scenarios("step_s")
    if not isinstance(steps, Missing):  # a card without FP8
        assert expected_value(found, "step_floor_s") < float(steps.best or 0) <= float(steps.worst or 0)


@pytest.mark.parametrize(
    ("network", "group", "seconds"),
    [(("infiniband", 400e9), None, 4.3), (("tcp", 12.5e9), None, 22.0), (("tcp", 12.5e9), 8, 12.6)],
)
def test_the_fine_tune_of_the_concept_page_takes_what_it_says(
    network: tuple[str, float], group: int | None, seconds: float
) -> None:
    """docs/training_time.md."""
    found = known(
        gpus_per_replica=16,
        pods_per_replica=2,
        network_kind=network[0],
        network_bytes_per_s=network[1],
        compiled=True,
        global_batch_size=64,
        shard_group=group,
    )
    assert expected_value(found, "step_s") == pytest.approx(seconds, rel=0.05)


# ---- what must stay silent


def test_without_a_batch_there_is_no_step() -> None:
    assert isinstance(known(micro_batch_size=None, global_batch_size=None).expected("step_s"), Missing)


def test_without_a_network_a_step_over_nodes_is_unknown_and_its_floor_is_not() -> None:
    found = known(gpus_per_replica=16, pods_per_replica=2, global_batch_size=32)
    assert isinstance(found.expected("step_s"), Missing)
    assert expected_value(found, "step_floor_s") == pytest.approx(0.4261, rel=0.001)


def test_a_run_that_generates_its_own_samples_is_not_timed() -> None:
    assert isinstance(known(engine="trl", generations=8).expected("step_floor_s"), Missing)


def test_a_card_without_bfloat16_is_timed_in_float16_only() -> None:
    volta = {"accelerator": "v100-sxm2-32gb", "engine": "transformers", "sharding": "ddp"}
    assert expected_value(known(**volta, training_dtype="float16"), "step_s") > expected_value(
        known(**volta), "step_floor_s"
    )
    assert isinstance(known(**volta).expected("step_s"), Missing)


def test_a_card_without_a_listed_peak_has_no_floor() -> None:
    assert isinstance(known(accelerator="rtx-a4500").expected("step_floor_s"), Missing)


# ---- the fitted terms

TERMS: Mapping[str, Mapping[str, Any]] = {
    "matmul_excess": {},
    "kernel_excess": {},
    "narrow_width": {},
    "gather_excess": {"sharding": "ddp", "micro_batch_size": 1, "global_batch_size": 8},
    "attention_excess": {},
    "streamed_passes": {},
    "logit_traffic_bytes": {},
    "memory_excess": {},
    "update_bytes_per_parameter": {},
    "overlap_cost": {},
    "step_excess": {},
    "power_exponent": {"power_cap_w": 500},
    "host_update_s_per_parameter": {"optimizer_offload": True},
    "tensor_exposed_share": CLUSTER,
    "pipeline_exposed_share": CLUSTER,
    "expert_kernel_excess": {"checkpoint": QWEN_MOE},
    "expert_exposed_share": {"checkpoint": QWEN_MOE, "expert_parallel_size": 8},
}
"""Each term with a run in which it matters."""


@pytest.mark.parametrize("term", TERMS)
def test_more_of_a_fitted_term_is_never_faster(term: str) -> None:
    rows = [row for row in tables.rows("fitted") if row["name"] == term]
    low, high = min(float(row["best"]) for row in rows), max(float(row["worst"]) for row in rows)
    times = [
        expected_value(known(**{**TERMS[term], term: low + (high - low) * step / 8}), "step_s") for step in range(9)
    ]
    assert times == sorted(times)
    assert times[0] < times[-1], "the term does not matter here"
