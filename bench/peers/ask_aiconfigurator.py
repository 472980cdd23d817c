"""aiconfigurator's `estimate_kv_cache`: weights, KV pool and tokens of vLLM, SGLang and TensorRT-LLM on its systems.

It knows one version an engine and system; the printed memory of the card is given to it where the case has it.
"""

import json
import tempfile
from pathlib import Path
from typing import Any

import asked
from aiconfigurator_core.sdk.memory import KVCacheEstimator, estimate_kv_cache  # type: ignore[import-not-found]

SYSTEMS = {
    "A100-40GB": "a100_sxm",
    "A100-80GB": "a100_sxm",
    "B200": "b200_sxm",
    "GB200": "gb200",
    "H100-80GB": "h100_sxm",
    "H200": "h200_sxm",
    "H200-NVL": "h200_sxm",
    "L40S": "l40s",
    "RTX PRO 6000 Blackwell 96GB": "rtx_pro_6000_server",
}
ENGINES = {"vllm": "of_total", "sglang": "of_total", "tensorrt-llm": "of_free"}
BACKENDS = {"tensorrt-llm": "trtllm"}
VERSIONS = {"a100_sxm": {"vllm": "0.14.0", "sglang": "0.5.10", "trtllm": "1.0.0"}}
NEWEST = {"vllm": "0.24.0", "sglang": "0.5.14", "trtllm": "1.3.0rc20"}
SHARES = {"vllm": 0.9, "sglang": 0.88, "tensorrt-llm": 0.9}
STEP_TOKENS = 8192
SEQUENCES = 256
BLOCK = {"quant_method": "fp8", "activation_scheme": "dynamic", "fmt": "e4m3", "weight_block_size": [128, 128]}
NO_ROOM = "KV"


def answer(case: asked.Asked) -> dict[str, object]:
    stated = case.case
    engine = str(stated["engine"]).split()[0]
    if case.training or engine not in ENGINES or stated["gpu"] not in SYSTEMS:
        raise asked.CannotError("serving by three engines on the systems it knows only")
    with tempfile.TemporaryDirectory() as folder:
        (Path(folder) / "config.json").write_text(json.dumps(_config(case)), encoding="utf-8")
        return _estimated(case, engine, folder)


def _config(case: asked.Asked) -> dict[str, Any]:
    found, words = case.config(), str(case.case["quantization"] or "")
    if words.startswith("mxfp4"):
        return found | {"quantization_config": {"quant_method": "mxfp4"}}
    if "fp8" in words:
        return found | {"quantization_config": BLOCK}
    if words:
        raise asked.CannotError(f"no format like {words}")
    return found


def _estimated(case: asked.Asked, engine: str, folder: str) -> dict[str, object]:
    stated, backend, ranks = case.case, BACKENDS.get(engine, engine), case.case["tp"] or 1
    system = SYSTEMS[stated["gpu"]]
    place = (folder, system, backend, VERSIONS.get(system, NEWEST)[backend])
    asked_for: dict[str, Any] = {
        "max_num_tokens": stated["max_num_batched_tokens"] or STEP_TOKENS,
        "max_batch_size": stated["max_num_seqs"] or SEQUENCES,
        "tp_size": ranks,
        "pp_size": stated["pp"] or 1,
        "moe_tp_size": ranks,
        "moe_ep_size": 1,
        "kvcache_quant_mode": "fp8" if case.cache_bits == 8 else "bfloat16",
    }
    weights = KVCacheEstimator.from_request(*place, **asked_for).breakdown["weights_bytes"] / asked.GIB
    card = case.device_memory_gib
    try:
        found = estimate_kv_cache(
            *place,
            **asked_for,
            memory_fraction_kind=ENGINES[engine],
            memory_fraction_value=stated["gpu_memory_utilization"] or SHARES[engine],
            gpu_memory_capacity_bytes_override=round(card * asked.GIB) if card else None,
        )
    except ValueError as error:
        if NO_ROOM not in str(error):
            raise
        return {"weights_gib": weights, "fits": False}
    tokens = found["total_kv_size_tokens"]
    pool = found["total_kv_size_bytes"] / asked.GIB
    return {
        "weights_gib": weights,
        "kv_cache_gib": pool,
        "kv_tokens": tokens,
        "kv_bytes_per_token": found["kv_size_per_token_bytes"],
        "fits": tokens >= (stated["max_model_len"] or 1),
    }


asked.run(answer)
