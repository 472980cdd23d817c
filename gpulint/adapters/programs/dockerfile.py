"""Built image: what a Dockerfile states about the image that it builds: its base, what it starts, its files and variables."""

from __future__ import annotations

import json
import posixpath
import re
from collections.abc import Iterator, Mapping
from typing import NamedTuple

from gpulint.catalog import capabilities
from gpulint.source import dockerfile, excess
from gpulint.source.dockerfile import Instruction, Setting, Stage

STAGES_MAX = 100
COPIES_MAX = 200
BUILT = "@built"
"""A mark after the base image, in place of a digest.

The build is this one, wherever the tag moves.
"""
STATEMENT = re.compile(r"[^;&|\n]++")
INSTALLER, VERB = re.compile(r"\b(?:pip3?|uv|conda|mamba)\b"), re.compile(r"\binstall\b")
REQUIREMENTS = re.compile(r"(?:-r|--requirement)[ =]?[ \t]*(\S+)")
FLAG = re.compile(r"--(?P<name>[a-z]+)(?:=(?P<value>\S+))?")

_QUOTED = re.compile(r'"(?:\\.|[^"\\])*"')


class StartCommand(NamedTuple):
    """ENTRYPOINT or CMD: words with their locations, or one text for a shell at position `at`."""

    words: tuple[str, ...] = ()
    script: str = ""
    places: tuple[tuple[int, int], ...] = ()
    at: int = 0


class Copy(NamedTuple):
    """Files that COPY or ADD takes from the build's context, or from a `stage`, to an absolute path."""

    sources: tuple[str, ...]
    target: str
    stage: str = ""


class Install(NamedTuple):
    """The words behind `pip install` and the like, with their position; None for those of a here-document."""

    text: str
    at: int | None
    files: tuple[str, ...]
    folder: str


class BuiltImage(NamedTuple):
    """An image as its Dockerfile states it; None means the base image's value.

    `copies` are in the order in which they are made; those of other stages are in `stages`, by name or number. `base` is the
    image that FROM names, at `base_at`.
    """

    image: str
    entrypoint: StartCommand | None
    command: StartCommand | None
    variables: Mapping[str, str]
    settings: Mapping[str, Setting] = {}
    folder: str = ""
    copies: tuple[Copy, ...] = ()
    stages: Mapping[str, tuple[Copy, ...]] = {}
    installs: tuple[Install, ...] = ()
    base_at: int = 0
    base: str = ""


class _Made(NamedTuple):
    """What the instructions of a stage make of that which it is built on."""

    settings: dict[str, Setting]
    folder: str
    copies: tuple[Copy, ...]
    installs: tuple[Install, ...]


def read(text: str, arguments: Mapping[str, str], target: str = "") -> BuiltImage | None:
    """Read the image of the target stage, else of the last.

    None if its base image is not stated. An entry point of its own removes the base's command
    (docs.docker.com/reference/dockerfile, ENTRYPOINT).
    """
    stages, shared = dockerfile.read_stages(text, arguments)
    named = [stage for stage in stages if stage.name == target.lower()] if target else stages
    if not named:
        return None
    chain = _find_chain(stages, named[-1])
    image = chain[-1].base
    if "$" in image or image == "scratch":
        return None
    entrypoint, command = _find_start(chain)
    made = _make(chain, shared, arguments)
    image = _strip_tag(image) + ":$built" if any(map(_installs_engine, made.installs)) else image
    return BuiltImage(
        image + BUILT,
        entrypoint,
        command,
        {name: setting.value for name, setting in made.settings.items()},
        made.settings,
        made.folder,
        made.copies,
        _list_stages(stages, shared, arguments),
        made.installs,
        chain[-1].at,
        chain[-1].base,
    )


def _find_start(chain: list[Stage]) -> tuple[StartCommand | None, StartCommand | None]:
    entrypoint: StartCommand | None = None
    command: StartCommand | None = None
    for stage in chain:
        stated = {step.name: step for step in stage.instructions}
        command = command or (_parse_start(stated["CMD"]) if "CMD" in stated else None)
        if entrypoint is None and "ENTRYPOINT" in stated:
            entrypoint, command = _parse_start(stated["ENTRYPOINT"]), command or StartCommand()
    return entrypoint, command


def _find_chain(stages: list[Stage], stage: Stage) -> list[Stage]:
    """Return a stage and those that it is built on, the last one on an external image."""
    chain = [stage]
    while not excess.is_over(len(chain), STAGES_MAX, "the Dockerfile has more than {} stages in a row"):
        before = stages[: stages.index(chain[-1])]
        earlier = [candidate for candidate in before if candidate.name and candidate.name == chain[-1].base.lower()]
        if not earlier:
            break
        chain.append(earlier[-1])
    return chain


def _list_stages(
    stages: list[Stage], shared: Mapping[str, str], arguments: Mapping[str, str]
) -> dict[str, tuple[Copy, ...]]:
    """Return the copies of each stage that another one copies from, by name and by number."""
    steps = (step for stage in stages for step in stage.instructions if step.name == "COPY")
    named = {match[1].lower() for step in steps for match in re.finditer(r"--from=(\S+)", step.text)}
    found = {}
    for number, stage in enumerate(stages[:STAGES_MAX]):
        for name in {stage.name, str(number)} & named:
            found[name] = _make(_find_chain(stages, stage), shared, arguments).copies
    return found


