"""Axolotl: `axolotl train FILE` and its module, by command line."""

from __future__ import annotations

from gpulint.engines import Invocation, Reading, trainers
from gpulint.workload import Field

MENTIONS = ("axolotl",)
PURPOSE = "training"
MODULES = frozenset({"axolotl.cli.train"})


def read(invocation: Invocation) -> Reading | None:
    """Return the fields of a training run with Axolotl; None for any other invocation."""
    started = trainers.find_program(invocation)
    if started is None:
        return None
    if started.name == "axolotl" and started.starts_with("train"):
        started = started.skip_words(1)
    elif started.path not in MODULES:
        return None
    own: dict[str, Field | None] = {"training_config": trainers.first_file(started), **_read_launcher(started)}
    return trainers.build_reading("axolotl", started, ("axolotl",), own)


def _read_launcher(started: trainers.Program) -> dict[str, Field]:
    """Return what the arguments behind `--` set for the launcher that Axolotl starts."""
    texts = started.texts()
    if "--" not in texts or not started.gives("--launcher") or "accelerate" in texts:
        return {}
    return trainers.read_words(started.words[texts.index("--") + 1 :], ("torchrun",))[0]
