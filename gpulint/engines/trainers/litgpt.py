"""LitGPT: `litgpt finetune … CHECKPOINT` and `litgpt pretrain MODEL`, by command line."""

from __future__ import annotations

import re
from collections.abc import Mapping

from gpulint.engines import Invocation, Reading, command_line, trainers
from gpulint.engines.trainers import recipes
from gpulint.workload import Field, Unknown, Value

MENTIONS = ("litgpt", "lit_gpt")
PURPOSE = "training"
TRAINS = frozenset(
    {"finetune", "finetune_lora", "finetune_full", "finetune_adapter", "finetune_adapter_v2", "pretrain"}
)
WHOLE = frozenset({"finetune", "finetune_lora", "finetune_full", "pretrain"})
"""Commands whose trained weights are known."""
SCRIPT = re.compile(r"(?:.*/)?(?:litgpt|lit_gpt|lit-gpt)/(?:finetune/\w+|pretrain(?:/\w+)?)\.py")
TABLES = ("litgpt",)
HARMLESS = re.compile(
    r"--(?:data|eval|log)(?:\..*)?|--train\.(?:epochs|log_interval|lr_\w+|max_norm|min_lr|max_tokens|max_time|tie_\w+)|"
    r"--(?:seed|resume|logger_name|access_token|tokenizer_dir|quantize|lora_(?:query|key|value|projection|mlp|head|alpha|dropout)|optimizer\.\w*(?:lr|betas|decay)\w*)"
)
"""Words that do not change what a run keeps on a GPU."""
QUANTIZED: Mapping[str, Value] = {"bnb.nf4": "nf4", "bnb.nf4-dq": "nf4-double"}
ADAPTED = {"--lora_query": "q", "--lora_key": "k", "--lora_value": "v", "--lora_projection": "o", "--lora_mlp": "gud"}
BY_DEFAULT = frozenset("qv")
"""Lightning-AI/litgpt 26857050 litgpt/finetune/lora.py: queries and values carry adapters."""


def read(invocation: Invocation) -> Reading | None:
    """Return the fields of a training run with LitGPT; None for any other invocation."""
    started = trainers.find_program(invocation)
    if started is None:
        return None
    if started.name == "litgpt" and started.words and started.words[0].source_text in TRAINS:
        command, started = started.words[0].source_text, started.skip_words(1)
        own: dict[str, Field | None] = {"checkpoint": trainers.first_file(started), **_read_quantization(started)}
        if command in ("finetune", "finetune_lora"):
            own["lora_targets"] = _find_targets(started)
        whole = None
        if command in WHOLE and not started.gives("--config"):
            recipe = "finetune_lora" if command == "finetune" else command
            whole = recipes.build_reading("litgpt", started, TABLES, recipe, HARMLESS, own)
        return whole or trainers.build_reading("litgpt", started, TABLES, {**own, "lora_targets": None})
    return trainers.build_reading("litgpt", started, TABLES) if SCRIPT.fullmatch(started.path) else None


def _read_quantization(started: trainers.Program) -> dict[str, Field | None]:
    word = started.find_flag("--quantize")
    if word is None or word.text in trainers.NOTHING:
        return {}
    format_ = QUANTIZED.get(word.text or "", Unknown(f"{word.source_text} is not modelled"))
    return {"quantization": Field(format_, command_line.find_origins(word))}


def _find_targets(started: trainers.Program) -> Field:
    """Return the matrices that carry adapters. Each has its own switch."""
    letters = [letter for flag, letter in ADAPTED.items() if _is_on(started, flag, letter in BY_DEFAULT)]
    if _is_on(started, "--lora_head", False):
        return Field(Unknown("the output head carries an adapter"))
    return Field("".join(letters), source="litgpt/finetune/lora.py")


def _is_on(started: trainers.Program, flag: str, otherwise: bool) -> bool:
    word = started.find_flag(flag)
    return otherwise if word is None else (word.text or "").lower() in trainers.TRUE
