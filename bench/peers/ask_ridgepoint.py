"""ridgepoint: the KV pool of vLLM on the cards it was calibrated on, at vLLM's default share of memory only."""

import json
import math

import asked
from ridgepoint import _core  # type: ignore[import-not-found]

CARDS = {
    "A100-40GB": "a100-40gb",
    "A100-80GB": "a100-80gb",
    "B200": "b200-192gb",
    "H100-80GB": "h100-80gb",
    "H200": "h200-141gb",
    "L40S": "l40s-48gb",
    "MI300X": "mi300x-192gb",
    "RTX 3090": "rtx3090-24gb",
    "RTX 4090": "rtx4090-24gb",
    "RTX 5090": "rtx5090-32gb",
}
WORDS = (("awq", "awq-int4"), ("gptq", "gptq-int4"), ("fp8", "fp8"), ("int8", "int8"))
SHARE = 0.9


def answer(case: asked.Asked) -> dict[str, object]:
    stated = case.case
    if case.training or not str(stated["engine"]).startswith("vllm") or stated["gpu"] not in CARDS:
        raise asked.CannotError("vLLM on the cards it knows only")
    if not math.isclose(stated["gpu_memory_utilization"] or SHARE, SHARE):
        raise asked.CannotError("vLLM's default share of memory only")
    ranks, length = case.shards, stated["max_model_len"] or 4096
    found = json.loads(
        _core.fit_shape(*_shape(case), CARDS[stated["gpu"]], ranks, "vllm", _dtype(case), *_rest(case, length))
    )
    memory, capacity = found["memory"], found["capacity"]
    pool, per_token = memory["kv_pool_bytes"]["best"], capacity["bytes_per_seq"] / capacity["ctx"]
    return {
        "weights_gib": memory["weights_bytes"]["best"] / asked.GIB / ranks,
        "kv_cache_gib": pool / asked.GIB / ranks,
        "kv_tokens": pool / per_token,
        "kv_bytes_per_token": per_token / ranks,
        "fits": found["verdict"]["serves"],
    }


def _rest(case: asked.Asked, length: int) -> tuple[str, int, int, bool]:
    return ("fp8" if case.cache_bits == 8 else "fp16", length, min(2048, length), True)


def _dtype(case: asked.Asked) -> str:
    words = str(case.case["quantization"] or "").lower()
    if not words:
        return "fp16"
    for start, name in WORDS:
        if words.startswith(start):
            return name
    raise asked.CannotError(f"no format like {words}")


def _shape(case: asked.Asked) -> tuple[object, ...]:
    shape, layers = case.architecture, case.layer("num_layers")
    heads, groups = case.layer("num_attention_heads"), case.layer("num_key_value_heads")
    active = int(case.parameters * (shape.get("experts_per_token") or 1) / (shape.get("num_experts") or 1))
    known = ("case", layers, shape.get("num_full_attention_layers") or layers, case.layer("hidden_size"))
    counts = (
        case.parameters,
        max(active, int(0.12 * case.parameters)) if shape.get("num_experts") else case.parameters,
    )
    if latent := shape.get("kv_lora_rank"):
        return (*known, *counts, "mla", 0, 0, 0, latent, shape["qk_rope_head_dim"])
    kind = "mha" if heads == groups else "gqa"
    return (*known, *counts, kind, case.layer("head_dim"), heads, groups, 0, 0)


asked.run(answer)
