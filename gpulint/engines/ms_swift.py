"""ms-swift: `swift sft`, `swift rlhf` and `megatron sft`, by command line and environment; `swift deploy` is inference."""

from __future__ import annotations

import re

from gpulint.engines import Invocation, Reading, training
from gpulint.workload import Field

MENTIONS = ("swift", "megatron")
PURPOSE = "training"
COMMANDS = {"swift": frozenset({"sft", "pt", "rlhf"}), "megatron": frozenset({"sft", "pt", "rlhf"})}
MODULES = ("swift.cli.sft", "swift.cli.pt", "swift.cli.rlhf")
SCRIPTS = ("swift/cli/sft.py", "swift/cli/pt.py", "swift/cli/rlhf.py")
LAUNCHED = {"NPROC_PER_NODE": "processes_per_pod", "NNODES": "pods_per_replica"}
"""swift/cli/main.py: what it hands to torchrun."""

ZERO = re.compile(r"zero([0-3])(?:_offload)?")
"""swift/arguments/sft_args.py: DeepSpeed configurations that ms-swift has itself."""


def read(invocation: Invocation) -> Reading | None:
    """The fields of a training run with ms-swift; None when the invocation is none."""
    started = training.program(invocation)
    if started is None:
        return None
    own: dict[str, Field | None] = {}
    if started.words and started.words[0].written in COMMANDS.get(started.name, ()):
        started = started.behind(1)
        own.update(training.from_environment(invocation, LAUNCHED))
    elif not (started.path in MODULES or started.path.endswith(SCRIPTS)):
        return None
    first = started.words[0].written if started.words else ""
    if first.endswith((".yaml", ".yml", ".json")):
        own["training_config"] = training.first_file(started)
    found = training.reading("ms-swift", started, ("hugging-face", "ms-swift"), own)
    named = found.fields.get("deepspeed_config")
    if named is None or not (stage := ZERO.fullmatch(str(named.value))):
        return found
    others = {name: field for name, field in found.fields.items() if name != "deepspeed_config"}
    return found._replace(fields={**others, "zero_stage": Field(int(stage[1]), named.origins)})
