"""Scripts: batch jobs and launch scripts, and the programs that they start on GPUs."""

from __future__ import annotations

import functools
import re
from collections.abc import Iterable, Iterator

from gpulint.adapters.claim import Claim
from gpulint.adapters.programs.process import SUBMITS, Reader, StartedCommand
from gpulint.adapters.scripts import alternatives, cpu_only_programs, gpu_programs, here_documents, started_workloads
from gpulint.adapters.scripts.gpu_programs import GpuProgram
from gpulint.source import documents, recipes, shell
from gpulint.source.documents import Document, Problem
from gpulint.source.repository import Repository
from gpulint.workload import Workload

MENTIONS = ("",)
TRIGGERS = ()
READS = ("shell",)

BATCH = re.compile(r"(?m)^[ \t]*#(?:SBATCH|PBS|BSUB)[ \t]")
STOPPED = re.compile(r"\bsky[ \t]+(?:down|stop|autostop|jobs|serve)\b|\bautostop\b")
"""Commands that stop a SkyPilot cluster anywhere in a script, or manage it."""
STOPS = re.compile(r"-i\d*$|--idle-minutes-to-autostop|--down$|--dryrun$|-h$|--help$|\$")
"""Options of `sky launch` that stop the cluster.

A placeholder may hold them (sky/client/cli/command.py).
"""


def claims(document: Document) -> Claim:
    """Claim any shell script."""
    is_other = recipes.find_dialect(document.path) or documents.is_build(document.path)
    return Claim.EXACT.where(document.format == "shell" and not is_other)


def kind(document: Document) -> str:
    """Return the purpose of a script, according to the programs that it starts."""
    text = document.data if isinstance(document.data, str) else ""
    commands, found, _ = _analyse(document)
    names = {gpu_programs.find_name(command) for command in commands}
    if BATCH.search(text) or SUBMITS & names:
        return "sbatch script"
    purpose = next(
        (purpose for candidate in found if (purpose := gpu_programs.find_purpose(candidate)) != "unknown"), None
    )
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
    """Yield what a script computes on GPUs: one workload for training, one for serving, or those of each preset."""
    commands, found, sources = _analyse(document)
    if found or gpu_programs.starts_own(commands) or any(repository.exists(path) for path in sources):
        read = functools.partial(_read, document, repository)
        for alternative in _leave_out_started(document, repository, alternatives.read(document.text, read)):
            own = alternative.gpu_programs
            name = alternative.name(started_workloads.name_script(document, own))
            yield from started_workloads.build(own, name, document, repository, alternative.anchor)
    yield from here_documents.workloads(document, repository)


def _leave_out_started(
    document: Document, repository: Repository, found: Iterable[alternatives.Alternative]
) -> Iterator[alternatives.Alternative]:
    """Yield what a script starts, unless a container of its image does so on hardware that another file states."""
    for alternative in found:
        if any(program.one.job or program.one.launch.container for program in alternative.gpu_programs):
            yield alternative
            continue
        from gpulint.adapters.images import entry_scripts

        if not alternative.gpu_programs or not entry_scripts.runs_elsewhere(document.path, repository):
            yield alternative


def _read(document: Document, repository: Repository, choices: shell.Choices) -> alternatives.Read:
    reader = Reader(document, repository, choices)
    commands = reader.read()
    found = gpu_programs.find(commands) or tuple(gpu_programs.find_in_python(commands, document, repository))
    built = gpu_programs.find_built(commands, document, repository)
    return alternatives.Read((*found, *built), reader.place_in)


def problems(document: Document) -> Iterator[Problem]:
    """Report a script that exceeds a limit, and a cluster that a script starts and never stops.

    One without options of a batch system whose words expand to too many is only listed as not checked: most such are
    libraries of functions.
    """
    is_job = BATCH.search(document.text) or not shell.is_readable(document.text)
    if is_job and not _analyse(document)[0] and (excess := shell.find_excess(document.text)):
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
    return commands, gpu_programs.find(commands), frozenset(reader.asked)
