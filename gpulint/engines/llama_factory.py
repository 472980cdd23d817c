"""LLaMA-Factory: `llamafactory-cli train FILE` and `src/train.py`, by command line and environment."""

from __future__ import annotations

from gpulint.engines import Invocation, Reading, training
from gpulint.workload import Field

MENTIONS = ("llamafactory", "lmf", "--finetuning_type", "llama-factory", "llama_factory")
PURPOSE = "training"
COMMANDS = frozenset({"llamafactory-cli", "lmf"})
SCRIPTS = frozenset({"train.py", "train_bash.py", "launcher.py"})
LAUNCHED = {"NPROC_PER_NODE": "processes_per_pod", "NNODES": "pods_per_replica"}
"""src/llamafactory/launcher.py: what it hands to torchrun."""


def read(invocation: Invocation) -> Reading | None:
    """The fields of a training run with LLaMA-Factory; None when the invocation is none."""
    started = training.program(invocation)
    if started is None:
        return None
    own: dict[str, Field | None] = {}
    if started.name in COMMANDS and started.starts_with("train"):
        started = started.behind(1)
        own.update(training.from_environment(invocation, LAUNCHED))
    elif not (started.name in SCRIPTS and _own(started)):
        return None
    own["training_config"] = training.config_file(started, (".yaml", ".yml", ".json"))
    return training.reading("llama-factory", started, ("hugging-face", "llama-factory"), own)


def _own(started: training.Program) -> bool:
    """Whether a script is LLaMA-Factory's: by its folder, or by an argument that no other trainer has."""
    return "llamafactory" in started.path.lower().replace("-", "") or started.gives("--finetuning_type")
