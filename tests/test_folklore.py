"""Figures that the field repeats and gets wrong, held as they are."""

from __future__ import annotations

from pathlib import Path

import pytest

from gpulint.facts import resolver
from gpulint.facts.model import Facts
from gpulint.pipeline import memory_breakdown
from gpulint.sizing.training import peak
from gpulint.source.repository import WorkTree
from gpulint.units import GB, GIB


def known(checkpoint: str, card: str = "h100-sxm-80gb", **stated: object) -> Facts:
    role, resolved = memory_breakdown.build_role(checkpoint, stated, card, WorkTree(Path(__file__).parent))
    return resolver.resolve(role, resolved)


def test_the_state_of_mixed_precision_adam_is_16_bytes_a_parameter() -> None:
    """2 of weights, 2 of gradients, 12 of master copy and two moments (Rajbhandari et al., ZeRO, 2020): 112 GB of 7B, not 84."""
    weights, gradients, optimizer = 2 * 7e9, 2 * 7e9, 12 * 7e9
    assert peak.state_bytes_per_gpu(weights, gradients, optimizer) == pytest.approx(112e9)
    found = known(
        "meta-llama/Llama-2-7b-hf",
        engine="deepspeed",
        task="training",
        optimizer="adamw",
        training_dtype="bfloat16",
        sharding="deepspeed",
        zero_stage=0,
        tensor_parallel=1,
        pipeline_parallel=1,
        gpus_per_replica=1,
        gpus_per_pod=1,
    )
    states = found.expected("state_bytes_per_gpu")
    assert isinstance(states, float)
    assert states / 6738415616 == pytest.approx(16, abs=2.1)  # ZeRO's own gradient copies may add two more


def test_the_kv_cache_of_llama_31_8b_is_128_kib_a_token() -> None:
    """32 layers · 2 · 8 heads · 128 · 2 bytes (config.json), not the 8 KiB of one layer's keys or the 512 of 32 heads."""
    assert known("meta-llama/Llama-3.1-8B", engine="vllm").expected("kv_bytes_per_token") == 128 * 1024


def test_deepseek_r1_in_16_bits_does_not_fit_sixteen_80_gb_cards() -> None:
    """671e9 parameters are 1,342 GB; sixteen cards have 16 · 79.1 GiB = 1,359 GB, of which an engine leaves a tenth alone."""
    found = known(
        "deepseek-ai/DeepSeek-R1",
        engine="vllm",
        engine_version="0.11.0",
        tensor_parallel=8,
        pipeline_parallel=2,
        weight_format="bfloat16",
        max_model_len=8192,
    )
    assert memory_breakdown.find_verdict(found) == "does not fit"


def test_a_4_bit_column_is_not_a_16_bit_one() -> None:
    """Qwen2.5-72B takes 39.91 GiB with GPTQ-Int4 and 136.20 in 16 bits (QwenLM/Qwen3 v2.5, speed_benchmark.rst)."""
    batch = {"batch_size": 1, "prompt_tokens": 1, "new_tokens": 2048, "engine_version": "4.46.0"}
    stated = {"engine": "transformers", "task": "inference", "weight_dtype": "bfloat16", **batch}
    small = known("Qwen/Qwen2.5-72B-Instruct", quantization="int4-g128", **stated).expected("generation_total_bytes")
    whole = known("Qwen/Qwen2.5-72B-Instruct", pipeline_parallel=2, **stated).expected("generation_total_bytes")
    assert isinstance(small, float) and isinstance(whole, float)
    assert small / GIB == pytest.approx(39.91, rel=0.03)
    assert whole / GIB == pytest.approx(136.20, rel=0.03)


def test_a_gigabyte_is_not_a_gibibyte() -> None:
    """Llama-3-8B is 16.06 GB and 14.96 GiB: vLLM prints the second and calls it GiB."""
    weights = known("meta-llama/Meta-Llama-3-8B", engine="vllm").expected("weight_bytes")
    assert isinstance(weights, int | float)
    assert (round(weights / GB, 2), round(weights / GIB, 2)) == (16.06, 14.96)
