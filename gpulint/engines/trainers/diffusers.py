"""Diffusers: the training scripts of its examples, by command line."""

from __future__ import annotations

import re

from gpulint.engines import Invocation, Reading
from gpulint.engines import trainers as training

MENTIONS = ("--pretrained_model_name_or_path",)
PURPOSE = "training"
SCRIPT = re.compile(r"(?:train_\w+|textual_inversion(?:_\w+)?)\.py")


def read(invocation: Invocation) -> Reading | None:
    """Return the fields of a training script of Diffusers; None for any other invocation."""
    started = training.program(invocation)
    if started is None or not SCRIPT.fullmatch(started.name) or not started.gives("--pretrained_model_name_or_path"):
        return None
    return training.reading("diffusers", started, ("diffusers",))
