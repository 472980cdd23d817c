"""Preference and reinforcement learning: how trainers spell their methods, and what each method settles."""

from __future__ import annotations

import re
from collections.abc import Mapping

from gpulint.engines import trainers
from gpulint.workload import Field, Value

METHODS: Mapping[str, str] = {
    **dict.fromkeys(("dpo", "gdpo", "dpo_visual"), "dpo"),
    **dict.fromkeys(("rm", "reward", "reward_modeling"), "reward"),
    **dict.fromkeys(("grpo", "gspo", "dapo", "gspo_token"), "grpo"),
    **dict.fromkeys(("online_dpo", "online-dpo"), "online-dpo"),
    **dict.fromkeys(("nash_md", "nash-md"), "nash-md"),
    **{name: name for name in ("ipo", "kto", "orpo", "cpo", "simpo", "bco", "rloo", "ppo", "xpo", "prm", "gkd")},
}
"""Words of commands, scripts and settings → the method."""
SUPERVISED = frozenset({"sft", "pt", "cpt", "pretrain"})
SCORES = frozenset({"reward", "prm"})
"""Methods whose model has one output instead of a vocabulary."""
WORD = re.compile(r"[a-z]+")


def find_method(word: str) -> str | None:
    """Return the method that a word of a trainer names; None for supervised training."""
    return METHODS.get(word.lower())


def find_in_path(path: str) -> str | None:
    """Return the method that the last folder or file name of a path to name one names."""
    words = (word for part in reversed(path.lower().split("/")) for word in WORD.findall(part))
    return next((METHODS[word] for word in words if word in METHODS), None)


def read_method(method: str | None, named: Field | None = None) -> dict[str, Field]:
    """Return the fields that a method settles, with the location of the word that names it."""
    origins = named.origins if named is not None else ()
    stated: dict[str, Value] = {} if method is None else {"training_method": method}
    if method in SCORES:
        stated["loss_kernel"] = "score"
    return {name: Field(value, origins, f"the method is {method}") for name, value in stated.items()}


def add_lengths(prompt: Field | None, response: Field | None) -> Field | None:
    """Return the tokens of a prompt with its completion, or of the completion alone where no prompt's length is stated."""
    return trainers.add((prompt, response)) if prompt is not None and response is not None else response
