"""torchtune: `tune run [torchrun's options] RECIPE --config FILE key=value`, by command line."""

from __future__ import annotations

import re

from gpulint.engines import Invocation, Reading, trainers
from gpulint.workload import Field

MENTIONS = ("tune",)
TRIGGERS = ("torchtune", "tune run")
PURPOSE = "training"
RECIPE = re.compile(
    r"(?:.*/)?(?:\w+_)?(?:full_finetune|lora_finetune|qat_lora_finetune|full_dpo|lora_dpo|ppo_full_finetune|grpo_full_finetune|"
    r"qat|knowledge_distillation|early_exit_finetune)\w*(?:\.py)?"
)
"""torchtune/_recipe_registry.py, and recipes/dev; `generate`, `quantize` and `eleuther_eval` do not train."""
ONE_DEVICE = "_single_device"


def read(invocation: Invocation) -> Reading | None:
    """Return the fields of a training run with torchtune; None for any other invocation."""
    started = trainers.find_program(invocation)
    if started is None or started.name != "tune" or not started.starts_with("run"):
        return None
    recipe = next((word for word in started.words[1:] if RECIPE.fullmatch(word.source_text)), None)
    if recipe is None:
        return None
    at = started.words.index(recipe)
    own: dict[str, Field | None] = dict(trainers.read_words(started.words[1:at], ("torchrun",))[0])
    if recipe.source_text.endswith(ONE_DEVICE):
        own["processes_per_pod"] = Field(1, (recipe.origin,))
    return trainers.build_reading("torchtune", started.skip_words(at + 1), ("torchtune",), own)
