"""TRL: `trl sft`, `trl dpo` … and the scripts of its repository, by command line; `trl vllm-serve` is inference."""

from __future__ import annotations

import re
from collections.abc import Mapping

from gpulint.engines import Argument, Invocation, Reading, trainers
from gpulint.engines.trainers import preference, vocabulary
from gpulint.workload import Field, Unknown

MENTIONS = ("trl", "sft", "dpo", "grpo", "kto", "reward", "rloo", "orpo", "cpo", "gkd", "bco")
TRIGGERS = ()
PURPOSE = "training"
SUBCOMMANDS = frozenset({"sft", "dpo", "grpo", "kto", "reward", "rloo", "orpo", "cpo", "bco"})
SCRIPT = re.compile(
    r"(?:train_|run_)?(?:sft|dpo|grpo|kto|orpo|cpo|bco|gkd|gspo|rloo|xpo|nash_md|online_dpo|reward_modeling|reward|prm)"
    r"(?:_train|_vlm|_gemma3|_gpt_oss|_vlm_gemma3|_agent|_lora|_qlora)?\.py"
)
RANK = 16
"""huggingface/trl f2cd5771 trl/trainer/model_config.py, lora_r."""
PAIRS = frozenset({"dpo", "kto"})
PAIR_LENGTH = 1024
"""huggingface/trl v0.12.0 to v1.9.0 trl/trainer/dpo_config.py and kto_config.py, max_length."""
OWN_FOLDERS = ("trl/scripts/", "examples/scripts/", "trl/examples/")
OWN_FLAGS = ("--dataset_name", "--config", "--dataset")


def read(invocation: Invocation) -> Reading | None:
    """Return the fields of a training run with TRL; None for any other invocation."""
    started = trainers.find_program(invocation)
    if started is None:
        return None
    if started.name == "trl" and started.words and started.words[0].source_text in SUBCOMMANDS:
        return read_run(started.skip_words(1), invocation, started.words[0])
    if started.path.startswith("trl.scripts.") or (
        SCRIPT.fullmatch(started.name) and (invocation.sealed or _is_in_own_folder(started))
    ):
        return read_run(started, invocation, started.word)
    if SCRIPT.fullmatch(started.name) and _takes_own_arguments(started):
        method = _name_method(started.word)
        own = {
            **preference.read_method(method, trainers.text_field(started.word)),
            "sequence_length": _find_length(started, method),
        }
        return trainers.build_reading("trl", started, ("hugging-face", "trl"), own, defaults=None)
    return None


def render_argument(release: str, quantity: str, value: object) -> str | None:
    """Return the Trainer's argument that sets a quantity, in any release."""
    if (quantity, value) == ("quantization", "nf4"):
        return "--load_in_4bit"
    return vocabulary.render_argument(quantity, value)


def _name_method(word: Argument) -> str | None:
    """Return the method that a subcommand, module or script names; None for supervised fine-tuning."""
    stem = word.source_text.removesuffix(".py").replace("trl.scripts.", "").rsplit("/", 1)[-1]
    whole = preference.find_method(stem)
    return whole or preference.find_in_path(stem)


def read_run(started: trainers.Program, invocation: Invocation, named: Argument, engine: str = "trl") -> Reading:
    """Return what TRL's arguments set. Releases differ in recomputation and in the loss."""
    method = _name_method(named)
    supervised = method is None
    own: dict[str, Field | None] = {
        **trainers.read_sharding_variables(invocation),
        "activation_checkpointing": Field(
            Unknown("releases of TRL differ in what they recompute", choices=("none", "full"))
        ),
        "supervised": Field(supervised),
        "sequence_length": _find_length(started, method),
        "loss_kernel": Field("by-release" if supervised else "plain", source="default of TRL"),
        **preference.read_method(method, trainers.text_field(named)),
    }
    found = trainers.build_reading(engine, started, ("hugging-face", "trl"), own, vocabulary.DECIDING)
    fields = {**found.fields, **_read_adapters(started, found.fields)}
    if started.gives("--steps_per_generation", "--generation_batch_size"):
        fields.pop("generations", None)  # completions fill the batch of a step unless that of a generation is stated
    return found._replace(fields=fields)


def _find_length(started: trainers.Program, method: str | None) -> Field | None:
    """Return the length of a prompt with its completion where a run generates; the default of pairs unless a file states it."""
    found, _ = trainers.read_words(started.words, ("hugging-face", "trl"))
    if both := preference.add_lengths(found.get("prompt_length"), found.get("response_length")):
        return both
    if method in PAIRS and not started.gives("--config"):
        return found.get("sequence_length", Field(PAIR_LENGTH, source="default of TRL: max_length"))
    return None


def _read_adapters(started: trainers.Program, fields: Mapping[str, Field]) -> dict[str, Field]:
    """Return the LoRA settings, which count only with --use_peft. PEFT chooses the matrices by
    default.
    """
    asked = trainers.read_words(started.words, ("trl",))[0].get("adapted")
    if asked is None or asked.value is False:
        return {"lora_rank": Field(None), "lora_targets": Field(None)}
    if isinstance(asked.value, Unknown):
        return {"lora_rank": asked}
    chosen = Unknown("PEFT chooses the matrices by architecture", choices=vocabulary.ADAPTED)
    return {
        "lora_rank": fields.get("lora_rank", Field(RANK, asked.origins)),
        "lora_targets": fields.get("lora_targets", Field(chosen)),
    }


def _is_in_own_folder(started: trainers.Program) -> bool:
    return any(folder in started.path for folder in OWN_FOLDERS)


def _takes_own_arguments(started: trainers.Program) -> bool:
    """Return whether a script of TRL's names takes TRL's arguments. It may still be a custom
    script.
    """
    return started.gives("--model_name_or_path") and started.gives(*OWN_FLAGS)
