"""Dockerfile: the base of an image that the repository builds, and what it starts."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from typing import NamedTuple

from gpulint.catalog import capabilities
from gpulint.source import excess

BYTES_MAX = 262_144
STAGES_MAX = 100
BUILT = "@built"
"""A mark after the base image, in place of a digest.

The build is this one, wherever the tag moves.
"""
INSTALLER = re.compile(r"\b(?:pip3?|uv|conda|mamba)\b.*\binstall\b", re.S)

_JOINED = re.compile(r"[\\`][ \t]*\r?\n(?:[ \t]*#[^\n]*\n)*")
_COMMENT = re.compile(r"(?m)^[ \t]*#[^\n]*")
_INSTRUCTION = re.compile(r"[ \t]*+(?P<name>[A-Za-z]++)[ \t]++(?P<rest>.*)")
_FROM = re.compile(r"(?:--\S+[ \t]+)*(?P<image>\S+)(?:[ \t]+[Aa][Ss][ \t]+(?P<stage>\S+))?[ \t]*")
_VARIABLE = re.compile(r"\$(?:(\w+)|\{(\w+)(?::-([^}]*))?\})")
_QUOTED = re.compile(r'"(?:\\.|[^"\\])*"')
_PAIR = re.compile(r"""(?<!\w)(\w++)=("(?:\\.|[^"\\])*"|'[^']*'|[^\s"']*)""")


class StartCommand(NamedTuple):
    """ENTRYPOINT or CMD: words with their locations, or one text for a shell at position `at`."""

    words: tuple[str, ...] = ()
    script: str = ""
    places: tuple[tuple[int, int], ...] = ()
    at: int = 0


class BuiltImage(NamedTuple):
    """An image as its Dockerfile states it; None means the base image's value. `places` are those of its variables."""

    image: str
    entrypoint: StartCommand | None
    command: StartCommand | None
    variables: Mapping[str, str]
    places: Mapping[str, tuple[int, int]] = {}


class _Stage(NamedTuple):
    base: str
    name: str
    steps: tuple[tuple[str, str, int], ...]


def read(text: str, arguments: Mapping[str, str], target: str = "") -> BuiltImage | None:
    """Read the image of the target stage, else of the last.

    None if its base image is not stated. An entry point of its own removes the base's command
    (docs.docker.com/reference/dockerfile, ENTRYPOINT).
    """
    stages = _parse_stages(text, arguments)
    named = [stage for stage in stages if stage.name == target] if target else stages
    if not named or excess.is_over(len(text), BYTES_MAX, "the Dockerfile has more than {} characters"):
        return None
    entrypoint: StartCommand | None = None
    command: StartCommand | None = None
    variables: dict[str, tuple[str, tuple[int, int]]] = {}
    installs = False
    for stage in (chain := _find_chain(stages, named[-1])):
        stated = {name: (rest, at) for name, rest, at in stage.steps}
        command = command or (_parse_start(*stated["CMD"]) if "CMD" in stated else None)
        if entrypoint is None and "ENTRYPOINT" in stated:
            entrypoint, command = _parse_start(*stated["ENTRYPOINT"]), command or StartCommand()
        variables = {
            **{
                key: (value, (at + start, at + end))
                for name, rest, at in stage.steps
                if name == "ENV"
                for key, value, (start, end) in _parse_pairs(rest)
            },
            **variables,
        }
        installs = installs or any(name == "RUN" and _installs_engine(rest) for name, rest, _ in stage.steps)
    image = chain[-1].base
    if "$" in image or image == "scratch":
        return None
    image = _strip_tag(image) + ":$built" if installs else image
    values = {name: value for name, (value, _) in variables.items()}
    return BuiltImage(image + BUILT, entrypoint, command, values, {name: at for name, (_, at) in variables.items()})


def _installs_engine(command: str) -> bool:
    """Return whether a command installs an engine: a package of one that is named behind the installer's verb."""
    packages = capabilities.compile_packages()
    return any(packages.search(command, installer.end()) for installer in INSTALLER.finditer(command))


def _find_chain(stages: list[_Stage], stage: _Stage) -> list[_Stage]:
    """Return a stage and those that it is built on, the last one on an external image."""
    chain = [stage]
    while not excess.is_over(len(chain), STAGES_MAX, "the Dockerfile has more than {} stages in a row"):
        before = stages[: stages.index(chain[-1])]
        earlier = [candidate for candidate in before if candidate.name and candidate.name == chain[-1].base.lower()]
        if not earlier:
            break
        chain.append(earlier[-1])
    return chain


def _parse_stages(text: str, arguments: Mapping[str, str]) -> list[_Stage]:
    """Parse the stages in order, with the arguments of their base images filled in."""
    values: dict[str, str] = {}
    stages: list[_Stage] = []
    for name, rest, at in _parse_instructions(text):
        if name == "ARG" and not stages:
            key, equals, value = rest.partition("=")
            if equals or key.strip() in arguments:
                values[key.strip()] = arguments.get(key.strip(), value.strip().strip("\"'"))
        elif name == "FROM" and (match := _FROM.fullmatch(rest)):
            stages.append(_Stage(_fill(match["image"], values), (match["stage"] or "").lower(), ()))
        elif stages:
            stages[-1] = stages[-1]._replace(steps=(*stages[-1].steps, (name, rest, at)))
    return stages


def _parse_instructions(text: str) -> Iterator[tuple[str, str, int]]:
    """Yield each instruction, its text, and the position of that text.

    Continued lines are joined, and every character keeps its position.
    """
    joined = _JOINED.sub(_blank, _COMMENT.sub(_blank, text))
    for match in re.finditer(r"[^\n]+", joined):
        if instruction := _INSTRUCTION.fullmatch(match[0].rstrip()):
            yield instruction["name"].upper(), instruction["rest"], match.start() + instruction.start("rest")


def _blank(match: re.Match[str]) -> str:
    return " " * len(match[0])


def _fill(text: str, values: Mapping[str, str]) -> str:
    def value(match: re.Match[str]) -> str:
        return values.get(match[1] or match[2]) or match[3] or match[0]

    return _VARIABLE.sub(value, text)


def _parse_start(rest: str, at: int) -> StartCommand:
    try:
        words = json.loads(rest) if rest.startswith("[") else None
    except ValueError:
        words = None
    if not isinstance(words, list) or not all(isinstance(word, str) for word in words):
        return StartCommand(script=rest, at=at)
    quoted = [(match.start() + at + 1, match.end() + at - 1) for match in _QUOTED.finditer(rest)]
    return StartCommand(tuple(words), places=tuple(quoted))


def _parse_pairs(rest: str) -> Iterator[tuple[str, str, tuple[int, int]]]:
    """Yield the variables of ENV and the spans of their values: `NAME=value …`, or the older `NAME value`.

    A variable that refers to another is left out.
    """
    if "=" not in rest.split(None, 1)[0]:
        name, _, value = rest.partition(" ")
        start = len(rest) - len(value.lstrip())
        yield from ((name, value.strip(), (start, start + len(value.strip()))),) if "$" not in value else ()
        return
    for match in _PAIR.finditer(rest):
        value = match[2].strip("\"'")
        start = match.start(2) + len(match[2]) - len(match[2].lstrip("\"'"))
        if "$" not in value:
            yield match[1], value, (start, start + len(value))


def _strip_tag(image: str) -> str:
    path, slash, last = image.partition("@")[0].rpartition("/")
    return f"{path}{slash}{last.partition(':')[0]}"
