"""Unsloth: its command `unsloth-cli.py`, by command line."""

from __future__ import annotations

from gpulint.engines import Invocation, Reading, trainers

MENTIONS = ("unsloth-cli",)
PURPOSE = "training"


def read(invocation: Invocation) -> Reading | None:
    """Return the fields of a training run with Unsloth; None for any other invocation."""
    started = trainers.find_program(invocation)
    if started is None or started.name not in ("unsloth-cli.py", "unsloth-cli"):
        return None
    return trainers.build_reading("unsloth", started, ("unsloth",))
