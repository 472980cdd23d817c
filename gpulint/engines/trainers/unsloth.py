"""Unsloth: its command `unsloth-cli.py`, by command line."""

from __future__ import annotations

from gpulint.engines import Invocation, Reading
from gpulint.engines import trainers as training

MENTIONS = ("unsloth-cli",)
PURPOSE = "training"


def read(invocation: Invocation) -> Reading | None:
    """The fields of a training run with Unsloth; None when the invocation is none."""
    started = training.program(invocation)
    if started is None or started.name not in ("unsloth-cli.py", "unsloth-cli"):
        return None
    return training.reading("unsloth", started, ("unsloth",))
