"""Launched by: on how many GPUs a configuration file is started, as its own comments or a script beside it say.

A file that several commands start differently is started on as many as whoever starts it decides.
"""

from __future__ import annotations

import posixpath
import re
import shlex
from collections.abc import Iterator, Mapping

from gpulint.adapters.programs import launchers as launch
from gpulint.engines import Argument
from gpulint.source import documents
from gpulint.source.documents import Document
from gpulint.source.repository import Repository, Source
from gpulint.workload import Field, Origin

STARTS = re.compile(
    r"^[\s>$#]*((?:tune run|torchrun|accelerate launch|deepspeed|axolotl train|llamafactory-cli train)\s.*)$"
)
"""A line of a comment that is a command: one of a launcher that takes a configuration."""
CONTINUED = re.compile(r"\\\s*\n\s*#?\s*")
COMMENT = re.compile(r"(?m)^[ \t]*#[ \t]?(.*)$")
SUFFIX = re.compile(r"\.(?:ya?ml|json|toml)$")
CHARACTERS_MAX = 20_000
WORDS_MAX = 200
SCRIPTS_MAX = 20
ONE_GPU = re.compile(r"single_device$")
"""Recipes of torchtune that compute on one GPU (pytorch/torchtune torchtune/_recipe_registry.py)."""
COUNTS = ("processes_per_pod", "pods_per_replica")
Counts = Mapping[str, int]


def fields(document: Document, repository: Repository) -> dict[str, Field]:
    """Processes of a node and nodes, where every command that names the file agrees; else nothing."""
    told = list(_in_comments(document))
    where = "a comment in the file starts it so"
    if not told:
        told, where = list(_in_scripts(document, repository)), "a script beside it starts it so"
    if not told or any(one != told[0] for one in told) or "processes_per_pod" not in told[0]:
        return {}
    place = (Origin(document, ()),)
    return {name: Field(value, place, assumption=where if name == COUNTS[0] else "") for name, value in told[0].items()}


# ---- its own comments


def _in_comments(document: Document) -> Iterator[Counts]:
    """What the commands of comments state; those that name another file are none of it."""
    if "#" not in document.text[:CHARACTERS_MAX]:
        return
    comments = "\n".join(match[1] for match in COMMENT.finditer(document.text[:CHARACTERS_MAX]))
    for line in CONTINUED.sub(" ", comments).split("\n"):
        if (started := STARTS.match(line)) and _names(document, started[1]):
            yield from _counts(document, started[1])


def _names(document: Document, command: str) -> bool:
    """Whether a command names the file: by its path, or by the end of it without the suffix."""
    words = command.split()
    whole = SUFFIX.sub("", document.path)
    bare = [SUFFIX.sub("", word) for word in words if "/" in word or SUFFIX.search(word)]
    return any(whole == one or whole.endswith(f"/{one.lstrip('./')}") for one in bare)


def _counts(document: Document, command: str) -> Iterator[Counts]:
    try:
        words = shlex.split(command, comments=True)[:WORDS_MAX]
    except ValueError:
        return
    place = Origin(document, ())
    found = launch.unwrapped([Argument(word, place) for word in words])
    stated = {name: field.value for name, field in found.fields.items() if name in COUNTS}
    if all(isinstance(value, int) for value in stated.values()) and stated:
        yield stated  # type: ignore[misc]
    elif any(ONE_GPU.search(word) for word in words):
        yield {"processes_per_pod": 1, "pods_per_replica": 1}


# ---- scripts beside it


def _in_scripts(document: Document, repository: Repository) -> Iterator[Counts]:
    name = posixpath.basename(document.path).encode()
    for source in list(repository.beside(document.path))[:SCRIPTS_MAX]:
        if source.path.endswith((".sh", ".slurm", ".sbatch")) and name in source.content:
            yield from _of_script(source, document.path, repository)


def _of_script(source: Source, path: str, repository: Repository) -> Iterator[Counts]:
    from gpulint.adapters import scripts as script

    for document in documents.load(source.path, source.content).documents:
        for workload in script.workloads(document, repository):
            for role in workload.roles:
                named = [role.value(one) for one in ("training_config", "deepspeed_config")]
                if any(isinstance(one, str) and posixpath.basename(one) == posixpath.basename(path) for one in named):
                    counts = {one: role.value(one) for one in COUNTS}
                    counts["processes_per_pod"] = counts["processes_per_pod"] or role.value("gpus_per_pod")
                    known = {one: value for one, value in counts.items() if isinstance(value, int)}
                    yield known if len(known) == len(COUNTS) else {}
