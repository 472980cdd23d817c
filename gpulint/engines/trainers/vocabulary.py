"""Training words: how trainers spell optimizers, sharding and LoRA targets, and what their words
leave open.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping

from gpulint.workload import Field, Unknown, Value

TRIGGERS = (
    "micro_batch",
    "train_batch_size",
    "per_device_train",
    "per_device_eval",
    "sequence_len",
    "tensor_model_parallel",
    "parallelism",
    "activation_checkpoint",
)
DECIDING = (
    *("optimizer", "parameter_dtype", "gradient_dtype", "moment_dtype", "master_weights", "sharding", "shard_group"),
    *("activation_checkpointing", "lora_rank", "lora_targets", "trained_tables", "adapter_dtype", "quantization"),
    *("optimizer_offload", "parameter_offload", "loss_kernel", "training_kernels", "attention_backend"),
    *("sequence_parallel", "virtual_stages", "compiled", "packed"),
)
"""Quantities that decide the memory of a training run: one that a trainer's words may state, in words that are not read,
is unknown, never the glossary's "absent"."""
OPTIMIZERS: Mapping[str, str] = {
    "adamw": "adamw",
    "adamw_torch": "adamw",
    "adamw_torch_fused": "adamw-fused",
    "adamw_apex_fused": "adamw-fused",
    "adamw_bnb_8bit": "adamw-8bit",
    "adamw_8bit": "adamw-8bit",
    "paged_adamw_32bit": "paged-adamw-single",
    "paged_adamw_8bit": "paged-adamw-8bit",
    "lion_32bit": "lion",
    "lion_8bit": "lion-8bit",
    "paged_lion_8bit": "paged-lion-8bit",
    "adafactor": "adafactor",
    "sgd": "sgd",
    "adagrad": "adagrad",
    "rmsprop": "rmsprop",
}
"""huggingface/transformers 5.23.0 training_args.py, OptimizerNames → ours."""
SHARED_OUT: Mapping[frozenset[str], str] = {
    frozenset({"full_shard"}): "fsdp",
    frozenset({"true"}): "fsdp",
    frozenset({"1"}): "fsdp",
}
"""Values of --fsdp that share everything out: huggingface/transformers 5.23.0 trainer_utils.py, FSDPOption, without auto_wrap,
which says only how layers are grouped."""
LETTERS: Mapping[str, str] = {
    **{
        f"{word}_proj": letter
        for word, letter in zip(("q", "k", "v", "o", "gate", "up", "down"), "qkvogud", strict=True)
    },
    **dict.fromkeys(("all", "all-linear"), "qkvogud"),
}
"""Matrices of Llama and its like in PEFT's spelling."""
ADAPTED = ("qv", "qkvogud")
"""The fewest and the most matrices that adapters of unknown targets train."""


def optimizer(text: str) -> Value | Unknown:
    return OPTIMIZERS.get(text.lower(), Unknown(f"{text} is not a listed optimizer"))


def parse_sharding(text: str) -> Value | Unknown:
    """Return what --fsdp sets. Offloaded, hybrid and partial sharding are not read."""
    words = frozenset(re.split(r"[\s,]+", text.strip().lower())) - {"auto_wrap", ""}
    return SHARED_OUT.get(words, Unknown(f"the sharding of {text} is not supported"))


def parse_letters(texts: Iterable[str]) -> Value | Unknown:
    """Return the letters of adapted matrices; unknown as soon as one is."""
    words = [word for text in texts for word in re.split(r"[\s,]+", text.strip("[]'\"")) if word]
    unread = [word for word in words if word not in LETTERS]
    if unread or not words:
        return Unknown(
            f"gpulint does not know the LoRA targets {' '.join(unread)}" if unread else "no LoRA target is named",
            choices=ADAPTED,
        )
    return "".join(dict.fromkeys("".join(LETTERS[word] for word in words)))


def list_undecided(stated: Mapping[str, Field], settled: Iterable[str], trainer: str) -> dict[str, Field]:
    """Return the deciding quantities that neither a readable word nor a default of the trainer
    sets.
    """
    left_open = Unknown(
        f"the training settings of {trainer} are not in the arguments that gpulint reads", lacking="arguments"
    )
    known = {*stated, *settled, *(CAST if _is_cast_by_deepspeed(stated) else ())}
    return {name: Field(left_open) for name in DECIDING if name not in known}


CAST = ("parameter_dtype", "master_weights")
"""What DeepSpeed decides where it casts a network to 16 bits: deepspeed/runtime/engine.py, _configure_distributed_model."""


def _is_cast_by_deepspeed(stated: Mapping[str, Field]) -> bool:
    values = (stated.get(name, Field(None)).value for name in ("sharding", "training_dtype"))
    return tuple(values) in (("deepspeed", "bfloat16"), ("deepspeed", "float16"))


def is_deferred(field: Field) -> bool:
    """Return whether a field only states that something unread decides it."""
    return isinstance(field.value, Unknown) and (
        field.value.category == "another object" or field.value.lacking == "arguments"
    )


def merge_launcher(found: Mapping[str, Field], told: Mapping[str, Field]) -> dict[str, Field]:
    """Return the fields of a command, and its launcher's fields for what the command omits.

    DeepSpeed's launcher only starts processes: it leaves sharding to a trainer whose own arguments settle it.
    """
    launcher = told.get("launcher")
    if launcher is not None and launcher.value == "deepspeed" and "sharding" not in found:
        told = {name: field for name, field in told.items() if name != "sharding"}
    return {**told, **{name: field for name, field in found.items() if name not in told or not is_deferred(field)}}


FLAGS: Mapping[str, str] = {
    "activation_checkpointing": "--gradient_checkpointing={}",
    "gradient_accumulation_steps": "--gradient_accumulation_steps={}",
    "optimizer": "--optim={}",
    "sharding": "--fsdp={}",
}
"""Arguments of Hugging Face's Trainer that state a quantity: huggingface/transformers 5.23.0 training_args.py."""
SPELLED: Mapping[str, Mapping[object, str]] = {
    "activation_checkpointing": {"full": "true"},
    "optimizer": {"adamw-8bit": "adamw_bnb_8bit"},
    "sharding": {"fsdp": "full_shard auto_wrap"},
}
"""Without auto_wrap the whole network is one unit that every rank gathers at once."""


def render_argument(quantity: str, value: object) -> str | None:
    """Return the argument of Hugging Face's Trainer that sets a quantity; None if it has none."""
    text = SPELLED.get(quantity, {}).get(value) if quantity in SPELLED else str(value)
    return FLAGS[quantity].format(text) if quantity in FLAGS and text is not None else None
