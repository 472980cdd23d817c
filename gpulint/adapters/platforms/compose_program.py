"""Compose program: what a service of a compose file starts.

It is stated by its own keys, its Dockerfile, or a script that is mounted.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence

from gpulint.adapters.platforms import compose_devices, compose_mounts, compose_service
from gpulint.adapters.platforms.compose_interpolation import Place, Text
from gpulint.adapters.platforms.compose_service import Build, Service
from gpulint.adapters.programs import container_command, dockerfile, visible_gpu_count
from gpulint.adapters.programs.container_command import Environment, Script
from gpulint.adapters.programs.dockerfile import BuiltImage
from gpulint.engines import Argument, Invocation, image_tags
from gpulint.source.documents import Document
from gpulint.source.repository import Repository
from gpulint.workload import Container, Field, Origin

BUILT = "the image is built from the repository's own files"


def invocations(
    service: Service,
    environment: Environment,
    gpus: Field,
    find: Callable[[str], Origin | None],
    repository: Repository,
) -> Iterator[Invocation]:
    """Yield the programs of a service.

    They are the words of its entry point and command in order, or the script that they start.
    """
    build = compose_service.read_build(service, repository)
    built = build.image if build else None
    own = service.find("entrypoint")
    overridden = own is not None and own.value is not None
    image = _resolve_image(service, built)
    variables = _merge_variables(environment, {}, _read_image_variables(service, build))
    if build and not overridden and (text := _find_shell_text(service, build.image)).script:
        place, file = compose_devices.locate(service, "build"), build.file
        script = Script(text.script, lambda start, end: Origin(file, (), (text.at + start, text.at + end)))
        for invocation in container_command.expand_script(image, script, variables):
            yield invocation._replace(
                arguments=tuple(container_command.refer(word, place) for word in invocation.arguments)
            )
        return
    given = _read_words(service, build if not overridden else None)
    words = tuple(container_command.mark_placeholder(word) for word, _ in given)
    texts, counts = _replace_counts(given, gpus)
    holes = {hole.name for _, text in given for hole in text.holes}
    variables = _merge_variables(_hide_variables(variables, holes), counts)
    if file_script := container_command.script_file(words, find):
        for invocation in container_command.expand_script(image, file_script.script, variables, file_script.given):
            yield invocation._replace(
                arguments=tuple(
                    container_command.refer(word, file_script.named.origin) for word in invocation.arguments
                )
            )
        return
    of_image = not overridden and (built is None or built.entrypoint is None)
    yield from container_command.programs(image, words, variables, _make_script_reader(texts), of_image)


def read_container(service: Service, environment: Environment) -> Container | None:
    """Return how a service starts its image, or the one that it builds."""
    build, image = compose_service.find_build(service), service.text("image")
    if image is None and build is None:
        return None
    named = Argument(None, compose_devices.locate(service, "build"), BUILT) if image is None else image
    entrypoint, command = (
        tuple(container_command.mark_placeholder(word) for word, _ in compose_service.words(service, key))
        if _is_stated(service, key)
        else None
        for key in ("entrypoint", "command")
    )
    folder = service.text("working_dir")
    return Container(
        named,
        entrypoint,
        command,
        environment,
        environment.open_ended,
        (folder.text if folder is not None else "") or "",
        build,
        compose_mounts.list_folders(service),
    )


def _is_stated(service: Service, key: str) -> bool:
    stated = service.find(key)
    return stated is not None and stated.value is not None


def _read_words(service: Service, build: Build | None) -> list[tuple[Argument, Text]]:
    """Return the words of the entry point and the command.

    Those of a Dockerfile are used if the service states none.
    """
    entrypoint, arguments = (compose_service.words(service, key) for key in ("entrypoint", "command"))
    if build is None:
        return [*entrypoint, *arguments]
    start, left = build.image.entrypoint or dockerfile.StartCommand(), build.image.command or dockerfile.StartCommand()
    stated = arguments if service.find("command") else _read_build_words(service, left, build.file)
    return [*_read_build_words(service, start, build.file), *stated]


def _find_shell_text(service: Service, built: BuiltImage) -> dockerfile.StartCommand:
    """Return the text that a Dockerfile passes to a shell.

    The service's own command replaces that of the Dockerfile.
    """
    if built.entrypoint is not None and (built.entrypoint.script or built.entrypoint.words):
        return built.entrypoint
    return built.command if built.command and not service.find("command") else dockerfile.StartCommand()


def _replace_counts(
    given: Sequence[tuple[Argument, Text]], gpus: Field
) -> tuple[dict[Origin, Text], dict[str, Argument]]:
    """Return the texts by location, with GPU counts replaced by variables, and those variables."""
    texts: dict[Origin, Text] = {}
    counts: dict[str, Argument] = {}
    for word, text in given:
        script, names = visible_gpu_count.replace_counts(text.text, gpus, word.origin)
        texts[word.origin] = text._replace(text=script)
        counts |= names
    return texts, counts


def _read_build_words(service: Service, starts: dockerfile.StartCommand, file: Document) -> list[tuple[Argument, Text]]:
    """Return words of a Dockerfile, located where the compose file names it."""
    place = compose_devices.locate(service, "build")
    pairs = zip(starts.words, starts.places, strict=True)
    return [
        (Argument(word, place, behind=Origin(file, (), span)), Text(word, [Place(0, 0)] * len(word)))
        for word, span in pairs
    ]


def _read_image_variables(service: Service, build: Build | None) -> dict[str, Argument]:
    place = compose_devices.locate(service, "build")
    settings = build.image.settings if build is not None else {}
    return {
        name: Argument(setting.value, place, behind=Origin(build.file, (), setting.span) if build else None)
        for name, setting in settings.items()
    }


def _resolve_image(service: Service, built: BuiltImage | None) -> Argument:
    """Return the image, or the base image of a build.

    An image keeps its name if only its registry or tag comes from the caller.
    """
    if built is not None:
        return Argument(built.image, compose_devices.locate(service, "build"))
    stated, image = service.find("image"), service.text("image")
    if stated is None or image is None:
        return Argument(None, compose_devices.locate(service, "build"), BUILT, category="own program")
    written = service.fill_variables(stated).text
    name = image_tags.split_image(written)[0].rpartition("/")[2]
    return image._replace(text=written, why="", category="") if image.text is None and "$" not in name else image


def _hide_variables(environment: Environment, names: set[str]) -> Environment:
    """Return the variables of a container with those unknown that the caller also sets."""
    if not names & environment.keys():
        return environment
    visible = Environment(environment)
    visible.open_ended = environment.open_ended
    for name in names & environment.keys():
        unknown = environment[name]._replace(
            text=None, why=f"{name} is set by the caller", category=compose_service.CALLER
        )
        visible[name] = unknown
    return visible


def _merge_variables(
    environment: Environment, counts: Mapping[str, Argument], beneath: Mapping[str, Argument] = {}
) -> Environment:
    merged = Environment({**beneath, **environment, **counts})
    merged.open_ended = environment.open_ended
    return merged


def _make_script_reader(texts: Mapping[Origin, Text]) -> Callable[[Argument], Script]:
    """Return a reader of the script in a word, with compose's variables filled in."""

    def script(word: Argument) -> Script:
        text = texts[word.origin]
        place = word.behind or word.origin
        return Script(text.text, lambda start, end: place._replace(span=text.span(start, end)))

    return script
