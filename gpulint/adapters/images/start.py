"""Start: the programs that a container of an image starts, by the words of the container and those of the Dockerfile."""

from __future__ import annotations

import functools
import posixpath
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import NamedTuple

from gpulint import engines
from gpulint.adapters.images import join, packages
from gpulint.adapters.images import layers as image_layers
from gpulint.adapters.images.layers import Layer
from gpulint.adapters.programs import container_command, launchers, python_program
from gpulint.adapters.programs.container_command import Environment, Script
from gpulint.adapters.programs.dockerfile import StartCommand
from gpulint.engines import Argument, Invocation
from gpulint.source import excess
from gpulint.source.repository import Repository
from gpulint.workload import Command, Container, Origin

SCRIPTS_MAX = 4
SHELL = ("/bin/sh", "-c")
CHANGES_FOLDER = re.compile(r"(?m)^[ \t]*cd[ \t]+[\"']?(/[\w./-]*)")


Find = Callable[[str], Origin | None]


class Started(NamedTuple):
    """The programs of a container, and the variables that they see."""

    invocations: tuple[Invocation, ...]
    environment: Environment


def read(container: Container, layers: Sequence[Layer], repository: Repository) -> Started:
    """Return the programs that a container of an image starts."""
    environment = _merge_environment(container, layers)
    folder = container.folder or next((layer.image.folder for layer in layers if layer.image.folder), "")
    image = _name_base(container, layers, repository)
    entrypoint, command, of_image = choose_words(container, layers)
    words = (*entrypoint, *command)
    find = functools.partial(_find_script, layers, folder, repository)
    started = tuple(_expand(image, words, environment, find, of_image and not entrypoint, SCRIPTS_MAX))
    return Started(started, environment)


def _name_base(container: Container, layers: Sequence[Layer], repository: Repository) -> Argument:
    """Return the base image, located where the container names its own, with the engines that are installed."""
    last = layers[-1]
    at = last.image.base_at
    place = Origin(last.file, (), (at, at + len(last.file.text[at:].partition("\n")[0].rstrip())))
    text = last.image.image + packages.render(layers, repository)
    return Argument(text, container.image.origin, behind=place)


def _merge_environment(container: Container, layers: Sequence[Layer]) -> Environment:
    """Return the variables of an image below those of its container."""
    own = {
        name: Argument(setting.value, container.image.origin, behind=Origin(layer.file, (), setting.span), category="")
        for name, (layer, setting) in image_layers.merge_variables(layers).items()
    }
    merged = Environment({**own, **container.environment})
    merged.open_ended = container.further_environment
    return merged


# ---- words


def choose_words(
    container: Container, layers: Sequence[Layer]
) -> tuple[tuple[Argument, ...], tuple[Argument, ...], bool]:
    """Return the entry point, the command, and whether the base image's own program takes them."""
    own_entrypoint: tuple[Argument, ...] | None = None
    own_command: tuple[Argument, ...] | None = None
    for layer in layers:
        if own_command is None and layer.image.command is not None:
            own_command = _read_start(layer.image.command, layer, container)
        if layer.image.entrypoint is not None:
            own_entrypoint = _read_start(layer.image.entrypoint, layer, container)
            own_command = own_command or ()
            break
    if container.entrypoint is not None:
        return container.entrypoint, container.command or (), False
    command = container.command if container.command is not None else own_command or ()
    return own_entrypoint or (), command, own_entrypoint is None


def _read_start(start: StartCommand, layer: Layer, container: Container) -> tuple[Argument, ...]:
    """Return the words of ENTRYPOINT or CMD, located where the container names its image."""
    named = container.image.origin
    if start.script:
        place = Origin(layer.file, (), (start.at, start.at + len(start.script)))
        return (*(Argument(word, named) for word in SHELL), Argument(start.script, named, behind=place))
    pairs = zip(start.words, start.places, strict=False)
    return tuple(Argument(word, named, behind=Origin(layer.file, (), span)) for word, span in pairs)


# ---- scripts


def _find_script(layers: Sequence[Layer], folder: str, repository: Repository, name: str) -> Origin | None:
    """Return the text of a file of the image."""
    path = image_layers.find_file(layers, name, folder, repository)
    loaded = repository.read_documents(path) if path else ()
    return Origin(loaded[0], ()) if len(loaded) == 1 else None


