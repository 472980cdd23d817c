"""llmfit's `plan`: models of its own database, one request; the total is split evenly over the ranks.

Its weights are in units of 10^9 bytes and its KV cache in units of 2^30, under one name.
"""

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import asked

PROGRAM = Path(sys.executable).parent / "llmfit"
QUANTIZATIONS = {32: "F32", 16: "F16", 8: "AWQ-8bit", 4: "AWQ-4bit", 2: "Q2_K"}
BATCHED = 2048
GB = 10**9


def answer(case: asked.Asked) -> dict[str, object]:
    if case.training:
        raise asked.CannotError("inference only")
    batch, length = case.held if case.case["seq_len"] else (1, case.case["max_model_len"] or BATCHED)
    found = _plan(case, batch * length)
    weights = found["disk_size_gb"] * GB / asked.GIB / case.shards
    element = "fp8" if case.cache_bits == 8 else "fp16"
    choice = next(one for one in found["kv_alternatives"] if one["kv_quant"] == element)
    peak = choice["memory_required_gb"] * GB / asked.GIB / case.shards
    per_token = choice["kv_cache_gb"] * asked.GIB / (batch * length) / case.shards
    figures: dict[str, object] = {"weights_gib": weights, "kv_bytes_per_token": per_token, "fits": case.fitting(peak)}
    return figures | ({"peak_gib": peak} if case.case["seq_len"] else {})


def _plan(case: asked.Asked, context: int) -> dict[str, Any]:
    words = str(case.case["quantization"] or "")
    quantization = "Q4_K_M" if words.startswith("Q4") else QUANTIZATIONS[case.weight_bits]
    call = [str(PROGRAM), "--json", "plan", case.case["model"], "--context", str(context), "--quant", quantization]
    done = subprocess.run(call, capture_output=True, text=True, timeout=60, check=False)
    if done.returncode:
        raise asked.CannotError("not in its database")
    found: dict[str, Any] = json.loads(done.stdout)
    if found["model_name"].lower() != str(case.case["model"]).lower():
        raise asked.CannotError("not in its database")
    return found


asked.run(answer)
