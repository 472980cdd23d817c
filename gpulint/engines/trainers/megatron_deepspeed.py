"""Megatron-DeepSpeed: Megatron's training scripts with DeepSpeed arguments, by command line."""

from __future__ import annotations

from gpulint.engines import Invocation, Reading
from gpulint.engines import trainers as training
from gpulint.engines.trainers import megatron_lm

MENTIONS = ("--deepspeed",)
TRIGGERS = ("deepspeed",)
PURPOSE = "training"


def read(invocation: Invocation) -> Reading | None:
    """Return the fields of a training run with Megatron-DeepSpeed, whose `--num-experts` may differ
    by layer; None for any other.
    """
    started = training.program(invocation)
    if started is None or not megatron_lm.trains(started) or not started.gives("--deepspeed", "--deepspeed_config"):
        return None
    found = training.reading("megatron-deepspeed", started, ("megatron",), megatron_lm.interleaved(started))
    return found._replace(fields={name: field for name, field in found.fields.items() if name != "experts"})
