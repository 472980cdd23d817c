"""Compose service: one service of a compose file.

Its own keys take precedence over those of the services that it extends.
"""

from __future__ import annotations

import functools
import posixpath
import re
from collections.abc import Iterator, Mapping
from typing import NamedTuple

from gpulint import workload
from gpulint.adapters.platforms import compose_interpolation
from gpulint.adapters.platforms.compose_interpolation import Text
from gpulint.adapters.programs import container_command, dockerfile
from gpulint.engines import Argument
from gpulint.source import documents, dotenv, excess
from gpulint.source.documents import Document, Node, Path
from gpulint.source.repository import Repository
from gpulint.workload import Origin

EXTENDS_MAX = 8
EXTENDED = "services extend one another more than {} deep"
FILES_HELD_MAX = 16
CALLER = "caller's variable"
_DEFAULT = re.compile(r"(?:^|/)(?:docker-)?compose(?P<suffix>\.ya?ml)$")
_FURTHER = re.compile(r"(?:docker-)?compose[.-](?P<purpose>[\w.-]+)\.ya?ml")
"""Files that are passed with `-f` after the default one, by names that their authors choose."""
_BREAKS = frozenset(";&|<>")
"""Characters at which go-shellwords, which splits the strings of a compose file, stops reading.

Source: mattn/go-shellwords v1.0.12 shellwords.go.
"""
_ESCAPED = {"t": "\t", "n": "\n"}


class Layer(NamedTuple):
    """One mapping that a service consists of.

    `reference` is where the checked file names it, if it is in another file.
    """

    document: Document
    path: Path
    reference: Origin | None = None


class Variables(dict[str, str | None]):
    """The variables of a project's `.env`, and where it states them."""

    origins: Mapping[str, Origin] = {}


class StatedValue(NamedTuple):
    """A value as written, its location, and where the checked file refers to it."""

    value: object
    origin: Origin
    reference: Origin | None = None

    def argument(
        self, text: str | None, why: str = "", category: str = "", span: tuple[int, int] | None = None
    ) -> Argument:
        """Return a word made of the value."""
        place = self.origin._replace(span=span)
        flag, equals, _ = str(self.value).partition("=") if text is None else ("", "", "")
        named = flag if equals and flag.startswith("-") else ""
        if self.reference is None:
            return Argument(text, place, why, flag=named, category=category)
        return Argument(text, self.reference, why, behind=place, flag=named, category=category)


class Service(NamedTuple):
    """A service: its layers, the most specific first, and the variables of the project's `.env`.

    `example` is the file whose variables are taken instead, if there is no `.env`.
    """

    name: str
    layers: tuple[Layer, ...]
    variables: Mapping[str, str | None]
    origin: Origin
    example: str = ""

    def find(self, *keys: str) -> StatedValue | None:
        """Return the value of a key, from the most specific layer that has it."""
        return next(self.find_all(*keys), None)

    def find_all(self, *keys: str) -> Iterator[StatedValue]:
        """Yield the values of a key in every layer."""
        for layer in self.layers:
            path = (*layer.path, *keys)
            if (value := layer.document.get(path, ...)) is not ...:
                yield StatedValue(value, Origin(layer.document, path), layer.reference)

    def items(self, *keys: str) -> Iterator[StatedValue]:
        """Yield the items of a list that the layers concatenate."""
        for stated in self.find_all(*keys):
            for at, item in enumerate(stated.value if isinstance(stated.value, list) else ()):
                yield StatedValue(item, stated.origin._replace(path=(*stated.origin.path, at)), stated.reference)

    def text(self, *keys: str) -> Argument | None:
        """Return the text of a scalar, with its variables filled in."""
        stated = self.find(*keys)
        return self.word(stated) if stated and not isinstance(stated.value, dict | list | None) else None

    def word(self, stated: StatedValue) -> Argument:
        """Return a scalar as one word."""
        return _make_word(
            stated,
            self.fill_variables(stated),
            container_command.read_spelling(stated.origin, stated.value),
            self.variables,
        )

    def fill_variables(self, stated: StatedValue) -> Text:
        """Return a scalar with its variables filled in."""
        return compose_interpolation.fill(container_command.read_spelling(stated.origin, stated.value), self.variables)


