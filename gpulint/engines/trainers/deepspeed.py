"""DeepSpeed: a program with `--deepspeed` or `--deepspeed_config FILE` that no trainer claims."""

from __future__ import annotations

import re

from gpulint.engines import Invocation, Reading, trainers

MENTIONS = ("--deepspeed",)
TRIGGERS = ("deepspeed",)
PURPOSE = "training"
COMPUTES_ONLY = re.compile(r"bench|infer|generat|eval|serv|predict|chatbot", re.IGNORECASE)
"""Programs that run a network with DeepSpeed without training it."""


def read(invocation: Invocation) -> Reading | None:
    """Return the fields of a training program with DeepSpeed; None for any other invocation."""
    started = trainers.find_program(invocation)
    if started is None or not started.name.endswith(".py") or COMPUTES_ONLY.search(started.name):
        return None
    if not started.gives("--deepspeed", "--deepspeed_config"):
        return None
    return trainers.build_reading("deepspeed", started, ("deepspeed",))
