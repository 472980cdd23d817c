"""Unpinned builds: Dockerfiles that take whichever release of an engine is newest when they are built."""

from __future__ import annotations

import posixpath
import re
from collections.abc import Iterator

from gpulint import engines
from gpulint.adapters.images import declared, join, layers, packages
from gpulint.adapters.images.layers import Layer
from gpulint.adapters.pods import image_tag
from gpulint.catalog import capabilities
from gpulint.engines import Argument, Invocation, image_tags
from gpulint.source.documents import Document, Problem
from gpulint.source.repository import Repository
from gpulint.workload import Build, Container, Origin

DESCRIPTION_BYTES_MAX = 100_000
TAGS = re.compile(r"(?:-t|--tag)[ =](?P<image>[\w./:-]+)")
RULE = "engine-build-unpinned"
BASE = "the base image {} is not pinned: a later build may take another release of {}; use a version tag or a digest"
PACKAGE = "{0} is installed without its release: a later build may take another one; state {0}==<release>"
CLONE = "{0} is cloned without a tag: a later build may take another state; clone it with --branch <tag>"
FOR_GPUS = re.compile(r"(?i)cuda|rocm|nvidia|gpu")
ON_CPU = re.compile(r"(?<![a-z])cpu(?![a-z])")
CLONES = re.compile(r"\bgit[ \t]+(?:-c[ \t]+\S+[ \t]+)?clone\b(?P<words>[^\n;&|]*)")
REPOSITORY = re.compile(r"(?:https://|git@)[\w.-]+[/:][\w.-]+/(?P<name>[\w.-]+?)(?:\.git)?/?(?=[\s\"']|$)")
CHOSEN = re.compile(r"(?:^|[ \t])(?:-b|--branch|--revision)(?:[ \t=]|$)")
STATEMENT = re.compile(r"[^;&|\n]++")
CHOOSERS = frozenset({"checkout", "switch", "reset"})
BRANCH = re.compile(r"(?<![\w/-])(?:origin/|(?:main|master|HEAD)(?![\w/-]))")
"""What a command that moves a clone names if it follows a branch."""


def find_problems(document: Document, repository: Repository) -> Iterator[Problem]:
    """Yield what a Dockerfile leaves open of the engine that its image has."""
    if not join.is_deployable(document.path):
        return
    layer = layers.read_text(document.text, Build(document.path), repository)
    if layer is None:
        return
    yield from _check_base(layer, document, repository)
    yield from _check_packages(layer, document, repository)
    yield from _check_clones(document)


def _check_base(layer: Layer, document: Document, repository: Repository) -> Iterator[Problem]:
    base = layer.image.base
    if not image_tag.moves(base, complete=True) or ON_CPU.search(base):
        return
    place = _locate_base(base, layer.image.base_at, document)
    engine = _find_engine(base, place, document)
    is_default = place.span is not None and place.span[0] < layer.image.base_at
    if not engine or _is_built_here(base, place, document, repository):
        return
    if not (is_default and _is_replaced(base, document.path, repository)):
        yield Problem(RULE, BASE.format(base, engine), place.location())


def _locate_base(base: str, at: int, document: Document) -> Origin:
    """Return the place of a base image: behind FROM, else where an argument before it has it as its default."""
    line = document.text[at:].partition("\n")[0]
    start = at + line.find(base) if base in line else document.text.rfind(base, 0, at)
    return Origin(document, (), (start, start + len(base)) if start >= 0 else (at, at + len(line.rstrip())))


def _find_engine(image: str, place: Origin, document: Document) -> str:
    """Return the engine that an image is of: by its maker's name, or by a word of its name if the file is about GPUs."""
    found = engines.read(Invocation(Argument(image, place), (), {}, entrypoint=True))
    engine = str(found.fields["engine"].value) if found is not None and "engine" in found.fields else ""
    if engines.find_purpose(engine) == "inference":
        return engine
    name = image_tags.split_image(image)[0].rpartition("/")[2]
    words = [word for word in re.split(r"[-_.]", name) if capabilities.compile_packages().fullmatch(word)]
    return words[0] if words and (join.is_published(image) or FOR_GPUS.search(document.text)) else ""


def _is_built_here(image: str, place: Origin, document: Document, repository: Repository) -> bool:
    """Return whether the repository builds the base image itself."""
    if join.is_published(image):
        return False
    found = join.find(Container(Argument(image, place), None, None), document.path, repository)
    return any(one.build.dockerfile != document.path for one in found) or _is_described(image, document, repository)


def _is_described(image: str, document: Document, repository: Repository) -> bool:
    """Return whether a description of the repository builds an image by hand."""
    beside = repository.read(posixpath.join(posixpath.dirname(document.path), "README.md"))
    name = image_tags.split_image(image)[0]
    for content in (beside, repository.read_at_root("README.md")):
        text = (content or b"")[:DESCRIPTION_BYTES_MAX].decode("utf-8", "replace")
        if any(image_tags.split_image(tag["image"])[0] == name for tag in TAGS.finditer(text)):
            return True
    return False


def _is_replaced(base: str, path: str, repository: Repository) -> bool:
    """Return whether a build of the repository states other arguments for a Dockerfile."""
    return any(
        one.arguments and base not in dict(one.arguments).values() and declared.resolve(one, (path,)) is not None
        for one in join.list_declared(path, repository)
    )


# ---- packages


def _check_packages(layer: Layer, document: Document, repository: Repository) -> Iterator[Problem]:
    """Yield the engines that are installed in no stated release, unless another command of the image states it."""
    installed = list(packages.list_engines((layer,), repository))
    pinned = {package.name for package in installed if package.release}
    seen: set[str] = set()
    for package in installed:
        if package.place is None or package.name in pinned | seen or not package.is_open:
            continue
        seen.add(package.name)
        yield Problem(RULE, PACKAGE.format(package.name), package.place.location())


# ---- clones


def _check_clones(document: Document) -> Iterator[Problem]:
    """Yield the engines whose own repository is cloned without a tag."""
    for clone in CLONES.finditer(document.text):
        named = REPOSITORY.search(clone["words"])
        if named is None or CHOSEN.search(clone["words"]) or _chooses(document.text[clone.end() :]):
            continue
        if not capabilities.compile_packages().fullmatch(named["name"].lower()):
            continue
        start = clone.start("words") + named.start()
        place = Origin(document, (), (start, clone.start("words") + named.end()))
        yield Problem(RULE, CLONE.format(named["name"]), place.location())


def _chooses(text: str) -> bool:
    """Return whether a later command of Git takes a stated commit or tag."""
    for statement in STATEMENT.finditer(text):
        words = statement[0].split()
        if "git" in words and (CHOOSERS & set(words) or "pull/" in statement[0]) and not BRANCH.search(statement[0]):
            return True
    return False
