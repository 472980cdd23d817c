"""Megatron-LM: its pretraining scripts and similar programs, by command line."""

from __future__ import annotations

import re
from collections.abc import Mapping

from gpulint.engines import Invocation, Reading, trainers
from gpulint.engines.trainers import megatron_network, vocabulary
from gpulint.workload import Field, Unknown, Value

MENTIONS = ("pretrain_", "--tensor-model-parallel-size", "--num-layers")
TRIGGERS = ("megatron", "num-attention-heads", "pipe-parallel-size", "tensor-model-parallel")
PURPOSE = "training"
SCRIPT = re.compile(
    r"pretrain_(?:gpt2?|gpt_core|bert|t5|ict|retro|mamba|hybrid|vlm|llama|vision_\w+|custom_\w+|gpt_\w+)\.py"
)
COMPUTES_ONLY = re.compile(
    r"eval|generat|serv|convert|preprocess|checkpoint|inference|export|merge|analy|quantiz", re.IGNORECASE
)
"""Programs with Megatron's arguments that do not train."""

EVALUATIONS = frozenset({"LAMBADA", "WIKITEXT103", "ICT-ZEROSHOT-NQ", "RETRIEVER-EVAL", "MSDP-PROMPT", "MSDP-EVAL-F1"})
"""Tasks of tasks/main.py that do not train."""

PARTS = Unknown("--num-layers-per-virtual-pipeline-stage sets layers instead of virtual stages")


def read(invocation: Invocation) -> Reading | None:
    """Return the fields of a training run with Megatron-LM; None for any other invocation."""
    started = trainers.find_program(invocation)
    if started is None or not trains(started):
        return None
    own = read_interleaving(started)
    if not SCRIPT.fullmatch(started.name):
        return trainers.build_reading("megatron-lm", started, ("megatron",), own)
    found = trainers.build_reading("megatron-lm", started, TABLES, own, vocabulary.DECIDING)
    found = megatron_network.apply(found, started)
    return found._replace(
        fields={**DEFAULTS, **found.fields, **_read_words(trainers.read_words(started.words, TABLES)[0])}
    )


TABLES = ("megatron", "megatron-lm")
DEFAULTS: Mapping[str, Field] = {
    "activation_checkpointing": Field("none", source="default of Megatron-LM"),
    "attention_backend": Field("flash", source="Transformer Engine, the default of Megatron-LM"),
}
"""megatron/training/arguments.py: what its own scripts do unless a word says otherwise."""
RECOMPUTED: Mapping[str, Value | Unknown] = {"full": "full", "selective": "scores"}
UPDATED: Mapping[str, Value | Unknown] = {"adam": "adam-fused", "sgd": "sgd"}


def _read_words(words: Mapping[str, Field]) -> dict[str, Field]:
    """Return recomputation and optimizer, if a word sets them."""
    found: dict[str, Field] = {}
    if (one := words.get("granularity")) is not None:
        found["activation_checkpointing"] = _translate(one, RECOMPUTED)
        if (blocks := words.get("blocks")) is not None and blocks.value != "uniform":
            found["activation_checkpointing"] = Field(
                Unknown("the number of recomputed layers is not modelled"), blocks.origins
            )
    if (one := words.get("updated_by")) is not None:
        found["optimizer"] = _translate(one, UPDATED)
    return found


def _translate(field: Field, meanings: Mapping[str, Value | Unknown]) -> Field:
    """Return a field with its word translated by a table."""
    return Field(meanings.get(str(field.value), Unknown(f"{field.value} is not modelled")), field.origins)


def render_argument(release: str, quantity: str, value: object) -> str | None:
    """Return the argument of Megatron-LM that sets a quantity; None if it has none."""
    return trainers.render_argument(TABLES, quantity, value)


def read_interleaving(started: trainers.Program) -> Mapping[str, Field | None]:
    """Return the virtual stages if an argument sets their layers instead of their number."""
    if not started.gives("--num-layers-per-virtual-pipeline-stage"):
        return {}
    return {"virtual_stages": Field(PARTS, (started.word.origin,))}


def trains(started: trainers.Program) -> bool:
    """Return whether a script is a Megatron training script, or has arguments that only Megatron's
    parser has.
    """
    if SCRIPT.fullmatch(started.name):
        return True
    if EVALUATIONS & set(started.texts()):
        return False
    if not started.name.endswith(".py") or COMPUTES_ONLY.search(started.path):
        return False
    texts = started.texts()
    return "--num-layers" in texts and ("--micro-batch-size" in texts or "--tensor-model-parallel-size" in texts)
