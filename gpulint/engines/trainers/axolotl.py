"""Axolotl: `axolotl train FILE` and its module, by command line."""

from __future__ import annotations

from gpulint.engines import Invocation, Reading
from gpulint.engines import trainers as training
from gpulint.workload import Field

MENTIONS = ("axolotl",)
PURPOSE = "training"
MODULES = frozenset({"axolotl.cli.train"})


def read(invocation: Invocation) -> Reading | None:
    """Return the fields of a training run with Axolotl; None for any other invocation."""
    started = training.program(invocation)
    if started is None:
        return None
    if started.name == "axolotl" and started.starts_with("train"):
        started = started.behind(1)
    elif started.path not in MODULES:
        return None
    own: dict[str, Field | None] = {"training_config": training.first_file(started), **_read_launcher(started)}
    return training.reading("axolotl", started, ("axolotl",), own)


def _read_launcher(started: training.Program) -> dict[str, Field]:
    """Return what the arguments behind `--` set for the launcher that Axolotl starts."""
    texts = started.texts()
    if "--" not in texts or not started.gives("--launcher") or "accelerate" in texts:
        return {}
    return training.stated(started.words[texts.index("--") + 1 :], ("torchrun",))[0]
