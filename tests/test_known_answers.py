"""Sizing against figures that others measured or published, each as a whole chain from a role to a fact."""

from __future__ import annotations

from typing import NamedTuple

import pytest

from gpulint.catalog import architecture
from gpulint.facts import resolver
from gpulint.facts.model import Facts
from gpulint.report.model import Scenarios
from gpulint.source import documents
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
    return resolver.resolve(role, architecture.resolve(checkpoint))


def scenarios(found: Facts, name: str) -> Scenarios[float]:
    values = found.scenarios(name)
    assert isinstance(values, Scenarios), f"{name} lacks {values}"
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
    found = scenarios(known(case.checkpoint, **case.stated), "weight_bytes_per_gpu")
    assert found.expected / GIB == pytest.approx(case.measured, rel=0.015, abs=0.02)


QUANTISED = [
    Case("openai/gpt-oss-20b", H100_11, 13.47, PLANNER),
    Case("RedHatAI/Llama-3.3-70B-Instruct-FP8-dynamic", H100_11, 67.72, PLANNER),
    Case("RedHatAI/Llama-3.3-70B-Instruct-FP8-dynamic", {**H100_11, "tensor_parallel": 2}, 33.88, PLANNER),
    Case("openai/gpt-oss-120b", run("0.14.1", "h100-sxm-80gb"), 64.38, "github.com/vllm-project/vllm/issues/33155"),
    Case("openai/gpt-oss-120b", run("0.10.1", "h100-sxm-80gb"), 65.97, "github.com/vllm-project/vllm/issues/23278"),
]


@pytest.mark.parametrize("case", QUANTISED, ids=lambda case: f"{case.checkpoint}-{case.measured}")
def test_quantised_weights_lie_between_the_scenarios(case: Case) -> None:
    found = scenarios(known(case.checkpoint, **case.stated), "weight_bytes_per_gpu")
    assert found.best * 0.99 <= case.measured * GIB <= found.worst * 1.01
    assert found.expected / GIB == pytest.approx(case.measured, rel=0.05)


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
    found = scenarios(known(checkpoint, **run("0.19.0", "h100-sxm-80gb", tensor_parallel=ranks)), "kv_bytes_per_token")
    assert found == Scenarios(expected, expected, expected)


def test_an_fp8_cache_is_half_as_large() -> None:
    found = scenarios(known("meta-llama/Llama-3.1-8B", **H100_19, kv_cache_dtype="fp8"), "kv_bytes_per_token")
    assert found.expected == 65_536


def test_one_sequence_of_llama_at_its_full_length_needs_16_gib() -> None:
    # Llama Team, The Llama 3 Herd of Models, 2024, table 3: 32 layers, 8 KV heads, 4,096 wide over 32 heads; 131,072
    # tokens of 128 KiB
    found = scenarios(known("meta-llama/Llama-3.1-8B", **H100_19), "kv_needed_bytes")
    assert found.expected == 16 * GIB


def test_a_network_of_windows_and_full_layers_needs_less_than_one_of_full_layers_alone() -> None:
    # Gemma Team, Gemma 3 Technical Report, 2025, section 2: five layers of 1,024 tokens to one of the full length, so
    # that at 32,768 tokens the cache falls below 15 % of what 62 full layers would need, plus what is in flight
    found = known("google/gemma-3-27b-it", **H100_19, max_model_len=32768, max_num_batched_tokens=2048)
    full = scenarios(found, "kv_bytes_per_token").expected * 32768
    share = scenarios(found, "kv_needed_bytes").expected / full
    assert 10 / 62 < share < 0.26


KVCACHED_215 = "github.com/ovg-project/kvcached/issues/215: vLLM 0.11, 317,136 tokens, 102.78 sequences of 3,072"
VLLM_40691 = "github.com/vllm-project/vllm/issues/40691: vLLM 0.19.0, 290,864 tokens, 33.04 sequences of 32,768"


