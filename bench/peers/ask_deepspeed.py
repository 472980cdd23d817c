"""DeepSpeed's ZeRO-2 and ZeRO-3 estimators: model states only, no activations."""

import asked
from deepspeed.runtime.zero.stage3 import estimate_zero3_model_states_mem_needs  # type: ignore[import-not-found]
from deepspeed.runtime.zero.stage_1_and_2 import estimate_zero2_model_states_mem_needs  # type: ignore[import-not-found]

NODE = 8


def answer(case: asked.Asked) -> dict[str, object]:
    stage = str(case.case["zero_stage"] or "")
    if not case.training or case.case["lora"]:
        raise asked.CannotError("full fine-tuning under ZeRO only")
    peak = _bytes(case, stage) / asked.GIB
    return {"peak_gib": peak, "fits": case.fitting(peak)}


def _bytes(case: asked.Asked, stage: str) -> float:
    gpus = case.case["gpu_count"] or 1
    near = min(gpus, NODE)
    offload = str(case.case["offload"] or "").lower()
    on_host = bool(offload)
    if "ZeRO-3" in stage or "FSDP" in stage:
        largest = case.layer("vocab_size") * case.layer("hidden_size")
        everything = on_host and "param" in offload
        _, device, _ = estimate_zero3_model_states_mem_needs(
            case.parameters, largest, near, -(-gpus // near), cpu_offload=on_host, cpu_offload_params=everything
        )
        return float(device)
    if "ZeRO-2" in stage:
        _, device = estimate_zero2_model_states_mem_needs(case.parameters, near, -(-gpus // near), cpu_offload=on_host)
        return float(device)
    raise asked.CannotError("full fine-tuning under ZeRO-2 or 3 only")


asked.run(answer)
