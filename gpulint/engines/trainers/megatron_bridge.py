"""Megatron Bridge: its `scripts` that run a recipe, by command line."""

from __future__ import annotations

from gpulint.engines import Invocation, Reading, trainers

MENTIONS = ("run_recipe.py", "run_script.py")
TRIGGERS = ("run_recipe.py",)
PURPOSE = "training"
SCRIPTS = ("scripts/training/run_recipe.py", "scripts/performance/run_script.py")


def read(invocation: Invocation) -> Reading | None:
    """Return the fields of a training run with Megatron Bridge; None for any other invocation."""
    started = trainers.find_program(invocation)
    if started is None or not started.path.endswith(SCRIPTS):
        return None
    return trainers.build_reading("megatron-bridge", started, ("megatron-bridge",))