def read_service(document: Document, name: str, repository: Repository) -> Service:
    """Return a service of a compose file, with its override file and what it extends."""
    own = tuple(_find_layers(document, ("services", name), repository, None, EXTENDS_MAX))
    over = tuple(_find_overriding(document, name, repository))
    variables, example = _read_variables(posixpath.join(posixpath.dirname(document.path), ".env"), repository)
    return Service(name, (*over, *own), variables, Origin(document, ("services", name)), example)


def add_default_file(service: Service, repository: Repository) -> Service:
    """Return a service with the project's default file below it.

    This applies if its own file is one to be read on top of the default file.
    """
    document, place = service.origin.document, ("services", service.name)
    folder, name = posixpath.split(document.path)
    match = _FURTHER.fullmatch(name)
    if match is None or match["purpose"] == "override":
        return service
    for default in (f"{stem}.{suffix}" for stem in ("compose", "docker-compose") for suffix in ("yaml", "yml")):
        shown = posixpath.join(folder, default)
        for other in _load(shown, repository.read(shown)):
            if isinstance(other.get(place), dict):
                return service._replace(
                    layers=(*service.layers, *_find_layers(other, place, repository, service.origin, EXTENDS_MAX))
                )
    return service


def _find_overriding(document: Document, name: str, repository: Repository) -> Iterator[Layer]:
    """Yield the service in the file that compose reads on top of its default one.

    Source: compose-spec, 03-compose-file.md.
    """
    match = _DEFAULT.search(document.path)
    for suffix in ("yml", "yaml") if match else ():
        shown = f"{document.path[: match.start('suffix')]}.override.{suffix}" if match else ""
        content = repository.read(shown)
        for other in _load(shown, content):
            if isinstance(other.get(("services", name)), dict):
                yield Layer(other, ("services", name), Origin(document, ("services", name)))


def _find_layers(
    document: Document, path: Path, repository: Repository, reference: Origin | None, left: int
) -> Iterator[Layer]:
    yield Layer(document, path, reference)
    extended = document.get((*path, "extends"))
    named = extended.get("service") if isinstance(extended, dict) else extended
    if not isinstance(named, str) or excess.is_over(EXTENDS_MAX + 1 - left, EXTENDS_MAX, EXTENDED):
        return
    file = extended.get("file") if isinstance(extended, dict) else None
    place = reference or Origin(document, (*path, "extends"))
    if not isinstance(file, str):
        yield from _find_layers(document, ("services", named), repository, reference, left - 1)
        return
    shown = posixpath.normpath(posixpath.join(posixpath.dirname(document.path), file))
    content = repository.read(shown)
    for other in _load(shown, content):
        if isinstance(other.get(("services", named)), dict):
            yield from _find_layers(other, ("services", named), repository, place, left - 1)


@functools.lru_cache(maxsize=FILES_HELD_MAX)
def _load(path: str, content: bytes | None) -> tuple[Document, ...]:
    """Load the one document of another compose file; empty if there is no such file."""
    return documents.load(path, content).documents[:1] if content is not None else ()


# ---- variables


def _read_variables(path: str, repository: Repository) -> tuple[Variables, str]:
    """Return the variables of a file such as the project's `.env`, and the example that they come from if nobody committed it.

    The caller's environment precedes them.
    """
    if (content := repository.read(path)) is not None:
        return _parse(path, content), ""
    for example in dotenv.list_examples(path):
        if (content := repository.read(example)) is not None:
            found = _parse(example, content)
            kept = Variables({name: value for name, value in found.items() if not dotenv.is_placeholder(value or "")})
            kept.origins = found.origins
            return kept, example
    return Variables(), ""


def _parse(path: str, content: bytes) -> Variables:
    """Return the variables of a file with the places of their values."""
    loaded = documents.load_text(path, content).documents
    entries = list(dotenv.parse(loaded[0].text)) if loaded else []
    variables = Variables({entry.name: entry.value for entry in entries})
    variables.origins = {entry.name: Origin(loaded[0], (), (entry.start, entry.end)) for entry in entries}
    return variables


