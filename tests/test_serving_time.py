"""How fast a server answers: floors below every estimate, more of a fitted term never faster, and what stays unknown."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from gpulint.catalog import architecture, tables
from gpulint.facts import resolver
from gpulint.facts.model import Facts, Missing
from gpulint.pipeline import memory_breakdown
from gpulint.source import documents, repository
from gpulint.workload import Field, Origin, Role

NOWHERE = Origin(documents.load("nowhere.yaml", b"{}").documents[0], ())
LLAMA = "meta-llama/Llama-3.1-70B-Instruct"
MIXTURE = "Qwen/Qwen3-235B-A22B-FP8"
LATENT = "deepseek-ai/DeepSeek-R1"
TIME_TERMS = (
    *("weight_read_excess", "expert_read_excess", "attention_read_excess", "matrix_excess", "decode_ratio"),
    *("prefill_excess", "prefill_latency_s", "prefill_interference", "queued_share", "layer_latency_s"),
    *("step_latency_s", "sequence_latency_s", "reduction_latency_s", "message_s_per_byte", "rejected_share"),
    *(
        "weight_format_excess",
        "expert_format_excess",
        "prefill_release_ratio",
        "layer_kind_ratio",
    ),
    *("layer_group_ratio", "group_wait_exponent", "first_token_latency_s", "decoding_share"),
)


def server(checkpoint: str, **more: Any) -> Facts:
    """The facts of a server on eight H200, with what is stated instead."""
    stated: dict[str, Any] = {
        "engine": "vllm",
        "engine_version": "0.12.0",
        "checkpoint": checkpoint,
        "accelerator": "h200-sxm-141gb",
        "tensor_parallel": 8,
        "gpus_per_pod": 8,
        "gpus_per_replica": 8,
        "pods_per_replica": 1,
        "replicas": 1,
        "device": "gpu",
        "task": "inference",
        "target_concurrency": 32,
        "request_prompt_tokens": 1024,
        "request_output_tokens": 1024,
        "max_model_len": 9000,
        "max_model_len_stated": True,
        **more,
    }
    role = Role("server", NOWHERE, {name: Field(one) for name, one in stated.items() if one is not ...})
    return resolver.resolve(role, architecture.resolve(checkpoint))


def number(known: Facts, name: str) -> float:
    found = known.expected(name)
    assert isinstance(found, int | float), (name, found)
    return float(found)


@pytest.mark.parametrize("term", TIME_TERMS)
def test_more_of_a_fitted_term_is_never_faster(term: str) -> None:
    rows = [row for row in tables.rows("fitted") if row["name"] == term]
    low, high = min(float(row["best"]) for row in rows), max(float(row["worst"]) for row in rows)
    high = max(high, low + 0.1)
    mattered = False
    copies = {"tensor_parallel": 1, "data_parallel": 8}
    for checkpoint, layout in ((LLAMA, {}), (MIXTURE, {}), (MIXTURE, copies)):
        for name in ("tpot_s", "ttft_s"):
            steps = [low + (high - low) * step / 4 for step in range(5)]
            found = [number(server(checkpoint, draft_tokens=2, **layout, **{term: step}), name) for step in steps]
            assert found == sorted(found)
            mattered |= len(set(found)) > 1
    assert mattered, "the term does not matter here"


def test_more_of_the_boards_power_is_more_energy_for_a_token() -> None:
    low, high = (number(server(LLAMA, loaded_board_share=share), "energy_j_per_token") for share in (0.4, 0.8))
    assert high == pytest.approx(2 * low)


@pytest.mark.parametrize("checkpoint", [LLAMA, MIXTURE, LATENT, "openai/gpt-oss-120b"])
@pytest.mark.parametrize("engine", ["vllm", "sglang", "tensorrt-llm"])
@pytest.mark.parametrize("concurrency", [1, 64, 512])
def test_floors_lie_below_every_estimate_and_the_ceiling_above(checkpoint: str, engine: str, concurrency: int) -> None:
    more = {"engine": engine, "engine_version": ..., "kv_cache_dtype": "fp8"}
    known = server(checkpoint, target_concurrency=concurrency, **more)
    for name in ("tpot", "ttft"):
        best = known.scenarios(f"{name}_s")
        assert not isinstance(best, Missing), (name, best, known.reasons)
        assert number(known, f"{name}_floor_s") < float(best.best)  # type: ignore[arg-type]
    assert number(known, "weight_read_floor_s") <= number(known, "tpot_floor_s")


def test_a_token_of_a_dense_network_reads_every_weight_once() -> None:
    """70.55e9 parameters less the embedding table of 1.05e9, in 16 bits over 8 ranks at 4.8 TB/s."""
    assert number(server(LLAMA), "weight_read_floor_s") == pytest.approx(139e9 / 8 / 4.8e12, rel=0.01)


def test_attention_copies_share_out_the_requests() -> None:
    assert number(server(LATENT, tensor_parallel=1, data_parallel=8, target_concurrency=64), "decode_batch") == 8
    assert (
        number(
            server(LATENT, engine="tensorrt-llm", engine_version="1.1.0", data_parallel_attention=True), "decode_batch"
        )
        == 4
    )
    sglang = server(LATENT, engine="sglang", engine_version="0.5.9", data_parallel=8, data_parallel_attention=True)
    assert number(sglang, "decode_batch") == 4
    assert number(sglang, "meeting_tokens") == 32


def test_a_network_that_leaves_no_room_is_not_timed_as_one_request_at_a_time() -> None:
    """Kimi-K2.5 in four bits on four B200 with copies of the attention: vLLM ran it; our weights leave no KV cache."""
    known = server(
        "nvidia/Kimi-K2.5-NVFP4",
        accelerator="b200-sxm-180gb",
        tensor_parallel=1,
        data_parallel=4,
        target_concurrency=64,
    )
    assert number(known, "decode_batch") == 16


def test_requests_beyond_the_kv_cache_wait() -> None:
    known = server(
        LLAMA, accelerator="h100-sxm-80gb", tensor_parallel=4, target_concurrency=256, request_prompt_tokens=8000
    )
    assert 10 < number(known, "decode_batch") == number(known, "admitted_sequences") < 100


@pytest.mark.parametrize("concurrency", [16, 64, 256, 1024])
def test_scenarios_are_in_order_where_the_worst_one_admits_fewer(concurrency: int) -> None:
    """gpt-oss-120b on two H100 at 64 requests: the KV cache of the worst scenario holds fewer, which made its tokens faster."""
    more = {"accelerator": "h100-sxm-80gb", "tensor_parallel": 2, "gpus_per_pod": 2, "gpus_per_replica": 2}
    known = server("openai/gpt-oss-120b", **more, target_concurrency=concurrency, request_prompt_tokens=8000)
    admitted = known.scenarios("admitted_sequences")
    assert not isinstance(admitted, Missing)
    assert admitted.worst < admitted.expected  # type: ignore[operator]
    for name in ("tpot_s", "ttft_s"):
        found = known.scenarios(name)
        assert not isinstance(found, Missing)
        assert found.best <= found.expected <= found.worst  # type: ignore[operator]


def test_drafts_make_a_step_longer_and_yield_more_than_it_costs() -> None:
    """Three drafts: about 2.4 tokens a step; TensorRT-LLM on B200 and H200 measured 1.4 to 1.9 times the speed (InferenceX)."""
    plain, drafting = (server(LATENT, draft_tokens=count, target_concurrency=8) for count in (0, 3))
    assert number(drafting, "decode_step_s") > number(plain, "decode_step_s")
    assert 1.2 < number(plain, "tpot_s") / number(drafting, "tpot_s") < 2.4


def test_without_a_stated_prompt_the_weights_alone_still_give_a_floor() -> None:
    known = server(LLAMA, request_prompt_tokens=..., request_output_tokens=...)
    assert isinstance(known.scenarios("tpot_s"), Missing)
    assert number(known, "weight_read_floor_s") > 0


def test_a_command_line_that_states_requests_is_told_their_speed() -> None:
    said = memory_breakdown.convert_options(
        {"tensor_parallel": 4, "engine": "vllm", "prompt_tokens": 1000, "output_tokens": 500, "concurrency": 32}
    )
    tree = repository.WorkTree(Path.cwd())
    found = memory_breakdown.build_table(*memory_breakdown.build_role(LLAMA, said, "h100-sxm-80gb", tree))
    shown = {row.name: row.scenarios.expected for row in found.terms}
    assert shown["decode_batch"] == 32
    assert shown["tpot_floor_s"] < shown["tpot_s"] < shown["ttft_s"]  # type: ignore[operator]
    quiet = memory_breakdown.build_table(
        *memory_breakdown.build_role(LLAMA, {"tensor_parallel": 4, "engine": "vllm"}, "h100-sxm-80gb", tree)
    )
    assert not {row.name for row in quiet.terms} & set(memory_breakdown.SERVING_SPEED)


def test_a_prompt_alone_is_still_that_of_a_static_batch() -> None:
    assert memory_breakdown.convert_options({"prompt_tokens": 1000}) == {"prompt_tokens": 1000}