def _expand(
    image: Argument,
    words: tuple[Argument, ...],
    environment: Environment,
    find: Find,
    of_image: bool,
    left: int,
) -> Iterator[Invocation]:
    """Yield the programs that words start, those of scripts in their place."""
    words = _locate_program(words, find)
    script = container_command.script_file(words, find)
    if script is not None:
        started = container_command.expand_script(image, script.script, environment, script.given)
        named = script.named
    elif words:
        started = container_command.programs(image, words, environment, _read_script, of_image)
        named = words[-1]
    else:
        started, named = iter([Invocation(image, (), environment, of_image, False, environment.open_ended)]), image
    for one in started:
        invocation = one._replace(
            arguments=tuple(container_command.refer(word, named.origin) for word in one.arguments)
        )
        if not _starts_script(invocation.arguments, words, find) or excess.is_over(
            SCRIPTS_MAX + 1 - left, SCRIPTS_MAX, "scripts of an image start one another more than {} levels deep"
        ):
            yield invocation
            continue
        inner = Environment({**environment, **invocation.exported})
        inner.open_ended = environment.open_ended
        for nested in _expand(image, invocation.arguments, inner, find, False, left - 1):
            yield nested._replace(conditional=nested.conditional or invocation.conditional)


def _starts_script(words: tuple[Argument, ...], before: tuple[Argument, ...], find: Find) -> bool:
    """Return whether the words that a command starts are a script of the image, or one for a shell."""
    if [word.text for word in words] == [word.text for word in before]:
        return False
    return _is_script(words) or container_command.script_file(_locate_program(words, find), find) is not None


def _is_script(words: Sequence[Argument]) -> bool:
    """Return whether words pass a text to a shell."""
    names = [word.text for word in words[:2]]
    return len(words) > 2 and names[1:] == ["-c"] and launchers.base(words[0]) in container_command.SHELLS


def _locate_program(words: tuple[Argument, ...], find: Find) -> tuple[Argument, ...]:
    """Return words whose program, if it is a bare name of a script of the image, has a path."""
    name = (words[0].text or "") if words else ""
    if not name or "/" in name or find(name) is None:
        return words
    return (words[0]._replace(text=f"./{name}" if find(f"./{name}") else f"/usr/local/bin/{name}"), *words[1:])


def _read_script(word: Argument) -> Script:
    """Return the script in a word: of the Dockerfile, of a script, or of the file that names the image."""
    place = word.behind or word.origin
    if word.behind is not None and place.span is not None:
        start = place.span[0]
        return Script(word.text or "", lambda first, last: place._replace(span=(start + first, start + last)))
    text = place.document.get(place.path)
    own = text if isinstance(text, str) and place.span is None else word.text
    return Script(own or "", lambda first, last: place._replace(span=(first, last)))


# ---- Python


def choose_program(
    started: Started, container: Container, layers: Sequence[Layer], repository: Repository
) -> Command | None:
    """Return the command of a container's last Python program, with the program's file in the repository."""
    command = python_program.choose(started.invocations)
    found = python_program.find(command.words) if command is not None else None
    if command is None or found is None:
        return None
    folders = list(_list_folders(container, layers, started.environment))
    names = [found.path]
    if found.is_module:
        path = found.path.replace(".", "/")
        names = [f"{path}.py", f"{path}/__main__.py", f"{path}/__init__.py"]
    for folder in folders:
        for name in names:
            if program := image_layers.find_file(layers, name if "/" in name else f"./{name}", folder, repository):
                return command._replace(program=program)
    return command


def computes(container: Container, near: str, repository: Repository) -> bool:
    """Return whether the image of a container is built here and starts an engine, or a Python program that computes."""
    from gpulint.adapters.python import reading

    found = join.find(container, near, repository)
    if not found:
        return False
    started = read(container, found, repository)
    if any(engines.read(invocation) is not None for invocation in started.invocations):
        return True
    command = choose_program(started, container, found, repository)
    return command is not None and reading.read(command, near, repository) is not None


def _list_folders(container: Container, layers: Sequence[Layer], environment: Mapping[str, Argument]) -> Iterator[str]:
    """Yield the folders in which a program may lie: the container's, and those of PYTHONPATH."""
    yield container.folder or next((layer.image.folder for layer in layers if layer.image.folder), "/")
    paths = environment["PYTHONPATH"].text if "PYTHONPATH" in environment else ""
    yield from (path for path in (paths or "").split(":")[:8] if path.startswith("/"))
    yield "/"
    for layer in layers:
        yield from (posixpath.dirname(copy.target) for copy in layer.image.copies[:8])
