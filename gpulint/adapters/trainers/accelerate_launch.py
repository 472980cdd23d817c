"""The options of `accelerate launch` and the file that it names; options take precedence."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from gpulint.adapters import trainers
from gpulint.adapters.programs import processes
from gpulint.adapters.programs.processes import Step
from gpulint.adapters.trainers import accelerate, deepspeed
from gpulint.engines import Argument
from gpulint.engines import trainers as engines_trainers
from gpulint.source.documents import Document
from gpulint.workload import Field, Unknown

LEFT_TO_THE_PROGRAM = frozenset({"gradient_accumulation_steps", "launcher", "engine"})
"""Values that the launched program states itself, or that the Trainer sets by default."""


def counts(step: Step, config: Document) -> dict[str, Field]:
    """Return the nodes and the processes per node, from the command and its file."""
    within = accelerate.read_fields(config, lambda name: None)
    named = step.last("config_file")
    machines = (
        processes.number(word)
        if (word := step.last("nodes"))
        else _add_reference(within.get("pods_per_replica"), named)
    )
    nodes = machines or Field(1, source="default of accelerate")
    fields = {"pods_per_replica": nodes}
    if (whole := processes.total(step)) is not None:
        return {**fields, "processes_per_pod": processes.divide_processes(whole, nodes)}
    stated = accelerate.processes(config)
    if stated is not None:
        fields["processes_per_pod"] = processes.divide_processes(_add_reference(stated, named) or stated, nodes)
    return fields


def fields(step: Step, find: Callable[[str], Document | None]) -> dict[str, Field]:
    """Return number format and sharding, from the options and the files that they name."""
    of_file: dict[str, Field] = {}
    named = step.last("config_file")
    config = find(named.text) if named is not None and named.text else None
    if config is not None and accelerate.claims(config):
        stated = accelerate.read_fields(config, find)
        of_file = {name: _add_reference(field, named) or field for name, field in stated.items()}
    merged = {**of_file, **_read_deepspeed(step, find), **_read_options(step, of_file)}
    if named is not None and not of_file and "sharding" not in merged:
        merged["sharding"] = Field(
            Unknown("the configuration file of accelerate sets it", "another object"), processes.origins(named)
        )
    return {name: field for name, field in merged.items() if name not in trainers.OWN_WORLD | LEFT_TO_THE_PROGRAM}


def _read_options(step: Step, of_file: Mapping[str, Field]) -> dict[str, Field]:
    """Read number format and sharding from the options."""
    fields: dict[str, Field] = {}
    if (word := step.last("mixed_precision")) is not None and (word.text or "") != "no":
        fields["training_dtype"] = engines_trainers.parse_dtype(word)
    for option, sharding in (("multi_gpu", "ddp"), ("use_fsdp", "fsdp"), ("use_deepspeed", "deepspeed")):
        if (word := step.last(option)) is not None:
            fields["sharding"] = Field(sharding, processes.origins(word))
    if (word := step.last("zero_stage")) is not None:
        fields["zero_stage"] = processes.number(word)
        if "sharding" not in fields and "sharding" not in of_file:
            fields["sharding"] = Field("deepspeed", processes.origins(word))
    return fields


def _read_deepspeed(step: Step, find: Callable[[str], Document | None]) -> dict[str, Field]:
    """Read DeepSpeed's own file, which `--deepspeed_config_file` names."""
    named = step.last("deepspeed_config")
    config = find(named.text) if named is not None and named.text else None
    if named is None or config is None or not deepspeed.claims(config):
        return {}
    return {name: _add_reference(field, named) or field for name, field in deepspeed.read_fields(config).items()}


def _add_reference(field: Field | None, named: Argument | None) -> Field | None:
    """Put the word that names a file before the locations of a field of that file."""
    if field is None or named is None:
        return field
    origins = (*processes.origins(named), *field.origins)
    return Field(field.value, tuple(dict.fromkeys(origins)), field.source, field.assumption)
