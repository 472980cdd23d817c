"""What is beside a trained model: reference, critic, reward model and the engine that generates samples."""

from __future__ import annotations

from typing import Any

import pytest

from gpulint.catalog import architecture
from gpulint.facts import resolver
from gpulint.facts.model import Facts
from gpulint.source import documents
from gpulint.workload import Field, Origin, Role

NOWHERE = Origin(documents.load("nowhere.yaml", b"{}").documents[0], ())
GB = 1e9
LLAMA_8B = 8_030_261_248


def known(**stated: Any) -> Facts:
    given = {
        "engine": "trl",
        "checkpoint": "meta-llama/Llama-3.1-8B",
        "accelerator": "h100-sxm-80gb",
        **dict.fromkeys(("tensor_parallel", "pipeline_parallel", "gpus_per_replica", "micro_batch_size"), 1),
        "sequence_length": 1024,
        **dict.fromkeys(("training_dtype", "parameter_dtype"), "bfloat16"),
        "sharding": "none",
        "optimizer": "adamw-fused",
        "activation_checkpointing": "full",
        **stated,
    }
    role = Role("trainer", NOWHERE, {name: Field(value) for name, value in given.items()})
    return resolver.resolve(role, architecture.resolve("meta-llama/Llama-3.1-8B"))


def expected(name: str, **stated: Any) -> float:
    value = known(**stated).expected(name)
    assert isinstance(value, int | float), (name, value)
    return float(value)


@pytest.mark.parametrize(
    ("stated", "copies"),
    [
        ({"training_method": "dpo"}, 1),
        ({"training_method": "dpo", "lora_rank": 16, "lora_targets": "qv"}, 0),
        ({"training_method": "dpo", "lora_rank": 16, "lora_targets": "qv", "reference_beside_adapters": True}, 1),
        ({"training_method": "dpo", "reference_precomputed": True}, 0),
        ({"training_method": "orpo"}, 0),
        ({"training_method": "grpo", "engine_version": "0.18.0"}, 1),
        ({"training_method": "grpo", "engine_version": "0.19.0"}, 0),
        ({"training_method": "grpo", "engine_version": "0.19.0", "kl_coefficient": 0.04}, 1),
        ({"training_method": "ppo", "reference_placement": "elsewhere"}, 0),
        ({}, 0),
    ],
)
def test_a_reference_is_kept_where_the_method_compares_with_it(stated: dict[str, Any], copies: int) -> None:
    """TRL's grpo_config.py: beta is 0.04 until 0.18 and 0.0 since 0.19, which loads no reference."""
    assert expected("reference_bytes", **stated) == copies * 2 * LLAMA_8B


def test_zero_3_shards_the_reference_and_zero_2_does_not() -> None:
    stated = {"training_method": "dpo", "sharding": "deepspeed", "gpus_per_replica": 8, "master_weights": True}
    assert expected("reference_bytes", zero_stage=3, **stated) == 2 * LLAMA_8B / 8
    assert expected("reference_bytes", zero_stage=2, **stated) == 2 * LLAMA_8B


def test_a_pair_of_answers_is_two_sequences_of_a_micro_batch() -> None:
    tokens = {method: expected("training_tokens", training_method=method, packed=True) for method in ("dpo", "kto")}
    assert tokens == {"dpo": 2048, "kto": 1024}


def test_a_critic_keeps_weights_and_optimizer_state_while_the_policy_is_trained() -> None:
    """2 bytes of a weight and 4 of its moments in pure bfloat16."""
    assert expected("critic_bytes", training_method="ppo", critic_placement="gpu") == 6 * LLAMA_8B
    assert expected("critic_bytes", training_method="ppo", critic_placement="parked") == 0


def test_an_engine_that_sleeps_gives_its_memory_back_for_the_update() -> None:
    stated = {"training_method": "grpo", "rollout_engine": "vllm", "rollout_mode": "colocate", "rollout_share": 0.5}
    awake, asleep = (expected("idle_rollout_bytes", rollout_sleeps=sleeps, **stated) for sleeps in (False, True))
    assert 0.5 * 84 * GB < awake < 0.5 * 86 * GB
    assert asleep == 0
    assert expected("rollout_bytes", **{**stated, "rollout_mode": "server"}) == 0


def test_sleeping_states_make_room_for_samples() -> None:
    """Llama-3.1-8B in pure bfloat16: 16 GB of weights and 32 GB of moments beside half of the GPU."""
    stated = {
        "training_method": "grpo",
        "rollout_engine": "vllm",
        "rollout_mode": "colocate",
        "rollout_share": 0.5,
        "rollout_sleeps": True,
    }
    stays = expected("rollout_phase_bytes", **stated)
    parked = expected("rollout_phase_bytes", weights_parked=True, optimizer_parked=True, **stated)
    assert stays - parked == 6 * LLAMA_8B
    assert known(**stated).expected("training_needed_bytes") > stays  # type: ignore[operator]