def find_example(service: Service, repository: Repository) -> str:
    """Return the example of a file of variables whose values a service takes; empty if it takes none."""
    for stated in _list_files(service):
        path = _find_file(service, stated)
        if path and repository.read(path) is None and (example := _read_variables(path, repository)[1]):
            return example
    written = " ".join(str(layer.document.get(layer.path)) for layer in service.layers) if service.example else ""
    uses = any(re.search(rf"\$\{{?{re.escape(name)}\b", written) for name in service.variables)
    return service.example if uses else ""


def environment(service: Service, repository: Repository) -> container_command.Environment:
    """Return the variables of a container: of its files, then of its own list or map.

    The latter take precedence.
    """
    variables = container_command.Environment()
    for stated in _list_files(service):
        _read_file(service, stated, repository, variables)
    for stated in reversed(tuple(service.find_all("environment"))):
        variables.update(_read_entries(service, stated))
    return variables


def _list_files(service: Service) -> list[StatedValue]:
    return [*service.items("env_file"), *filter(_is_text, service.find_all("env_file"))]


def _find_file(service: Service, stated: StatedValue) -> str:
    """Return the path of an entry of `env_file`; empty if a variable in it is not known."""
    file = stated.value.get("path") if isinstance(stated.value, dict) else stated.value
    filled = compose_interpolation.fill(str(file), service.variables)
    folder = posixpath.dirname(stated.origin.document.path)
    return "" if filled.holes else posixpath.normpath(posixpath.join(folder, filled.text))


def _is_text(stated: StatedValue) -> bool:
    return isinstance(stated.value, str)


def _read_file(
    service: Service, stated: StatedValue, repository: Repository, variables: container_command.Environment
) -> None:
    path = _find_file(service, stated)
    found, example = _read_variables(path, repository) if path else (Variables(), "")
    variables.open_ended |= not path or (not example and repository.read(path) is None)
    for name, value in found.items():
        variables[name] = stated.argument(value)._replace(behind=found.origins.get(name))


def _read_entries(service: Service, stated: StatedValue) -> Iterator[tuple[str, Argument]]:
    """Yield the entries of `environment`, a map or a list of NAME=value."""
    entries = stated.value.items() if isinstance(stated.value, dict) else ()
    for name, value in entries:
        setting = StatedValue(value, stated.origin._replace(path=(*stated.origin.path, name)), stated.reference)
        yield str(name), _read_passed(service, str(name), setting) if value is None else service.word(setting)
    for at, entry in enumerate(stated.value if isinstance(stated.value, list) else ()):
        setting = StatedValue(entry, stated.origin._replace(path=(*stated.origin.path, at)), stated.reference)
        text = service.fill_variables(setting)
        name, equals, value = text.text.partition("=")
        if not equals:
            yield name, _read_passed(service, name, setting)
            continue
        places = range(len(name) + 1, len(text.text))
        yield name, _make_word(setting, text.part(places, value), "", service.variables)


def _read_passed(service: Service, name: str, stated: StatedValue) -> Argument:
    """Return a name without a value, from the project's `.env` or the caller's environment."""
    given = service.variables.get(name)
    if given is not None:
        origin = service.variables.origins.get(name) if isinstance(service.variables, Variables) else None
        return stated.argument(given)._replace(behind=origin)
    return stated.argument(None, f"{name} is taken from the caller's environment", CALLER)


# ---- the image


class Build(NamedTuple):
    """What a Dockerfile states about a service's image, and the Dockerfile."""

    image: dockerfile.BuiltImage
    file: Document


def find_build(service: Service) -> workload.Build | None:
    """Return how a service's image is built; None if it is not, or a variable decides how."""
    stated = service.find("build")
    if stated is None:
        return None
    own = stated.value if isinstance(stated.value, dict) else {"context": stated.value}
    named = [own.get("context") or ".", own.get("dockerfile") or "Dockerfile", own.get("target") or ""]
    filled = [compose_interpolation.fill(str(name), service.variables) for name in named]
    if any(name.holes for name in filled) or "://" in filled[0].text or "dockerfile_inline" in own:
        return None
    context = posixpath.normpath(posixpath.join(posixpath.dirname(stated.origin.document.path), filled[0].text))
    shown = posixpath.normpath(posixpath.join(context, filled[1].text))
    arguments = _read_arguments(service, own.get("args"))
    return workload.Build(shown, "" if context == "." else context, filled[2].text, arguments)


