"""torchtitan: the module `torchtitan.train` and its `run_train.sh`, by command line and environment."""

from __future__ import annotations

from gpulint.engines import Argument, Invocation, Reading, trainers
from gpulint.workload import Field

MENTIONS = ("torchtitan", "run_train.sh")
PURPOSE = "training"
PROGRAMS = ("torchtitan.train", "torchtitan/train.py")
STARTER = "run_train.sh"
CONFIG = "CONFIG_FILE"
LAUNCHED = {"NGPU": "processes_per_pod"}
"""run_train.sh: what it hands to torchrun."""


def read(invocation: Invocation) -> Reading | None:
    """Return the fields of a training run with torchtitan; None for any other invocation."""
    started = trainers.find_program(invocation)
    if started is None:
        return None
    own: dict[str, Field | None] = {}
    if started.name == STARTER and ("torchtitan" in started.path or CONFIG in invocation.environment):
        given: Argument | None = invocation.environment.get(CONFIG)
        own = {"training_config": trainers.text_field(given) if given else None}
        own.update(trainers.read_environment(invocation, LAUNCHED))
    elif not started.path.endswith(PROGRAMS):
        return None
    return trainers.build_reading("torchtitan", started, ("torchtitan",), own)
