"""How the bench reads a measured inference case: engine, card, format, batch, and what a figure counts."""

from __future__ import annotations

import importlib
from types import ModuleType

import pytest
from folders import ROOT

from gpulint.catalog import architecture

BENCH = ROOT / "bench"
FIELDS = (
    *(
        "engine_version",
        "gpu",
        "gpu_memory_gib",
        "tp",
        "pp",
        "dp",
        "dtype",
        "quantization",
        "kv_cache_dtype",
        "max_model_len",
    ),
    *(
        "max_num_seqs",
        "max_num_batched_tokens",
        "gpu_memory_utilization",
        "batch",
        "seq_len",
        "lora",
        "offload",
        "other_args",
    ),
    *("notes", "source", "params_b"),
)


@pytest.fixture
def cases(monkeypatch: pytest.MonkeyPatch) -> ModuleType:
    monkeypatch.syspath_prepend(str(BENCH))
    return importlib.import_module("inference_cases")


@pytest.fixture
def cards(monkeypatch: pytest.MonkeyPatch) -> ModuleType:
    monkeypatch.syspath_prepend(str(BENCH))
    return importlib.import_module("cards")


def case(**stated: object) -> dict[str, object]:
    measured = {"oom": False, **stated.pop("measured", {})}  # type: ignore[dict-item]
    base = {**dict.fromkeys(FIELDS), "id": "one", "kind": "inference", "model": "Qwen/Qwen3-8B", "gpu_count": 1}
    return {**base, **stated, "measured": measured}


@pytest.mark.parametrize(
    ("name", "visible", "card"),
    [
        ("A100-40GB (PCIe)", None, "a100-pcie-40gb"),
        ("H100-80GB", None, "h100-sxm-80gb"),
        ("RTX 4080 SUPER 16GB", None, "rtx-4080-super"),
        ("Titan RTX 24GB", None, "titan-rtx"),
        ("B200 (184.3 GiB visible)", None, "b200-sxm-180gb"),
        ("L40", None, "l40"),
        ("V100", 15.8, "v100-sxm2-16gb"),
        ("V100", None, None),
        ("A100", None, None),
        ("24GB GPU", None, None),
        ("GTX 1080 Ti", None, "gtx-1080-ti"),
        ("GTX 980", None, None),
        (None, 80.0, None),
    ],
)
def test_a_card_is_looked_up_by_every_word_of_its_name(
    cards: ModuleType, name: str | None, visible: float | None, card: str | None
) -> None:
    found = cards.named(name, visible)
    assert found == card or (name == "V100" and visible and found in ("v100-sxm2-16gb", "v100-pcie-16gb"))


@pytest.mark.parametrize(
    ("words", "engine", "wanted"),
    [
        ("awq 4-bit g128", "autoawq", "int4-g128"),
        ("gptq 4-bit g32", "exllama", "int4-g32"),
        ("gptq-int8", "transformers", "int8-g128"),
        ("bnb nf4 double-quant", "transformers", "int4-bnb"),
        ("int4 weight-only g64", "gpt-fast", "int4-g64"),
        ("fp8", "transformers", "fp8-block"),
        ("awq int4 (marlin)", "vllm", "awq"),
        ("eetq int8", "tgi", "eetq"),
        ("Q4_K_M", "llama.cpp", "gguf-q4_k_m"),
        ("F16", "llama.cpp", "float16"),
        ("bnb nf4", "tgi", "bitsandbytes-nf4"),
        ("awq int4", "tensorrt-llm", "w4a16_awq"),
        ("", "vllm", None),
    ],
)
def test_a_number_format_is_read_for_its_engine(cases: ModuleType, words: str, engine: str, wanted: str | None) -> None:
    assert cases._format(words, engine) == wanted


@pytest.mark.parametrize(
    ("stated", "batch"),
    [
        ({"seq_len": 30720, "other_args": "generate 2048 tokens after input of seq_len tokens"}, (30720, 2048)),
        ({"seq_len": 2048, "other_args": "generate 2048 tokens"}, (1, 2048)),
        ({"seq_len": 4096, "other_args": "prefill 2048 + decode 2048"}, (2048, 2048)),
        ({"seq_len": 256}, (256, 1)),
        ({"other_args": "--compile; 200 new tokens, short default prompt"}, (8, 200)),
        ({"seq_len": 100, "other_args": "greedy, max_length 100, prompt of a few tokens"}, (8, 92)),
        ({}, (None, None)),
    ],
)
def test_prompt_and_answer_are_read_from_the_words_of_a_case(
    cases: ModuleType, stated: dict[str, object], batch: tuple[int | None, int | None]
) -> None:
    found = cases._batch(
        case(engine="transformers", batch=1, **stated), "transformers", str(stated.get("other_args") or "")
    )
    assert (found.get("prompt_tokens"), found["new_tokens"]) == batch


@pytest.mark.parametrize(
    ("kind", "fact"),
    [
        ("torch max_memory_allocated/1024^3", "generation_peak_bytes"),
        ("torch peak reserved", "generation_reserved_bytes"),
        ("nvidia-smi", "generation_device_bytes"),
        ("GB printed, sum over GPUs", "generation_total_bytes"),
        ("MB as printed (MiB assumed)", "generation_held_bytes"),
        ("stated by author", "generation_reserved_bytes"),
    ],
)
def test_a_peak_is_compared_with_what_it_counts(cases: ModuleType, kind: str, fact: str) -> None:
    told = case(engine="transformers", measured={"peak_gib": 15.0, "peak_kind": kind})
    assert [one.fact for one in cases.asked(told, "transformers")] == [fact]


