"""fairseq: `fairseq-train` and `fairseq-hydra-train`, by command line."""

from __future__ import annotations

from gpulint.engines import Invocation, Reading, trainers

MENTIONS = ("fairseq",)
PURPOSE = "training"
COMMANDS = frozenset({"fairseq-train", "fairseq-hydra-train", "fairseq_cli.train", "fairseq_cli.hydra_train"})
SCRIPTS = ("fairseq_cli/train.py", "fairseq_cli/hydra_train.py", "fairseq/train.py")


def read(invocation: Invocation) -> Reading | None:
    """Return the fields of a training run with fairseq; None for any other invocation."""
    started = trainers.find_program(invocation)
    if started is None or not (started.name in COMMANDS or started.path.endswith(SCRIPTS)):
        return None
    return trainers.build_reading("fairseq", started, ("fairseq",))
