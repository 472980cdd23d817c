"""Every fitted term of an engine other than vLLM: more of it never leaves more memory, and in some role it matters."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pytest

from gpulint.catalog import architecture, tables
from gpulint.facts import resolver
from gpulint.source import documents
from gpulint.workload import Field, Origin, Role

LLAMA = "meta-llama/Llama-3.1-8B-Instruct"
NOWHERE = Origin(documents.load("nowhere.yaml", b"{}").documents[0], ())
ENGINES: Mapping[str, Mapping[str, Any]] = {
    "sglang": {"engine_version": "0.5.10"},
    "lmdeploy": {"engine_version": "0.10.0"},
    "tgi": {"engine_version": "2.2.0", "max_model_len": 4096, "max_num_batched_tokens": 4096, "max_input_len": 3072},
    "tensorrt-llm": {"engine_version": "1.1.0", "max_model_len": 8192},
    "llama.cpp": {"engine_version": "0.0.6000", "max_model_len": 8192, "gpu_layers": 99, "quantization": "gguf-q4_k_m"},
    "ollama": {"engine_version": "0.12.0", "max_model_len": 8192, "quantization": "gguf-q4_k_m"},
}
"""What a role of each engine states so that its memory is known."""
USUAL: Mapping[str, Any] = {"engine_version": "1.0.0", "max_model_len": 8192}
"""What a role of any other engine states."""
ALSO: Mapping[tuple[str, str], tuple[str, Mapping[str, Any]]] = {
    ("sglang", "vision_static_reduction"): ("Qwen/Qwen2.5-VL-7B-Instruct", {}),
    ("sglang", "copied_share"): (
        "mistralai/Mixtral-8x7B-Instruct-v0.1",
        {"engine_version": "0.5.5", "tensor_parallel": 2, "data_parallel": 2, "data_parallel_attention": True},
    ),
    ("tgi", "prefill_hidden_multiple"): (LLAMA, {"engine_version": "3.1.0"}),
    ("tgi", "prefill_intermediate_multiple"): (LLAMA, {"engine_version": "3.1.0"}),
    ("tensorrt-llm", "checkpoint_kv_bytes"): ("nvidia/Llama-3.1-8B-Instruct-FP8", {}),
    ("llama.cpp", "sampler_bytes_per_logit"): (LLAMA, {"attention_backend": "on"}),
}
"""Terms that matter in another role only."""
BATCHES = ("transformers", "litgpt", "autoawq", "exllama", "gpt-fast")
"""Programs without a server, whose terms are in sizing/serving/test_static_batch.py."""
TERMS = sorted(
    {(row["engine"], row["name"]) for row in tables.rows("fitted") if row["engine"] not in ("", "vllm", *BATCHES)}
)


def left(engine: str, term: str, value: float, fact: str) -> float | None:
    """What a role is left with when a term has this value."""
    checkpoint, more = ALSO.get((engine, term), (LLAMA, {}))
    stated: dict[str, Any] = {
        "engine": engine,
        "checkpoint": checkpoint,
        "accelerator": "h100-sxm-80gb",
        "gpus_per_pod": 2,
        "gpus_per_replica": 2,
        "pods_per_replica": 1,
        "tensor_parallel": 1,
        "max_num_seqs": 64,
        "max_model_len_stated": True,
        "enforce_eager": False,
        **ENGINES.get(engine, USUAL),
        **more,
        term: value,
    }
    role = Role("server", NOWHERE, {name: Field(one) for name, one in stated.items()})
    found = resolver.resolve(role, architecture.resolve(checkpoint)).expected(fact)
    return float(found) if isinstance(found, int | float) else None


@pytest.mark.parametrize(("engine", "term"), TERMS)
def test_more_of_a_fitted_term_never_leaves_more_memory(engine: str, term: str) -> None:
    rows = [row for row in tables.rows("fitted") if (row["engine"], row["name"]) == (engine, term)]
    low, high = min(float(row["best"]) for row in rows), max(float(row["worst"]) for row in rows)
    low, high = min(low, high), max(low, high)
    mattered = False
    for fact in ("kv_cache_bytes", "headroom_bytes"):
        values = [left(engine, term, low + (high - low) * step / 8, fact) for step in range(9)]
        known = [value for value in values if value is not None]
        assert len(known) in (0, 9)
        assert known == sorted(known, reverse=True)
        mattered |= len(set(known)) > 1
    assert mattered, "the term does not matter here"
