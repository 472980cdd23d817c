"""Compose service: what one service of a compose file states, its own keys before those of the services it extends."""

from __future__ import annotations

import functools
import posixpath
import re
from collections.abc import Iterator, Mapping
from typing import NamedTuple

from gpulint import documents
from gpulint.adapters import command, dockerfile, interpolation
from gpulint.adapters.interpolation import Text
from gpulint.documents import Document, Node, Path
from gpulint.engines import Argument
from gpulint.repository import Repository
from gpulint.workload import Origin

EXTENDS_MAX = 8
FILES_HELD_MAX = 16
CALLER = "caller's variable"
_DEFAULT = re.compile(r"(?:^|/)(?:docker-)?compose(?P<suffix>\.ya?ml)$")
_FURTHER = re.compile(r"(?:docker-)?compose[.-](?P<purpose>[\w.-]+)\.ya?ml")
"""Files that are given with `-f` behind the default one, by the name that their authors choose."""
_LINE = re.compile(r"""(?m)^[ \t]*(?:export[ \t]+)?([A-Za-z_][\w.-]*)[ \t]*=[ \t]*("(?:\\.|[^"\\])*"|'[^']*'|[^\n]*)""")
_COMMENT = re.compile(r"(?:^|\s)#.*")
_BREAKS = frozenset(";&|<>")
"""Where go-shellwords, which splits the strings of a compose file, stops reading (mattn/go-shellwords v1.0.12 shellwords.go)."""
_ESCAPED = {"t": "\t", "n": "\n"}


class Layer(NamedTuple):
    """One mapping that a service is made of; `reference` is where the checked file names it, if it stands in another."""

    document: Document
    path: Path
    reference: Origin | None = None


class Stated(NamedTuple):
    """A value as written, where it stands, and what the checked file refers to it by."""

    value: object
    origin: Origin
    reference: Origin | None = None

    def argument(
        self, text: str | None, why: str = "", category: str = "", span: tuple[int, int] | None = None
    ) -> Argument:
        """A word made of it."""
        place = self.origin._replace(span=span)
        flag, equals, _ = str(self.value).partition("=") if text is None else ("", "", "")
        named = flag if equals and flag.startswith("-") else ""
        if self.reference is None:
            return Argument(text, place, why, flag=named, category=category)
        return Argument(text, self.reference, why, behind=place, flag=named, category=category)


class Service(NamedTuple):
    """A service: its layers, the most special first, and the variables that the project's `.env` states."""

    name: str
    layers: tuple[Layer, ...]
    variables: Mapping[str, str | None]
    origin: Origin

    def stated(self, *keys: str) -> Stated | None:
        """The value of a key, by the most special layer that has it."""
        return next(self.all_stated(*keys), None)

    def all_stated(self, *keys: str) -> Iterator[Stated]:
        """The values of a key in every layer."""
        for layer in self.layers:
            path = (*layer.path, *keys)
            if (value := layer.document.get(path, ...)) is not ...:
                yield Stated(value, Origin(layer.document, path), layer.reference)

    def items(self, *keys: str) -> Iterator[Stated]:
        """The items of a list that the layers add up to."""
        for stated in self.all_stated(*keys):
            for at, item in enumerate(stated.value if isinstance(stated.value, list) else ()):
                yield Stated(item, stated.origin._replace(path=(*stated.origin.path, at)), stated.reference)

    def text(self, *keys: str) -> Argument | None:
        """The text of a scalar, with its variables filled in."""
        stated = self.stated(*keys)
        return self.word(stated) if stated and not isinstance(stated.value, dict | list | None) else None

    def word(self, stated: Stated) -> Argument:
        """A scalar as one word."""
        return _word(stated, self.filled(stated), command.spelled(stated.origin, stated.value))

    def filled(self, stated: Stated) -> Text:
        """A scalar with its variables filled in."""
        return interpolation.filled(command.spelled(stated.origin, stated.value), self.variables)


def of(document: Document, name: str, repository: Repository) -> Service:
    """A service of a compose file: what the override file beside it states, its own, and what it extends."""
    own = tuple(_layers(document, ("services", name), repository, None, EXTENDS_MAX))
    over = tuple(_overriding(document, name, repository))
    return Service(name, (*over, *own), _variables(document.path, repository), Origin(document, ("services", name)))