def _make(chain: list[Stage], shared: Mapping[str, str], arguments: Mapping[str, str]) -> _Made:
    """Return the variables, the folder, the files and the installed packages of a chain of stages."""
    settings: dict[str, Setting] = {}
    folder = ""
    copies: list[Copy] = []
    installs: list[Install] = []
    for stage in reversed(chain):
        own: dict[str, Setting] = {}
        for step in stage.instructions:
            known = {name: setting.value for name, setting in {**own, **settings}.items()}
            if step.name == "ARG":
                own |= _read_argument(step, shared, arguments, known)
            elif step.name == "ENV":
                settings |= _mark_replaceable(step, dict(dockerfile.read_settings(step, known)), own)
            elif step.name == "WORKDIR":
                folder = posixpath.normpath(
                    posixpath.join("/", folder, dockerfile.fill(dockerfile.unquote(step.text), known))
                )
            elif step.name in ("COPY", "ADD") and len(copies) < COPIES_MAX:
                copies += _read_copy(step, folder, known)
            elif step.name == "RUN":
                installs += _list_installs(step, folder, known)
    return _Made(settings, folder, tuple(copies), tuple(installs))


def _read_argument(
    step: Instruction, shared: Mapping[str, str], arguments: Mapping[str, str], known: Mapping[str, str]
) -> dict[str, Setting]:
    """Return the arguments that ARG declares, each with its value for this build or its default."""
    found = {}
    for word in dockerfile.split_words(step.text):
        name, equals, default = word.partition("=")
        default = dockerfile.fill(dockerfile.unquote(default), known) if equals else shared.get(name, "")
        if name in arguments:
            found[name] = Setting(arguments[name], (step.at, step.at + len(step.text)))
        elif default and "$" not in default:
            found[name] = Setting(default, (step.at, step.at + len(step.text)), name)
    return found


def _mark_replaceable(step: Instruction, stated: dict[str, Setting], own: Mapping[str, Setting]) -> dict[str, Setting]:
    """Return variables with the name of the argument whose default they rest on."""
    used = [setting.replaceable for name, setting in own.items() if re.search(rf"\$\{{?{re.escape(name)}\b", step.text)]
    name = next(filter(None, used), "")
    return {key: setting._replace(replaceable=name) for key, setting in stated.items()} if name else stated


def _read_copy(step: Instruction, folder: str, known: Mapping[str, str]) -> Iterator[Copy]:
    """Yield what an instruction copies; files of a here-document and of the network are left out."""
    words, stage = list(_list_copied(step.text)), ""
    while words and (flag := FLAG.fullmatch(words[0])):
        stage = (flag["value"] or "") if flag["name"] == "from" else stage
        words.pop(0)
    filled = [dockerfile.fill(word, known) for word in words]
    if len(filled) < 2 or any("$" in word or word.startswith("<<") or "://" in word for word in filled):
        return
    *sources, target = filled
    place = posixpath.join("/", folder, target)
    is_folder = target.endswith(("/", "/.")) or target == "." or len(sources) > 1
    yield Copy(tuple(sources), posixpath.normpath(place) + "/" * is_folder, stage.lower())


def _list_copied(text: str) -> Iterator[str]:
    """Yield the words of COPY, which may be a list in JSON behind its flags."""
    flags, bracket, rest = text.partition("[")
    if bracket and all(FLAG.fullmatch(word) for word in flags.split()):
        try:
            listed = json.loads(bracket + rest)
        except ValueError:
            listed = None
        if isinstance(listed, list) and all(isinstance(word, str) for word in listed):
            yield from (*flags.split(), *listed)
            return
    yield from dockerfile.split_words(text)


def _list_installs(step: Instruction, folder: str, known: Mapping[str, str]) -> Iterator[Install]:
    """Yield what each statement of a command installs with an installer of Python packages."""
    for text, at in ((step.text, step.at), (step.here, None)):
        for statement in STATEMENT.finditer(text):
            installer = INSTALLER.search(statement[0])
            verb = VERB.search(statement[0], installer.end()) if installer else None
            if verb is not None:
                rest = statement[0][verb.end() :]
                place = None if at is None else at + statement.start() + verb.end()
                filled = rest if "$" not in rest else dockerfile.fill(rest, known)
                yield Install(filled, place if filled == rest else None, tuple(REQUIREMENTS.findall(filled)), folder)


def _installs_engine(install: Install) -> bool:
    """Return whether a command installs an engine: a package of one that is named behind the installer's verb."""
    return capabilities.compile_packages().search(install.text) is not None


def _parse_start(step: Instruction) -> StartCommand:
    rest, at = step.text, step.at
    try:
        words = json.loads(rest) if rest.startswith("[") else None
    except ValueError:
        words = None
    if not isinstance(words, list) or not all(isinstance(word, str) for word in words):
        return StartCommand(script=rest, at=at)
    quoted = [(match.start() + at + 1, match.end() + at - 1) for match in _QUOTED.finditer(rest)]
    return StartCommand(tuple(words), places=tuple(quoted))


def _strip_tag(image: str) -> str:
    path, slash, last = image.partition("@")[0].rpartition("/")
    return f"{path}{slash}{last.partition(':')[0]}"
