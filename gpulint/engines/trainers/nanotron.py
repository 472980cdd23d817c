"""Nanotron: `run_train.py --config-file FILE`, by command line."""

from __future__ import annotations

from gpulint.engines import Invocation, Reading, trainers

MENTIONS = ("run_train.py",)
PURPOSE = "training"


def read(invocation: Invocation) -> Reading | None:
    """Return the configuration of a training run with Nanotron; None for any other invocation."""
    started = trainers.find_program(invocation)
    if started is None or started.name != "run_train.py" or not started.gives("--config-file"):
        return None
    return trainers.build_reading("nanotron", started, ("nanotron",))
