"""Accelerated: what `accelerate launch` says of a run by its options and by the file that it names; options count first."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from gpulint.adapters import trainers as configured
from gpulint.adapters.programs import processes as ranks
from gpulint.adapters.programs.processes import Step
from gpulint.adapters.trainers import accelerate as accelerate_config
from gpulint.adapters.trainers import deepspeed as deepspeed_config
from gpulint.engines import Argument
from gpulint.engines import trainers as training
from gpulint.source.documents import Document
from gpulint.workload import Field, Unknown

LEFT_TO_THE_PROGRAM = frozenset({"gradient_accumulation_steps", "launcher", "engine"})
"""What the program that is launched states itself, or the Trainer by its own default."""


def counts(step: Step, config: Document) -> dict[str, Field]:
    """Nodes, and the processes of each of them, of the command and its file together."""
    within = accelerate_config.stated(config, lambda name: None)
    named = step.last("config_file")
    machines = ranks.number(word) if (word := step.last("nodes")) else _placed(within.get("pods_per_replica"), named)
    nodes = machines or Field(1, source="default of accelerate")
    found = {"pods_per_replica": nodes}
    if (whole := ranks.total(step)) is not None:
        return {**found, "processes_per_pod": ranks.shared_out(whole, nodes)}
    stated = accelerate_config.processes(config)
    if stated is not None:
        found["processes_per_pod"] = ranks.shared_out(_placed(stated, named) or stated, nodes)
    return found


def fields(step: Step, find: Callable[[str], Document | None]) -> dict[str, Field]:
    """Number format and sharing of states, of the options and of the files that they name."""
    of_file: dict[str, Field] = {}
    named = step.last("config_file")
    config = find(named.text) if named is not None and named.text else None
    if config is not None and accelerate_config.claims(config):
        stated = accelerate_config.stated(config, find)
        of_file = {name: _placed(field, named) or field for name, field in stated.items()}
    found = {**of_file, **_of_deepspeed(step, find), **_of_options(step, of_file)}
    if named is not None and not of_file and "sharding" not in found:
        found["sharding"] = Field(Unknown("the file of accelerate states it", "another object"), ranks.origins(named))
    return {name: field for name, field in found.items() if name not in configured.OWN_WORLD | LEFT_TO_THE_PROGRAM}


def _of_options(step: Step, of_file: Mapping[str, Field]) -> dict[str, Field]:
    """What options say of the number format and of how the states are shared out."""
    found: dict[str, Field] = {}
    if (word := step.last("mixed_precision")) is not None and (word.text or "") != "no":
        found["training_dtype"] = training.dtype(word)
    for option, sharding in (("multi_gpu", "ddp"), ("use_fsdp", "fsdp"), ("use_deepspeed", "deepspeed")):
        if (word := step.last(option)) is not None:
            found["sharding"] = Field(sharding, ranks.origins(word))
    if (word := step.last("zero_stage")) is not None:
        found["zero_stage"] = ranks.number(word)
        if "sharding" not in found and "sharding" not in of_file:
            found["sharding"] = Field("deepspeed", ranks.origins(word))
    return found


def _of_deepspeed(step: Step, find: Callable[[str], Document | None]) -> dict[str, Field]:
    """DeepSpeed's own file, which `--deepspeed_config_file` names."""
    named = step.last("deepspeed_config")
    held = find(named.text) if named is not None and named.text else None
    if named is None or held is None or not deepspeed_config.claims(held):
        return {}
    return {name: _placed(field, named) or field for name, field in deepspeed_config.stated(held).items()}


def _placed(field: Field | None, named: Argument | None) -> Field | None:
    """A field of a file: the word that names the file first, then where it really stands."""
    if field is None or named is None:
        return field
    origins = (*ranks.origins(named), *field.origins)
    return Field(field.value, tuple(dict.fromkeys(origins)), field.source, field.assumption)
