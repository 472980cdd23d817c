"""Cerebrium: the cerebrium.toml of an app: its GPU, and the program that it starts."""

from __future__ import annotations

import posixpath
from collections.abc import Iterator, Mapping

from gpulint.adapters.claim import Claim
from gpulint.adapters.platforms import gpu_spec_strings, task
from gpulint.adapters.platforms.gpu_spec_strings import Choice
from gpulint.adapters.programs import container_command, python_program
from gpulint.adapters.programs.container_command import Environment, Script
from gpulint.engines import Argument, Invocation
from gpulint.source.documents import Document, Path
from gpulint.source.repository import Repository
from gpulint.workload import Command, Field, Origin, Role, Unknown, Workload

MENTIONS = ("cerebrium",)
TRIGGERS = ("cerebrium.hardware",)
READS = ("plain",)
CLAIMS = ("shape",)

HARDWARE: Path = ("cerebrium", "hardware")
ENTRYPOINT: Path = ("cerebrium", "runtime", "custom", "entrypoint")
KEYS = ("compute", "gpu")
"""The GPU, by its present and its former key: docs.cerebrium.ai/cerebrium/container-images/defining-container-images."""
PROGRAM = "main.py"
"""The program of an app without an entry point of its own, from the same page."""


def claims(document: Document) -> Claim:
    """Claim a table of Cerebrium's own name."""
    return Claim.SHAPE.where(document.format == "toml" and isinstance(document.get(HARDWARE), dict))


def kind(document: Document) -> str:
    return "Cerebrium app"


def workloads(document: Document, repository: Repository) -> Iterator[Workload]:
    """Yield the one app, if it asks for a GPU."""
    asked = _read_gpus(document)
    if not asked:
        return
    stated = document.get(("cerebrium", "deployment", "name"))
    name = str(stated) if isinstance(stated, str) else "cerebrium"
    anchor = next(iter(asked["accelerator"].origins))
    fields = {
        **asked,
        "pods_per_replica": Field(1, source="one container for each replica"),
        "gpus_per_replica": asked["gpus_per_pod"],
        "replicas": Field(1, source="one replica"),
    }
    invocations = tuple(_list_invocations(document, anchor))
    readings = task.read(invocations)
    command = python_program.choose(invocations) or _build_command(document, anchor, repository)
    roles: tuple[Role, ...] = (
        Role(name, anchor, {**fields, "program": Field(_name(command), (anchor,))}, command=command),
    )
    if readings:
        roles = tuple(task.roles(name, anchor, fields, readings, invocations))
    yield Workload(name, "inference", "cerebrium", document, (), roles)


def _name(command: Command | None) -> str | Unknown:
    words = command.words if command is not None else ()
    return (
        posixpath.basename(words[-1].text or "") if words else Unknown("the image decides what runs", "image default")
    )


def _read_gpus(document: Document) -> dict[str, Field]:
    """Return accelerator and count; of several GPUs, the platform takes the first that it has."""
    stated_at = ((*HARDWARE, key) for key in KEYS)
    place = next((one for one in stated_at if document.get(one) is not None), None)
    if place is None:
        return {}
    stated = document.get(place)
    named = [(at, str(one)) for at, one in enumerate(stated)] if isinstance(stated, list) else [(-1, str(stated))]
    if any(name.upper() == "CPU" for _, name in named) or not named:
        return {}
    path: Path = (*HARDWARE, "gpu_count")
    count = document.get(path)
    gpus = count if isinstance(count, int) and not isinstance(count, bool) else 1
    counted = (Origin(document, path),) if count is not None else ()
    choices = [
        Choice(name.replace(" ", "_"), Origin(document, place if at < 0 else (*place, at)), gpus, counted)
        for at, name in named
    ]
    return gpu_spec_strings.fields("cerebrium", choices) if gpus else {}


def _list_invocations(document: Document, anchor: Origin) -> Iterator[Invocation]:
    stated = document.get(ENTRYPOINT)
    image = Argument(None, anchor, "the platform builds the image")
    if isinstance(stated, str):
        script = Script(stated, lambda start, end: Origin(document, ENTRYPOINT, (start, end)))
        yield from container_command.expand_script(image, script, Environment())
    elif isinstance(stated, list):
        words = tuple(Argument(str(word), Origin(document, (*ENTRYPOINT, at))) for at, word in enumerate(stated))
        yield from container_command.programs(image, words, Environment(), _read_script, image_program=False)


def _read_script(word: Argument) -> Script:
    return Script(word.text or "", lambda start, end: word.origin._replace(span=(start, end)))


def _build_command(document: Document, anchor: Origin, repository: Repository) -> Command | None:
    """Return the start of the app's own program, if nothing else is stated and it is in the same folder."""
    path = posixpath.join(posixpath.dirname(document.path), PROGRAM)
    if isinstance(document.get(("cerebrium", "runtime")), Mapping) or not repository.exists(path):
        return None
    at = Argument("python", anchor)
    return Command(at._replace(text=None), (at, at._replace(text=PROGRAM)), {}, open_environment=True)
