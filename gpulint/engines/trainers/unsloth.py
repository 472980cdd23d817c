"""Unsloth: its command `unsloth-cli.py`, by command line."""

from __future__ import annotations

import re

from gpulint.engines import Invocation, Reading, trainers
from gpulint.engines.trainers import recipes

MENTIONS = ("unsloth-cli",)
PURPOSE = "training"

TABLES = ("unsloth",)
HARMLESS = re.compile(
    r"--(?:dataset|lora_alpha|lora_dropout|bias|random_state|use_rslora|per_device_eval_batch_size|warmup_\w+|learning_rate|"
    r"weight_decay|lr_scheduler_type|seed|report_to|logging_steps|save_\w+|quantization|push_\w+|hub_\w+)"
)
"""Words that do not change what a run keeps on a GPU."""


def read(invocation: Invocation) -> Reading | None:
    """Return the fields of a training run with Unsloth; None for any other invocation."""
    started = trainers.find_program(invocation)
    if started is None or started.name not in ("unsloth-cli.py", "unsloth-cli"):
        return None
    return recipes.build_reading("unsloth", started, TABLES, "unsloth-cli", HARMLESS) or trainers.build_reading(
        "unsloth", started, TABLES
    )
