"""Entry points: words that a container passes to the program of its image, which that program takes for arguments."""

from __future__ import annotations

import re
from collections.abc import Sequence

from gpulint.adapters.images import start
from gpulint.adapters.images.layers import Layer
from gpulint.adapters.programs import processes
from gpulint.adapters.programs.container_command import SHELLS
from gpulint.catalog import tables
from gpulint.catalog.tables import Row
from gpulint.engines import Argument, image_tags
from gpulint.workload import Container, Field

PYTHON = re.compile(r"python[\d.]*")
LIST = re.compile(r"\[[ \t]*[^ \t\[\]].*,.*\]", re.S)
"""A list of words, unlike the test `[ -f FILE ]` of a shell."""


def find_faults(container: Container, layers: Sequence[Layer] = ()) -> dict[str, Field]:
    """Return the faults in how a container starts; `layers` are the Dockerfiles of its image, if they are known."""
    entrypoint, command, of_image = start.choose_words(container, layers)
    assumption = layers[0].build.assumption if layers else ""
    found = _find_malformed(entrypoint, assumption) or _find_malformed(command, assumption)
    if not of_image or entrypoint or found:
        return found
    entry = _find_entry(_name_image(container, layers))
    return _find_repeated(entry, command, assumption) if entry is not None else {}


def _name_image(container: Container, layers: Sequence[Layer]) -> str:
    """Return the published image whose entry point runs: the container's own, or the base of its Dockerfiles."""
    if layers:
        return layers[-1].image.image.partition("@")[0].removesuffix(":$built")
    return container.image.text or ""


def _find_entry(image: str) -> Row | None:
    repository, tag = image_tags.split_image(image)
    row = tables.index_rows("image_entry_points", "image").get(repository.removeprefix("docker.io/"))
    return row if row is not None and tag.startswith(row["tags"]) else None


def _find_repeated(entry: Row, command: Sequence[Argument], assumption: str) -> dict[str, Field]:
    """Return the words that start a program although the entry point takes them for its own arguments."""
    first = command[0] if command else None
    name = ((first.text if first is not None else None) or "").rsplit("/", 1)[-1]
    second = (command[1].text if len(command) > 1 else None) or ""
    starts = name in entry["programs"].split() or name in SHELLS or PYTHON.fullmatch(name)
    if first is None or not (starts or (name in entry["verbs"].split() and second and not second.startswith("-"))):
        return {}
    words = f"{name} {second}" if name not in SHELLS and second and not second.startswith("/") else name
    return {
        "repeated_program": Field(words, processes.origins(first), assumption=assumption),
        "image_program": Field(entry["entry_point"], source=entry["source"]),
    }


def _find_malformed(words: Sequence[Argument], assumption: str) -> dict[str, Field]:
    """Return ENTRYPOINT or CMD of a Dockerfile if it is written as a list but is no list of strings in JSON."""
    if [word.text for word in words[:2]] != list(start.SHELL) or len(words) < 3:
        return {}
    text, place = (words[2].text or "").strip(), words[2]
    if place.behind is None or not LIST.fullmatch(text):
        return {}
    return {
        "malformed_start": Field(
            text if len(text) < 60 else f"{text[:56]} …", processes.origins(place), assumption=assumption
        )
    }