def test_bytes_per_token_are_the_cache_over_its_tokens(cases: ModuleType) -> None:
    told = case(engine="sglang", measured={"kv_cache_gib": 16.46, "kv_tokens": 367404})
    figures = {one.name: one.measured for one in cases.asked(told, "sglang")}
    assert figures["kv_bytes_per_token"] == pytest.approx(48104.5, rel=1e-4)


def test_a_shortfall_has_no_bytes_per_token(cases: ModuleType) -> None:
    told = case(engine="vllm", measured={"kv_cache_gib": -1.44, "kv_tokens": 100, "oom": True})
    assert "kv_bytes_per_token" not in {one.name for one in cases.asked(told, "vllm")}


def test_an_engine_that_is_not_sized_is_a_reason(cases: ModuleType) -> None:
    assert cases.told(case(engine="mlc-llm"), {}).reason == "the engine mlc-llm is not sized"


def test_several_gpus_under_transformers_hold_different_layers(cases: ModuleType) -> None:
    found = cases._stated(case(engine="transformers", tp=8, gpu_count=8, seq_len=256), "transformers")
    assert (found["tensor_parallel"], found["pipeline_parallel"]) == (1, 8)


# "Num Sequences" as Unsloth prints it: outputs in unslothai/notebooks
@pytest.mark.parametrize(
    ("checkpoint", "method", "release", "gib", "share", "length", "rank", "sequences"),
    [
        ("meta-llama/Llama-3.2-3B-Instruct", None, "0.8.1", 39.56, 0.7908, 2048, 64, 320),
        ("meta-llama/Llama-3.2-3B-Instruct", None, "0.8.5", 14.74, 0.5943, 2048, 64, 160),
        ("meta-llama/Llama-3.2-3B-Instruct", None, "0.8.2", 14.74, 0.8939, 2048, 0, 192),
        ("Qwen/Qwen3-8B", "bitsandbytes", "0.8.5", 14.74, 0.6934, 256, 32, 128),
        ("meta-llama/Llama-3.1-8B-Instruct", "bitsandbytes", "0.7.3", 14.74, 0.5943, 1024, 32, 160),
        ("mistralai/Mistral-7B-Instruct-v0.3", "bitsandbytes", "0.8.5", 23.63, 0.5893, 1024, 32, 224),
        ("microsoft/phi-4", "bitsandbytes", "0.7.1", 14.74, 0.6952, 512, 16, 128),
        ("Qwen/Qwen2.5-3B-Instruct", "bitsandbytes", "0.7.1", 14.74, 0.4966, 1024, 64, 192),
        ("Qwen/Qwen3-4B", None, "0.8.5", 14.74, 0.6934, 2048, 32, 160),
        ("Qwen/Qwen3-8B", "fp8", "0.10.2", 22.16, 0.8662, 2048, 32, 224),
        ("meta-llama/Llama-3.2-1B-Instruct", "fp8", "0.11.2", 22.16, 0.8662, 2048, 32, 288),
        ("Qwen/Qwen2.5-VL-7B-Instruct", "bitsandbytes", "0.9.2", 14.74, 0.7693, 16384, 16, 1),
    ],
)
def test_unsloth_states_what_its_logs_print(
    monkeypatch: pytest.MonkeyPatch,
    checkpoint: str,
    method: str | None,
    release: str,
    gib: float,
    share: float,
    length: int,
    rank: int,
    sequences: int,
) -> None:
    monkeypatch.syspath_prepend(str(BENCH))
    launch = importlib.import_module("unsloth_launch")
    shape = architecture.resolve(checkpoint).architecture
    told = launch.stated(shape, release, gib * 2**30, share, length, method, rank)
    assert told["max_num_seqs"] == sequences


@pytest.mark.parametrize(
    ("engine", "said", "release"),
    [
        ("vllm", "0.11 (2025-11)", "0.11"),
        ("vllm", "2025-05", "0.8.5"),
        ("transformers", "2024-02", "4.37.0"),
        ("transformers", "PyTorch 2.0.1", None),
        ("llama.cpp", "2024-05", None),
    ],
)
def test_a_source_with_a_date_ran_the_release_of_its_time(
    monkeypatch: pytest.MonkeyPatch, engine: str, said: str, release: str | None
) -> None:
    monkeypatch.syspath_prepend(str(BENCH))
    assert importlib.import_module("releases").stated(engine, said) == release


@pytest.mark.parametrize(
    ("card", "printed", "told"),
    [
        ("t4", 14.74, 14.74),
        ("a100-sxm4-80gb", 80.0, 80.0),
        ("l40s", 48.0, None),
        ("gb10", 119.7, None),
        (None, 23.5, 23.5),
    ],
)
def test_a_printed_total_is_the_card_s_memory_and_a_label_is_not(
    cards: ModuleType, card: str | None, printed: float, told: float | None
) -> None:
    assert cards.visible_gib(card, printed) == told


def test_of_mixed_cards_the_smallest_limits(cards: ModuleType) -> None:
    assert cards.named("RTX 4090 + L4") == "l4"
    assert cards.named("RTX 4090 + some card") is None
