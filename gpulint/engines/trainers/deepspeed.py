"""DeepSpeed: a program with `--deepspeed` or `--deepspeed_config FILE` that no trainer claims."""

from __future__ import annotations

import re

from gpulint.engines import Invocation, Reading, trainers
from gpulint.engines.trainers import recipes

MENTIONS = ("--deepspeed",)
TRIGGERS = ("deepspeed",)
PURPOSE = "training"
COMPUTES_ONLY = re.compile(r"bench|infer|generat|eval|serv|predict|chatbot", re.IGNORECASE)
"""Programs that run a network with DeepSpeed without training it."""

TABLES = ("deepspeed",)
CHAT = re.compile(r"(?:^|/)step1_supervised_finetuning/main\.py$")
"""Fine-tuning of DeepSpeed-Chat, whose arguments build DeepSpeed's configuration."""
HARMLESS = re.compile(
    r"--(?:data_\w+|sft_only_data_path|per_device_eval_batch_size|learning_rate|lora_learning_rate|weight_decay|"
    r"num_train_epochs|lr_scheduler_type|num_warmup_steps|seed|local_rank|dropout|enable_tensorboard|tensorboard_path|"
    r"print_loss|add_eot_token|eot_token|lora_module_name)"
)
"""Words that do not change what a run keeps on a GPU."""


def read(invocation: Invocation) -> Reading | None:
    """Return the fields of a training program with DeepSpeed; None for any other invocation."""
    started = trainers.find_program(invocation)
    if started is None or not started.name.endswith(".py") or COMPUTES_ONLY.search(started.name):
        return None
    if not started.gives("--deepspeed", "--deepspeed_config"):
        return None
    whole = None
    if CHAT.search(started.path) and not started.gives("--deepspeed_config"):
        whole = recipes.build_reading("deepspeed", started, TABLES, "step1_supervised_finetuning", HARMLESS)
    return whole or trainers.build_reading("deepspeed", started, TABLES)
