"""Scripts: batch jobs and launch scripts, and the programs that they start on GPUs."""

from __future__ import annotations

import functools
import math
import posixpath
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import NamedTuple

from gpulint import engines
from gpulint.adapters.claim import Claim
from gpulint.adapters.programs import launchers as programs_launchers
from gpulint.adapters.programs import processes, program_name, replica, slurm
from gpulint.adapters.programs.launchers import AS_MODULE, PYTHON_VALUES, Launch
from gpulint.adapters.programs.process import SUBMITS, Reader, StartedCommand
from gpulint.adapters.programs.program_name import PYTHON
from gpulint.adapters.scripts import cpu_only_programs, here_documents, resources_of_process
from gpulint.adapters.trainers import settings_file
from gpulint.adapters.trainers.custom_trainer import TRAINERS
from gpulint.engines import Argument, Invocation, Reading
from gpulint.engines.trainers import vocabulary
from gpulint.source import excess, shell
from gpulint.source.documents import Document, Problem
from gpulint.source.repository import Repository
from gpulint.workload import Field, Origin, Role, Unknown, Workload

MENTIONS = ("",)
TRIGGERS = ()
READS = ("shell",)

BATCH = re.compile(r"(?m)^[ \t]*#(?:SBATCH|PBS|BSUB)[ \t]")
NCCL_TEST = re.compile(
    r"(?:all_reduce|all_gather|alltoall|reduce_scatter|broadcast|sendrecv|reduce|scatter|gather)_perf(?:_mpi)?"
)
STOPPED = re.compile(r"\bsky[ \t]+(?:down|stop|autostop|jobs|serve)\b|\bautostop\b")
"""Commands that stop a SkyPilot cluster anywhere in a script, or manage it."""
STOPS = re.compile(r"-i\d*$|--idle-minutes-to-autostop|--down$|--dryrun$|-h$|--help$|\$")
"""Options of `sky launch` that stop the cluster.

A placeholder may hold them (sky/client/cli/command.py).
"""
OF_TRAINERS = {"transformers": "trainer", "trl": "trainer", "llama-factory": "llama-factory"}
"""Trainers whose arguments are also keys of their configuration files, and the table that lists
them.
"""
ROLES_MAX = 100
SUFFIX = re.compile(r"(?<=.)\.(?:sh|bash|slurm|sbatch|sub|job|pbs|lsf)(?:\.\w+)?$")


class GpuProgram(NamedTuple):
    """A program that a script starts on GPUs: its reading by an engine, and how certain its GPU use
    is.
    """

    one: StartedCommand
    reading: Reading | None
    rank: int

    @property
    def anchor(self) -> Origin:
        """Locate the start of the command: its first launcher, else the program, else the job's
        first line.
        """
        if not self.rank and self.one.job is not None:
            return self.one.job.first.origin
        steps = [
            step for step in self.one.launch.steps if step.launcher in processes.RANKED or step.launcher == "docker run"
        ]
        word = steps[0].word if steps else self.one.words[0]
        return word.origin


def claims(document: Document) -> Claim:
    """Claim any shell script."""
    return Claim.EXACT.where(document.format == "shell")


def kind(document: Document) -> str:
    """Return the purpose of a script, according to the programs that it starts."""
    text = document.data if isinstance(document.data, str) else ""
    commands, gpu_programs, _ = _analyse(document)
    names = {_find_name(command) for command in commands}
    if BATCH.search(text) or SUBMITS & names:
        return "sbatch script"
    purpose = next((purpose for candidate in gpu_programs if (purpose := _find_purpose(candidate)) != "unknown"), None)
    if purpose is not None:
        return f"{purpose} script"
    if any(step.launcher == "docker run" for command in commands for step in command.launch.steps):
        return "docker script"
    return (
        "cluster script"
        if cpu_only_programs.CLUSTER & names or cpu_only_programs.CLUSTER_LINE.search(text)
        else "shell script"
    )


