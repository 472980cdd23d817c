"""Scripts: batch jobs and launch scripts, and the programs that they start on GPUs."""

from __future__ import annotations

import functools
import posixpath
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import NamedTuple

from gpulint import engines
from gpulint.adapters.programs import launchers as launch
from gpulint.adapters.programs import processes as ranks
from gpulint.adapters.programs import program_name as program
from gpulint.adapters.programs import replica as instance
from gpulint.adapters.programs import slurm
from gpulint.adapters.programs.launchers import AS_MODULE, PYTHON_VALUES, Launch
from gpulint.adapters.programs.process import SUBMITS, Reader, Started
from gpulint.adapters.programs.program_name import PYTHON
from gpulint.adapters.scripts import cpu_only_programs as idle
from gpulint.adapters.scripts import here_documents as applied
from gpulint.adapters.scripts import resources_of_process as allocated
from gpulint.adapters.trainers import settings_file as config_file
from gpulint.adapters.trainers.custom_trainer import TRAINERS
from gpulint.engines import Argument, Invocation, Reading
from gpulint.engines.trainers import vocabulary as training_words
from gpulint.source.documents import Document, Problem
from gpulint.source.repository import Repository
from gpulint.workload import Field, Origin, Role, Unknown, Workload

MENTIONS = ("",)
READS = ("shell",)

BATCH = re.compile(r"(?m)^[ \t]*#(?:SBATCH|PBS|BSUB)[ \t]")
NCCL_TEST = re.compile(
    r"(?:all_reduce|all_gather|alltoall|reduce_scatter|broadcast|sendrecv|reduce|scatter|gather)_perf(?:_mpi)?"
)
STOPPED = re.compile(r"\bsky[ \t]+(?:down|stop|autostop|jobs|serve)\b|\bautostop\b")
"""What stops a cluster of SkyPilot's somewhere in a script, or manages it."""
STOPS = re.compile(r"-i\d*$|--idle-minutes-to-autostop|--down$|--dryrun$|-h$|--help$|\$")
"""skypilot sky/client/cli/command.py, launch; a word that is filled in elsewhere may hold them."""
OF_TRAINERS = {"transformers": "trainer", "trl": "trainer", "llama-factory": "llama-factory"}
"""Trainers whose arguments are settings of their configuration files too, and the table that lists these."""
ROLES_MAX = 24
SUFFIX = re.compile(r"(?<=.)\.(?:sh|bash|slurm|sbatch|sub|job|pbs|lsf)(?:\.\w+)?$")


class Found(NamedTuple):
    """A program that a script starts on GPUs: what an engine makes of it, and how sure it is that GPUs are used."""

    one: Started
    reading: Reading | None
    rank: int

    @property
    def anchor(self) -> Origin:
        """Where the command begins: its first launcher, else the program; of whatever a job runs, the job's first line."""
        if not self.rank and self.one.job is not None:
            return self.one.job.first.origin
        steps = [
            step for step in self.one.launch.steps if step.launcher in ranks.RANKED or step.launcher == "docker run"
        ]
        word = steps[0].word if steps else self.one.words[0]
        return word.origin


def claims(document: Document) -> bool:
    """Any script of a shell."""
    return document.format == "shell"


def kind(document: Document) -> str:
    """What a script is for, as the programs that it starts tell."""
    text = document.data if isinstance(document.data, str) else ""
    commands, found, _ = _understood(document)
    names = {_name(one) for one in commands}
    if BATCH.search(text) or SUBMITS & names:
        return "sbatch script"
    purpose = next((purpose for each in found if (purpose := _purpose(each)) != "unknown"), None)
    if purpose is not None:
        return f"{purpose} script"
    if any(step.launcher == "docker run" for one in commands for step in one.launch.steps):
        return "docker script"
    return "cluster script" if idle.CLUSTER & names or idle.CLUSTER_LINE.search(text) else "shell script"