@pytest.mark.parametrize(
    ("checkpoint", "stated", "blocks"),
    [
        # 317,136 tokens are 19,821 blocks of 16 for each of seven groups; 138,747 to 138,753 blocks hold 102.78 sequences
        (
            "google/gemma-3-4b-it",
            run("0.14.0", "a100-sxm4-80gb", max_model_len=3072, max_num_batched_tokens=8192),
            1350,
        ),
        # 290,864 tokens are 371 blocks of 784 for each of four groups; 1,484 to 1,487 blocks hold 33.04 sequences
        ("Qwen/Qwen3.5-27B", run("0.19.0", "h20-96gb", max_model_len=32768, max_num_batched_tokens=16384), 45),
    ],
    ids=["windows", "recurrent state"],
)
def test_one_sequence_takes_the_blocks_that_the_logs_tell(
    checkpoint: str, stated: dict[str, Value], blocks: int
) -> None:
    """KVCACHED_215 and VLLM_40691: blocks in all over the printed concurrency."""
    assert scenarios(known(checkpoint, **stated), "kv_blocks").expected == blocks


def test_the_block_of_a_hybrid_network_holds_a_whole_state() -> None:
    """784 tokens on one rank (VLLM_40691); 1,568 with an FP8 cache on two (mitchross/talos-argocd-proxmox pull 1995)."""
    one = scenarios(known("Qwen/Qwen3.5-27B", **run("0.19.0", "h20-96gb")), "kv_page_bytes")
    two = known("Qwen/Qwen3.5-27B", **run("0.19.0", "rtx-3090", tensor_parallel=2, kv_cache_dtype="fp8"))
    assert one.expected == 784 * 2 * 4 * 256 * 2
    assert scenarios(two, "kv_page_bytes").expected == 1568 * 2 * 2 * 256


def test_the_block_of_a_mamba_hybrid_is_the_reported_one() -> None:
    """github.com/vllm-project/vllm/issues/24280: 672 tokens for NVIDIA-Nemotron-Nano-9B-v2."""
    found = known("nvidia/NVIDIA-Nemotron-Nano-9B-v2", **run("0.11.0", "h100-sxm-80gb"))
    assert scenarios(found, "kv_page_bytes").expected / scenarios(found, "kv_entry_bytes").expected == 672


@pytest.mark.parametrize(("release", "tokens"), [("0.20.0", 55_000), ("0.21.0", 525_000)])
def test_layers_of_two_widths_cost_what_was_seen_before_and_after(release: str, tokens: int) -> None:
    """github.com/vllm-project/vllm/issues/43308: Gemma-4-31B, about 50 GiB of cache on an A100 80GB."""
    found = known("google/gemma-4-31B-it", **run(release, "a100-sxm4-80gb", max_model_len=131072))
    held = 50 * GIB / scenarios(found, "kv_needed_bytes").expected * 131072
    assert held == pytest.approx(tokens, rel=0.03)


def test_a_decoder_keeps_the_encoders_positions_as_well() -> None:
    """Whisper large-v3 (config.json): 32 decoder layers of 20 heads of 64, 448 positions beside 1,500 of the encoder."""
    found = known("openai/whisper-large-v3", **run("0.19.0", "l4"))
    assert scenarios(found, "kv_needed_bytes").expected == 32 * 2 * 20 * 64 * 2 * (448 + 1504)


def test_a_sparse_latent_cache_keeps_the_indexers_keys() -> None:
    """vLLM, v1/kv_cache_interface.py and models/deepseek_v2.py: 656 or 1,152 bytes, and 128 + 4, in each of 61 layers."""
    plain = known("deepseek-ai/DeepSeek-V3.2", **run("0.19.0", "h200-sxm-141gb", tensor_parallel=8))
    small = known(
        "deepseek-ai/DeepSeek-V3.2", **run("0.19.0", "h200-sxm-141gb", tensor_parallel=8, kv_cache_dtype="fp8")
    )
    assert scenarios(plain, "kv_bytes_per_token").expected == 61 * (1152 + 132)
    assert scenarios(small, "kv_bytes_per_token").expected == 61 * (656 + 132)


def test_without_the_hybrid_manager_windows_keep_the_whole_sequence() -> None:
    """62 layers of 16 heads of 128 (Gemma-3-27B's config.json): 8,192 bytes a token and layer."""
    stated = run("0.19.0", "h100-sxm-80gb", max_model_len=32768, uniform_kv_cache=True)
    assert scenarios(known("google/gemma-3-27b-it", **stated), "kv_needed_bytes").expected == 62 * 8192 * 32768


