"""Compose program: what a service of a compose file starts, by its own words, its Dockerfile or a script that is mounted."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence

from gpulint.adapters import command, compose_devices, compose_service, counted, dockerfile
from gpulint.adapters.command import Environment, Script
from gpulint.adapters.compose_service import Build, Service
from gpulint.adapters.dockerfile import Built
from gpulint.adapters.interpolation import Place, Text
from gpulint.documents import Document
from gpulint.engines import Argument, Invocation, images
from gpulint.repository import Repository
from gpulint.workload import Field, Origin

BUILT = "the image is built from the repository's own files"


def invocations(
    service: Service,
    environment: Environment,
    gpus: Field,
    find: Callable[[str], Origin | None],
    repository: Repository,
) -> Iterator[Invocation]:
    """The programs of a service: its entry point's and command's words after one another, or the script they start."""
    build = compose_service.built(service, repository)
    built = build.image if build else None
    own = service.stated("entrypoint")
    overridden = own is not None and own.value is not None
    image = _image(service, built)
    known = _with(environment, {}, _of_image(service, built))
    if build and not overridden and (text := _shell_text(service, build.image)).script:
        place, file = compose_devices.place_of(service, "build"), build.file
        script = Script(text.script, lambda start, end: Origin(file, (), (text.at + start, text.at + end)))
        for one in command.scripted(image, script, known):
            yield one._replace(arguments=tuple(_referred(word, place) for word in one.arguments))
        return
    given = _words(service, build if not overridden else None)
    words = tuple(command.placeheld(word) for word, _ in given)
    texts, counts = _counted(given, gpus)
    holes = {hole.name for _, text in given for hole in text.holes}
    known = _with(_without(known, holes), counts)
    if held := command.script_file(words, find):
        for one in command.scripted(image, held.script, known, held.given):
            yield one._replace(arguments=tuple(_referred(word, held.named.origin) for word in one.arguments))
        return
    of_image = not overridden and (built is None or built.entrypoint is None)
    yield from command.programs(image, words, known, _written(texts), of_image)


def _words(service: Service, build: Build | None) -> list[tuple[Argument, Text]]:
    """The words of the entry point and the command; those of a Dockerfile where the service states none."""
    entrypoint, arguments = (compose_service.words(service, key) for key in ("entrypoint", "command"))
    if build is None:
        return [*entrypoint, *arguments]
    start, left = build.image.entrypoint or dockerfile.Starts(), build.image.command or dockerfile.Starts()
    stated = arguments if service.stated("command") else _of_build(service, left, build.file)
    return [*_of_build(service, start, build.file), *stated]


def _shell_text(service: Service, built: Built) -> dockerfile.Starts:
    """The text that a Dockerfile hands to a shell, as far as the service's own command leaves it to run."""
    if built.entrypoint is not None and (built.entrypoint.script or built.entrypoint.words):
        return built.entrypoint
    return built.command if built.command and not service.stated("command") else dockerfile.Starts()


def _counted(given: Sequence[tuple[Argument, Text]], gpus: Field) -> tuple[dict[Origin, Text], dict[str, Argument]]:
    """The texts by their places, with what counts the GPUs in them replaced by variables, and those variables."""
    texts: dict[Origin, Text] = {}
    counts: dict[str, Argument] = {}
    for word, text in given:
        script, names = counted.filled(text.text, gpus, word.origin)
        texts[word.origin] = text._replace(text=script)
        counts |= names
    return texts, counts


def _of_build(service: Service, starts: dockerfile.Starts, file: Document) -> list[tuple[Argument, Text]]:
    """Words of a Dockerfile, at the place in the compose file that names it."""
    place = compose_devices.place_of(service, "build")
    pairs = zip(starts.words, starts.places, strict=True)
    return [
        (Argument(word, place, behind=Origin(file, (), span)), Text(word, [Place(0, 0)] * len(word)))
        for word, span in pairs
    ]


def _of_image(service: Service, built: Built | None) -> dict[str, Argument]:
    place = compose_devices.place_of(service, "build")
    return {name: Argument(value, place) for name, value in (built.variables if built else {}).items()}


def _image(service: Service, built: Built | None) -> Argument:
    """The image, or the one it is built on; one whose name is stated keeps it where only registry or tag is the caller's."""
    if built is not None:
        return Argument(built.image, compose_devices.place_of(service, "build"))
    stated, image = service.stated("image"), service.text("image")
    if stated is None or image is None:
        return Argument(None, compose_devices.place_of(service, "build"), BUILT, category="own program")
    written = service.filled(stated).text
    name = images.split(written)[0].rpartition("/")[2]
    return image._replace(text=written, why="", category="") if image.text is None and "$" not in name else image


def _referred(word: Argument, named: Origin) -> Argument:
    """A word of a script in another file, at the place in the compose file that brings it there."""
    if word.origin.document is named.document:
        return word
    if word.behind is not None and word.behind.document is named.document:
        return word._replace(origin=word.behind, behind=word.origin)
    return word._replace(origin=named, behind=word.origin)


def _without(environment: Environment, names: set[str]) -> Environment:
    """The variables of a container but for those that a script shares a name with one of the caller's."""
    if not names & environment.keys():
        return environment
    known = Environment(environment)
    known.open_ended = environment.open_ended
    for name in names & environment.keys():
        unknown = environment[name]._replace(
            text=None, why=f"{name} is set by the caller", category=compose_service.CALLER
        )
        known[name] = unknown
    return known


def _with(
    environment: Environment, counts: Mapping[str, Argument], beneath: Mapping[str, Argument] = {}
) -> Environment:
    known = Environment({**beneath, **environment, **counts})
    known.open_ended = environment.open_ended
    return known


def _written(texts: Mapping[Origin, Text]) -> Callable[[Argument], Script]:
    """The script that a word is, after compose has filled in its variables."""

    def script(word: Argument) -> Script:
        text = texts[word.origin]
        place = word.behind or word.origin
        return Script(text.text, lambda start, end: place._replace(span=text.span(start, end)))

    return script