def workloads(document: Document, repository: Repository) -> Iterator[Workload]:
    """What a script computes on GPUs: one workload for what trains, one for what serves."""
    _, found, sources = _understood(document)
    if any(repository.exists(path) for path in sources):
        found = _found(Reader(document, repository).read())
    folder = posixpath.dirname(document.path)
    found = tuple(
        _configured(each, functools.partial(config_file.of_repository_above, repository, folder)) for each in found
    )
    name = _job_name(found) or SUFFIX.sub("", posixpath.basename(document.path))
    purposes = [_purpose(each) for each in found]
    if "training" in purposes:
        purposes = ["training" if purpose == "unknown" else purpose for purpose in purposes]
    for purpose in dict.fromkeys(purposes):
        own = [each for each, its in zip(found, purposes, strict=True) if its == purpose][:ROLES_MAX]
        yield Workload(name, purpose, "scripts", document, (), tuple(_roles(own, repository, len(found))))
    yield from applied.workloads(document, repository)


def _configured(found: Found, find: Callable[[str], Origin | None]) -> Found:
    """A server or a trainer that takes settings from a file of the repository, with those."""
    if found.reading is None:
        return found
    started = _invocation(found.one)
    whole = config_file.expanded(started, find)
    reading = found.reading if whole is started else engines.read(whole) or found.reading
    return found._replace(reading=config_file.trainer(reading, find))


def problems(document: Document) -> Iterator[Problem]:
    """A cluster of machines that a script starts and nothing of it stops."""
    if "sky launch" not in document.text or STOPPED.search(document.text):
        return
    for one in _understood(document)[0]:
        words = [word.written or word.text or "" for word in one.words]
        if words[:2] == ["sky", "launch"] and not any(STOPS.match(word) for word in words[2:]):
            place = one.words[0].origin
            message = "the cluster stays up after its job; -i MINUTES or --down stops it"
            yield Problem("cluster-without-autostop", message, place.location())


@functools.lru_cache(maxsize=2)
def _understood(document: Document) -> tuple[tuple[Started, ...], tuple[Found, ...], frozenset[str]]:
    """The commands of a script by itself, what they start on GPUs, and the files that it sources."""
    reader = Reader(document, None)
    commands = reader.read()
    return commands, _found(commands), frozenset(reader.asked)


# ---- which commands compute on GPUs


def _found(commands: Sequence[Started]) -> tuple[Found, ...]:
    """The commands that surely compute on GPUs, each once; of a job that asks for GPUs at least whatever it runs."""
    each = [found for one in commands if (found := _one(one)) is not None]
    sure = [found for found in each if found.rank > 1] or each
    surest: dict[Origin, int] = {}
    for found in sure:
        surest[found.anchor] = max(found.rank, surest.get(found.anchor, 0))
    kept = {(found.anchor, *(word.origin for word in found.one.words[:1])): found for found in reversed(sure)}
    if kept:
        return tuple(found for found in reversed(kept.values()) if found.rank == surest[found.anchor])
    return tuple(_whatever(commands))


def _whatever(commands: Sequence[Started]) -> Iterator[Found]:
    """Of a job that asks for GPUs and starts nothing that surely uses them: the last program that it runs."""
    inside = [one for one in commands if one.job is not None and one.words and allocated.given(one)]
    if not inside:
        yield from (Found(one, None, 0) for one in commands if _runs_a_script(one) and allocated.given(one))
        return
    running = [
        one
        for one in inside
        if _name(one) and _name(one) not in idle.TOOLS and not idle.prepares(one) and not _is_inline(one)
    ]
    one = running[-1] if running else inside[0]
    yield Found(one if running else one._replace(launch=Launch(one.words)), None, 1 if running else 0)


def _one(one: Started) -> Found | None:
    """A command as a program on GPUs: an engine, a launcher's, a container's, or what a job with GPUs runs."""
    if idle.is_client(one) or idle.is_monitor(one) or allocated.is_elsewhere(one):
        return None
    name = _name(one)
    launched = bool(one.words) and bool(set(TRAINERS) & set(one.launch.launchers))
    if one.launch.image is None and (not one.words or name in idle.TOOLS) and not launched:
        return None
    reading = engines.read(_invocation(one))
    if reading is not None:
        return Found(one, reading, 3)
    launchers = one.launch.launchers
    if launched:
        return None if idle.prepares(one) and not allocated.given(one) else Found(one, None, 3)
    if not name or name in idle.TOOLS or _is_inline(one):
        return None
    contained = "docker run" in launchers
    if NCCL_TEST.fullmatch(name) or (contained and allocated.given(one)):
        return Found(one, None, 3)
    if not (allocated.given(one) or allocated.is_meant(one)) or idle.prepares(one):
        return None
    if {"srun", "mpirun"} & set(launchers):
        return Found(one, None, 2)
    return Found(one, None, 1) if _is_python(one) else None


