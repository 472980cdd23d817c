"""DeepSpeed: a program that hands itself to DeepSpeed (`--deepspeed`, `--deepspeed_config FILE`) and that no trainer claims."""

from __future__ import annotations

import re

from gpulint.engines import Invocation, Reading
from gpulint.engines import trainers as training

MENTIONS = ("--deepspeed",)
PURPOSE = "training"
COMPUTES_ONLY = re.compile(r"bench|infer|generat|eval|serv|predict|chatbot", re.IGNORECASE)
"""Programs that run a network with DeepSpeed without training it."""


def read(invocation: Invocation) -> Reading | None:
    """The fields of a training program with DeepSpeed; None when the invocation is none."""
    started = training.program(invocation)
    if started is None or not started.name.endswith(".py") or COMPUTES_ONLY.search(started.name):
        return None
    if not started.gives("--deepspeed", "--deepspeed_config"):
        return None
    return training.reading("deepspeed", started, ("deepspeed",))
