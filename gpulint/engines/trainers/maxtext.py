"""MaxText: `MaxText.train CONFIG key=value`, by command line."""

from __future__ import annotations

import re

from gpulint.engines import Invocation, Reading, trainers
from gpulint.engines.trainers import recipes
from gpulint.workload import Field

MENTIONS = ("maxtext",)
PURPOSE = "training"
SCRIPT = re.compile(
    r"(?i)(?:.*[/.])?maxtext[/.](?:[\w/.]*[/.])?(?:train|sft_train|train_(?:sft|dpo|rl|distill)(?:_native)?)(?:\.py)?"
)
"""src/maxtext/trainers: pre_train/train.py, post_train/sft/train_sft.py …; before 2026, MaxText/train.py."""

TABLES = ("maxtext",)
BASE = re.compile(r"(?i)maxtext/configs/base\.yml$")
"""The configuration of the release, which its own folder holds."""
HARMLESS = re.compile(
    r"run_name|base_output_directory|dataset\w*|tokenizer\w*|hf_\w+|steps|learning_rate\w*|enable_checkpointing|"
    r"async_checkpointing|load_parameters_path|hardware|profiler|enable_goodput_recording|monitor_goodput|log_period|"
    r"checkpoint_\w+|attention|reuse_example_batch|use_iota_embed|skip_first_n_steps_for_profiler|init_weights_seed"
)
"""Keys that do not change what a run keeps on a GPU."""


def read(invocation: Invocation) -> Reading | None:
    """Return the fields of a training run with MaxText; None for any other invocation."""
    started = trainers.find_program(invocation)
    if started is None or not SCRIPT.fullmatch(started.path):
        return None
    own: dict[str, Field | None] = {"training_config": trainers.config_file(started)}
    config = own["training_config"]
    if config is not None and BASE.search(str(config.value)) and not started.gives("base_config"):
        whole = recipes.build_reading("maxtext", started, TABLES, "base.yml", HARMLESS)
        if whole is not None:
            return whole
    return trainers.build_reading("maxtext", started, TABLES, own)
