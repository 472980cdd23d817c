"""Layers: a Dockerfile and those of its base images, and the file of the repository behind a path of the image."""

from __future__ import annotations

import posixpath
import re
from collections.abc import Iterator, Mapping, Sequence
from fnmatch import fnmatchcase
from typing import NamedTuple

from gpulint.adapters.programs import dockerfile
from gpulint.adapters.programs.dockerfile import BuiltImage, Copy
from gpulint.source.dockerfile import Setting
from gpulint.source.documents import Document, Node
from gpulint.source.repository import Repository
from gpulint.workload import Build

FROM_MAX = 4
SOURCES_MAX = 40
WILDCARDS_MAX = 4
CONTEXTS_MAX = 8
WILDCARD = re.compile(r"[*?\[]")
PROGRAM_FOLDERS = ("/usr/local/bin", "/usr/bin", "/bin", "/opt/bin")


class Layer(NamedTuple):
    """A Dockerfile, what it states, and the folder of the repository that it copies from."""

    file: Document
    image: BuiltImage
    context: str
    build: Build


def read(build: Build, repository: Repository) -> Layer | None:
    """Return what a Dockerfile of the repository states; None if it is no Dockerfile, or its base is not stated."""
    content = repository.read(build.dockerfile)
    return read_text(content.decode("utf-8", "replace"), build, repository) if content is not None else None


def read_text(text: str, build: Build, repository: Repository) -> Layer | None:
    """Return what the text of a Dockerfile states."""
    image = dockerfile.read(text, build.arguments, build.target)
    if image is None:
        return None
    file = Document(build.dockerfile, 0, text, Node("scalar", 0, len(text), text), "shell", text)
    return Layer(file, image, _find_context(build, image, repository), build)


def _find_context(build: Build, image: BuiltImage, repository: Repository) -> str:
    """Return the context of a build: as stated, else the nearest folder that has most of the files that are copied."""
    folders = [build.context] if build.context is not None else list(_list_above(posixpath.dirname(build.dockerfile)))
    copied = [
        source
        for copy in (*image.copies, *(copy for copies in image.stages.values() for copy in copies))
        if not copy.stage
        for source in copy.sources
        if source.strip("./") and not WILDCARD.search(source)
    ][:SOURCES_MAX]
    counts = [sum(repository.exists(_join(folder, source)) for source in copied) for folder in folders]
    return folders[counts.index(max(counts))]


def _list_above(folder: str) -> Iterator[str]:
    """Yield a folder and those above it, the nearest first."""
    for _ in range(CONTEXTS_MAX):
        yield folder
        if not folder:
            return
        folder = posixpath.dirname(folder)


def _join(folder: str, path: str) -> str:
    """Return a path below a context, which `..` does not leave."""
    return posixpath.normpath(posixpath.join(folder, posixpath.normpath(posixpath.join("/", path)).lstrip("/")))


# ---- files of the image


def find_file(layers: Sequence[Layer], path: str, folder: str, repository: Repository) -> str | None:
    """Return the file of the repository that an image has at a path; a bare name may be a program of its PATH."""
    places = [posixpath.normpath(posixpath.join("/", folder, path))]
    if "/" not in path:
        places += [f"{program}/{path}" for program in PROGRAM_FOLDERS]
    for place in places:
        for layer in layers:
            if found := _find_copied(layer, layer.image.copies, place, repository, FROM_MAX):
                return found
    return None


def _find_copied(layer: Layer, copies: Sequence[Copy], place: str, repository: Repository, left: int) -> str | None:
    for copy in reversed(copies):
        for inside in _list_sources(copy, place):
            if copy.stage:
                named = layer.image.stages.get(copy.stage)
                place_there = posixpath.normpath(posixpath.join("/", inside))
                found = _find_copied(layer, named, place_there, repository, left - 1) if named and left else None
            else:
                found = _join(layer.context, inside)
                found = found if repository.read(found) is not None else None
            if found:
                return found
    return None


def _list_sources(copy: Copy, place: str) -> Iterator[str]:
    """Yield the paths from which COPY may take what lies at a path of the image."""
    is_folder, target = copy.target.endswith("/"), copy.target.rstrip("/") or "/"
    below = posixpath.relpath(place, target) if place.startswith(target.rstrip("/") + "/") else ""
    for source in copy.sources:
        folder, name = posixpath.split(source)
        if WILDCARD.search(source):
            matches = len(WILDCARD.findall(source)) <= WILDCARDS_MAX and not WILDCARD.search(folder)
            first, _, rest = below.partition("/")
            if matches and first and fnmatchcase(first, name):
                yield posixpath.join(folder, first)
                if rest:
                    yield posixpath.join(folder, first, rest)
                    yield posixpath.join(folder, rest)
            continue
        if place == target and not is_folder:
            yield source
        if below and posixpath.basename(posixpath.normpath(source)) == below:
            yield source
        if below:
            yield posixpath.join(source, below)


def merge_variables(layers: Sequence[Layer]) -> Mapping[str, tuple[Layer, Setting]]:
    """Return the variables of an image, each with the layer that states it."""
    return {name: (layer, setting) for layer in reversed(layers) for name, setting in layer.image.settings.items()}
