"""Roles: what each GPU program of a script is given, and what its engine makes of its arguments."""

from __future__ import annotations

import math
import posixpath
from collections.abc import Iterator, Mapping, Sequence

from gpulint import engines
from gpulint.adapters.programs import example_settings, processes, replica, slurm
from gpulint.adapters.programs.process import StartedCommand
from gpulint.adapters.scripts import gpu_programs as scripts_gpu_programs
from gpulint.adapters.scripts import resources_of_process
from gpulint.adapters.scripts.gpu_programs import GpuProgram
from gpulint.adapters.trainers.custom_trainer import TRAINERS
from gpulint.engines.trainers import vocabulary
from gpulint.source.repository import Repository
from gpulint.workload import Field, Origin, Role, Unknown


def build(gpu_programs: Sequence[GpuProgram], repository: Repository, programs: int) -> Iterator[Role]:
    names: dict[str, int] = {}
    for gpu_program in gpu_programs:
        name = _name_role(gpu_program)
        names[name] = names.get(name, 0) + 1
        unique = name if names[name] == 1 else f"{name}-{names[name]}"
        fields = _build_fields(gpu_program, repository)
        if len(gpu_programs) > 1:
            fields = _divide_gpus(gpu_program, fields)
        if programs > 1 or gpu_program.one.job is None:
            fields["engines_on_card"] = Field(Unknown("other programs may run on the same GPUs"), (gpu_program.anchor,))
        fields |= example_settings.build(gpu_program.one.example) | _list_sources(gpu_program.one)
        reading = gpu_program.reading
        yield Role(
            unique,
            gpu_program.anchor,
            fields,
            reading.arguments if reading else None,
            reading.open_ended if reading else "",
            command=scripts_gpu_programs.build_command(gpu_program.one),
            container=scripts_gpu_programs.build_container(gpu_program.one),
        )


def _list_sources(command: StartedCommand) -> dict[str, Field]:
    """Return the files that the script of a command sources."""
    found = tuple(Origin(document, ()) for document in command.sources)
    return {"sourced_files": Field(", ".join(one.document.path for one in found), found)} if found else {}


def _name_role(gpu_program: GpuProgram) -> str:
    """Return a role's name: of its container, of its image's engine, or else of its program."""
    container = gpu_program.one.launch.container
    if container is not None and (named := container.last("name")) is not None and named.text:
        return named.text
    if not gpu_program.rank or (container is not None and gpu_program.reading is not None):
        return scripts_gpu_programs.find_engine(gpu_program) or "job"
    launcher = next(reversed(gpu_program.one.launch.launchers), "job")
    return (
        posixpath.basename(scripts_gpu_programs.find_name(gpu_program.one)).removesuffix(".py")
        or scripts_gpu_programs.find_engine(gpu_program)
        or launcher
    )


def _build_fields(gpu_program: GpuProgram, repository: Repository) -> dict[str, Field]:
    """Return a program's fields. What the job allocates overrides the arguments of the engine."""
    command = _leave_step(gpu_program.one) if _drives_ray(gpu_program, repository) else gpu_program.one
    own = resources_of_process.fields(command, gpu_program.anchor, repository)
    if gpu_program.reading is None:
        return {**own, **_read_own_program(gpu_program)}
    engine_fields = dict(gpu_program.reading.fields)
    counted = ["gpus_per_pod", "pods_per_replica", *(["processes_per_pod"] if _counts_ranks(gpu_program.one) else [])]
    for name in counted:
        given = own.get(name)
        if not _is_open(given) and not _spans_the_job(gpu_program.one, name, given, engine_fields):
            engine_fields.pop(name, None)
    both = {**vocabulary.merge_launcher(engine_fields, own), **_find_retired(gpu_program, repository)}
    ranks_of_engine = both.get("processes_per_pod")
    if (
        _is_open(both["gpus_per_pod"])
        and ranks_of_engine is not None
        and engines.find_purpose(scripts_gpu_programs.find_engine(gpu_program)) == "training"
    ):
        both["gpus_per_pod"] = ranks_of_engine
    if "gpus_per_replica" not in engine_fields:
        stated = isinstance(own["gpus_per_replica"].value, int) and own["gpus_per_pod"] == both["gpus_per_pod"]
        total = replica.product(both["gpus_per_pod"], both["pods_per_replica"])
        both["gpus_per_replica"] = own["gpus_per_replica"] if stated and isinstance(total.value, Unknown) else total
    return both


