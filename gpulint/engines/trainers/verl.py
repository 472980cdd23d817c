"""verl: the modules `verl.trainer.*` and the recipes' `main_*`, by the Hydra words of the command line."""

from __future__ import annotations

import re

from gpulint.engines import Invocation, Reading, trainers
from gpulint.workload import Field, Unknown

MENTIONS = ("verl", "recipe.", "recipe/")
TRIGGERS = ("verl.",)
PURPOSE = "training"
REINFORCEMENT = re.compile(
    r"(?:.*[/.])?(?:verl[./]trainer[./]main(?:_ppo\w*)?|(?:recipe|verl[./]experimental)[./](?:\w+[./])+(?:main_(?!eval|gen)\w+|\w+_main))"
)
FINE_TUNING = re.compile(r"(?:.*[/.])?verl[./]trainer[./](?:fsdp_)?sft_trainer(?:_ray)?")

GENERATION = re.compile(r"(?:.*[/.])?verl[./]trainer[./]main_generation(?:_server)?")
"""Answers for a data set, by the rollout alone (verl v0.6.0 verl/trainer/main_generation.py, config/generation.yaml)."""


def read(invocation: Invocation) -> Reading | None:
    """Return the fields of a training run with verl; None for any other invocation."""
    started = trainers.find_program(invocation)
    if started is None:
        return None
    path = started.path.removesuffix(".py")
    if FINE_TUNING.fullmatch(path):
        return trainers.build_reading("verl", started, ("verl-sft",))
    if GENERATION.fullmatch(path):
        return trainers.build_reading("verl", started, ("verl-generation",))
    if not REINFORCEMENT.fullmatch(path):
        return None
    found, _ = trainers.read_words(started.words, ("verl",))
    length = trainers.add(found.get(name) for name in ("prompt_length", "response_length"))
    own = {
        "sequence_length": length,
        "global_batch_size": trainers.multiply(found.get("mini_batch"), found.get("answers")),
        "generations": found.get("answers"),
    }
    if (engine := found.get("rollout_engine")) is not None and engine.value == "hf":
        own["rollout_tensor_parallel"] = Field(Unknown("the trainer's own model generates the samples"), engine.origins)
    return trainers.build_reading("verl", started, ("verl",), own)