def read_build(service: Service, repository: Repository) -> Build | None:
    """Read the Dockerfile of a service if the repository has it."""
    found = find_build(service)
    content = repository.read(found.dockerfile) if found is not None else None
    if found is None or content is None:
        return None
    shown, text = found.dockerfile, content.decode("utf-8", "replace")
    image = dockerfile.read(text, found.arguments, found.target)
    root = Node("scalar", 0, len(text), text)
    return Build(image, Document(shown, 0, text, root, "shell", text)) if image else None


def _read_arguments(service: Service, stated: object) -> dict[str, str]:
    """Return the arguments of a build that are stated."""
    pairs = stated.items() if isinstance(stated, dict) else ()
    listed = (str(entry).partition("=") for entry in (stated if isinstance(stated, list) else ()))
    given = {**{str(name): str(value) for name, value in pairs}, **{name: value for name, _, value in listed if value}}
    filled = {name: compose_interpolation.fill(value, service.variables) for name, value in given.items()}
    return {name: text.text if not text.holes else "$" for name, text in filled.items()}


# ---- words


def words(service: Service, key: str) -> list[tuple[Argument, Text]]:
    """Return the words of `command` or `entrypoint`, each with the location of its characters."""
    stated = service.find(key)
    if stated is None or stated.value is None or isinstance(stated.value, dict):
        return []
    if isinstance(stated.value, list):
        return [_read_item(service, item) for item in _iterate_items(stated)]
    parts = _split(service.fill_variables(stated))
    return [(_make_word(stated, part, "", service.variables), part) for part in parts]


def _read_item(service: Service, stated: StatedValue) -> tuple[Argument, Text]:
    """Return an item of a list; an item that a variable leaves empty is set by the caller."""
    written, text = container_command.read_spelling(stated.origin, stated.value), service.fill_variables(stated)
    if written and not text.text:
        return stated.argument(None, f"{written} is set by the caller", CALLER), text
    return _make_word(stated, text, written, service.variables), text


def _iterate_items(stated: StatedValue) -> Iterator[StatedValue]:
    for at, item in enumerate(stated.value if isinstance(stated.value, list) else ()):
        yield StatedValue(
            "" if item is None else item, stated.origin._replace(path=(*stated.origin.path, at)), stated.reference
        )


def _make_word(stated: StatedValue, text: Text, written: str, variables: Mapping[str, str | None]) -> Argument:
    """Return a text as one word, which is unknown if the caller sets a variable in it.

    `written` is the whole value as it is in the file.
    """
    span = None if text.text == written and written else text.span(0, len(text.text))
    if text.holes:
        why = f"{text.holes[0].name} is set by the caller"
        return stated._replace(value=text.text).argument(None, why, CALLER, span)
    word = stated.argument(text.text, span=span)
    if not isinstance(variables, Variables) or word.behind is not None or span is None:
        return word
    spelling = container_command.read_spelling(stated.origin, stated.value)
    return word._replace(behind=variables.origins.get(compose_interpolation.find_variable(spelling, text)))


def _split(text: Text) -> Iterator[Text]:
    """Yield the words of a string as compose splits it.

    Quotes and backslashes apply, but no shell does.
    """
    places: list[int] = []
    characters: list[str] = []
    quote, escaped, started = "", False, False
    for at, character in enumerate(text.text):
        if escaped:
            characters.append(_ESCAPED.get(character, character))
            places.append(at)
            escaped, started = False, True
        elif character == "\\" and quote != "'":
            escaped = True
        elif quote:
            if character == quote:
                quote = ""
            else:
                characters.append(character)
                places.append(at)
        elif character in "'\"":
            quote, started = character, True
        elif character in " \t\r\n":
            if started:
                yield text.part(places, "".join(characters))
            places, characters, started = [], [], False
        elif character in _BREAKS:
            break
        else:
            characters.append(character)
            places.append(at)
            started = True
    if started:
        yield text.part(places, "".join(characters))
