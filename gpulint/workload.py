"""Workload: a training job or inference service as declared, in roles whose fields keep their
locations.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Literal, NamedTuple

from gpulint.catalog.offers import EVERYTHING, Available
from gpulint.report.model import Location
from gpulint.source.documents import Comment, Document, Path

if TYPE_CHECKING:
    from gpulint.catalog.architecture import Resolution

Value = int | float | str | bool | None | tuple[str, ...] | Mapping[str, str]
Basis = Literal["stated", "measured", "default", "bounded", "joined", "assumed", "open", "catalog"]
"""How a value is known: a file states it, a log or a profile shows it, the program that gets a complete file has it as its
default, it is one of all values that are possible, another file of the repository states it, it is assumed, it is the
default of a file that others complete, or public tables list it."""


@dataclass(frozen=True, slots=True)
class Unknown:
    """A value that is set but cannot be read, with the reason and one of `CATEGORIES` if it applies.

    `lacking` is the quantity that has to be stated instead, if it is not the value's own. `choices` are the
    values between which somebody else decides, and `decision` is the one that settles it together with other fields.
    """

    reason: str
    category: str = ""
    lacking: str = ""
    choices: tuple[str, ...] = ()
    decision: Decision | None = field(default=None, compare=False, repr=False)


CATEGORIES = frozenset(
    {
        "platform variable",
        "caller's variable",
        "placeholder",
        "local path",
        "operator preset",
        "image default",
        "another object",
        "queue or partition",
        "any host",
        "own program",
    }
)
"""Why a file does not state a value: the party that decides it instead."""


class Origin(NamedTuple):
    """One location of a value: a path of a document, and a span of its text if it is one word of it."""

    document: Document
    path: Path
    span: tuple[int, int] | None = None
    key: bool = False

    def location(self) -> Location:
        return self.document.locate(self.path, key=self.key, span=self.span)

    def text(self) -> str:
        """Return the current text at the location."""
        value = str(self.path[-1]) if self.key else self.document.get(self.path)
        text = value if isinstance(value, str) else str(value)
        return text if self.span is None else text[slice(*self.span)]


class Argument(NamedTuple):
    """One word of a command, or one environment value: its text and its location.
    An unknown text is None, with the reason.

    `behind` is where the text really stands when the word only names a variable; `flag` is the readable part of a
    `--flag=value` whose value cannot be known; `category` is who decides a text that cannot be known, one of
    `CATEGORIES`.
    """

    text: str | None
    origin: Origin
    why: str = ""
    behind: Origin | None = None
    flag: str = ""
    category: str = ""

    @property
    def source_text(self) -> str:
        """Return the text; if it is unknown, return the source text with its variables."""
        if self.text is not None or not (self.origin.path or self.origin.span):
            return self.text or self.flag
        return self.flag or self.origin.text().strip().strip("\"'")


class Command(NamedTuple):
    """What starts a role's own program: its image, its words without launchers, and the variables that it sees.

    `open_environment` says that there may be variables that no file states. `program` is the path of its file in the
    repository, if an image has it under another one.
    """

    image: Argument
    words: tuple[Argument, ...]
    environment: Mapping[str, Argument] = {}
    open_environment: bool = False
    program: str = ""


class Build(NamedTuple):
    """How an image is built: its Dockerfile, the folder that it copies from if that is stated, the stage, the arguments.

    `assumption` says how the Dockerfile was found if no file states that it builds the image.
    """

    dockerfile: str
    context: str | None = None
    target: str = ""
    arguments: Mapping[str, str] = {}
    assumption: str = ""


class Container(NamedTuple):
    """How a container starts: its image, and the words in place of the image's entry point and command.

    None is what the image states. `further_environment` says that other objects supply variables that the file does not show.
    `mounts` are the container's folders on which volumes lie, None for one that is not known; None if they are not read.
    `lost_mounts` are those of a pod on which volumes lie that begin empty with each pod; None outside of pods.
    """

    image: Argument
    entrypoint: tuple[Argument, ...] | None
    command: tuple[Argument, ...] | None
    environment: Mapping[str, Argument] = {}
    further_environment: bool = False
    folder: str = ""
    build: Build | None = None
    mounts: tuple[str | None, ...] | None = None
    lost_mounts: tuple[str, ...] | None = None


@dataclass(frozen=True, slots=True)
class Field:
    """A value with all locations that state it, the deciding one first, or else with its source.

    `source` names the source of a value that the file does not state ("default of vLLM 0.10",
    "--accelerator"). `assumption` is a sentence for the report if the value was inferred. `basis` is how the value is known
    where that does not follow from the rest (facts/basis.py). `further` are the other occurrences of a mistake that the
    value names, each as the fields that describe it.
    """

    value: Value | Unknown
    origins: tuple[Origin, ...] = ()
    source: str = ""
    assumption: str = ""
    basis: Basis | None = None
    further: tuple[tuple[tuple[str, Field], ...], ...] = ()


FURTHER_MAX = 40
"""Maximum of further occurrences of one mistake in a role."""


def gather(occurrences: Iterable[Mapping[str, Field]]) -> dict[str, Field]:
    """Return the fields of the first occurrence of each mistake, with the others behind it.

    The first name of an occurrence says which mistake it is; an occurrence at the same place counts once.
    """
    fields: dict[str, Field] = {}
    for occurrence in occurrences:
        name = next(iter(occurrence))
        first = fields.get(name)
        if first is None:
            fields |= occurrence
        elif len(first.further) < FURTHER_MAX and not _is_listed(first, name, occurrence[name]):
            fields[name] = replace(first, further=(*first.further, tuple(occurrence.items())))
    return fields


def list_occurrences(fields: Mapping[str, Field], name: str) -> Iterator[Mapping[str, Field]]:
    """Yield the other occurrences of the mistake that a field names, each as the fields that describe it."""
    yield from (dict(occurrence) for occurrence in (fields[name].further if name in fields else ()))


def _is_listed(first: Field, name: str, found: Field) -> bool:
    listed = (first, *(dict(occurrence)[name] for occurrence in first.further))
    return any(entry.value == found.value and entry.origins == found.origins for entry in listed)


class Hint(NamedTuple):
    """A value that is stated for gpulint only, and what the file states of the same quantity; None if nothing.

    `text` is the hint as a comment states it, `kind` the kind of place that holds it.
    """

    text: str
    kind: str
    quantity: str
    field: Field
    stated: Field | None
    place: Comment | Origin | None = None


class Member(NamedTuple):
    """One way in which a decision can be made: a label, and the fields that it sets.

    `resolved` is the architecture of a member that names a checkpoint or a network of its own.
    """

    label: str
    fields: Mapping[str, Field]
    resolved: Resolution | None = None


@dataclass(frozen=True, slots=True)
class Decision:
    """Values that a file leaves open and that somebody settles together.

    `decider` is the party that settles them. `members` are sorted along one axis if they are `ordered`. `expected`
    is the index of the likely member, by the `source`; None if no source names one.
    """

    name: str
    decider: str
    source: str
    members: tuple[Member, ...]
    expected: int | None = None
    ordered: bool = False

    @property
    def fields(self) -> frozenset[str]:
        """Return the names of all fields that some member sets."""
        return frozenset().union(*(member.fields for member in self.members))


@dataclass(frozen=True, slots=True)
class Role:
    """One part of a workload with its own engine, parallelism and placement.

    Fields have glossary names.

    `anchor` is where a finding points if nothing more exact is stated. `arguments` is the last of the
    engine's arguments (a key, if keys with glossary names state them). `open_ended` says why the arguments
    may hold more than could be read. `available` is what the team can have instead. `hints` are the fields that
    comments, annotations and settings state. `command` starts a program that no engine claims. `container` is how its
    container starts, if the image may decide what runs; `image_assumption` says how its Dockerfile was found if no file
    states that it builds the image.
    """

    name: str
    anchor: Origin
    fields: Mapping[str, Field]
    arguments: Origin | None = None
    open_ended: str = ""
    available: Available = EVERYTHING
    hints: tuple[Hint, ...] = ()
    command: Command | None = None
    container: Container | None = None
    image_assumption: str = ""

    def value(self, name: str) -> Value | Unknown:
        """Return the stated value; None if it is not stated."""
        field = self.fields.get(name)
        return None if field is None else field.value

    def text(self, name: str) -> str:
        """Return the stated value as text; empty if it is unknown or not stated."""
        value = self.value(name)
        return value if isinstance(value, str) else ""

    def having(self, **fields: Field) -> Role:
        """Return the same role with these fields replaced."""
        return replace(self, fields={**self.fields, **fields})


@dataclass(frozen=True, slots=True)
class Workload:
    """What one object of a file asks the hardware to do. It begins at its `anchor` if it is a part of a text."""

    name: str
    kind: str
    adapter: str
    document: Document
    path: Path
    roles: tuple[Role, ...]
    anchor: Origin | None = None

    def location(self) -> Location:
        if self.anchor is not None:
            return self.anchor.location()
        return self.document.locate((*self.path, "kind"))
