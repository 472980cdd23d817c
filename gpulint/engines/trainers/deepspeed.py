"""DeepSpeed: a program with `--deepspeed` or `--deepspeed_config FILE` that no trainer claims."""

from __future__ import annotations

import re

from gpulint.engines import Invocation, Reading
from gpulint.engines import trainers as training

MENTIONS = ("--deepspeed",)
TRIGGERS = ("deepspeed",)
PURPOSE = "training"
COMPUTES_ONLY = re.compile(r"bench|infer|generat|eval|serv|predict|chatbot", re.IGNORECASE)
"""Programs that run a network with DeepSpeed without training it."""


def read(invocation: Invocation) -> Reading | None:
    """Return the fields of a training program with DeepSpeed; None for any other invocation."""
    started = training.program(invocation)
    if started is None or not started.name.endswith(".py") or COMPUTES_ONLY.search(started.name):
        return None
    if not started.gives("--deepspeed", "--deepspeed_config"):
        return None
    return training.reading("deepspeed", started, ("deepspeed",))
