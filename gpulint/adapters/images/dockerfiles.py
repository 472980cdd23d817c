"""Dockerfiles: an image that serves a model, if nothing else in the repository builds or runs it.

A manifest, a compose file or a script that runs the image is its workload, and states the GPUs.
"""

from __future__ import annotations

import functools
import posixpath
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace

from gpulint import engines
from gpulint.adapters.claim import Claim
from gpulint.adapters.images import join, layers, start, users
from gpulint.adapters.images.layers import Layer
from gpulint.adapters.platforms import open_machine, task
from gpulint.adapters.trainers import settings_file
from gpulint.catalog import capabilities
from gpulint.engines import Argument, Invocation
from gpulint.source import documents
from gpulint.source.documents import Document
from gpulint.source.repository import Repository
from gpulint.workload import Build, Container, Field, Origin, Workload

MENTIONS = ("FROM ",)
TRIGGERS = ()
READS = ("shell",)

REQUESTED = "ollama"
"""The engine whose requests name the model; an image pulls it while it is built."""
PULLS = re.compile(r"\bollama[ \t]+(?:pull|run)[ \t]+[\"']?(?:\w|\$\{?(?P<variable>\w+))")
FOR_GPUS = re.compile(r"(?i)cuda|rocm|nvidia|gpu|vulkan|musa")
PARAMETERS = re.compile(rb"\$(?:[@*1-9]|\{[@*1-9])")
OPEN = "the command that starts the container may add arguments"


def claims(document: Document) -> Claim:
    """Claim any Dockerfile."""
    return Claim.EXACT.where(documents.is_build(document.path))


def kind(document: Document) -> str:
    return "Dockerfile"


def workloads(document: Document, repository: Repository) -> Iterator[Workload]:
    """Yield the server that an image starts with its model."""
    if not join.is_deployable(document.path):
        return
    build = Build(document.path)
    found = join.read_layers(build, document.path, repository)
    if not found:
        return
    anchor = _locate_base(document, found[0])
    container = Container(Argument(found[0].image.image, anchor), None, None, build=build)
    started = start.read(container, found, repository)
    find = functools.partial(_find_settings, found, repository)
    invocations = [settings_file.expand(_relocate(one), find) for one in started.invocations]
    readings = [
        (reading, one) for reading, one in task.read(invocations, find) if _serves(reading.fields, one.image, found)
    ]
    if not readings or users.is_used(document.path, repository):
        return
    name = _name(document.path)
    fields = open_machine.build(anchor, "the image")
    reason = OPEN if _takes_arguments(found, repository) else ""
    found_roles = task.roles(name, anchor, fields, readings)
    roles = [replace(role, open_ended=role.open_ended or reason) for role in found_roles]
    yield Workload(name, "inference", "dockerfiles", document, (), tuple(roles), anchor)


def serves(path: str, repository: Repository) -> bool:
    """Return whether a Dockerfile is a workload of its own."""
    return any(True for document in repository.read_documents(path) for _ in workloads(document, repository))


def _serves(fields: Mapping[str, Field], image: Argument, found: Sequence[Layer]) -> bool:
    """Return whether an engine serves a model that the image names; one that also computes on processors needs a sign of GPUs."""
    engine = str(fields["engine"].value) if "engine" in fields else ""
    if engines.find_purpose(engine) != "inference":
        return False
    if engine == REQUESTED:
        pulled = PULLS.search(found[0].file.text)
        return pulled is not None and (not pulled["variable"] or pulled["variable"] in layers.merge_variables(found))
    if capabilities.does(engine, "moves_layers_to_cpu") and "gpu_layers" not in fields:
        return FOR_GPUS.search(image.text or "") is not None and _names_model(fields)
    return _names_model(fields)


def _names_model(fields: Mapping[str, Field]) -> bool:
    value = fields["checkpoint"].value if "checkpoint" in fields else None
    return isinstance(value, str) and "$" not in value


def _locate_base(document: Document, layer: Layer) -> Origin:
    """Return the place of the base image, behind FROM."""
    at = layer.image.base_at
    line = document.text[at:].partition("\n")[0]
    return Origin(document, (), (at, at + len(line.split()[0]) if line.split() else at))


def _relocate(invocation: Invocation) -> Invocation:
    """Return a program whose words are where the Dockerfile or its scripts state them."""
    words = tuple(_show(word) for word in invocation.arguments)
    variables = {name: _show(word) for name, word in invocation.environment.items()}
    return invocation._replace(image=_show(invocation.image), arguments=words, environment=variables)


def _show(word: Argument) -> Argument:
    return word._replace(origin=word.behind, behind=None) if word.behind is not None else word


def _find_settings(found: Sequence[Layer], repository: Repository, name: str) -> Origin | None:
    """Return a settings file of the image."""
    folder = next((layer.image.folder for layer in found if layer.image.folder), "")
    path = layers.find_file(found, name, folder, repository)
    return settings_file.find_in_repository(repository, "", path) if path else None


def _takes_arguments(found: Sequence[Layer], repository: Repository) -> bool:
    """Return whether words behind the image's name are added to its own program: an entry point in a list, without CMD.

    A script of the repository takes them only if it names them.
    """
    image = found[0].image
    command, entrypoint = image.command, image.entrypoint
    if entrypoint is None or not entrypoint.words or (command is not None and (command.words or command.script)):
        return False
    if "-c" in entrypoint.words[1:2]:
        return False
    for word in entrypoint.words[:2]:
        path = layers.find_file(found, word, image.folder, repository)
        if path is not None:
            return PARAMETERS.search(repository.read(path) or b"") is not None
    return True


def _name(path: str) -> str:
    """Return a name for the image: that of the Dockerfile, else of its folder."""
    names = [name for name in join.list_names(path) if name and name != "docker"]
    return names[0] if names else posixpath.basename(path)
