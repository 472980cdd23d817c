"""Open R1: the programs of `src/open_r1`, by command line."""

from __future__ import annotations

import re

from gpulint.engines import Invocation, Reading, trainers
from gpulint.engines.trainers import preference, trl
from gpulint.workload import Field

MENTIONS = ("open_r1",)
PURPOSE = "training"
COMPUTES_ONLY = re.compile(r"generate|evaluate|utils")
SCRIPT = re.compile(r"(?:.*/)?open_r1/[^/]+\.py|open_r1\.\w+")
RELEASED = re.compile(r"(?:.*/)?src/open_r1/sft\.py|open_r1\.sft")
"""Supervised fine-tuning with TRL's arguments alone (huggingface/open-r1 src/open_r1/sft.py)."""


def read(invocation: Invocation) -> Reading | None:
    """Return the fields of a training run with Open R1; None for any other invocation."""
    started = trainers.find_program(invocation)
    if started is None or not SCRIPT.fullmatch(started.path) or COMPUTES_ONLY.search(started.name):
        return None
    if RELEASED.fullmatch(started.path):
        return trl.read_run(started, invocation, started.word, engine="open-r1")
    stem = started.path.removesuffix(".py").replace(".", "/").rsplit("/", 1)[-1]
    own: dict[str, Field | None] = {
        **preference.read_method(preference.find_method(stem), trainers.text_field(started.word))
    }
    return trainers.build_reading("open-r1", started, ("hugging-face", "trl"), own, defaults=None)
