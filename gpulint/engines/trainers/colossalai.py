"""Colossal-AI: the training scripts of its applications and examples, recognised by their plug-in
argument.
"""

from __future__ import annotations

import itertools
import re

from gpulint.engines import Invocation, Reading, trainers

MENTIONS = ("--plugin",)
TRIGGERS = ("colossalai",)
PURPOSE = "training"
SCRIPT = re.compile(r"(?:train(?:_\w+)?|lora_finetune|finetune|pretrain|benchmark)\.py")
PLUGINS = frozenset(
    {
        *("gemini", "gemini_auto", "zero2", "zero2_cpu", "3d", "3d_cpu"),
        *("ddp", "torch_ddp", "torch_ddp_fp16", "low_level_zero"),
    }
)

OWN_FLAGS = ("--pretrain", "--microbatch_size", "--accumulation_steps", "--zero_cpu_offload")


def read(invocation: Invocation) -> Reading | None:
    """Return the fields of a training script of Colossal-AI; None for any other invocation."""
    started = trainers.find_program(invocation)
    if started is None or not SCRIPT.fullmatch(started.name):
        return None
    texts = started.texts()
    plugin = next((after for word, after in itertools.pairwise(texts) if word in ("--plugin", "-p")), "")
    known = plugin in PLUGINS or (plugin.startswith("$") and started.gives(*OWN_FLAGS))
    return trainers.build_reading("colossalai", started, ("colossalai",)) if known else None
