"""Sizing against figures that others measured or published, each as a whole chain from a role to a fact."""

from __future__ import annotations

from typing import NamedTuple

import pytest

from gpulint import architecture, documents, facts
from gpulint.facts import Facts
from gpulint.findings import Worlds
from gpulint.workload import Field, Origin, Role, Value

GIB = 2**30

# Where the figures come from:
PLANNER = "github.com/llm-d-incubation/llm-d-planner, docs/empirical-vllm-memory-results.md (vLLM 0.11.0, H100 80GB)"
PLANNER_19 = "github.com/llm-d-incubation/llm-d-planner, accuracy branch, start-up logs of vLLM 0.19 on H100 80GB"
PR_10511 = "github.com/vllm-project/vllm/pull/10511, start-up log of December 2024 on H100 80GB"
AICONFIGURATOR = "github.com/ai-dynamo/aiconfigurator 0.12, `cli estimate`"
DEEPSEEK_V3 = "DeepSeek-AI, DeepSeek-V3 Technical Report, 2024, section 4.2: 61 layers, d_c = 512, d_h^R = 64"


def known(checkpoint: str, **stated: Value) -> Facts:
    """The facts of a vLLM role, as an adapter would state them."""
    fields: dict[str, Value] = {"engine": "vllm", "checkpoint": checkpoint, "device": "gpu", "pods_per_replica": 1}
    fields["max_model_len_stated"] = "max_model_len" in stated
    fields |= stated
    nowhere = Origin(documents.load("nowhere.yaml", b"{}").documents[0], ())
    role = Role("server", nowhere, {name: Field(value) for name, value in fields.items()})
    return facts.of(role, architecture.resolve(checkpoint))


def worlds(found: Facts, name: str) -> Worlds[float]:
    values = found.worlds(name)
    assert isinstance(values, Worlds), f"{name} lacks {values}"
    assert all(isinstance(value, int | float) for value in values)
    return values  # type: ignore[return-value]


class Case(NamedTuple):
    """One measured run: what it was started with, and what it printed, in GiB on each GPU."""

    checkpoint: str
    stated: dict[str, Value]
    measured: float
    source: str


def run(release: str, accelerator: str, **stated: Value) -> dict[str, Value]:
    return {"engine_version": release, "accelerator": accelerator, **stated}


H100_11 = run("0.11.0", "h100-sxm-80gb", max_model_len=16000, gpu_memory_utilization=0.9, block_size=128)
H100_19 = run("0.19.0", "h100-sxm-80gb", gpu_memory_utilization=0.95)


# ---- weights

WEIGHTS = [
    Case("meta-llama/Llama-3.1-8B", H100_19, 14.96, PLANNER_19),
    Case("meta-llama/Meta-Llama-3-8B", run("0.6.4", "h100-sxm-80gb"), 14.96, PR_10511),
    Case("meta-llama/Llama-3.1-70B", {**H100_19, "tensor_parallel": 4}, 32.85, AICONFIGURATOR),
    Case("Qwen/Qwen3-0.6B", H100_11, 1.12, PLANNER),
    Case("Qwen/Qwen3-32B", H100_11, 61.03, PLANNER),
    Case("Qwen/Qwen3-32B", {**H100_11, "tensor_parallel": 2}, 30.59, PLANNER),
    Case("mistralai/Mistral-Small-3.2-24B-Instruct-2506", H100_11, 44.76, PLANNER),
    Case(
        "meta-llama/Llama-3.2-11B-Vision",
        run("0.6.6", "h100-sxm-80gb"),
        19.86,
        "github.com/vllm-project/vllm/pull/12126",
    ),
    Case(
        "deepseek-ai/DeepSeek-R1-Distill-Qwen-14B",
        run("0.7.2", "rtx-4090", tensor_parallel=2),
        13.95,
        "github.com/vllm-project/vllm/issues/13061",
    ),
]


@pytest.mark.parametrize("case", WEIGHTS, ids=lambda case: f"{case.checkpoint}-{case.measured}")
def test_16_bit_weights_are_within_one_and_a_half_percent_of_the_measurement(case: Case) -> None:
    found = worlds(known(case.checkpoint, **case.stated), "weight_bytes_per_gpu")
    assert found.likely / GIB == pytest.approx(case.measured, rel=0.015, abs=0.02)


QUANTISED = [
    Case("openai/gpt-oss-20b", H100_11, 13.47, PLANNER),
    Case("RedHatAI/Llama-3.3-70B-Instruct-FP8-dynamic", H100_11, 67.72, PLANNER),
    Case("RedHatAI/Llama-3.3-70B-Instruct-FP8-dynamic", {**H100_11, "tensor_parallel": 2}, 33.88, PLANNER),
]


