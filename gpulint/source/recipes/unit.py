"""Units: services of systemd, and containers of Podman's Quadlet, as the commands that they run."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from gpulint.source.recipes import sections
from gpulint.source.recipes.sections import Entry
from gpulint.source.recipes.translated import HOLE, Builder, Recipe

PREFIX = re.compile(r"[-@:+!|]*")
"""What may stand before the program of ExecStart (systemd.service(5))."""
PAIR = re.compile(
    r"\"(?P<double>[A-Za-z_]\w*+=[^\"\n]*)\"|'(?P<single>[A-Za-z_]\w*+=[^'\n]*)'|(?<!\w)(?P<bare>[A-Za-z_]\w*+=[^\s\"']*)"
)
SPECIFIER = re.compile(r"%(?:(?P<percent>%)|[a-zA-Z])")
OPTIONS = {
    "AddDevice": "--device",
    "EnvironmentFile": "--env-file",
    "Volume": "-v",
    "ShmSize": "--shm-size",
    "ContainerName": "--name",
    "Entrypoint": "--entrypoint",
}
"""Keys of `[Container]` and the options of `podman run` that they stand for (podman-systemd.unit(5))."""


def read(text: str) -> Iterator[Recipe]:
    """Yield the service that a unit starts."""
    entries = list(sections.read(text))
    container = [entry for entry in entries if entry.section == "Container"]
    if any(entry.key == "Image" for entry in container):
        yield _build_container(container)
        return
    service = [entry for entry in entries if entry.section == "Service"]
    started = [entry for entry in service if entry.key == "ExecStart" and entry.value.strip()]
    if started:
        yield _build_service(service, started)


def _build_service(service: Sequence[Entry], started: Sequence[Entry]) -> Recipe:
    builder = Builder(started[-1].start)
    for entry in service:
        if entry.key == "Environment":
            _add_pairs(builder, entry, "export ", "\n")
        elif entry.key == "EnvironmentFile":
            name = entry.value.strip().lstrip("-").rpartition("/")[2]
            if re.fullmatch(r"[\w.-]+", name):
                builder.add(f"set -a; . ./{name}; set +a\n", entry.start, entry.start + len(entry.value))
    for entry in started:
        prefix = PREFIX.match(entry.value)
        skipped = prefix.end() if prefix else 0
        _add(builder, entry.value[skipped:], entry.start + skipped)
        builder.add("\n", None)
    return Recipe("", started[-1].named, builder.finish())


def _build_container(container: Sequence[Entry]) -> Recipe:
    """Return the `podman run` that a Quadlet stands for."""
    image = next(entry for entry in container if entry.key == "Image")
    builder = Builder(image.start)
    builder.add("podman run", None)
    for entry in container:
        if entry.key == "Environment":
            _add_pairs(builder, entry, " -e ", "")
        elif entry.key in OPTIONS:
            builder.add(f" {OPTIONS[entry.key]} ", None)
            _add(builder, entry.value.strip(), entry.start)
        elif entry.key == "PodmanArgs":
            builder.add(" ", None)
            _add(builder, entry.value, entry.start)
    builder.add(" ", None)
    _add(builder, image.value.strip(), image.start)
    for entry in container:
        if entry.key == "Exec":
            builder.add(" ", None)
            _add(builder, entry.value, entry.start)
    name = next((entry.value.strip() for entry in container if entry.key == "ContainerName"), "")
    return Recipe(name if re.fullmatch(r"[\w.-]+", name) else "", image.named, builder.finish())


def _add_pairs(builder: Builder, entry: Entry, before: str, after: str) -> None:
    """Add the NAME=value words of an entry as a shell spells them."""
    for match in PAIR.finditer(entry.value):
        group = next(name for name in ("double", "single", "bare") if match[name] is not None)
        name, _, value = match[group].partition("=")
        first = entry.start + match.start(group)
        builder.add(before, None)
        builder.add(f"{name}=", first)
        if re.search(r"[\"$`\\]", value):
            builder.add(HOLE, first + len(name) + 1, first + len(match[group]))
        else:
            builder.add('"', None)
            _add(builder, value, first + len(name) + 1)
            builder.add('"', None)
        builder.add(after, None)


def _add(builder: Builder, text: str, start: int) -> None:
    """Add a text in which specifiers such as %i are not known."""
    at = 0
    for match in SPECIFIER.finditer(text):
        builder.add(text[at : match.start()], start + at)
        builder.add("%" if match["percent"] else HOLE, start + match.start(), start + match.end())
        at = match.end()
    builder.add(text[at:], start + at)
