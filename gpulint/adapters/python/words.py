"""Words: what an evaluated program gives a call, as the words of the command line that means the same."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Sequence
from collections.abc import Mapping as AnyMapping
from typing import NamedTuple

from gpulint.adapters.objects import config_maps
from gpulint.engines import Argument, command_line
from gpulint.source.python.library import PATHS
from gpulint.source.python.values import (
    ABSENT,
    CALLER,
    ENVIRONMENT,
    Choice,
    Constant,
    Items,
    Mapping,
    Name,
    Object,
    Open,
    Place,
    Value,
)
from gpulint.workload import Field, Origin, Unknown

CATEGORIES = {CALLER: "caller's variable", ENVIRONMENT: "caller's variable"}
OWN = "own program"
DEPTH_MAX = 12


class Slot(NamedTuple):
    """Where a command states a value: the number of its word, or the name of its variable."""

    kind: str
    name: str


class Reader(NamedTuple):
    """Turns values into words.

    `named` is the word that names the program, where another file starts it, and `slots` are the words and variables
    that it is given.
    """

    named: Origin | None = None
    slots: AnyMapping[Slot, Argument] = {}

    def origin(self, place: object) -> Argument | None:
        """Return an empty word at a place; None if the value stands nowhere."""
        if isinstance(place, Slot):
            return self.slots.get(place)
        if not isinstance(place, Place):
            return None
        word = Argument("", Origin(place.document, place.path, place.span))
        return config_maps.relocate(word, self.named) if self.named is not None else word

    def word(self, value: Value, near: object) -> Argument:
        """Return a value as one word, located at its literal or else at the call."""
        place = self.origin(getattr(value, "place", None)) or self.origin(near)
        at = place or Argument("", self.named or _nowhere(near))
        text = render(value)
        if text is not None:
            return at._replace(text=text, why="", flag="", category="")
        why, category = explain(value)
        return at._replace(text=None, why=why, flag="", category=category)

    def flags(self, call: Object, names: Iterable[tuple[str, str]]) -> Iterator[Argument]:
        """Yield `--flag value` for the keywords of a call that have a value; `names` are pairs of keyword and flag."""
        for keyword, flag in names:
            value = call.get(keyword)
            if value is not None and not is_nothing(value):
                yield from self.flag(flag, value, call.place)

    def flag(self, flag: str, value: Value, near: object) -> Iterator[Argument]:
        """Yield a flag with its value: a switch that is on stands alone, and one that is off is left out."""
        word = self.word(value, near)
        if isinstance(value, Constant) and isinstance(value.value, bool):
            if value.value:
                yield word._replace(text=flag)
            return
        if word.text is None:
            yield word._replace(flag=flag)
            return
        yield word._replace(text=flag)
        yield word

    def pair(self, flag: str, value: Value, near: object) -> Argument:
        """Return `--flag=value` as one word, as the parser of a trainer takes it."""
        word = self.word(value, near)
        return word._replace(flag=flag) if word.text is None else word._replace(text=f"{flag}={word.text}")

    def origins(self, value: Value | None, near: object) -> tuple[Origin, ...]:
        """Return the places of a value."""
        return command_line.find_origins(self.word(value if value is not None else ABSENT, near))


def _nowhere(near: object) -> Origin:
    if isinstance(near, Place):
        return Origin(near.document, near.path, near.span)
    raise ValueError("a value of a program has a place")


def is_nothing(value: Value) -> bool:
    """Return whether a value is None, so that the callee's default holds."""
    return isinstance(value, Constant) and value.value is None


def explain(value: Value) -> tuple[str, str]:
    """Return why a value cannot be read, and who decides it."""
    if isinstance(value, Open):
        return value.reason, CATEGORIES.get(value.decider, OWN)
    if isinstance(value, Choice):
        shown = [text for member in value.members if (text := render(member)) is not None]
        return f"the program chooses {' or '.join(shown[:4]) or 'the value'} at run time", OWN
    if isinstance(value, Object) and value.name.endswith("device_count"):
        return "one for each GPU of the machine that runs the program", "any host"
    return "the program computes the value at run time", OWN


def render(value: Value) -> str | None:
    """Return a value as a word of a command line; None if it is not known."""
    if isinstance(value, Constant):
        return str(value.value).lower() if isinstance(value.value, bool) else str(value.value)
    if isinstance(value, Name):
        return value.name.rpartition(".")[2]
    if isinstance(value, Object) and value.name in PATHS and value.arguments:
        return render(value.arguments[0])
    if isinstance(value, Items | Mapping):
        plain = to_plain(value)
        return None if plain is ... else json.dumps(plain)
    return None


def to_plain(value: Value, depth: int = 0) -> object:
    """Return a value as plain data; `...` if a part of it is not known."""
    if depth > DEPTH_MAX:
        return ...
    if isinstance(value, Constant):
        return value.value if not isinstance(value.value, bytes) else ...
    if isinstance(value, Name):
        return value.name.rpartition(".")[2]
    if isinstance(value, Items):
        parts = [to_plain(item, depth + 1) for item in value.items]
        return ... if value.open_ended or any(part is ... for part in parts) else parts
    if isinstance(value, Mapping):
        entries = {str(key): to_plain(entry, depth + 1) for key, entry in value.entries.items()}
        return ... if value.open_ended or any(part is ... for part in entries.values()) else entries
    return ...


def read_text(value: Value | None) -> str | None:
    """Return a constant text or the last part of a name; None for any other value."""
    if isinstance(value, Constant) and isinstance(value.value, str):
        return value.value
    return value.name.rpartition(".")[2] if isinstance(value, Name) else None


def read_number(value: Value | None) -> int | None:
    """Return a constant whole number; None for any other value."""
    stated = value.value if isinstance(value, Constant) else None
    return stated if isinstance(stated, int) and not isinstance(stated, bool) else None


def is_on(value: Value | None) -> bool:
    """Return whether a value is certainly true."""
    return isinstance(value, Constant) and bool(value.value)


def make_field(reader: Reader, value: Value, near: object, read: object = ...) -> Field:
    """Return a field with the value of a call, or with another reading of it; Unknown if it cannot be known."""
    word = reader.word(value, near)
    origins = command_line.find_origins(word)
    if word.text is None:
        return Field(Unknown(word.why, word.category), origins)
    stated = value.value if isinstance(value, Constant) and not isinstance(value.value, bytes) else word.text
    return Field(stated if read is ... else read, origins)  # type: ignore[arg-type]


def last_name(call: Object) -> str:
    """Return the last part of a call's name."""
    return call.name.rpartition(".")[2]


def root(call: Object) -> str:
    """Return the package of a call's name."""
    return call.name.partition(".")[0]


def list_words(value: Value | None, reader: Reader, near: object) -> Sequence[Argument] | None:
    """Return the words of a command that a program starts: of a list, or of one text that a shell splits."""
    import shlex

    if isinstance(value, Items):
        words = [reader.word(item, near) for item in value.items]
        tail = Argument(None, words[-1].origin, "the program computes further arguments at run time") if words else None
        return [*words, *([tail] if value.open_ended and tail is not None else [])]
    if not isinstance(value, Constant) or not isinstance(value.value, str):
        return None
    try:
        parts = shlex.split(value.value, comments=True)
    except ValueError:
        return None
    at = reader.word(value, near)
    return [at._replace(text=part) for part in parts[:200]]
