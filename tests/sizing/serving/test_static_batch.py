"""Memory of a static batch without a server, against figures that the field has published."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path

import pytest
from click.testing import CliRunner

from gpulint import cli, engines
from gpulint.catalog import tables
from gpulint.facts import resolver
from gpulint.facts.model import Facts, Missing
from gpulint.pipeline import memory_breakdown
from gpulint.policy.rules import memory_verdict
from gpulint.source.repository import WorkTree
from gpulint.units import GB, GIB, MIB

A100 = "a100-sxm4-80gb"
BATCHES = ("transformers", "litgpt", "autoawq", "exllama", "gpt-fast")
QWEN3 = {"engine_version": "4.51.3", "attention_backend": "flash", "weight_dtype": "bfloat16"}
QWEN25 = {"engine_version": "4.46.0", "attention_backend": "flash", "weight_dtype": "bfloat16"}
QWEN2 = {"engine_version": "4.40.1", "attention_backend": "flash", "weight_dtype": "bfloat16"}
QWEN15 = {"engine_version": "4.37.2", "attention_backend": "flash", "weight_dtype": "bfloat16"}
DEEPSEEK = {"engine_version": "4.35.0", "weight_dtype": "bfloat16"}


def known(checkpoint: str, engine: str = "transformers", card: str = A100, **stated: object) -> Facts:
    role, resolved = memory_breakdown.build_role(
        checkpoint, {"engine": engine, "task": "inference", **stated}, card, WorkTree(Path(__file__).parent)
    )
    return resolver.resolve(role, resolved)


def batch(size: int, prompt: int, new: int) -> dict[str, int]:
    return {"batch_size": size, "prompt_tokens": prompt, "new_tokens": new}


def expected_value(found: Facts, fact: str) -> float:
    value = found.expected(fact)
    assert isinstance(value, int | float), f"{fact} lacks {value}"
    return float(value)


# QwenLM/Qwen3, branches v2.0 and v2.5, docs/source/benchmark/speed_benchmark.rst: max_memory_allocated of all GPUs, GiB
# the same tables, branch v2.5, at 1 token of input: 5.52 against 5.39 of AWQ, 18.94 against 18.67, 39.91 against 39.44
@pytest.mark.parametrize(("size", "gib"), [("7B", 0.13), ("32B", 0.27), ("72B", 0.47)])
def test_gptq_unpacks_into_one_matrix_that_awq_does_not_need(size: str, gib: float) -> None:
    held = [
        expected_value(
            known(f"Qwen/Qwen2.5-{size}-Instruct-{name}", **batch(1, 1, 2048), **QWEN25), "generation_held_bytes"
        )
        for name in ("GPTQ-Int4", "AWQ")
    ]
    assert (held[0] - held[1]) / GIB == pytest.approx(gib, abs=0.03)


@pytest.mark.parametrize(
    ("checkpoint", "stated", "prompt", "gpus", "gib"),
    [
        ("Qwen/Qwen2.5-7B-Instruct", QWEN25, 1, 1, 14.38),
        ("Qwen/Qwen2.5-14B-Instruct", QWEN25, 6144, 1, 29.50),
        ("Qwen/Qwen2.5-32B-Instruct", QWEN25, 30720, 1, 74.47),
        ("Qwen/Qwen2.5-72B-Instruct", QWEN25, 14336, 3, 149.14),
        ("Qwen/Qwen2.5-7B-Instruct", {**QWEN25, "quantization": "int4-g128"}, 30720, 1, 11.11),
        ("Qwen/Qwen2.5-32B-Instruct", {**QWEN25, "quantization": "int8-g128"}, 14336, 1, 39.28),
        ("Qwen/Qwen2-0.5B-Instruct", QWEN2, 30720, 1, 27.61),  # logits of every token of the prompt: 26 of 27.6
        ("Qwen/Qwen2-7B-Instruct", QWEN2, 14336, 1, 27.71),
        # branch v1.5, hf_infer.rst (2024-02): the caches of two steps
        ("Qwen/Qwen1.5-1.8B-Chat", QWEN15, 1, 1, 4.60),
        ("Qwen/Qwen1.5-4B-Chat", QWEN15, 1, 1, 9.59),
        ("Qwen/Qwen1.5-7B-Chat", QWEN15, 1, 1, 16.90),
    ],
)
def test_a_prompt_takes_what_qwen_published(
    checkpoint: str, stated: Mapping[str, object], prompt: int, gpus: int, gib: float
) -> None:
    found = known(checkpoint, pipeline_parallel=gpus, **batch(1, prompt, 2048), **stated)
    assert expected_value(found, "generation_total_bytes") / GIB == pytest.approx(gib, rel=0.03)


# QwenLM/Qwen3, docs/source/getting_started/speed_benchmark.md: MB, which grow by the KV cache alone
@pytest.mark.parametrize(
    ("checkpoint", "prompt", "mib"),
    [
        ("Qwen/Qwen3-0.6B", 6144, 2066),
        ("Qwen/Qwen3-8B", 1, 15947),
        ("Qwen/Qwen3-8B", 30720, 20267),
        ("Qwen/Qwen3-14B", 14336, 30775),
        ("Qwen/Qwen3-30B-A3B", 30720, 61342),
    ],
)
def test_what_stays_while_tokens_are_generated_is_what_qwen3_published(
    checkpoint: str, prompt: int, mib: float
) -> None:
    found = known(checkpoint, card="h20-96gb", **batch(1, prompt, 2048), **QWEN3)
    assert expected_value(found, "generation_held_bytes") / MIB == pytest.approx(mib, rel=0.02)


# casper-hansen/AutoAWQ README, benchmarks on an RTX 4090 (GiB of max_memory_allocated; the cache has room for the decode length)
@pytest.mark.parametrize(
    ("checkpoint", "size", "tokens", "gpus", "gib"),
    [
        ("mistralai/Mistral-7B-v0.1", 1, 64, 1, 4.35),
        ("mistralai/Mistral-7B-v0.1", 8, 2048, 1, 16.82),
        ("meta-llama/Llama-2-13b-hf", 1, 64, 1, 8.47),
        ("meta-llama/Llama-2-13b-hf", 3, 2048, 1, 16.90),
        ("codellama/CodeLlama-34b-Instruct-hf", 1, 2048, 1, 20.26),
        ("tiiuae/falcon-7b", 1, 2048, 1, 6.83),
        ("mistralai/Mixtral-8x7B-v0.1", 1, 4096, 2, 34.65),
    ],
)
def test_a_fused_awq_batch_takes_what_autoawq_published(
    checkpoint: str, size: int, tokens: int, gpus: int, gib: float
) -> None:
    stated = {"engine_version": "0.1.6", "cache_tokens": tokens, "pipeline_parallel": gpus}
    found = known(checkpoint, "autoawq", "rtx-4090", **stated, **batch(size, tokens, tokens))
    assert expected_value(found, "generation_total_bytes") / GIB == pytest.approx(gib, rel=0.03)


# pytorch/ao torchao/_models/llama/benchmark_results.txt (2024): GB of max_memory_reserved, Llama-3.1-8B in eager mode
@pytest.mark.parametrize(
    ("cache", "gb"), [(8192, 17.86), (16384, 19.81), (32768, 23.83), (65536, 33.50), (131072, 59.27)]
)
def test_a_static_cache_and_its_mask_take_what_torchao_published(cache: int, gb: float) -> None:
    found = known("meta-llama/Llama-3.1-8B", "gpt-fast", cache_tokens=cache, compiled=False, **batch(1, 6, 200))
    assert expected_value(found, "generation_reserved_bytes") / GB == pytest.approx(gb, rel=0.015)


# Lightning-AI/litgpt tutorials/quantize.md, "Memory used" of falcon-7b
@pytest.mark.parametrize(
    ("stated", "gb"),
    [
        ({"weight_dtype": "float32"}, 28.95),
        ({"weight_dtype": "bfloat16"}, 14.50),
        ({"weight_dtype": "bfloat16", "quantization": "nf4"}, 5.72),
        ({"weight_dtype": "bfloat16", "quantization": "int8-bnb"}, 8.70),
    ],
)
def test_litgpt_takes_what_its_tutorial_says(stated: Mapping[str, object], gb: float) -> None:
    found = known("tiiuae/falcon-7b", "litgpt", **batch(1, 8, 256), **stated)
    assert expected_value(found, "generation_peak_bytes") / GB == pytest.approx(gb, rel=0.02)


# Lightning-AI/litgpt tutorials/resource-tables.md, Single-GPU Inference, "Max GPU RAM" on an A100 40GB
@pytest.mark.parametrize(
    ("checkpoint", "quantization", "gb"),
    [
        ("meta-llama/Llama-2-7b-hf", None, 13.52),
        ("meta-llama/Llama-2-7b-hf", "nf4", 4.57),
        ("meta-llama/Llama-2-13b-hf", None, 26.21),
        ("meta-llama/Llama-2-13b-hf", "int4-bnb", 7.72),
        ("codellama/CodeLlama-34b-Instruct-hf", "nf4", 20.52),
        ("tiiuae/falcon-40b", "nf4", 26.55),
        ("meta-llama/Llama-2-70b-hf", "int4-bnb", 37.21),
    ],
)
def test_litgpt_takes_what_its_resource_table_says(checkpoint: str, quantization: str | None, gb: float) -> None:
    stated = {"quantization": quantization} if quantization else {}
    found = known(checkpoint, "litgpt", "a100-sxm4-40gb", weight_dtype="bfloat16", **batch(1, 8, 50), **stated)
    assert expected_value(found, "generation_peak_bytes") / GB == pytest.approx(gb, rel=0.02)


# turboderp/exllama README: MB for 2,048 tokens
def test_exllama_takes_what_its_readme_says() -> None:
    found = known("huggyllama/llama-7b", "exllama", "rtx-4090", cache_tokens=2048, **batch(1, 1920, 128))
    assert expected_value(found, "generation_peak_bytes") / MIB == pytest.approx(5194, rel=0.02)


# deepseek-ai/DeepSeek-LLM README, "GPU Memory Usage"; its requirements.txt: transformers>=4.35.0, whose Llama keeps scores
@pytest.mark.parametrize(
    ("size", "prompt", "gib"),
    [(1, 256, 13.29), (1, 2048, 16.37), (4, 1024, 19.04), (4, 2048, 26.65), (16, 1024, 37.28)],
)
def test_old_releases_keep_scores_and_all_logits(size: int, prompt: int, gib: float) -> None:
    found = known("deepseek-ai/deepseek-llm-7b-base", **batch(size, prompt, 1), **DEEPSEEK)
    assert expected_value(found, "generation_reserved_bytes") / GIB == pytest.approx(gib, rel=0.06)


# ---- what must stay silent, and what must not


def test_a_batch_that_is_not_stated_is_asked_for() -> None:
    found = known("Qwen/Qwen3-8B", weight_dtype="bfloat16")
    assert found.missing(["generation_peak_bytes"]) == {"batch_size", "prompt_tokens", "new_tokens"}
    assert memory_breakdown.find_verdict(found) == "not evaluated"


def test_weights_that_exceed_the_card_fail_whatever_the_batch() -> None:
    assert (
        memory_breakdown.find_verdict(known("tiiuae/falcon-40b", "litgpt", "a100-sxm4-40gb", weight_dtype="bfloat16"))
        == "does not fit"
    )


def test_a_loader_that_spills_is_not_said_to_fail() -> None:
    found = known("Qwen/Qwen2.5-32B-Instruct", card="l4", weight_dtype="bfloat16", spills=True, **batch(1, 100, 100))
    assert memory_breakdown.find_verdict(found) == "not evaluated"


def test_the_number_format_of_an_old_release_is_asked_for() -> None:
    """`from_pretrained` before 5.0 loads float32 where nothing says otherwise."""
    found = known("Qwen/Qwen3-8B", engine_version="4.51.3", **batch(1, 1, 1))
    assert "weight_dtype" in found.missing(["generation_peak_bytes"])


def test_the_cache_of_compressed_attention_is_not_guessed() -> None:
    found = known("deepseek-ai/DeepSeek-V2-Lite", weight_dtype="bfloat16", **batch(1, 1, 1))
    assert isinstance(found.scenarios("generation_cache_bytes"), Missing)


def test_a_trainer_whose_task_is_inference_does_not_train() -> None:
    found = known("Qwen/Qwen3-8B", weight_dtype="bfloat16")
    assert memory_verdict.is_generation(found) and not engines.is_training(found.role)
    role, resolved = memory_breakdown.build_role(
        "Qwen/Qwen3-8B", {"engine": "transformers"}, A100, WorkTree(Path(__file__).parent)
    )
    assert engines.is_training(role) and not memory_verdict.is_generation(resolver.resolve(role, resolved))


@pytest.mark.parametrize("engine", ["vllm", "sglang", "llama.cpp"])
def test_a_server_is_not_a_batch(engine: str) -> None:
    assert not memory_verdict.is_generation(known("Qwen/Qwen3-8B", engine))


def test_the_command_line_shows_terms_totals_and_the_verdict() -> None:
    told = ["size", "Qwen/Qwen3-8B", "--engine", "transformers", "--dtype", "bfloat16", "--accelerator", A100]
    said = CliRunner().invoke(cli.main, [*told, "--batch-size", "4", "--prompt-tokens", "512", "--new-tokens", "512"])
    assert "generation_peak_bytes" in said.output and "verdict: fits" in said.output
    told += ["--batch-size", "4", "--prompt-tokens", "512", "--new-tokens", "512", "--format", "json"]
    data = json.loads(CliRunner().invoke(cli.main, told).output)
    # 4 sequences of 1,024 tokens at 144 KiB: 36 layers, 8 KV heads of 128, two tensors of 2 bytes
    assert data[0]["terms"]["generation_cache_bytes"]["expected"] == 4 * 1024 * 144 * 1024


# ---- scenarios

ROLES: Mapping[str, Mapping[str, object]] = {
    "transformers": {"weight_dtype": "bfloat16", "engine_version": "4.46.0"},
    "litgpt": {"weight_dtype": "bfloat16"},
    "autoawq": {},
    "exllama": {},
    "gpt-fast": {"compiled": False},
}
SHARED = (
    *("cache_growth_excess", "generation_slack_bytes", "generation_context_bytes", "prompt_excess", "prompt_share"),
    *("weight_ratio", "library_workspace_bytes", "logit_copy_bytes", "score_bytes", "expert_token_share"),
    "decode_copy_bytes",
)
ELSEWHERE: Mapping[str, Mapping[str, object]] = {
    "logit_copy_bytes": {"logit_positions": "all", "prompt_tokens": 8192},
    "expert_token_share": {
        "checkpoint": "mistralai/Mixtral-8x7B-v0.1",
        "prompt_tokens": 8192,
        "default_attention": "sdpa",
    },
    "decode_copy_bytes": {"checkpoint": "Qwen/Qwen3-8B", "new_tokens": 8192},
    "score_bytes": {"prompt_tokens": 8192},
}
"""Roles in which a term decides the fullest moment."""


@pytest.mark.parametrize("engine", BATCHES)
@pytest.mark.parametrize("term", SHARED)
def test_more_of_a_fitted_term_never_takes_less_memory(engine: str, term: str) -> None:
    rows = [row for row in tables.rows("fitted") if row["name"] == term and row["engine"] in ("", engine)]
    if not rows:
        return
    low, high = min(float(row["best"]) for row in rows), max(float(row["worst"]) for row in rows)
    stated = {**batch(2, 1024, 256), **ROLES[engine], **ELSEWHERE.get(term, {})}
    checkpoint = str(stated.pop("checkpoint", "meta-llama/Llama-3.1-8B"))
    if term != "expert_token_share":
        stated |= {"expert_token_share": 0.0} if "Mixtral" in checkpoint else {}
    values = [
        expected_value(
            known(checkpoint, engine, **{**stated, "score_bytes": 0.0, term: low + (high - low) * step / 4}),
            "generation_device_bytes",
        )
        for step in range(5)
    ]
    assert values == sorted(values)


@pytest.mark.parametrize("engine", BATCHES)
def test_the_scenarios_of_a_batch_are_in_order(engine: str) -> None:
    found = known("meta-llama/Llama-3.1-8B", engine, **batch(2, 2048, 512), **ROLES[engine])
    for name in (
        "generation_peak_bytes",
        "generation_reserved_bytes",
        "generation_device_bytes",
        "generation_total_bytes",
    ):
        scenarios = found.scenarios(name)
        assert not isinstance(scenarios, Missing), name
        assert scenarios.best <= scenarios.expected <= scenarios.worst, name  # type: ignore[operator]
    left = found.scenarios("generation_headroom_bytes")
    assert not isinstance(left, Missing)
    assert left.best >= left.expected >= left.worst  # type: ignore[operator]
