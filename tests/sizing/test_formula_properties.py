"""A valid role leads to finite quantities of a possible sign, and memory and time grow with their causes."""

from __future__ import annotations

import math
from collections.abc import Mapping

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from gpulint.catalog import architecture
from gpulint.facts import formulas, resolver
from gpulint.facts.model import Facts
from gpulint.report.model import Scenarios
from gpulint.source import documents
from gpulint.workload import Field, Origin, Role

NOWHERE = Origin(documents.load("nowhere.yaml", b"{}").documents[0], ())
CHECKPOINTS = (
    "Qwen/Qwen3-8B",
    "meta-llama/Llama-3.1-70B-Instruct",
    "mistralai/Mixtral-8x7B-Instruct-v0.1",
    "deepseek-ai/DeepSeek-V3",
)
SIGNED = frozenset(
    {
        "spare_gpus", "sequence_excess", "headroom", "headroom_bytes", "weight_headroom_bytes",
        "generation_weight_headroom_bytes", "spread_headroom", "spread_headroom_bytes",
        "kv_cache_bytes",  # what weights leave for the cache; negative: that much is lacking
        "reserve_bytes",  # of LMDeploy, a share of what weights leave
        "weight_buffer_bytes",  # fitted: what was measured beside the sum of the tensors
    }
)  # fmt: skip
"""Differences, which may be negative."""
POWERS = st.sampled_from([1, 2, 4, 8, 16, 64])
SERVING = st.fixed_dictionaries(
    {
        "engine": st.sampled_from(["vllm", "sglang", "lmdeploy", "tgi", "llama.cpp"]),
        "checkpoint": st.sampled_from(CHECKPOINTS),
        "accelerator": st.sampled_from(["h100-sxm-80gb", "l4", "h200-sxm-141gb", "a100-sxm-40gb"]),
        "gpus_per_pod": st.integers(1, 16),
        "pods_per_replica": st.integers(1, 64),
        "tensor_parallel": POWERS,
        "pipeline_parallel": POWERS,
        "max_model_len": st.integers(1, 2_000_000),
        "max_num_seqs": st.integers(1, 100_000),
        "gpu_memory_utilization": st.floats(0.01, 1),
        "request_prompt_tokens": st.integers(1, 1_000_000),
        "request_output_tokens": st.integers(1, 1_000_000),
        "replicas": st.integers(0, 1_000),
    }
)
TRAINING = st.fixed_dictionaries(
    {
        "engine": st.sampled_from(["transformers", "torchtitan", "deepspeed", "megatron_lm"]),
        "checkpoint": st.sampled_from(CHECKPOINTS),
        "accelerator": st.sampled_from(["h100-sxm-80gb", "b200-sxm-180gb", "a100-sxm-80gb"]),
        "gpus_per_pod": st.integers(1, 8),
        "pods_per_replica": st.integers(1, 2_000),
        "tensor_parallel": POWERS,
        "pipeline_parallel": POWERS,
        "sequence_length": st.integers(1, 1_000_000),
        "micro_batch_size": st.integers(1, 4_096),
        "gradient_accumulation_steps": st.integers(1, 1_000),
        "zero_stage": st.integers(0, 3),
        "lora_rank": st.none() | st.integers(1, 1_024),
    }
)


def resolve(stated: Mapping[str, object]) -> Facts:
    """The facts of a role that states these values."""
    known = {name: value for name, value in stated.items() if value is not None}
    gpus = int(str(stated["gpus_per_pod"])) * int(str(stated["pods_per_replica"]))
    role = Role("x", NOWHERE, {name: Field(value) for name, value in {**known, "gpus_per_replica": gpus}.items()})  # type: ignore[arg-type]
    return resolver.resolve(role, architecture.resolve(str(stated["checkpoint"])))


def list_numbers(known: Facts, engine: object) -> Mapping[str, tuple[float, ...]]:
    """Each quantity of a formula that could be worked out, in its three scenarios."""
    found: dict[str, tuple[float, ...]] = {}
    for name in {**formulas.find_formulas(None), **formulas.find_formulas(str(engine))}:
        value = known.scenarios(name)
        if isinstance(value, Scenarios):
            found[name] = tuple(
                float(one) for one in value if isinstance(one, int | float) and not isinstance(one, bool)
            )
    return found


@pytest.mark.sweep
@settings(max_examples=150, deadline=None)
@given(SERVING | TRAINING)
def test_every_quantity_is_finite_and_has_a_possible_sign(stated: dict[str, object]) -> None:
    found = list_numbers(resolve(stated), stated["engine"])
    assert found
    infinite = {name for name, values in found.items() if not all(map(math.isfinite, values))}
    assert {name for name in infinite if not name.endswith("bytes_per_s")} == set()  # one rank alone exchanges nothing
    assert not any(math.isnan(value) for values in found.values() for value in values)
    assert {name: values for name, values in found.items() if min(values, default=0) < 0 and name not in SIGNED} == {}


@pytest.mark.sweep
@settings(max_examples=40, deadline=None)
@given(SERVING, st.sampled_from([2, 3, 16]))
@pytest.mark.parametrize(
    ("cause", "effect", "sign"),
    [
        ("max_model_len", "kv_needed_bytes", 1),
        ("max_model_len", "required_bytes_per_gpu", 1),
        ("max_model_len", "headroom_bytes", -1),
        ("max_num_seqs", "required_bytes_per_gpu", 1),
        ("max_num_seqs", "kv_cache_bytes", -1),
        ("tensor_parallel", "weight_bytes_per_gpu", -1),
        ("pipeline_parallel", "weight_bytes_per_gpu", -1),
        ("request_prompt_tokens", "prompt_flop", 1),
        ("request_prompt_tokens", "ttft_s", 1),
        ("gpu_memory_utilization", "kv_cache_bytes", 1),
    ],
)
def test_a_larger_cause_of_a_service_moves_its_effect_one_way(
    cause: str, effect: str, sign: int, stated: dict[str, object], factor: int
) -> None:
    check_monotone(cause, effect, sign, stated, factor)


@pytest.mark.sweep
@settings(max_examples=40, deadline=None)
@given(TRAINING, st.sampled_from([2, 3, 16]))
@pytest.mark.parametrize(
    ("cause", "effect"),
    [
        ("micro_batch_size", "step_flop"),
        ("micro_batch_size", "step_floor_s"),
        ("sequence_length", "step_flop"),
        ("sequence_length", "step_tokens"),
    ],
)
def test_a_larger_batch_never_makes_a_step_shorter(
    cause: str, effect: str, stated: dict[str, object], factor: int
) -> None:
    check_monotone(cause, effect, 1, stated, factor)


def check_monotone(cause: str, effect: str, sign: int, stated: dict[str, object], factor: int) -> None:
    """Assert that an effect, where it is known of both, moves in the direction of the sign in every scenario."""
    value = stated[cause]
    assert isinstance(value, int | float)
    larger = min(value * factor, 1.0) if isinstance(value, float) else value * factor
    before, after = (resolve({**stated, cause: one}).scenarios(effect) for one in (value, larger))
    if not isinstance(before, Scenarios) or not isinstance(after, Scenarios):
        return
    for low, high in zip(before, after, strict=True):
        assert isinstance(low, int | float)
        assert isinstance(high, int | float)
        assert sign * (high - low) >= -1e-6 * abs(low)
