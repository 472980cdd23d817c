"""Megatron-DeepSpeed: Megatron's training scripts with DeepSpeed arguments, by command line."""

from __future__ import annotations

from gpulint.engines import Invocation, Reading, trainers
from gpulint.engines.trainers import megatron_lm, megatron_network, vocabulary
from gpulint.workload import Field

MENTIONS = ("--deepspeed",)
TRIGGERS = ("deepspeed",)
PURPOSE = "training"

TABLES = ("megatron", "megatron-deepspeed")
DEFAULTS = {"activation_checkpointing": Field("none", source="default of Megatron-DeepSpeed")}
"""deepspeedai/Megatron-DeepSpeed 4efb479d megatron/arguments.py: what its own scripts do unless a word says otherwise."""


def read(invocation: Invocation) -> Reading | None:
    """Return the fields of a training run with Megatron-DeepSpeed, whose `--num-experts` may differ
    by layer; None for any other.
    """
    started = trainers.find_program(invocation)
    if started is None or not megatron_lm.trains(started) or not started.gives("--deepspeed", "--deepspeed_config"):
        return None
    own = megatron_lm.read_interleaving(started)
    if megatron_lm.SCRIPT.fullmatch(started.name):
        given = {**DEFAULTS, **own}
        found = trainers.build_reading("megatron-deepspeed", started, TABLES, given, vocabulary.DECIDING)
    else:
        found = trainers.build_reading("megatron-deepspeed", started, TABLES[:1], own)
    found = megatron_network.apply(found, started)
    return found._replace(fields={name: field for name, field in found.fields.items() if name != "experts"})
