"""Diffusers: the training scripts of its examples, by command line."""

from __future__ import annotations

import re

from gpulint.engines import Invocation, Reading, trainers

MENTIONS = ("--pretrained_model_name_or_path",)
PURPOSE = "training"
SCRIPT = re.compile(r"(?:train_\w+|textual_inversion(?:_\w+)?)\.py")


def read(invocation: Invocation) -> Reading | None:
    """Return the fields of a training script of Diffusers; None for any other invocation."""
    started = trainers.find_program(invocation)
    if started is None or not SCRIPT.fullmatch(started.name) or not started.gives("--pretrained_model_name_or_path"):
        return None
    return trainers.build_reading("diffusers", started, ("diffusers",))