def workloads(document: Document, repository: Repository) -> Iterator[Workload]:
    """Yield what a script computes on GPUs: one workload for training, one for serving."""
    _, gpu_programs, sources = _analyse(document)
    if any(repository.exists(path) for path in sources):
        gpu_programs = _find_programs(Reader(document, repository).read())
    folder = posixpath.dirname(document.path)
    gpu_programs = tuple(
        _apply_config(gpu_program, functools.partial(settings_file.find_in_parents, repository, folder))
        for gpu_program in gpu_programs
    )
    name = _find_job_name(gpu_programs) or SUFFIX.sub("", posixpath.basename(document.path))
    purposes = [_find_purpose(gpu_program) for gpu_program in gpu_programs]
    if "training" in purposes:
        purposes = ["training" if purpose == "unknown" else purpose for purpose in purposes]
    for purpose in dict.fromkeys(purposes):
        own = [gpu_program for gpu_program, its in zip(gpu_programs, purposes, strict=True) if its == purpose]
        excess.is_over(len(own), ROLES_MAX, "a script starts more than {} programs on GPUs")
        roles = tuple(_build_roles(own[:ROLES_MAX], repository, len(gpu_programs)))
        yield Workload(name, purpose, "scripts", document, (), roles)
    yield from here_documents.workloads(document, repository)


def _apply_config(gpu_program: GpuProgram, find: Callable[[str], Origin | None]) -> GpuProgram:
    """Return a server or trainer with its settings from a file of the repository."""
    if gpu_program.reading is None:
        return gpu_program
    started = _build_invocation(gpu_program.one)
    whole = settings_file.expand(started, find)
    reading = gpu_program.reading if whole is started else engines.read(whole) or gpu_program.reading
    return gpu_program._replace(reading=settings_file.merge_trainer_files(reading, find))


def problems(document: Document) -> Iterator[Problem]:
    """Report a script that exceeds a limit, and a cluster that a script starts and never stops."""
    if not _analyse(document)[0] and (excess := shell.find_excess(document.text)):
        first = document.text.partition("\n")[0]
        yield Problem("input-limit", f"gpulint does not read this: {excess}", document.locate((), span=(0, len(first))))
    if "sky launch" not in document.text or STOPPED.search(document.text):
        return
    for command in _analyse(document)[0]:
        words = [word.source_text or word.text or "" for word in command.words]
        if words[:2] == ["sky", "launch"] and not any(STOPS.match(word) for word in words[2:]):
            place = command.words[0].origin
            message = "the cluster keeps running after the job; add -i MINUTES or --down to stop it"
            yield Problem("cluster-without-autostop", message, place.location())


@functools.lru_cache(maxsize=2)
def _analyse(document: Document) -> tuple[tuple[StartedCommand, ...], tuple[GpuProgram, ...], frozenset[str]]:
    """Return the commands of a script alone, its programs on GPUs, and the files that it sources."""
    reader = Reader(document, None)
    commands = reader.read()
    return commands, _find_programs(commands), frozenset(reader.asked)


# ---- which commands compute on GPUs


def _find_programs(commands: Sequence[StartedCommand]) -> tuple[GpuProgram, ...]:
    """Return the commands that certainly use GPUs, each once; else what a job with GPUs runs."""
    candidates = [found for command in commands if (found := _classify(command)) is not None]
    sure = [found for found in candidates if found.rank > 1] or candidates
    surest: dict[Origin, int] = {}
    for found in sure:
        surest[found.anchor] = max(found.rank, surest.get(found.anchor, 0))
    kept = {(found.anchor, *(word.origin for word in found.one.words[:1])): found for found in reversed(sure)}
    if kept:
        return tuple(found for found in reversed(kept.values()) if found.rank == surest[found.anchor])
    return tuple(_find_fallback(commands))


def _find_fallback(commands: Sequence[StartedCommand]) -> Iterator[GpuProgram]:
    """Yield the last program of a job that requests GPUs if none certainly uses them."""
    inside = [
        command
        for command in commands
        if command.job is not None and command.words and resources_of_process.has_gpus(command)
    ]
    if not inside:
        yield from (
            GpuProgram(command, None, 0)
            for command in commands
            if _runs_a_script(command) and resources_of_process.has_gpus(command)
        )
        return
    running = [
        command
        for command in inside
        if _find_name(command)
        and _find_name(command) not in cpu_only_programs.TOOLS
        and not cpu_only_programs.prepares(command)
        and not _is_inline(command)
    ]
    command = running[-1] if running else inside[0]
    yield GpuProgram(command if running else command._replace(launch=Launch(command.words)), None, 1 if running else 0)


