"""GPT-NeoX: `deepy.py train.py CONFIG…`, which wraps DeepSpeed's launcher."""

from __future__ import annotations

from collections.abc import Sequence

from gpulint.engines import Argument, Invocation, Reading, command_line, trainers
from gpulint.workload import Field, Unknown

MENTIONS = ("deepy.py",)
PURPOSE = "training"
FOLDERS = frozenset({"-d", "--conf_dir"})


def read(invocation: Invocation) -> Reading | None:
    """Return the configuration files of a training run with GPT-NeoX; None for any other
    invocation.
    """
    started = trainers.find_program(invocation)
    if started is None or started.name != "deepy.py" or not started.words:
        return None
    if started.words[0].source_text.rsplit("/", 1)[-1] != "train.py":
        return None
    return trainers.build_reading("gpt-neox", started, (), {"training_config": _list_files(started.words[1:])})


def _list_files(words: Sequence[Argument]) -> Field | None:
    """Return the configuration files in order, below the folder that `-d` names, each with its
    suffix.
    """
    texts = [word.source_text for word in words]
    at = next((at for at, text in enumerate(texts[:-1]) if text in FOLDERS), None)
    folder = "" if at is None else f"{texts[at + 1].rstrip('/')}/"
    flags = set() if at is None else {at, at + 1}
    named = [word for place, word in enumerate(words) if place not in flags and not texts[place].startswith("-")]
    if not named:
        return None
    origins = tuple(origin for word in named for origin in command_line.find_origins(word))
    if unread := next((word for word in named if word.text is None), None):
        return Field(Unknown(unread.why or "its value cannot be read", unread.category), origins)
    return Field(" ".join(f"{folder}{_add_suffix(word.text or '')}" for word in named), origins)


def _add_suffix(name: str) -> str:
    return name if name.endswith((".yml", ".yaml")) else f"{name}.yml"
