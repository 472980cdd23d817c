"""Packages: the releases of engines that a Dockerfile installs, itself or by a requirements file that it copies."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import NamedTuple

from gpulint.adapters.images import layers as image_layers
from gpulint.adapters.images.layers import Layer
from gpulint.adapters.programs import package_names
from gpulint.engines import image_tags
from gpulint.source.documents import Document, Node
from gpulint.source.repository import Repository
from gpulint.workload import Origin

REQUIREMENTS_MAX = 65_536


class Installed(NamedTuple):
    """A package that an image installs: its name, its release if that is stated, and where.

    `is_open` says that nothing behind the name chooses a release or a source, and no file of constraints does.
    """

    name: str
    release: str
    place: Origin | None
    is_open: bool = False


def render(layers: Sequence[Layer], repository: Repository) -> str:
    """Return the pinned engines of an image as a mark behind its name; of one with several pins, nothing."""
    found: dict[str, set[str]] = {}
    for package in list_engines(layers, repository):
        found.setdefault(package.name, set()).add(package.release)
    pinned = {name: releases.pop() for name, releases in found.items() if len(releases) == 1}
    return "".join(f"{image_tags.INSTALLED}{name}=={release}" for name, release in sorted(pinned.items()) if release)


def list_engines(layers: Sequence[Layer], repository: Repository) -> Iterator[Installed]:
    """Yield each engine that the layers of an image install, the base's first."""
    for layer in reversed(layers):
        for install in layer.image.installs:
            for package in package_names.read(install.text):
                start, end = package.span
                place = (
                    Origin(layer.file, (), (install.at + start, install.at + end)) if install.at is not None else None
                )
                yield Installed(
                    package.name, package.release if place else "", place, package_names.is_open(install.text, package)
                )
            for name in install.files:
                yield from _read_requirements(layer, name, install.folder, repository)


def _read_requirements(layer: Layer, name: str, folder: str, repository: Repository) -> Iterator[Installed]:
    path = image_layers.find_file((layer,), name, folder, repository)
    content = repository.read(path) if path else None
    if path is None or content is None or len(content) > REQUIREMENTS_MAX:
        return
    text = content.decode("utf-8", "replace")
    file = Document(path, 0, text, Node("scalar", 0, len(text), text), "shell", text)
    for package in package_names.read(re.sub(r"#[^\n]*", lambda match: " " * len(match[0]), text)):
        yield Installed(
            package.name, package.release, Origin(file, (), package.span), package_names.is_open(text, package)
        )
