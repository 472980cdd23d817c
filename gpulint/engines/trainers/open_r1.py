"""Open R1: the programs of `src/open_r1`, by command line."""

from __future__ import annotations

import re

from gpulint.engines import Invocation, Reading, trainers

MENTIONS = ("open_r1",)
PURPOSE = "training"
COMPUTES_ONLY = re.compile(r"generate|evaluate|utils")
SCRIPT = re.compile(r"(?:.*/)?open_r1/[^/]+\.py|open_r1\.\w+")


def read(invocation: Invocation) -> Reading | None:
    """Return the fields of a training run with Open R1; None for any other invocation."""
    started = trainers.find_program(invocation)
    if started is None or not SCRIPT.fullmatch(started.path) or COMPUTES_ONLY.search(started.name):
        return None
    return trainers.build_reading("open-r1", started, ("hugging-face", "trl"), defaults=None)
