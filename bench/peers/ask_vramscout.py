"""vramscout: whether a checkpoint of vLLM, or of any engine, runs at its context on a card of so much memory."""

import json
import tempfile
from pathlib import Path

import asked
from vramscout.modern_core import ModernInspectionError  # type: ignore[import-not-found]
from vramscout.modern_v07 import plan_modern  # type: ignore[import-not-found]

WEIGHTS = "Model weights / rank"
SHARE = 0.9
STEP_TOKENS = 8192


def answer(case: asked.Asked) -> dict[str, object]:
    if case.training or (case.case["pp"] or 1) > 1 or case.device_memory_gib is None:
        raise asked.CannotError("inference on known cards without pipeline parallelism only")
    with tempfile.TemporaryDirectory() as folder:
        (Path(folder) / "config.json").write_text(json.dumps(case.config()), encoding="utf-8")
        try:
            return _planned(case, folder)
        except ModernInspectionError as error:
            raise asked.CannotError(str(error)) from error


def _planned(case: asked.Asked, folder: str) -> dict[str, object]:
    stated, served = case.case, str(case.case["engine"]).startswith("vllm")
    batch, length = case.held if stated["seq_len"] else (1, stated["max_model_len"])
    found = plan_modern(
        folder,
        context=length,
        batch_size=batch,
        weight_dtype=_dtype(case),
        kv_dtype="fp8" if case.cache_bits == 8 else "bf16",
        tp=stated["tp"] or 1,
        vram_gib=case.device_memory_gib,
        prefill_chunk=stated["max_num_batched_tokens"] or STEP_TOKENS,
        engine="vllm" if served else "generic",
        gpu_memory_utilization=(stated["gpu_memory_utilization"] or SHARE) if served else None,
    )
    figures: dict[str, object] = {"weights_gib": found.parts_gib[WEIGHTS], "fits": found.fits}
    reserve = found.parts_gib["Safety reserve"]
    return figures | ({"peak_gib": found.total_gib - reserve} if stated["seq_len"] else {})


def _dtype(case: asked.Asked) -> str:
    if "mxfp4" in str(case.case["quantization"]):
        raise asked.CannotError("no format like mxfp4")
    words = {32: "fp32", 16: "bf16", 8: "fp8", 4: "int4"}
    if case.weight_bits not in words:
        raise asked.CannotError("no format of so few bits")
    return words[case.weight_bits]


asked.run(answer)