def _runs_a_script(one: Started) -> bool:
    """Whether a step of Slurm's runs a script of the shell's: `srun --gres=gpu:8 bash train.sh`."""
    script = next((word.text or word.written for word in one.words[1:2]), "")
    shell = bool(one.words) and launch.base(one.words[0]) in ("bash", "sh")
    return shell and SUFFIX.search(script) is not None and "srun" in one.launch.launchers


def _invocation(one: Started) -> Invocation:
    container = one.launch.container
    image = one.launch.image or Argument(None, one.words[0].origin, "no image")
    own_program = (
        container is not None and container.launcher == "docker run" and not container.stated.get("entrypoint")
    )
    return Invocation(image, one.words, one.environment, entrypoint=own_program, conditional=one.conditional)


def _name(one: Started) -> str:
    """The name of the program: of an interpreter, the module or script that it runs."""
    words = one.words[1:] if one.words and one.words[0].text in AS_MODULE else _without_options(one.words)
    named = program.of([_invocation(one)._replace(arguments=words, entrypoint=False)]) if words else None
    if named is not None and named.text:
        return named.text
    behind = words[1:] if words and PYTHON.fullmatch(launch.base(words[0])) else words
    own = (word for word in behind if not (word.text or word.flag).startswith("-"))
    return next((launch.base(word) for word in own), "")


def _without_options(words: tuple[Argument, ...]) -> tuple[Argument, ...]:
    """Python's command without the options that take a value, which no program is."""
    while len(words) > 3 and words[1].text in PYTHON_VALUES and PYTHON.fullmatch(launch.base(words[0])):
        words = (words[0], *words[3:])
    return words


def _is_python(one: Started) -> bool:
    name = launch.base(one.words[0]) if one.words else ""
    return PYTHON.fullmatch(name) is not None or name.endswith(".py")


def _is_inline(one: Started) -> bool:
    """Whether Python is given its program in the command line, or on its standard input."""
    return _is_python(one) and (
        any(word.text in ("-c", "-") for word in one.words[1:4])
        or (len(one.words) == 1 and PYTHON.fullmatch(launch.base(one.words[0])) is not None)
    )


def _purpose(found: Found) -> str:
    if engine := _engine(found):
        return engines.purpose(engine) or "unknown"
    return "training" if set(TRAINERS) & set(found.one.launch.launchers) else "unknown"


def _job_name(found: Sequence[Found]) -> str:
    named = (each.one.job.stated.get("job_name") for each in found if each.one.job is not None)
    return next((word.text for word in named if word is not None and word.text), "")


# ---- roles


def _roles(found: Sequence[Found], repository: Repository, programs: int) -> Iterator[Role]:
    names: dict[str, int] = {}
    for each in found:
        name = _role_name(each)
        names[name] = names.get(name, 0) + 1
        unique = name if names[name] == 1 else f"{name}-{names[name]}"
        fields = _fields(each, repository)
        if len(found) > 1:
            fields = _shared(each, fields)
        if programs > 1 or each.one.job is None:
            fields["engines_on_card"] = Field(Unknown("other programs may run on the same cards"), (each.anchor,))
        reading = each.reading
        yield Role(
            unique, each.anchor, fields, reading.arguments if reading else None, reading.open_ended if reading else ""
        )


def _role_name(found: Found) -> str:
    """What a program is called: its container's name, its engine where the image starts it, else its own name."""
    container = found.one.launch.container
    if container is not None and (named := container.last("name")) is not None and named.text:
        return named.text
    if not found.rank or (container is not None and found.reading is not None):
        return _engine(found) or "job"
    launcher = next(reversed(found.one.launch.launchers), "job")
    return posixpath.basename(_name(found.one)).removesuffix(".py") or _engine(found) or launcher


