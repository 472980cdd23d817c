"""MaxText: `MaxText.train CONFIG key=value`, by command line."""

from __future__ import annotations

import re

from gpulint.engines import Invocation, Reading, trainers
from gpulint.workload import Field

MENTIONS = ("maxtext",)
PURPOSE = "training"
SCRIPT = re.compile(
    r"(?i)(?:.*[/.])?maxtext[/.](?:[\w/.]*[/.])?(?:train|sft_train|train_(?:sft|dpo|rl|distill)(?:_native)?)(?:\.py)?"
)
"""src/maxtext/trainers: pre_train/train.py, post_train/sft/train_sft.py …; before 2026, MaxText/train.py."""


def read(invocation: Invocation) -> Reading | None:
    """Return the fields of a training run with MaxText; None for any other invocation."""
    started = trainers.find_program(invocation)
    if started is None or not SCRIPT.fullmatch(started.path):
        return None
    own: dict[str, Field | None] = {"training_config": trainers.config_file(started)}
    return trainers.build_reading("maxtext", started, ("maxtext",), own)