def _classify(command: StartedCommand) -> GpuProgram | None:
    """Return a command as a program on GPUs: of an engine, a launcher, a container or a job with
    GPUs.
    """
    if (
        cpu_only_programs.is_client(command)
        or cpu_only_programs.is_monitor(command)
        or resources_of_process.runs_without_gpus(command)
    ):
        return None
    name = _find_name(command)
    launched = bool(command.words) and bool(set(TRAINERS) & set(command.launch.launchers))
    if command.launch.image is None and (not command.words or name in cpu_only_programs.TOOLS) and not launched:
        return None
    reading = engines.read(_build_invocation(command))
    if reading is not None:
        return GpuProgram(command, reading, 3)
    launchers = command.launch.launchers
    if launched:
        return (
            None
            if cpu_only_programs.prepares(command) and not resources_of_process.has_gpus(command)
            else GpuProgram(command, None, 3)
        )
    if not name or name in cpu_only_programs.TOOLS or _is_inline(command):
        return None
    contained = "docker run" in launchers
    if NCCL_TEST.fullmatch(name) or (contained and resources_of_process.has_gpus(command)):
        return GpuProgram(command, None, 3)
    if not (
        resources_of_process.has_gpus(command) or resources_of_process.is_for_gpus(command)
    ) or cpu_only_programs.prepares(command):
        return None
    if {"srun", "mpirun"} & set(launchers):
        return GpuProgram(command, None, 2)
    return GpuProgram(command, None, 1) if _is_python(command) else None


def _runs_a_script(command: StartedCommand) -> bool:
    """Return True if a Slurm step runs a shell script: `srun --gres=gpu:8 bash train.sh`."""
    script = next((word.text or word.source_text for word in command.words[1:2]), "")
    shell = bool(command.words) and programs_launchers.base(command.words[0]) in ("bash", "sh")
    return shell and SUFFIX.search(script) is not None and "srun" in command.launch.launchers


def _build_invocation(command: StartedCommand) -> Invocation:
    container = command.launch.container
    image = command.launch.image or Argument(None, command.words[0].origin, "no image")
    own_program = (
        container is not None and container.launcher == "docker run" and not container.stated.get("entrypoint")
    )
    return Invocation(
        image, command.words, command.environment, entrypoint=own_program, conditional=command.conditional
    )


def _find_name(command: StartedCommand) -> str:
    """Return the name of the program, or the module or script that an interpreter runs."""
    words = command.words[1:] if command.words and command.words[0].text in AS_MODULE else _strip_options(command.words)
    named = (
        program_name.find_program([_build_invocation(command)._replace(arguments=words, entrypoint=False)])
        if words
        else None
    )
    if named is not None and named.text:
        return named.text
    behind = words[1:] if words and PYTHON.fullmatch(programs_launchers.base(words[0])) else words
    own = (word for word in behind if not (word.text or word.flag).startswith("-"))
    return next((programs_launchers.base(word) for word in own), "")


def _strip_options(words: tuple[Argument, ...]) -> tuple[Argument, ...]:
    """Remove Python's options with a value from a command."""
    while len(words) > 3 and words[1].text in PYTHON_VALUES and PYTHON.fullmatch(programs_launchers.base(words[0])):
        words = (words[0], *words[3:])
    return words


def _is_python(command: StartedCommand) -> bool:
    name = programs_launchers.base(command.words[0]) if command.words else ""
    return PYTHON.fullmatch(name) is not None or name.endswith(".py")


def _is_inline(command: StartedCommand) -> bool:
    """Return True if Python gets its program on the command line or on standard input."""
    return _is_python(command) and (
        any(word.text in ("-c", "-") for word in command.words[1:4])
        or (len(command.words) == 1 and PYTHON.fullmatch(programs_launchers.base(command.words[0])) is not None)
    )


