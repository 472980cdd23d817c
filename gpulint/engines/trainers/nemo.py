"""NeMo: the Megatron scripts of its examples and the NeMo launcher, by the Hydra words of the command line."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping

from gpulint.engines import Argument, Invocation, Reading, command_line, trainers
from gpulint.engines.trainers import Program, recipes
from gpulint.workload import Field, Unknown

MENTIONS = ("megatron_", "main.py", "trainer.devices", "trainer.num_nodes", "nemo llm")
TRIGGERS = ("megatron_", "trainer.devices", "trainer.num_nodes", "nemo llm")
PURPOSE = "training"
SCRIPT = re.compile(
    r"megatron_\w*(?:pretraining|pretrain|continue_training|finetuning|finetune|fine_tune|sft|training|peft_tuning|"
    r"prompt_learning|adapter_tuning|distillation|rlhf|dpo|rm)\.py"
)
"""examples/nlp/language_modeling and its folders."""
LAUNCHER = "launcher_scripts/main.py"
TRAINS = (("pretrain",), ("finetune",))
"""Commands of `nemo llm`."""
HARMLESS = re.compile(
    r"--(?:yes|y|dryrun|yaml)|-y|(?:data|log|resume)\..*|trainer\.(?:val|limit|log|max)_\w+|optim\.lr_scheduler\..*"
)
"""Words of `nemo llm` that do not change what a run keeps on a GPU."""
STAGES = ("training", "fine_tuning", "peft", "prompt_learning", "adapter_learning", "ia3_learning")
"""launcher_scripts/conf: the stages that train, each with a folder of configurations."""
OPTIMIZERS: Mapping[str, str] = {
    **dict.fromkeys(("distributed_fused_adam", "mcore_distributed_optim"), "distributed-optimizer"),
    "fused_adam": "megatron",
}
"""Names of `model.optim.name` by how the optimizer's states are shared out (launcher_scripts/conf/training)."""
UNLISTED = Unknown("the sharding of this optimizer's states is not listed")
OWN_KEYS = (
    *("model.micro_batch_size", "model.global_batch_size", "model.tensor_model_parallel_size", "exp_manager.exp_dir"),
    *("model.encoder_seq_length", "restore_from_path", "model.restore_from_path", "exp_manager.name"),
    *("exp_manager.explicit_log_dir", "log.explicit_log_dir", "--factory"),
)


def read(invocation: Invocation) -> Reading | None:
    """Return the fields of a training run with NeMo; None for any other invocation."""
    started = trainers.find_program(invocation)
    if started is None:
        return None
    if started.path.endswith(LAUNCHER):
        return _read_launcher(started)
    if started.name == "nemo" and started.starts_with("llm") and started.texts()[1:2] in TRAINS:
        return _read_recipe(started)
    if SCRIPT.fullmatch(started.name) or _is_lightning(started):
        return trainers.build_reading(
            "nemo", started, ("nemo",), {"training_config": _read_config_path(started), **_read_overrides(started)}
        )
    return None


def _read_recipe(started: Program) -> Reading:
    """Return a run of NeMo 2: with all settings of its recipe if that is listed and no word changes its network."""
    mode, words = started.texts()[1], started.skip_words(2)
    named = words.find_flag("--factory")
    recipe = f"{mode}:{named.text}" if named is not None else ""
    return recipes.build_reading("nemo", words, ("nemo",), recipe, HARMLESS) or trainers.build_reading(
        "nemo", words, ("nemo",)
    )


def _read_config_path(started: Program) -> Field | None:
    """Return the configuration that Hydra's `--config-path` and `--config-name` name, as one path."""
    found, _ = trainers.read_words(started.words, ("hydra",))
    parts = [found[name] for name in ("config_path", "config_name") if name in found]
    if "config_name" not in found:
        return None
    origins = tuple(origin for part in reversed(parts) for origin in part.origins)
    unread = next((part.value for part in parts if isinstance(part.value, Unknown)), None)
    path = "/".join(str(part.value).rstrip("/") for part in parts)
    return Field(unread or (path if path.endswith((".yaml", ".yml")) else f"{path}.yaml"), origins)


def _is_lightning(started: Program) -> bool:
    """Return whether a program of another name has the keys of NeMo's configurations."""
    if not (started.name.endswith(".py") or started.word.text is None):
        return False
    return started.gives("trainer.devices", "trainer.num_nodes") and started.gives(*OWN_KEYS)


def _read_launcher(started: Program) -> Reading | None:
    """Return what the command sets for the one stage that trains. If several train, the stage is
    unknown.
    """
    chosen = [stage for stage in STAGES if started.gives(stage)]
    if len(chosen) != 1:
        return None
    stage = chosen[0]
    words = tuple(_strip_prefix(started.words, f"{stage}."))
    config = next(word for word in started.words if word.source_text.startswith(f"{stage}="))
    named = trainers.text_field(_value(config))
    stage_words = started._replace(words=words)
    own: dict[str, Field | None] = {"training_config": named, **_read_overrides(stage_words)}
    if isinstance(named.value, str):
        own["training_config"] = Field(f"{stage}/{named.value}", named.origins)
    return trainers.build_reading("nemo", stage_words, ("nemo",), own)


def _read_overrides(started: Program) -> dict[str, Field | None]:
    """Return the sharding and sequence settings in words that override the configuration."""
    found: dict[str, Field | None] = {}
    if (word := started.find_value("model.optim.name")) is not None:
        found["sharding"] = Field(OPTIMIZERS.get(word.text or "", UNLISTED), command_line.find_origins(word))
    if (word := started.find_value("model.fsdp")) is not None and (word.text or "").lower() in trainers.TRUE:
        found["sharding"] = Field("fsdp", command_line.find_origins(word))
    if (word := started.find_value("model.sequence_parallel")) is not None:
        found["sequence_parallel"] = Field((word.text or "").lower() in trainers.TRUE, command_line.find_origins(word))
    return found


def _strip_prefix(words: tuple[Argument, ...], prefix: str) -> Iterator[Argument]:
    """Return the words of a stage without the stage's name as prefix. Words of other stages are
    left out.
    """
    for word in words:
        text = word.source_text.lstrip("+")
        if text.startswith(prefix):
            bare = text.removeprefix(prefix)
            yield word._replace(text=bare) if word.text is not None else word._replace(flag=bare.partition("=")[0])
        elif word.text is None:
            yield word


def _value(word: Argument) -> Argument:
    return word if word.text is None else word._replace(text=word.text.partition("=")[2])
