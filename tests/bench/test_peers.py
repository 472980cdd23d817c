"""What the peers' runners are told of a case: bits, batch and config.json, and what they answer when they cannot."""

from __future__ import annotations

import importlib
import io
import json
from types import ModuleType
from typing import Any

import pytest
from folders import ROOT

FIELDS = ("quantization", "dtype", "kv_cache_dtype", "seq_len", "batch", "other_args", "tp", "pp", "params_b")
LLAMA: dict[str, Any] = {
    "hidden_size": 4096,
    "num_layers": 32,
    "num_attention_heads": 32,
    "num_key_value_heads": 8,
    "head_dim": 128,
    "intermediate_size": 14336,
    "vocab_size": 128256,
    "tie_word_embeddings": False,
}


@pytest.fixture
def asked(monkeypatch: pytest.MonkeyPatch) -> ModuleType:
    monkeypatch.syspath_prepend(str(ROOT / "bench" / "peers"))
    return importlib.import_module("asked")


def case(**stated: object) -> dict[str, object]:
    return {**dict.fromkeys(FIELDS), "id": "one", "kind": "inference", "model": "meta-llama/Llama-3.1-8B", **stated}


@pytest.mark.parametrize(
    ("quantization", "dtype", "bits"),
    [
        ("bnb nf4 double-quant", "bf16", 4),
        ("awq 4-bit g128", "fp16", 4),
        ("Q4_K_M", None, 4),
        ("mxfp4", "bf16", 4),
        ("fp8 (compressed-tensors dynamic)", "bf16", 8),
        ("aqlm 2-bit", None, 2),
        (None, "fp32 weights", 32),
        (None, "bf16", 16),
        (None, None, 16),
    ],
)
def test_a_weight_has_the_bits_that_the_case_says(
    asked: ModuleType, quantization: str | None, dtype: str | None, bits: int
) -> None:
    assert asked.Asked(case(quantization=quantization, dtype=dtype), LLAMA, None).weight_bits == bits


def test_tokens_generated_after_the_input_are_held_too(asked: ModuleType) -> None:
    told = case(seq_len=30720, batch=1, other_args="generate 2048 tokens after input of seq_len tokens")
    assert asked.Asked(told, LLAMA, None).held == (1, 32768)


def test_the_architecture_is_written_as_the_config_of_its_family(asked: ModuleType) -> None:
    found = asked.Asked(case(), LLAMA, None).config()
    assert found["architectures"] == ["LlamaForCausalLM"]
    assert (found["num_hidden_layers"], found["num_key_value_heads"]) == (32, 8)


@pytest.mark.parametrize("model", ["Qwen/Qwen3.5-27B", "moonshotai/Kimi-Linear-48B-A3B-Instruct", "in-house"])
def test_no_config_is_made_up_for_a_family_that_is_not_known_whole(asked: ModuleType, model: str) -> None:
    with pytest.raises(asked.CannotError):
        asked.Asked(case(model=model), LLAMA, None).config()


def test_a_runner_answers_each_case_by_one_line_and_says_why_it_cannot(
    asked: ModuleType, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def answer(told: Any) -> dict[str, object]:
        print("a word of the library")
        return {"weights_gib": told.config()["hidden_size"] / 4096}

    lines = [
        {"case": case(id=name, model=name), "architecture": LLAMA, "device_memory_gib": None}
        for name in ("llama", "mine")
    ]
    monkeypatch.setattr("sys.stdin", io.StringIO("".join(json.dumps(line) + "\n" for line in lines)))
    asked.run(answer)
    first, second = map(json.loads, capsys.readouterr().out.splitlines())
    assert (first["weights_gib"], first["kv_cache_gib"]) == (1.0, None)
    assert second["cannot"] == "no config for this architecture"
