"""OpenRLHF: the modules `openrlhf.cli.train_*`, by command line."""

from __future__ import annotations

import re

from gpulint.engines import Invocation, Reading, trainers

MENTIONS = ("openrlhf",)
PURPOSE = "training"
MODULE = re.compile(r"(?:.*/)?openrlhf[./]cli[./]train_\w+?(?:\.py)?")


def read(invocation: Invocation) -> Reading | None:
    """Return the fields of a training run with OpenRLHF; None for any other invocation."""
    started = trainers.find_program(invocation)
    if started is None or not MODULE.fullmatch(started.path):
        return None
    return trainers.build_reading("openrlhf", started, ("openrlhf",))
