"""torchtitan: the module `torchtitan.train` and its `run_train.sh`, by command line and environment."""

from __future__ import annotations

import re

from gpulint.catalog.architecture import builders
from gpulint.engines import Argument, Invocation, Reading, command_line, trainers
from gpulint.engines.trainers import recipes
from gpulint.workload import Field, Unknown

MENTIONS = ("torchtitan", "run_train.sh")
PURPOSE = "training"
PROGRAMS = ("torchtitan.train", "torchtitan/train.py")
STARTER = "run_train.sh"
CONFIG = "CONFIG_FILE"
LAUNCHED = {"NGPU": "processes_per_pod"}
"""run_train.sh: what it hands to torchrun."""
TABLES = ("torchtitan",)
DEFAULTS = "job_config"
"""The configuration of a run without a file (torchtitan/config/job_config.py)."""
HARMLESS = re.compile(
    r"--job\.(?:dump_folder|description|print_config)|--(?:profiling|metrics|lr_scheduler|checkpoint|comm|validation|fault_tolerance)\..*|"
    r"--training\.(?:dataset\w*|seed|deterministic|max_norm|gc_\w+)|--optimizer\.(?:lr|beta1|beta2|eps|weight_decay)|"
    r"--model\.(?:hf_assets_path|tokenizer_path)"
)
"""Words that do not change what a run keeps on a GPU."""


def read(invocation: Invocation) -> Reading | None:
    """Return the fields of a training run with torchtitan; None for any other invocation."""
    started = trainers.find_program(invocation)
    if started is None:
        return None
    own = _find_checkpoint(started)
    if started.name == STARTER and ("torchtitan" in started.path or CONFIG in invocation.environment):
        given: Argument | None = invocation.environment.get(CONFIG)
        own["training_config"] = trainers.text_field(given) if given else None
        own.update(trainers.read_environment(invocation, LAUNCHED))
        return trainers.build_reading("torchtitan", started, TABLES, own)
    if not started.path.endswith(PROGRAMS):
        return None
    whole = None
    if not started.gives("--job.config_file"):
        whole = recipes.build_reading("torchtitan", started, TABLES, DEFAULTS, HARMLESS, own)
    return whole or trainers.build_reading("torchtitan", started, TABLES, own)


def _find_checkpoint(started: trainers.Program) -> dict[str, Field | None]:
    """Return the checkpoint with the network of a model and its flavour, or that torchtitan builds one of its own."""
    name, flavour = started.find_flag("--model.name"), started.find_flag("--model.flavor")
    if name is None or flavour is None:
        return {}
    listed = builders.find_checkpoint("torchtitan", f"{name.text}.{flavour.text}")
    origins = command_line.find_origins(flavour)
    if listed is None:
        return {"checkpoint": Field(Unknown("the trainer builds a network of its own", "own program"), origins)}
    return {
        "checkpoint": Field(
            listed, origins, assumption=builders.explain(f"{name.text} {flavour.text}", listed), basis="stated"
        )
    }
