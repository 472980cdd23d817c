"""Megatron Bridge: its `scripts` that run a recipe, by command line."""

from __future__ import annotations

from gpulint.engines import Invocation, Reading
from gpulint.engines import trainers as training

MENTIONS = ("run_recipe.py", "run_script.py")
TRIGGERS = ("run_recipe.py",)
PURPOSE = "training"
SCRIPTS = ("scripts/training/run_recipe.py", "scripts/performance/run_script.py")


def read(invocation: Invocation) -> Reading | None:
    """Return the fields of a training run with Megatron Bridge; None for any other invocation."""
    started = training.program(invocation)
    if started is None or not started.path.endswith(SCRIPTS):
        return None
    return training.reading("megatron-bridge", started, ("megatron-bridge",))
