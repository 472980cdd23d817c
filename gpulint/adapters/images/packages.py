"""Packages: the releases of engines that a Dockerfile installs, itself or by a requirements file that it copies."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from gpulint.adapters.images import layers as image_layers
from gpulint.adapters.images.layers import Layer
from gpulint.catalog import capabilities
from gpulint.engines import image_tags
from gpulint.source.documents import Document, Node
from gpulint.source.repository import Repository
from gpulint.workload import Origin

PINNED = re.compile(r"(?<![\w.-])(?P<name>[A-Za-z][\w.-]*)(?:\[[\w,. -]*\])?[ \t]*===?[ \t]*(?P<release>\d[\w.+-]*)")
REQUIREMENTS_MAX = 65_536


def render(layers: Sequence[Layer], repository: Repository) -> str:
    """Return the pinned engines of an image as a mark behind its name; empty if it installs none."""
    found = {name: release for name, release, _ in list_pinned(layers, repository)}
    return "".join(f"{image_tags.INSTALLED}{name}=={release}" for name, release in sorted(found.items()))


def list_pinned(layers: Sequence[Layer], repository: Repository) -> Iterator[tuple[str, str, Origin]]:
    """Yield each engine that the layers of an image install in a stated release, the base's first, with its location."""
    engines = capabilities.compile_packages()
    for layer in reversed(layers):
        for install in layer.image.installs:
            for match in PINNED.finditer(install.text):
                if engines.fullmatch(match["name"]) and install.at is not None:
                    span = (install.at + match.start(), install.at + match.end())
                    yield match["name"].lower().replace("_", "-"), match["release"], Origin(layer.file, (), span)
            for name in install.files:
                path = image_layers.find_file((layer,), name, install.folder, repository)
                content = repository.read(path) if path else None
                if path and content is not None and len(content) <= REQUIREMENTS_MAX:
                    text = content.decode("utf-8", "replace")
                    file = Document(path, 0, text, Node("scalar", 0, len(text), text), "shell", text)
                    for match in PINNED.finditer(text):
                        if engines.fullmatch(match["name"]):
                            place = Origin(file, (), match.span())
                            yield match["name"].lower().replace("_", "-"), match["release"], place