@pytest.mark.parametrize("case", QUANTISED, ids=lambda case: f"{case.checkpoint}-{case.measured}")
def test_quantised_weights_lie_between_the_worlds(case: Case) -> None:
    found = worlds(known(case.checkpoint, **case.stated), "weight_bytes_per_gpu")
    assert found.favourable * 0.99 <= case.measured * GIB <= found.adverse * 1.01
    assert found.likely / GIB == pytest.approx(case.measured, rel=0.05)


# ---- KV cache of one token


@pytest.mark.parametrize(
    ("checkpoint", "ranks", "expected"),
    [
        ("meta-llama/Llama-3.1-8B", 1, 131_072),  # 128 KiB = 2 · 32 layers · 8 heads · 128 · 2 bytes (config.json)
        ("meta-llama/Llama-3.1-8B", 8, 16_384),  # one of the eight KV heads on each rank
        ("meta-llama/Llama-3.1-8B", 16, 16_384),  # more ranks than heads: each head is copied (Megatron, vLLM)
        ("meta-llama/Llama-2-7b-hf", 1, 524_288),  # 512 KiB, no grouped heads: 2 · 32 · 32 · 128 · 2
        ("meta-llama/Llama-3.1-70B", 1, 327_680),  # 320 KiB = 2 · 80 · 8 · 128 · 2
        ("deepseek-ai/DeepSeek-V3", 1, 70_272),  # 61 · (512 + 64) · 2, the compressed vector and the rotary key
        ("deepseek-ai/DeepSeek-V3", 8, 70_272),  # it has no heads to share out
        # 88,272 tokens in 2.36 GiB on a T4, vLLM 0.7.2: 28,707 bytes each; 2 · 28 · 2 · 128 · 2
        ("Qwen/Qwen2.5-1.5B-Instruct", 1, 28_672),
        # 184,832 tokens in 28.2 GiB, llm-d-planner docs/empirical-vllm-memory-results.md: 163,825 bytes each
        ("mistralai/Mistral-Small-3.2-24B-Instruct-2506", 1, 163_840),
        # 178,880 tokens in 8.11 GiB on four ranks, github.com/vllm-project/vllm/issues/21348: 48,681 bytes each
        ("Qwen/Qwen3-235B-A22B-FP8", 4, 48_128),
    ],
)
def test_the_cache_of_one_token_is_the_published_one(checkpoint: str, ranks: int, expected: int) -> None:
    found = worlds(known(checkpoint, **run("0.19.0", "h100-sxm-80gb", tensor_parallel=ranks)), "kv_bytes_per_token")
    assert found == Worlds(expected, expected, expected)


def test_an_fp8_cache_is_half_as_large() -> None:
    found = worlds(known("meta-llama/Llama-3.1-8B", **H100_19, kv_cache_dtype="fp8"), "kv_bytes_per_token")
    assert found.likely == 65_536


def test_one_sequence_of_llama_at_its_full_length_needs_16_gib() -> None:
    # Llama Team, The Llama 3 Herd of Models, 2024, table 3: 32 layers, 8 KV heads, 4,096 wide over 32 heads; 131,072
    # tokens of 128 KiB
    found = worlds(known("meta-llama/Llama-3.1-8B", **H100_19), "kv_needed_bytes")
    assert found.likely == 16 * GIB


def test_a_network_of_windows_and_full_layers_needs_less_than_one_of_full_layers_alone() -> None:
    # Gemma Team, Gemma 3 Technical Report, 2025, section 2: five layers of 1,024 tokens to one of the full length, so
    # that at 32,768 tokens the cache falls below 15 % of what 62 full layers would need, plus what is in flight
    found = known("google/gemma-3-27b-it", **H100_19, max_model_len=32768, max_num_batched_tokens=2048)
    full = worlds(found, "kv_bytes_per_token").likely * 32768
    share = worlds(found, "kv_needed_bytes").likely / full
    assert 10 / 62 < share < 0.26


# ---- the memory left for the KV cache

