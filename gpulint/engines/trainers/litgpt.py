"""LitGPT: `litgpt finetune … CHECKPOINT` and `litgpt pretrain MODEL`, by command line."""

from __future__ import annotations

import re

from gpulint.engines import Invocation, Reading, trainers

MENTIONS = ("litgpt", "lit_gpt")
PURPOSE = "training"
TRAINS = frozenset(
    {"finetune", "finetune_lora", "finetune_full", "finetune_adapter", "finetune_adapter_v2", "pretrain"}
)
SCRIPT = re.compile(r"(?:.*/)?(?:litgpt|lit_gpt|lit-gpt)/(?:finetune/\w+|pretrain(?:/\w+)?)\.py")


def read(invocation: Invocation) -> Reading | None:
    """Return the fields of a training run with LitGPT; None for any other invocation."""
    started = trainers.find_program(invocation)
    if started is None:
        return None
    if started.name == "litgpt" and started.words and started.words[0].source_text in TRAINS:
        started = started.skip_words(1)
        own = {"checkpoint": trainers.first_file(started)}
        return trainers.build_reading("litgpt", started, ("litgpt",), own)
    return trainers.build_reading("litgpt", started, ("litgpt",)) if SCRIPT.fullmatch(started.path) else None
