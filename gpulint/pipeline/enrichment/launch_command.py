"""Launch commands: the GPU count of a configuration file, from its comments or a script in its folder.

If commands start the file with different counts, the count stays unknown.
"""

from __future__ import annotations

import itertools
import posixpath
import re
import shlex
from collections.abc import Iterator, Mapping
from dataclasses import replace

from gpulint.adapters import trainers
from gpulint.adapters.programs import launchers, replica
from gpulint.engines import Argument
from gpulint.source import documents
from gpulint.source.documents import Document
from gpulint.source.repository import Repository, Source
from gpulint.workload import Basis, Field, Origin, Role, Workload

STARTS = re.compile(
    r"^[\s>$#]*((?:tune run|torchrun|accelerate launch|deepspeed|axolotl train|llamafactory-cli train)\s.*)$"
)
"""A command in a comment, with a launcher that takes a configuration."""
CONTINUED = re.compile(r"\\\s*\n\s*#?\s*")
COMMENT = re.compile(r"(?m)^[ \t]*#[ \t]?(.*)$")
SUFFIX = re.compile(r"\.(?:ya?ml|json|toml)$")
CHARACTERS_MAX = 20_000
WORDS_MAX = 200
SCRIPTS_MAX = 20
ONE_GPU = re.compile(r"single_device$")
"""Recipes of torchtune that compute on one GPU (pytorch/torchtune torchtune/_recipe_registry.py)."""
IN_SCRIPT = "from a script in the same folder"
COUNTS = ("processes_per_pod", "pods_per_replica")
Counts = Mapping[str, int]


def merge_launch(workload: Workload, repository: Repository) -> Workload:
    """Return the run of a configuration file with the processes that a command starts for it."""
    if not any(_is_left_open(role) for role in workload.roles):
        return workload
    launched = _read_launch(workload.document, repository)
    if not launched:
        return workload
    roles = (_set_launch(role, launched) if _is_left_open(role) else role for role in workload.roles)
    return replace(workload, roles=tuple(roles))


def _is_left_open(role: Role) -> bool:
    """Return True if a configuration file states nothing about the machines of its run."""
    gpus, nodes = role.fields.get("gpus_per_pod"), role.fields.get("pods_per_replica")
    if gpus is None or nodes is None or gpus.value is not trainers.LAUNCHER:
        return False
    return nodes.source == trainers.ONE_NODE and role.fields["gpus_per_replica"] == replica.product(gpus, nodes)


def _set_launch(role: Role, launched: Mapping[str, Field]) -> Role:
    """Return a role with the nodes and processes of a command, one GPU for each process."""
    nodes = launched.get("pods_per_replica", role.fields["pods_per_replica"])
    gpus = launched["processes_per_pod"]
    return role.having(**{"gpus_per_pod": gpus, "gpus_per_replica": replica.product(gpus, nodes), **launched})


def _read_launch(document: Document, repository: Repository) -> dict[str, Field]:
    """Return processes per node and nodes, if all commands that name the file agree; else nothing."""
    counts = list(_find_in_comments(document))
    where = "from a command in the file's comments"
    if not counts:
        counts, where = list(_find_in_scripts(document, repository)), IN_SCRIPT
    if not counts or any(other != counts[0] for other in counts) or "processes_per_pod" not in counts[0]:
        return {}
    place = (Origin(document, ()),)
    basis: Basis = "joined" if where == IN_SCRIPT else "assumed"
    return {
        name: Field(value, place, assumption=where if name == COUNTS[0] else "", basis=basis)
        for name, value in counts[0].items()
    }


# ---- its own comments


def _find_in_comments(document: Document) -> Iterator[Counts]:
    """Yield the counts of commands in comments. Commands that name another file are skipped."""
    if "#" not in document.text[:CHARACTERS_MAX]:
        return
    comments = "\n".join(match[1] for match in COMMENT.finditer(document.text[:CHARACTERS_MAX]))
    for line in CONTINUED.sub(" ", comments).split("\n"):
        if (started := STARTS.match(line)) and _is_named(document, started[1]):
            yield from _read_counts(document, started[1])


def _is_named(document: Document, command: str) -> bool:
    """Return True if a command names the file, by its path or by the end of it without the suffix."""
    words = command.split()
    whole = SUFFIX.sub("", document.path)
    bare = [SUFFIX.sub("", word) for word in words if "/" in word or SUFFIX.search(word)]
    return any(whole == word or whole.endswith(f"/{word.lstrip('./')}") for word in bare)


def _read_counts(document: Document, command: str) -> Iterator[Counts]:
    try:
        words = shlex.split(command, comments=True)[:WORDS_MAX]
    except ValueError:
        return
    place = Origin(document, ())
    launched = launchers.unwrap([Argument(word, place) for word in words])
    stated = {name: field.value for name, field in launched.fields.items() if name in COUNTS}
    if all(isinstance(value, int) for value in stated.values()) and stated:
        yield stated  # type: ignore[misc]
    elif any(ONE_GPU.search(word) for word in words):
        yield {"processes_per_pod": 1, "pods_per_replica": 1}


# ---- scripts beside it


def _find_in_scripts(document: Document, repository: Repository) -> Iterator[Counts]:
    name = posixpath.basename(document.path).encode()
    for source in itertools.islice(repository.read_siblings(document.path), SCRIPTS_MAX):
        if source.path.endswith((".sh", ".slurm", ".sbatch")) and name in source.content:
            yield from _read_script(source, document.path, repository)


def _read_script(source: Source, path: str, repository: Repository) -> Iterator[Counts]:
    from gpulint.adapters import scripts  # few files are started by a script beside them

    for document in documents.load(source.path, source.content).documents:
        for workload in scripts.workloads(document, repository):
            for role in workload.roles:
                configurations = [role.value(name) for name in ("training_config", "deepspeed_config")]
                if any(
                    isinstance(name, str) and posixpath.basename(name) == posixpath.basename(path)
                    for name in configurations
                ):
                    counts = {name: role.value(name) for name in COUNTS}
                    counts["processes_per_pod"] = counts["processes_per_pod"] or role.value("gpus_per_pod")
                    known_counts = {name: value for name, value in counts.items() if isinstance(value, int)}
                    yield known_counts if len(known_counts) == len(COUNTS) else {}
