"""Megatron Bridge: its `scripts` that run a recipe, by command line."""

from __future__ import annotations

import re

from gpulint.engines import Invocation, Reading, trainers
from gpulint.engines.trainers import recipes

MENTIONS = ("run_recipe.py", "run_script.py")
TRIGGERS = ("run_recipe.py",)
PURPOSE = "training"
TABLES = ("megatron-bridge",)
HARMLESS = re.compile(
    r"--(?:dataset|step_func|max_steps|mode|lr|min_lr|warmup_iters|save_dir|load_dir|save_interval)|-ms|"
    r"(?:train|validation|logger|checkpoint|dataset|scheduler|tokenizer|rng|profiling)\..*"
)
"""Words that do not change what a run keeps on a GPU."""
SCRIPTS = ("scripts/training/run_recipe.py", "scripts/performance/run_script.py")


def read(invocation: Invocation) -> Reading | None:
    """Return the fields of a training run with Megatron Bridge; None for any other invocation."""
    started = trainers.find_program(invocation)
    if started is None or not started.path.endswith(SCRIPTS):
        return None
    named = started.find_flag("--recipe")
    recipe = named.text or "" if named is not None else ""
    return recipes.build_reading("megatron-bridge", started, TABLES, recipe, HARMLESS) or trainers.build_reading(
        "megatron-bridge", started, TABLES
    )