def _fields(found: Found, repository: Repository) -> dict[str, Field]:
    """What a program is given, and what its engine makes of it; what the job asks for stands against what it is told."""
    own = allocated.fields(found.one, found.anchor, repository)
    if found.reading is None:
        return {**own, **_own_program(found)}
    told = dict(found.reading.fields)
    counted = ["gpus_per_pod", "pods_per_replica", *(["processes_per_pod"] if _counts_ranks(found.one) else [])]
    for name in counted:
        given = own.get(name)
        if not _open(given) and not _spans_the_job(found.one, name, given, told):
            told.pop(name, None)
    both = {**training_words.settled(told, own), **_retired(found, repository)}
    ranks_of_engine = both.get("processes_per_pod")
    if _open(both["gpus_per_pod"]) and ranks_of_engine is not None and engines.purpose(_engine(found)) == "training":
        both["gpus_per_pod"] = ranks_of_engine
    if "gpus_per_replica" not in told:
        stated = isinstance(own["gpus_per_replica"].value, int) and own["gpus_per_pod"] == both["gpus_per_pod"]
        total = instance.product(both["gpus_per_pod"], both["pods_per_replica"])
        both["gpus_per_replica"] = own["gpus_per_replica"] if stated and isinstance(total.value, Unknown) else total
    return both


def _retired(found: Found, repository: Repository) -> dict[str, Field]:
    """An argument of a trainer that the releases the repository asks for do not have."""
    format = OF_TRAINERS.get(_engine(found), "")
    if not format:
        return {}
    from gpulint.adapters.programs import unknown_settings as misstated

    return misstated.arguments(found.one.words, format, misstated.pins(repository))


def _open(field: Field | None) -> bool:
    """Whether a count is not stated: unknown, or only a default."""
    return field is None or isinstance(field.value, Unknown) or not field.origins


def _counts_ranks(one: Started) -> bool:
    """Whether the innermost launcher starts the ranks; a task of Slurm's may start them itself."""
    launchers = [step for step in one.launch.launchers if step in ranks.RANKED]
    return bool(launchers) and launchers[-1] != "srun"


def _spans_the_job(one: Started, name: str, own: Field | None, told: Mapping[str, Field]) -> bool:
    """Whether an engine spans the nodes of its job although its step starts on fewer: the driver of a Ray cluster."""
    if (
        name != "pods_per_replica"
        or one.job is None
        or own is None
        or name not in told
        or own.value == told[name].value
    ):
        return False
    return slurm.nodes(one.job.stated).value == told[name].value


def _engine(found: Found) -> str:
    engine = found.reading.fields.get("engine") if found.reading else None
    return str(engine.value) if engine is not None else ""


def _own_program(found: Found) -> dict[str, Field]:
    """A program of the repository's own; a launcher of trainings stands for the engine."""
    one, name = found.one, _name(found.one)
    if not found.rank:
        return {"program": Field(Unknown("what the job runs is its own program", "own program"), (found.anchor,))}
    step = next((step for step in reversed(one.launch.steps) if step.launcher in TRAINERS), None)
    launched = {"engine": Field(step.launcher, ranks.origins(step.word))} if step else {}
    if name:
        return {**launched, "program": Field(name, ranks.origins(one.words[0]))}
    if (image := one.launch.image) is not None:
        unread = Unknown("the image decides what runs", "image default")
        return {**launched, "program": Field(unread, ranks.origins(image))}
    return {**launched, "program": Field(Unknown("a program of its own", "own program"), (found.anchor,))}


def _shared(found: Found, fields: dict[str, Field]) -> dict[str, Field]:
    """One of several programs of a script: of the cards that it lists; of servers side by side, nobody knows which."""
    visible, asked = fields.get("visible_devices"), fields["gpus_per_pod"]
    own_step = any(
        {"gpus_per_node", "gres", "gpus", "gpus_per_task"} & step.stated.keys() for step in found.one.launch.steps
    )
    if visible is not None and visible.value != asked.value:
        total = instance.product(visible, fields["pods_per_replica"])
        return {**fields, "gpus_per_pod": visible, "gpus_per_replica": total}
    if _purpose(found) == "inference" and not own_step and visible is None and found.one.job is not None:
        unknown = Field(Unknown("several servers share the job's GPUs"), asked.origins)
        return {**fields, "gpus_per_pod": unknown, "gpus_per_replica": unknown}
    return fields