def test_layers_of_a_stage_follow_the_stated_partition() -> None:
    """github.com/vllm-project/vllm/issues/34076: 24.0 GiB for all 48 layers at 262,144 tokens; 32 of them on one stage."""
    stated = run("0.19.0", "rtx-5090", pipeline_parallel=2, max_model_len=262144)
    found = known("Qwen/Qwen3-30B-A3B-Instruct-2507", **stated, stage_share=32 / 48)
    assert scenarios(found, "kv_needed_bytes").expected == pytest.approx(16 * GIB)


# ---- adapters' slots


def test_slots_for_lora_adapters_are_the_difference_that_was_loaded() -> None:
    """unslothai/notebooks, start-up logs of Llama-3.2-3B: 6.25 GiB with slots of rank 64 (vLLM 0.8.1), 6.02 without (0.8.2)."""
    serving = {"enable_lora": True, "max_loras": 1, "max_lora_rank": 64}
    found = known("meta-llama/Llama-3.2-3B-Instruct", **run("0.8.1", "a100-sxm4-40gb", **serving))
    slots = scenarios(found, "lora_bytes")
    assert slots.best / GIB < 0.23
    assert slots.expected / GIB == pytest.approx(0.23, abs=0.03)
    assert scenarios(found, "loaded_bytes_per_gpu").expected / GIB == pytest.approx(6.25, rel=0.01)


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
        "openai/gpt-oss-120b",
        run("0.11.0", "h100-sxm-80gb", gpu_memory_utilization=0.95, max_num_batched_tokens=1024),
        1.71,
        "github.com/vllm-project/vllm/issues/27508",
    ),
    Case(
        "meta-llama/Llama-3.2-3B-Instruct",
        run("0.8.2", "t4", gpu_memory_utilization=0.89, max_model_len=2048),
        6.22,
        "github.com/unslothai/notebooks, Meta_Synthetic_Data_Llama3_2_(3B).ipynb",
    ),
    Case(
        "Qwen/Qwen2.5-1.5B-Instruct",
        run("0.7.2", "t4", gpu_memory_utilization=0.5, max_model_len=32768, weight_dtype="half"),
        2.36,
        "a public notebook's start-up log of vLLM 0.7.2 on a T4",
    ),
]


@pytest.mark.parametrize("case", POOLS, ids=lambda case: f"{case.checkpoint}-{case.measured}")
def test_the_measured_pool_lies_between_the_worst_and_the_best_scenario(case: Case) -> None:
    found = scenarios(known(case.checkpoint, **case.stated), "kv_cache_bytes")
    assert found.worst <= case.measured * GIB <= found.best, [round(value / GIB, 2) for value in found]


def test_the_pool_of_the_best_known_case_is_within_a_tenth_of_a_gib() -> None:
    found = scenarios(known("meta-llama/Llama-3.1-8B", **H100_19), "kv_cache_bytes")
    assert found.expected / GIB == pytest.approx(58.10, abs=0.15)


def test_the_scenarios_of_the_best_known_case_are_no_wider_than_a_gib() -> None:
    found = scenarios(known("meta-llama/Llama-3.1-8B", **H100_19), "kv_cache_bytes")
    assert (found.best - found.worst) / GIB < 1.0


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
def test_the_measured_activation_peak_lies_between_the_scenarios(
    checkpoint: str, stated: dict[str, Value], measured: float
) -> None:
    found = scenarios(known(checkpoint, **stated), "activation_bytes")
    assert found.best <= measured * GIB + 0.05 * GIB, found
    assert measured * GIB - 0.05 * GIB <= found.worst, found


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
def test_what_was_seen_to_fail_does_not_fit_in_any_scenario(
    checkpoint: str, stated: dict[str, Value], source: str
) -> None:
    assert scenarios(known(checkpoint, **stated), "headroom_bytes").best < 0, source


@pytest.mark.parametrize(
    ("checkpoint", "stated", "source"),
    [
        *((case.checkpoint, case.stated, case.source) for case in POOLS if case.measured > 4),
    ],
)
def test_what_was_seen_to_start_fits_in_the_best_scenario_and_likely(
    checkpoint: str, stated: dict[str, Value], source: str
) -> None:
    left = scenarios(known(checkpoint, **stated), "headroom_bytes")
    assert left.best > 0, source
    assert left.expected > 0, source
