"""accelerate's `estimate-memory` on a meta model: weights at a precision, and its "training with Adam" peak.

Its guide tells to add up to 20 % for inference; it knows no parallelism, so the total is split evenly over the ranks.
"""

import asked
import torch  # type: ignore[import-not-found]
from accelerate.commands.estimate import estimate_training_usage  # type: ignore[import-not-found]
from accelerate.utils import calculate_maximum_sizes  # type: ignore[import-not-found]
from transformers import AutoConfig, AutoModelForCausalLM  # type: ignore[import-not-found]

INFERENCE_ADDED = 1.2
SINGLE_BITS = 32


def answer(case: asked.Asked) -> dict[str, object]:
    found = case.config() | {"torch_dtype": "float32"}
    with torch.device("meta"):
        model = AutoModelForCausalLM.from_config(AutoConfig.for_model(found.pop("model_type"), **found))
    single, _ = calculate_maximum_sizes(model)
    if case.training:
        return _training(case, single)
    weights = single * case.weight_bits / SINGLE_BITS / asked.GIB / case.shards
    peak = weights * INFERENCE_ADDED
    return {"weights_gib": weights, "peak_gib": peak, "fits": case.fitting(peak)}


def _training(case: asked.Asked, single: int) -> dict[str, object]:
    if case.case["lora"] or (case.case["gpu_count"] or 1) > 1:
        raise asked.CannotError("neither adapters nor sharding")
    precision = "float32" if str(case.case["dtype"]).startswith("fp32") else "float16"
    peak = max(estimate_training_usage(single, precision).values()) / asked.GIB
    return {"peak_gib": peak, "fits": case.fitting(peak)}


asked.run(answer)