POOLS = [
    Case("meta-llama/Llama-3.1-8B", H100_19, 58.10, PLANNER_19),
    Case("meta-llama/Meta-Llama-3-8B", run("0.6.4", "h100-sxm-80gb", gpu_memory_utilization=0.9), 53.29, PR_10511),
    Case("Qwen/Qwen3-0.6B", H100_11, 64.45, PLANNER),
    Case("Qwen/Qwen3-32B", H100_11, 4.45, PLANNER),
    Case("Qwen/Qwen3-32B", {**H100_11, "tensor_parallel": 2}, 34.49, PLANNER),
    Case("RedHatAI/Llama-3.3-70B-Instruct-FP8-dynamic", {**H100_11, "tensor_parallel": 2}, 32.00, PLANNER),
    Case("RedHatAI/Llama-3.3-70B-Instruct-FP8-dynamic", H100_11, -1.44, PLANNER),
    Case(
        "mistralai/Mistral-Small-3.2-24B-Instruct-2506",
        {**H100_11, "gpu_memory_utilization": 0.95},
        28.2,
        PLANNER,
    ),
    Case("openai/gpt-oss-20b", H100_11, 50.28, PLANNER),
    Case(
        "Qwen/Qwen2.5-1.5B-Instruct",
        run("0.7.2", "t4", gpu_memory_utilization=0.5, max_model_len=32768, weight_dtype="half"),
        2.36,
        "a public notebook's start-up log of vLLM 0.7.2 on a T4",
    ),
]


@pytest.mark.parametrize("case", POOLS, ids=lambda case: f"{case.checkpoint}-{case.measured}")
def test_the_measured_pool_lies_between_the_adverse_and_the_favourable_world(case: Case) -> None:
    found = worlds(known(case.checkpoint, **case.stated), "kv_cache_bytes")
    assert found.adverse <= case.measured * GIB <= found.favourable, [round(value / GIB, 2) for value in found]


def test_the_pool_of_the_best_known_case_is_within_a_tenth_of_a_gib() -> None:
    found = worlds(known("meta-llama/Llama-3.1-8B", **H100_19), "kv_cache_bytes")
    assert found.likely / GIB == pytest.approx(58.10, abs=0.15)


def test_the_worlds_of_the_best_known_case_are_no_wider_than_a_gib() -> None:
    found = worlds(known("meta-llama/Llama-3.1-8B", **H100_19), "kv_cache_bytes")
    assert (found.favourable - found.adverse) / GIB < 1.0


# ---- activations


@pytest.mark.parametrize(
    ("checkpoint", "stated", "measured"),
    [
        # 14 · 1024 · 128,256 + 2 · 8192 · 4096 · 2 bytes = 1.84 GiB and a slack of 0.05
        ("meta-llama/Llama-3.1-8B", H100_19, 1.89),
        # peak activation memory that the planner's document prints
        ("Qwen/Qwen3-0.6B", H100_11, 5.56),
        ("Qwen/Qwen3-32B", H100_11, 5.64),
        ("RedHatAI/Llama-3.3-70B-Instruct-FP8-dynamic", {**H100_11, "tensor_parallel": 2}, 4.84),
        ("openai/gpt-oss-20b", H100_11, 7.38),
        # github.com/vllm-project/vllm/pull/10511
        ("meta-llama/Meta-Llama-3-8B", run("0.6.4", "h100-sxm-80gb"), 1.26),
    ],
)
def test_the_measured_activation_peak_lies_between_the_worlds(
    checkpoint: str, stated: dict[str, Value], measured: float
) -> None:
    found = worlds(known(checkpoint, **stated), "activation_bytes")
    assert found.favourable <= measured * GIB + 0.05 * GIB, found
    assert measured * GIB - 0.05 * GIB <= found.adverse, found


# ---- whether it starts


@pytest.mark.parametrize(
    ("checkpoint", "stated", "source"),
    [
        ("RedHatAI/Llama-3.3-70B-Instruct-FP8-dynamic", H100_11, PLANNER),
        (
            "deepseek-ai/DeepSeek-R1-Distill-Qwen-14B",
            run("0.7.2", "rtx-4090", tensor_parallel=2, max_model_len=131072, gpu_memory_utilization=0.98),
            "github.com/vllm-project/vllm/issues/13061",
        ),
        (
            "meta-llama/Llama-3.1-8B",
            run("0.10.1", "l4", max_model_len=131072),
            "16 GiB of KV cache beside 15 GiB of weights on a card of 22 GiB",
        ),
    ],
)
def test_what_was_seen_to_fail_does_not_fit_in_any_world(
    checkpoint: str, stated: dict[str, Value], source: str
) -> None:
    assert worlds(known(checkpoint, **stated), "headroom_bytes").favourable < 0, source


@pytest.mark.parametrize(
    ("checkpoint", "stated", "source"),
    [
        *((case.checkpoint, case.stated, case.source) for case in POOLS if case.measured > 4),
    ],
)
def test_what_was_seen_to_start_fits_in_the_favourable_world_and_likely(
    checkpoint: str, stated: dict[str, Value], source: str
) -> None:
    left = worlds(known(checkpoint, **stated), "headroom_bytes")
    assert left.favourable > 0, source
    assert left.likely > 0, source