def _drives_ray(gpu_program: GpuProgram, repository: Repository) -> bool:
    """Return True if a program computes on the nodes of its job on which the script started Ray.

    An engine stays on its own node unless it is told to use Ray, or its ranks are more than the GPUs of the node
    (vLLM 0.10, vllm/config/parallel.py).
    """
    command, reading = gpu_program.one, gpu_program.reading
    ranked = [launcher for launcher in command.launch.launchers if launcher in processes.RANKED]
    if not command.ray_spans_job or ranked != ["srun"]:
        return False
    if reading is None:
        return True
    if any(word.text in ("ray", "--distributed-executor-backend=ray") for word in command.words):
        return True
    stated = resources_of_process.fields(command, gpu_program.anchor, repository)["gpus_per_replica"].value
    return isinstance(stated, int) and _count_ranks(reading.fields) > stated


def _leave_step(command: StartedCommand) -> StartedCommand:
    """Return a command without the nodes and tasks of its own step, which only starts the driver."""
    steps = tuple(
        step._replace(stated={name: words for name, words in step.stated.items() if name not in ("nodes", "ntasks")})
        for step in command.launch.steps
    )
    return command._replace(launch=command.launch._replace(steps=steps))


def _find_retired(gpu_program: GpuProgram, repository: Repository) -> dict[str, Field]:
    """Return a trainer's argument that the repository's required releases do not have."""
    from gpulint.adapters.programs import unknown_settings

    format = unknown_settings.OF_TRAINERS.get(scripts_gpu_programs.find_engine(gpu_program), "")
    if not format:
        return {}
    return unknown_settings.arguments(gpu_program.one.words, format, unknown_settings.pins(repository))


def _is_open(field: Field | None) -> bool:
    """Return True if a count is not stated: it is unknown, or a default."""
    return field is None or isinstance(field.value, Unknown) or not field.origins


def _counts_ranks(command: StartedCommand) -> bool:
    """Return True if the innermost launcher starts the ranks, not a Slurm task."""
    launchers = [step for step in command.launch.launchers if step in processes.RANKED]
    return bool(launchers) and launchers[-1] != "srun"


def _spans_the_job(command: StartedCommand, name: str, own: Field | None, engine_fields: Mapping[str, Field]) -> bool:
    """Return True if an engine spans its job's nodes though its step starts on fewer: a Ray driver."""
    if (
        name != "pods_per_replica"
        or command.job is None
        or own is None
        or name not in engine_fields
        or own.value == engine_fields[name].value
    ):
        return False
    return slurm.nodes(command.job.settings).value == engine_fields[name].value


def _read_own_program(gpu_program: GpuProgram) -> dict[str, Field]:
    """Return the fields of a custom program. A training launcher becomes the engine."""
    command, name = gpu_program.one, scripts_gpu_programs.find_name(gpu_program.one)
    if not gpu_program.rank:
        return {"program": Field(Unknown("what the job runs is its own program", "own program"), (gpu_program.anchor,))}
    step = next((step for step in reversed(command.launch.steps) if step.launcher in TRAINERS), None)
    launched = {"engine": Field(step.launcher, processes.origins(step.word))} if step else {}
    if name:
        return {**launched, "program": Field(name, processes.origins(command.words[0]))}
    if (image := command.launch.image) is not None:
        unread = Unknown("the image decides what runs", "image default")
        return {**launched, "program": Field(unread, processes.origins(image))}
    return {**launched, "program": Field(Unknown("a program of its own", "own program"), (gpu_program.anchor,))}


def _needs_more_than_all(fields: Mapping[str, Field]) -> bool:
    """Whether the parallelism that a program states needs more GPUs than the job has."""
    whole = fields["gpus_per_replica"].value if "gpus_per_replica" in fields else None
    return isinstance(whole, int) and _count_ranks(fields) > whole


def _count_ranks(fields: Mapping[str, Field]) -> int:
    """Return the ranks of one copy of the model that a program states."""
    sizes = (fields[name].value for name in ("tensor_parallel", "pipeline_parallel") if name in fields)
    return math.prod(size for size in sizes if isinstance(size, int))


def _divide_gpus(gpu_program: GpuProgram, fields: dict[str, Field]) -> dict[str, Field]:
    """Return the GPUs of one of several programs: those that it lists.

    Parallel servers leave them unknown, unless the job has only one, or all of them are too few for one server.
    """
    visible, asked = fields.get("visible_devices"), fields["gpus_per_pod"]
    own_step = any(
        {"gpus_per_node", "gres", "gpus", "gpus_per_task"} & step.stated.keys() for step in gpu_program.one.launch.steps
    )
    if visible is not None and visible.value != asked.value:
        total = replica.product(visible, fields["pods_per_replica"])
        return {**fields, "gpus_per_pod": visible, "gpus_per_replica": total}
    if (
        scripts_gpu_programs.find_purpose(gpu_program) == "inference"
        and not own_step
        and visible is None
        and gpu_program.one.job is not None
        and asked.value != 1
        and not _needs_more_than_all(fields)
    ):
        unknown = Field(Unknown("several servers share the job's GPUs"), asked.origins)
        return {**fields, "gpus_per_pod": unknown, "gpus_per_replica": unknown}
    return fields
