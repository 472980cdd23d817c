"""Started workloads: the workloads of the GPU programs that a file starts, with the settings files that they name."""

from __future__ import annotations

import functools
import posixpath
from collections.abc import Callable, Iterator, Sequence

from gpulint import engines
from gpulint.adapters.scripts import gpu_programs, roles
from gpulint.adapters.scripts.gpu_programs import SUFFIX, GpuProgram
from gpulint.adapters.trainers import settings_file
from gpulint.source import excess
from gpulint.source.documents import Document
from gpulint.source.repository import Repository
from gpulint.workload import Origin, Workload

ROLES_MAX = 100


def name_script(document: Document, found: Sequence[GpuProgram]) -> str:
    """Return the name of a script's workloads: of its job, else of the file."""
    named = (program.one.job.settings.get("job_name") for program in found if program.one.job is not None)
    job = next((word.text for word in named if word is not None and word.text), "")
    return job or SUFFIX.sub("", posixpath.basename(document.path))


def build(
    found: Sequence[GpuProgram],
    name: str,
    document: Document,
    repository: Repository,
    anchor: Origin | None = None,
    adapter: str = "scripts",
) -> Iterator[Workload]:
    """Yield the workloads of programs: one for training, one for serving; each of several containers is its own."""
    folder = posixpath.dirname(document.path)
    find = functools.partial(settings_file.find_in_parents, repository, folder)
    programs = tuple(_apply_config(program, find) for program in found)
    purposes = [gpu_programs.find_purpose(program) for program in programs]
    if "training" in purposes:
        purposes = ["training" if purpose == "unknown" else purpose for purpose in purposes]
    for purpose in dict.fromkeys(purposes):
        own = [program for program, its in zip(programs, purposes, strict=True) if its == purpose]
        excess.is_over(len(own), ROLES_MAX, "a script starts more than {} programs on GPUs")
        built = tuple(roles.build(own[:ROLES_MAX], repository, len(programs)))
        yield Workload(name, purpose, adapter, document, (), built, anchor)


def _apply_config(program: GpuProgram, find: Callable[[str], Origin | None]) -> GpuProgram:
    """Return a server or trainer with its settings from a file of the repository."""
    if program.reading is None:
        return program
    started = gpu_programs.build_invocation(program.one)
    whole = settings_file.expand(started, find)
    reading = program.reading if whole is started else engines.read(whole) or program.reading
    return program._replace(reading=settings_file.merge_trainer_files(reading, find))
