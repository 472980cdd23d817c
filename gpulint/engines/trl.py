"""TRL: `trl sft`, `trl dpo` … and the scripts of its repository, by command line; `trl vllm-serve` is inference."""

from __future__ import annotations

import re

from gpulint.engines import Invocation, Reading, training

MENTIONS = ("trl", "sft", "dpo", "grpo", "kto", "reward", "rloo", "orpo", "cpo", "gkd", "bco")
PURPOSE = "training"
SUBCOMMANDS = frozenset({"sft", "dpo", "grpo", "kto", "reward", "rloo", "orpo", "cpo", "bco"})
SCRIPT = re.compile(
    r"(?:train_|run_)?(?:sft|dpo|grpo|kto|orpo|cpo|bco|gkd|gspo|rloo|xpo|nash_md|online_dpo|reward_modeling|reward|prm)"
    r"(?:_train|_vlm|_gemma3|_gpt_oss|_vlm_gemma3|_agent|_lora|_qlora)?\.py"
)
OWN_FOLDERS = ("trl/scripts/", "examples/scripts/", "trl/examples/")
OWN_FLAGS = ("--dataset_name", "--config", "--dataset")


def read(invocation: Invocation) -> Reading | None:
    """The fields of a training run with TRL; None when the invocation is none."""
    started = training.program(invocation)
    if started is None:
        return None
    if started.name == "trl" and started.words and started.words[0].written in SUBCOMMANDS:
        return _reading(started.behind(1))
    if started.path.startswith("trl.scripts.") or (SCRIPT.fullmatch(started.name) and _own(started)):
        return _reading(started)
    return None


def _reading(started: training.Program) -> Reading:
    """What the words state; completions fill the batch of a step unless that of a generation is stated."""
    found = training.reading("trl", started, ("hugging-face", "trl"))
    if started.gives("--steps_per_generation", "--generation_batch_size"):
        return found._replace(fields={name: field for name, field in found.fields.items() if name != "generations"})
    return found


def _own(started: training.Program) -> bool:
    """Whether a script of TRL's names is TRL's: by its folder, or by the arguments of its parser."""
    if any(folder in started.path for folder in OWN_FOLDERS):
        return True
    return started.gives("--model_name_or_path") and started.gives(*OWN_FLAGS)
