"""LLaMA-Factory: `llamafactory-cli train FILE` and `src/train.py`, by command line and environment."""

from __future__ import annotations

from collections.abc import Mapping

from gpulint.engines import Invocation, Reading, trainers
from gpulint.engines.trainers import preference, vocabulary
from gpulint.workload import Field, Unknown, Value

MENTIONS = ("llamafactory", "lmf", "--finetuning_type", "llama-factory", "llama_factory")
TRIGGERS = ("llamafactory", "llama-factory", "llama_factory", "finetuning_type")
PURPOSE = "training"
COMMANDS = frozenset({"llamafactory-cli", "lmf"})
SCRIPTS = frozenset({"train.py", "train_bash.py", "launcher.py"})
RANK = 8
"""hiyouga/LLaMA-Factory ff6d4d12 src/llamafactory/hparams/finetuning_args.py, lora_rank; finetuning_type is lora."""
QUANTIZED: Mapping[str, Value | Unknown] = {"4": "nf4-double", "8": "int8-bnb"}
"""src/llamafactory/hparams/model_args.py: nf4 with double quantisation."""
LAUNCHED = {"NPROC_PER_NODE": "processes_per_pod", "NNODES": "pods_per_replica"}
"""src/llamafactory/launcher.py: what it hands to torchrun, which it starts where there are several GPUs."""


def read(invocation: Invocation) -> Reading | None:
    """Return the fields of a training run with LLaMA-Factory; None for any other invocation."""
    started = trainers.find_program(invocation)
    if started is None:
        return None
    own = trainers.read_sharding_variables(invocation)
    if started.name in COMMANDS and started.starts_with("train"):
        own["launcher"] = Field("torchrun", (started.word.origin,))
        started = started.skip_words(1)
        own.update(trainers.read_environment(invocation, LAUNCHED))
    elif not (started.name in SCRIPTS and _is_own(started)):
        return None
    own["training_config"] = trainers.config_file(started, (".yaml", ".yml", ".json"))
    tables = ("hugging-face", "llama-factory")
    found = trainers.build_reading("llama-factory", started, tables, own, vocabulary.DECIDING)
    return found._replace(
        fields={**found.fields, **_derive_training(trainers.read_words(started.words, tables)[0], found.fields)}
    )


def render_argument(release: str, quantity: str, value: object) -> str | None:
    """Return the argument that sets a quantity, from LLaMA-Factory or the Trainer."""
    if quantity == "activation_checkpointing":
        return None  # recomputation is on unless it is switched off
    if (quantity, value) == ("quantization", "nf4"):
        return "--quantization_bit=4"
    return vocabulary.render_argument(quantity, value)


def _derive_training(words: Mapping[str, Field], fields: Mapping[str, Field]) -> dict[str, Field]:
    """Return the fields that follow from method and stage: all weights in 32 bits, or adapters."""
    method = words["adapted"].value if "adapted" in words else None
    found: dict[str, Field] = {}
    found |= derive_preference(words.get("method"), words.get("preference_loss"), words.get("reference_named"), False)
    if (bits := words.get("quantization")) is not None and isinstance(bits.value, str):
        format_ = QUANTIZED.get(bits.value, Unknown(f"{bits.value} bits is not a listed format"))
        found["quantization"] = Field(format_, bits.origins)
    if (backend := words.get("attention_backend")) is not None and backend.value == "disabled":
        found["attention_backend"] = Field("eager", backend.origins)
    if method == "full":
        found["lora_rank"] = fields["lora_rank"] if _unknown(fields, "lora_rank") else Field(None)
        if fields.keys().isdisjoint({"parameter_dtype", "deepspeed_config"}):
            found["parameter_dtype"] = Field("float32", source="LLaMA-Factory casts what it trains")
    elif method is None and "training_config" in fields:
        return found  # the configuration says what is trained
    elif method in (None, "lora"):
        found["lora_rank"] = fields.get("lora_rank", Field(RANK, source="default of LLaMA-Factory"))
    else:
        found["lora_rank"] = Field(Unknown(f"the trainable parameters of {method} are not modelled"))
    return found


def derive_preference(
    stage: Field | None, loss: Field | None, reference: Field | None, remote_reward: bool
) -> dict[str, Field]:
    """Return the method of a stage with its reference, value and reward models; nothing for supervised stages.

    PPO adds a value head to the policy, and reward models are adapters of it unless they are whole models.
    """
    method = preference.find_method(str(stage.value)) if stage is not None else None
    if method is None:
        return {}
    if method == "dpo" and loss is not None and loss.value in ("orpo", "simpo"):
        method, stage = str(loss.value), loss
    found = preference.read_method(method, stage)
    if reference is not None:
        found["reference_beside_adapters"] = Field(True, reference.origins)
    if remote_reward:
        found["reward_checkpoint"] = Field(None)
    return found


def _unknown(fields: Mapping[str, Field], name: str) -> bool:
    return name in fields and isinstance(fields[name].value, Unknown)


def _is_own(started: trainers.Program) -> bool:
    """Return whether a script is LLaMA-Factory's: by its folder, or by an argument that no other
    trainer has.
    """
    return "llamafactory" in started.path.lower().replace("-", "") or started.gives("--finetuning_type")
