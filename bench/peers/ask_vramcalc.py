"""vramcalc: Llama-like models on one GPU, inference of a static batch and training with AdamW or SGD."""

import asked
import vramcalc  # type: ignore[import-not-found]

MIXED = ("mixed", "autocast", "fp32")


def answer(case: asked.Asked) -> dict[str, object]:
    if case.shards > 1 or (case.case["gpu_count"] or 1) > 1 or case.weight_bits < 16:
        raise asked.CannotError("one GPU, no quantization")
    case.conventional()
    return _training(case) if case.training else _inference(case)


def _inference(case: asked.Asked) -> dict[str, object]:
    batch, length = case.held if case.case["seq_len"] else (1, 1)
    dtype = "fp32" if case.weight_bits == 32 else "bf16"
    found = vramcalc.estimate(case.config(), mode="inference", dtype=dtype, batch=batch, seq_len=length)
    weights: dict[str, object] = {"weights_gib": found.weights / asked.GIB}
    return weights | _peak(case, found) if case.case["seq_len"] else weights


def _training(case: asked.Asked) -> dict[str, object]:
    if "8bit" in str(case.case["optimizer"]):
        raise asked.CannotError("AdamW and SGD only")
    lora = case.case["lora"]
    if lora and not lora.get("rank"):
        raise asked.CannotError("no rank stated")
    batch, length = case.held
    found = vramcalc.estimate(
        case.config(),
        mode="train",
        dtype="fp32" if case.case["dtype"] == "fp32" else "bf16",
        batch=batch,
        seq_len=length,
        lora_rank=lora["rank"] if lora else None,
        grad_checkpoint=not str(case.case["activation_checkpointing"] or "none").startswith("none"),
        precision="pure" if lora or not any(word in str(case.case["dtype"]) for word in MIXED) else "amp",
    )
    return _peak(case, found)


def _peak(case: asked.Asked, found: vramcalc.Estimate) -> dict[str, object]:
    needed = (found.total + found.overhead) / asked.GIB
    return {"peak_gib": found.total / asked.GIB, "fits": case.fitting(needed)}


asked.run(answer)