def _find_purpose(gpu_program: GpuProgram) -> str:
    if engine := _find_engine(gpu_program):
        return engines.find_purpose(engine) or "unknown"
    return "training" if set(TRAINERS) & set(gpu_program.one.launch.launchers) else "unknown"


def _find_job_name(gpu_programs: Sequence[GpuProgram]) -> str:
    named = (
        gpu_program.one.job.settings.get("job_name") for gpu_program in gpu_programs if gpu_program.one.job is not None
    )
    return next((word.text for word in named if word is not None and word.text), "")


# ---- roles


def _build_roles(gpu_programs: Sequence[GpuProgram], repository: Repository, programs: int) -> Iterator[Role]:
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
        reading = gpu_program.reading
        yield Role(
            unique,
            gpu_program.anchor,
            fields,
            reading.arguments if reading else None,
            reading.open_ended if reading else "",
        )


def _name_role(gpu_program: GpuProgram) -> str:
    """Return a role's name: of its container, of its image's engine, or else of its program."""
    container = gpu_program.one.launch.container
    if container is not None and (named := container.last("name")) is not None and named.text:
        return named.text
    if not gpu_program.rank or (container is not None and gpu_program.reading is not None):
        return _find_engine(gpu_program) or "job"
    launcher = next(reversed(gpu_program.one.launch.launchers), "job")
    return posixpath.basename(_find_name(gpu_program.one)).removesuffix(".py") or _find_engine(gpu_program) or launcher


def _build_fields(gpu_program: GpuProgram, repository: Repository) -> dict[str, Field]:
    """Return a program's fields. What the job allocates overrides what its engine is told."""
    own = resources_of_process.fields(gpu_program.one, gpu_program.anchor, repository)
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
        and engines.find_purpose(_find_engine(gpu_program)) == "training"
    ):
        both["gpus_per_pod"] = ranks_of_engine
    if "gpus_per_replica" not in engine_fields:
        stated = isinstance(own["gpus_per_replica"].value, int) and own["gpus_per_pod"] == both["gpus_per_pod"]
        total = replica.product(both["gpus_per_pod"], both["pods_per_replica"])
        both["gpus_per_replica"] = own["gpus_per_replica"] if stated and isinstance(total.value, Unknown) else total
    return both


def _find_retired(gpu_program: GpuProgram, repository: Repository) -> dict[str, Field]:
    """Return a trainer's argument that the repository's required releases do not have."""
    format = OF_TRAINERS.get(_find_engine(gpu_program), "")
    if not format:
        return {}
    from gpulint.adapters.programs import unknown_settings

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


def _find_engine(gpu_program: GpuProgram) -> str:
    engine = gpu_program.reading.fields.get("engine") if gpu_program.reading else None
    return str(engine.value) if engine is not None else ""


def _read_own_program(gpu_program: GpuProgram) -> dict[str, Field]:
    """Return the fields of a custom program. A training launcher becomes the engine."""
    command, name = gpu_program.one, _find_name(gpu_program.one)
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
    sizes = (fields[name].value for name in ("tensor_parallel", "pipeline_parallel") if name in fields)
    return isinstance(whole, int) and math.prod(size for size in sizes if isinstance(size, int)) > whole


def _divide_gpus(gpu_program: GpuProgram, fields: dict[str, Field]) -> dict[str, Field]:
    """Return the GPUs of one of several programs: those that it lists.

    Parallel servers leave them unknown, unless all GPUs of the job together are too few for one of them.
    """
    visible, asked = fields.get("visible_devices"), fields["gpus_per_pod"]
    own_step = any(
        {"gpus_per_node", "gres", "gpus", "gpus_per_task"} & step.stated.keys() for step in gpu_program.one.launch.steps
    )
    if visible is not None and visible.value != asked.value:
        total = replica.product(visible, fields["pods_per_replica"])
        return {**fields, "gpus_per_pod": visible, "gpus_per_replica": total}
    if (
        _find_purpose(gpu_program) == "inference"
        and not own_step
        and visible is None
        and gpu_program.one.job is not None
        and not _needs_more_than_all(fields)
    ):
        unknown = Field(Unknown("several servers share the job's GPUs"), asked.origins)
        return {**fields, "gpus_per_pod": unknown, "gpus_per_replica": unknown}
    return fields