def completed(service: Service, repository: Repository) -> Service:
    """A service with what the project's default file states of it, where its own file is one to be read on top of that."""
    document, place = service.origin.document, ("services", service.name)
    folder, name = posixpath.split(document.path)
    match = _FURTHER.fullmatch(name)
    if match is None or match["purpose"] == "override":
        return service
    for default in (f"{stem}.{suffix}" for stem in ("compose", "docker-compose") for suffix in ("yaml", "yml")):
        shown = posixpath.join(folder, default)
        for other in _loaded(shown, repository.read(shown)):
            if isinstance(other.get(place), dict):
                return service._replace(
                    layers=(*service.layers, *_layers(other, place, repository, service.origin, EXTENDS_MAX))
                )
    return service


def _overriding(document: Document, name: str, repository: Repository) -> Iterator[Layer]:
    """The service in the file that compose reads on top of its default one (compose-spec, 03-compose-file.md)."""
    match = _DEFAULT.search(document.path)
    for suffix in ("yml", "yaml") if match else ():
        shown = f"{document.path[: match.start('suffix')]}.override.{suffix}" if match else ""
        content = repository.read(shown)
        for other in _loaded(shown, content):
            if isinstance(other.get(("services", name)), dict):
                yield Layer(other, ("services", name), Origin(document, ("services", name)))


def _layers(
    document: Document, path: Path, repository: Repository, reference: Origin | None, left: int
) -> Iterator[Layer]:
    yield Layer(document, path, reference)
    extended = document.get((*path, "extends"))
    named = extended.get("service") if isinstance(extended, dict) else extended
    if not isinstance(named, str) or not left:
        return
    file = extended.get("file") if isinstance(extended, dict) else None
    place = reference or Origin(document, (*path, "extends"))
    if not isinstance(file, str):
        yield from _layers(document, ("services", named), repository, reference, left - 1)
        return
    shown = posixpath.normpath(posixpath.join(posixpath.dirname(document.path), file))
    content = repository.read(shown)
    for other in _loaded(shown, content):
        if isinstance(other.get(("services", named)), dict):
            yield from _layers(other, ("services", named), repository, place, left - 1)


@functools.lru_cache(maxsize=FILES_HELD_MAX)
def _loaded(path: str, content: bytes | None) -> tuple[Document, ...]:
    """The one document of another compose file; none where there is no such file."""
    return documents.load(path, content).documents[:1] if content is not None else ()


# ---- variables


def _variables(path: str, repository: Repository) -> Mapping[str, str | None]:
    """What the `.env` of the project states; the caller's environment comes before it."""
    content = repository.read(posixpath.join(posixpath.dirname(path), ".env"))
    return dict(dotenv(content.decode("utf-8", "replace"))) if content is not None else {}


def dotenv(text: str) -> Iterator[tuple[str, str]]:
    """The variables of a `.env` file (docs.docker.com/compose/how-tos/environment-variables/variable-interpolation)."""
    for match in _LINE.finditer(text):
        name, value = match[1], match[2].strip()
        quote = value[:1] if value[:1] in ("'", '"') and value[-1:] == value[:1] and len(value) > 1 else ""
        value = value[1:-1] if quote else _COMMENT.sub("", value).strip()
        if quote == "'" or "$" not in value:
            yield name, value


def environment(service: Service, repository: Repository) -> command.Environment:
    """The variables of a container: of its files, then of its own list or map, which win."""
    known = command.Environment()
    for stated in [*service.items("env_file"), *filter(_is_text, service.all_stated("env_file"))]:
        _from_file(service, stated, repository, known)
    for stated in reversed(tuple(service.all_stated("environment"))):
        known.update(_listed(service, stated))
    return known


def _is_text(stated: Stated) -> bool:
    return isinstance(stated.value, str)


def _from_file(service: Service, stated: Stated, repository: Repository, known: command.Environment) -> None:
    file = stated.value.get("path") if isinstance(stated.value, dict) else stated.value
    filled = interpolation.filled(str(file), service.variables)
    folder = posixpath.dirname(stated.origin.document.path)
    content = None if filled.holes else repository.read(posixpath.normpath(posixpath.join(folder, filled.text)))
    if content is None:
        known.open_ended = True
        return
    for name, value in dotenv(content.decode("utf-8", "replace")):
        known[name] = stated.argument(value)


