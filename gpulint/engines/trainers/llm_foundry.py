"""LLM Foundry: `train.py FILE key=value` behind the composer launcher, and `llmfoundry train`, by command line."""

from __future__ import annotations

from gpulint.engines import Invocation, Reading, trainers

MENTIONS = ("train.py", "llmfoundry")
TRIGGERS = ("llmfoundry",)
PURPOSE = "training"
OWN_KEYS = (
    *("max_seq_len", "global_train_batch_size", "device_train_microbatch_size", "train_loader.dataset.split"),
    *("eval_loader.dataset.split", "max_duration", "fsdp_config.sharding_strategy"),
)
"""Keys of its configuration that tell a `train.py` of another trainer apart."""


def read(invocation: Invocation) -> Reading | None:
    """Return the fields of a training run with LLM Foundry; None for any other invocation."""
    started = trainers.find_program(invocation)
    if started is None:
        return None
    if started.name == "llmfoundry" and started.starts_with("train"):
        started = started.skip_words(1)
    elif not (started.name == "train.py" and _is_own(started)):
        return None
    own = {"training_config": trainers.first_file(started)}
    return trainers.build_reading("llm-foundry", started, ("llm-foundry",), own)


def _is_own(started: trainers.Program) -> bool:
    """Return whether a script is LLM Foundry's: by its folder, or by a YAML file followed by its
    own keys.
    """
    if started.path.endswith("scripts/train/train.py") or "llm-foundry/" in started.path:
        return True
    first = next(iter(started.texts()), "")
    return first.endswith((".yaml", ".yml")) and (first.startswith("yamls/") or started.gives(*OWN_KEYS))
