"""Transformers: the training scripts of its examples, and programs that take the arguments of its Trainer."""

from __future__ import annotations

import re

from gpulint.engines import Invocation, Reading, trainers
from gpulint.engines.trainers import vocabulary
from gpulint.workload import Field

MENTIONS = ("--per_device_train_batch_size", "--model_name_or_path", "--config_name", "--model_type", "--do_train")
TRIGGERS = ("per_device_train", "per_device_eval", "model_name_or_path", "--do_train")
PURPOSE = "training"
SCRIPT = re.compile(
    r"run_(?:clm|mlm|plm|fim|glue|xnli|classification|ner|qa|qa_beam_search|seq2seq_qa|swag|summarization|translation|"
    r"squad|clip|audio_classification|image_classification|instance_segmentation|semantic_segmentation|object_detection|"
    r"mae|mim|speech_recognition_ctc|speech_recognition_ctc_adapter|speech_recognition_seq2seq|wav2vec2_pretraining|"
    r"language_modeling)(?:_no_trainer)?\.py"
)
"""examples/pytorch, and what earlier releases had there."""
JOINED = frozenset({"run_clm.py", "run_fim.py", "run_plm.py"})
"""huggingface/transformers v4.57.0 examples/pytorch/language-modeling/run_clm.py, group_texts."""
OWN_FOLDERS = ("transformers/", "examples/pytorch/")
"""A script of that name elsewhere may have been changed."""
OWN_LOOP = "_no_trainer.py"
"""Scripts that Accelerate configures."""
OWN_FLAGS = (
    *("--save_strategy", "--evaluation_strategy", "--eval_strategy", "--save_total_limit", "--logging_strategy"),
    *("--fsdp", "--fsdp_config", "--ddp_timeout", "--ddp_find_unused_parameters", "--report_to", "--do_train"),
    *("--logging_steps", "--save_steps", "--warmup_ratio", "--bf16", "--fp16", "--optim"),
)
"""Arguments of TrainingArguments that a program of somebody's own seldom invents."""


def read(invocation: Invocation) -> Reading | None:
    """Return the fields of a training run with the Trainer of Transformers; None for any other
    invocation.
    """
    started = trainers.find_program(invocation)
    if started is None:
        return None
    tables = ("hugging-face", "transformers")
    listed = invocation.sealed or any(folder in started.path for folder in OWN_FOLDERS)
    if SCRIPT.fullmatch(started.name) and listed and not started.name.endswith(OWN_LOOP):
        own = trainers.read_sharding_variables(invocation)
        own["packed"] = Field(True, source="the script joins texts and cuts them") if started.name in JOINED else None
        return trainers.build_reading("transformers", started, tables, own, vocabulary.DECIDING)
    if SCRIPT.fullmatch(started.name) or (started.name.endswith(".py") and _takes_trainer_arguments(started)):
        return trainers.build_reading("transformers", started, tables, defaults=None)
    return None


def render_argument(release: str, quantity: str, value: object) -> str | None:
    """Return the Trainer's argument that sets a quantity, in any release."""
    return vocabulary.render_argument(quantity, value)


def _takes_trainer_arguments(started: trainers.Program) -> bool:
    """Return whether a program takes the arguments of Transformers' Trainer."""
    if not started.gives("--per_device_train_batch_size"):
        return False
    found, _ = trainers.read_words(started.words, ("hugging-face",))
    return started.gives(*OWN_FLAGS) or "deepspeed_config" in found