def _listed(service: Service, stated: Stated) -> Iterator[tuple[str, Argument]]:
    """The entries of `environment`, a map or a list of NAME=value."""
    entries = stated.value.items() if isinstance(stated.value, dict) else ()
    for name, value in entries:
        one = Stated(value, stated.origin._replace(path=(*stated.origin.path, name)), stated.reference)
        yield str(name), _passed(service, str(name), one) if value is None else service.word(one)
    for at, entry in enumerate(stated.value if isinstance(stated.value, list) else ()):
        one = Stated(entry, stated.origin._replace(path=(*stated.origin.path, at)), stated.reference)
        text = service.filled(one)
        name, equals, value = text.text.partition("=")
        if not equals:
            yield name, _passed(service, name, one)
            continue
        places = range(len(name) + 1, len(text.text))
        yield name, _word(one, text.part(places, value), "")


def _passed(service: Service, name: str, stated: Stated) -> Argument:
    """A name without a value: what the caller's environment, or the project's `.env`, holds."""
    given = service.variables.get(name)
    if given is not None:
        return stated.argument(given)
    return stated.argument(None, f"{name} is taken from the caller's environment", CALLER)


# ---- the image


class Build(NamedTuple):
    """What a Dockerfile states of a service's image, and the Dockerfile."""

    image: dockerfile.Built
    file: Document


def built(service: Service, repository: Repository) -> Build | None:
    """What the Dockerfile of a service says, where the repository has it."""
    stated = service.stated("build")
    if stated is None:
        return None
    own = stated.value if isinstance(stated.value, dict) else {"context": stated.value}
    named = [own.get("context") or ".", own.get("dockerfile") or "Dockerfile", own.get("target") or ""]
    filled = [interpolation.filled(str(one), service.variables) for one in named]
    if any(one.holes for one in filled) or "://" in filled[0].text or "dockerfile_inline" in own:
        return None
    folder = posixpath.dirname(stated.origin.document.path)
    shown = posixpath.normpath(posixpath.join(folder, filled[0].text, filled[1].text))
    content = repository.read(shown)
    if content is None:
        return None
    text = content.decode("utf-8", "replace")
    image = dockerfile.read(text, _arguments(service, own.get("args")), filled[2].text)
    root = Node("scalar", 0, len(text), text)
    return Build(image, Document(shown, 0, text, root, "shell", text)) if image else None


def _arguments(service: Service, stated: object) -> dict[str, str]:
    """The arguments of a build that are stated."""
    pairs = stated.items() if isinstance(stated, dict) else ()
    listed = (str(one).partition("=") for one in (stated if isinstance(stated, list) else ()))
    given = {**{str(name): str(value) for name, value in pairs}, **{name: value for name, _, value in listed if value}}
    filled = {name: interpolation.filled(value, service.variables) for name, value in given.items()}
    return {name: text.text if not text.holes else "$" for name, text in filled.items()}


# ---- words


def words(service: Service, key: str) -> list[tuple[Argument, Text]]:
    """The words of `command` or `entrypoint`, each with its text as its characters are placed."""
    stated = service.stated(key)
    if stated is None or stated.value is None or isinstance(stated.value, dict):
        return []
    if isinstance(stated.value, list):
        return [_item(service, one) for one in _items(stated)]
    return [(_word(stated, part, ""), part) for part in _split(service.filled(stated))]


def _item(service: Service, stated: Stated) -> tuple[Argument, Text]:
    """An item of a list; one that a variable leaves empty is the caller's to set."""
    written, text = command.spelled(stated.origin, stated.value), service.filled(stated)
    if written and not text.text:
        return stated.argument(None, f"{written} is set by the caller", CALLER), text
    return _word(stated, text, written), text


def _items(stated: Stated) -> Iterator[Stated]:
    for at, item in enumerate(stated.value if isinstance(stated.value, list) else ()):
        yield Stated(
            "" if item is None else item, stated.origin._replace(path=(*stated.origin.path, at)), stated.reference
        )


def _word(stated: Stated, text: Text, written: str) -> Argument:
    """A text as one word, whose value is the caller's where a variable in it is; `written` is all of the value as it stands."""
    span = None if text.text == written and written else text.span(0, len(text.text))
    if text.holes:
        why = f"{text.holes[0].name} is set by the caller"
        return stated._replace(value=text.text).argument(None, why, CALLER, span)
    return stated.argument(text.text, span=span)


def _split(text: Text) -> Iterator[Text]:
    """The words of a string, as compose takes it apart: with quotes and backslashes, but no shell."""
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
