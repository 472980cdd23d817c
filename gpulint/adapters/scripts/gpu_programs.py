"""GPU programs: the commands of a script that compute on GPUs, and how certain that is."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import NamedTuple

from gpulint import engines
from gpulint.adapters.programs import docker_run, processes, program_name, python_program
from gpulint.adapters.programs import launchers as programs_launchers
from gpulint.adapters.programs.gpu_tests import NCCL_TEST
from gpulint.adapters.programs.launchers import AS_MODULE, PYTHON_VALUES, Launch
from gpulint.adapters.programs.process import StartedCommand
from gpulint.adapters.programs.program_name import PYTHON
from gpulint.adapters.scripts import cpu_only_programs, resources_of_process
from gpulint.adapters.trainers.custom_trainer import TRAINERS
from gpulint.engines import Argument, Invocation, Reading
from gpulint.source import excess
from gpulint.source.documents import Document
from gpulint.source.repository import Repository
from gpulint.workload import Command, Container, Origin

SUFFIX = re.compile(r"(?<=.)\.(?:sh|bash|slurm|sbatch|sub|job|pbs|lsf)(?:\.\w+)?$")


PYTHON_PROGRAMS_MAX = 8
"""The most commands of one script whose Python programs are read to learn whether they compute on GPUs."""


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


def find(commands: Sequence[StartedCommand]) -> tuple[GpuProgram, ...]:
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


def starts_own(commands: Sequence[StartedCommand]) -> bool:
    """Return whether a script starts a Python program or a container, which the repository may have."""
    return any(build_command(command) is not None or build_container(command) is not None for command in commands)


def find_in_python(
    commands: Sequence[StartedCommand], document: Document, repository: Repository
) -> Iterator[GpuProgram]:
    """Yield the commands of a script without GPUs whose Python program, in the repository, computes on them."""
    started = [(command, own) for command in commands if (own := build_command(command)) is not None]
    excess.is_over(len(started), PYTHON_PROGRAMS_MAX, "a script without GPUs starts more than {} Python programs")
    for command, own in started[:PYTHON_PROGRAMS_MAX]:
        if cpu_only_programs.prepares(command) or resources_of_process.runs_without_gpus(command):
            continue
        from gpulint.adapters.python import reading

        if reading.computes(own, document.path, repository):
            yield GpuProgram(command, None, 1)


def build_command(command: StartedCommand) -> Command | None:
    """Return the command of a Python program; its environment may hold further variables."""
    if not command.words or python_program.find(command.words) is None:
        return None
    image = command.launch.image or Argument(None, command.words[0].origin, "no image")
    return Command(image, command.words, command.environment, open_environment=True)


def find_built(commands: Sequence[StartedCommand], document: Document, repository: Repository) -> Iterator[GpuProgram]:
    """Yield the containers with GPUs that run the command of their image, which the repository builds."""
    for command in commands:
        container = build_container(command) if not command.words and resources_of_process.has_gpus(command) else None
        if container is None or engines.read(build_invocation(command)) is not None:
            continue
        from gpulint.adapters.images import start

        if start.computes(container, document.path, repository):
            yield GpuProgram(command, None, 3)


def build_container(command: StartedCommand) -> Container | None:
    """Return how `docker run` starts a container; None behind a further launcher."""
    step, image = command.launch.container, command.launch.image
    if step is None or image is None or step.launcher != "docker run" or command.launch.steps[-1] is not step:
        return None
    passed = {word.text for word in step.stated.get("environment", ())} | command.launch.environment.keys()
    environment = {name: word for name, word in command.environment.items() if name in passed}
    entrypoint, folder = step.last("entrypoint"), step.last("workdir")
    return Container(
        image,
        (entrypoint,) if entrypoint is not None else None,
        command.words or None,
        environment,
        "env_file" in step.stated,
        (folder.text if folder is not None else "") or "",
        mounts=docker_run.list_mounts(step),
    )


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
        if find_name(command)
        and find_name(command) not in cpu_only_programs.TOOLS
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
    name = find_name(command)
    launched = bool(command.words) and bool(set(TRAINERS) & set(command.launch.launchers))
    if command.launch.image is None and (not command.words or name in cpu_only_programs.TOOLS) and not launched:
        return None
    reading = engines.read(build_invocation(command))
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


def build_invocation(command: StartedCommand) -> Invocation:
    container = command.launch.container
    image = command.launch.image or Argument(None, command.words[0].origin, "no image")
    own_program = (
        container is not None and container.launcher == "docker run" and not container.stated.get("entrypoint")
    )
    return Invocation(
        image, command.words, command.environment, entrypoint=own_program, conditional=command.conditional
    )


def find_name(command: StartedCommand) -> str:
    """Return the name of the program, or the module or script that an interpreter runs."""
    words = command.words[1:] if command.words and command.words[0].text in AS_MODULE else _strip_options(command.words)
    named = (
        program_name.find_program([build_invocation(command)._replace(arguments=words, entrypoint=False)])
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


def find_purpose(gpu_program: GpuProgram) -> str:
    if engine := find_engine(gpu_program):
        return engines.find_purpose(engine) or "unknown"
    return "training" if set(TRAINERS) & set(gpu_program.one.launch.launchers) else "unknown"


def find_engine(gpu_program: GpuProgram) -> str:
    engine = gpu_program.reading.fields.get("engine") if gpu_program.reading else None
    return str(engine.value) if engine is not None else ""
