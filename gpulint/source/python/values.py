"""Values: what an expression of a Python program is, as far as its text says, with the place of the literal."""

from __future__ import annotations

import ast
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from gpulint.source.documents import Document, Path

CHOICES_MAX = 8
ITEMS_MAX = 1_000
CALLER = "caller"
ENVIRONMENT = "environment"
RUN_TIME = "run time"

Plain = str | int | float | bool | bytes | None


class Place(NamedTuple):
    """Where a value stands: a path of a document, and the span of its characters."""

    document: Document
    path: Path = ()
    span: tuple[int, int] | None = None


class Given(NamedTuple):
    """A word of the command or a variable of the environment: its text, and the caller's own note of its place.

    A text of None is one that cannot be known, for the reason `why`.
    """

    text: str | None
    place: object = None
    why: str = ""


@dataclass(frozen=True, slots=True)
class Constant:
    """A value that the text states. `place` is that of the literal, or a caller's note for a given text.

    `name` is the variable or the flag that could have stated another value. `computed` is true if no literal has the
    value.
    """

    value: Plain
    place: object = None
    name: str = ""
    computed: bool = False


@dataclass(frozen=True, slots=True)
class Open:
    """A value that cannot be evaluated: the reason, who decides it, and the name of what decides it."""

    reason: str
    decider: str = RUN_TIME
    name: str = ""
    place: object = None


@dataclass(frozen=True, slots=True)
class Name:
    """What another package defines, by its full name: `torch.bfloat16`."""

    name: str
    place: object = None


class Point(NamedTuple):
    """A place where somebody else decides how the program goes on: a branch, a key of a dict, an item of a loop.

    `members` are the numbers of the ways that are open, each with a label. If a label is empty, what the program does
    in that way gives it. `name` and `decider` say who decides, if it is an argument or a variable.
    """

    key: tuple[object, ...]
    members: tuple[int, ...]
    labels: tuple[str, ...] = ()
    decider: str = RUN_TIME
    name: str = ""
    place: object = None


@dataclass(frozen=True, slots=True)
class Choice:
    """Several values of which a branch takes one."""

    members: tuple[Value, ...]


@dataclass(eq=False, slots=True)
class Items:
    """A list, tuple or set; `open_ended` if it may hold more.

    `rounds` is the number of items of a range, which are not listed.
    """

    items: list[Value]
    place: object = None
    open_ended: bool = False
    rounds: int = 0

    def extend(self, more: Value) -> None:
        """Add the items of another list; too many, or those of a value that is none, leave the list open."""
        if not isinstance(more, Items) or len(self.items) + len(more.items) > ITEMS_MAX:
            self.open_ended = True
        else:
            self.items = [*self.items, *more.items]
            self.open_ended = self.open_ended or more.open_ended


@dataclass(eq=False, slots=True)
class Mapping:
    """A dict by its keys. `keys` are their places; `open_ended` says why it may hold more."""

    entries: dict[Any, Value]
    place: object = None
    open_ended: str = ""
    keys: dict[Any, object] = field(default_factory=dict)


@dataclass(eq=False, slots=True)
class Function:
    """A function of the program, with the object that it is bound to."""

    node: ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda
    scope: Scope
    name: str
    decorators: tuple[Value, ...] = ()
    bound: Value | None = None
    owner: Class | None = None


@dataclass(eq=False, slots=True)
class Class:
    """A class of the program: its bases, and what its body defines in its order."""

    node: ast.ClassDef
    scope: Scope
    name: str
    bases: tuple[Value, ...]
    body: dict[str, Value]
    decorators: tuple[Value, ...] = ()
    keywords: dict[str, Value] = field(default_factory=dict)

    def find(self, name: str) -> Value | None:
        """Return what the class or a base of the program defines under a name."""
        return next((one.body[name] for one in self.lineage() if name in one.body), None)

    def lineage(self, seen: frozenset[int] = frozenset()) -> Iterator[Class]:
        """Yield the class and its bases that the program defines."""
        if id(self) in seen:
            return
        yield self
        for base in self.bases:
            if isinstance(base, Class):
                yield from base.lineage(seen | {id(self)})

    def external(self) -> str:
        """Return the full name of the first base that another package defines; empty if there is none."""
        bases = (base for one in self.lineage() for base in one.bases)
        return next((base.name for base in bases if isinstance(base, Name) and base.name != "object"), "")


@dataclass(eq=False, slots=True)
class Object:
    """What a call returned: the full name of what was called, and its arguments.

    `attributes` are set afterwards. `cls` is the class of the program, if it is one. `open_ended` says why there may be
    more arguments. A `reached` call runs when the program is started; any other is in a function that the
    program never calls. `within` are the nodes of the functions that it was made in.
    """

    name: str
    place: object = None
    arguments: list[Value] = field(default_factory=list)
    keywords: dict[str, Value] = field(default_factory=dict)
    attributes: dict[str, Value] = field(default_factory=dict)
    receiver: Value | None = None
    cls: Class | None = None
    open_ended: str = ""
    reached: bool = True
    within: tuple[int, ...] = ()

    def get(self, name: str) -> Value | None:
        """Return what an attribute or a keyword of that name is; None if neither is stated."""
        return self.attributes.get(name, self.keywords.get(name))


@dataclass(frozen=True, slots=True)
class Member:
    """An attribute of an object that another package defines."""

    receiver: Value
    name: str
    place: object = None


@dataclass(eq=False, slots=True)
class Scope:
    """The names of a module or a function. `star` are packages of which every name was imported."""

    names: dict[str, Value]
    document: Document
    module: str = ""
    parent: Scope | None = None
    star: list[str] = field(default_factory=list)
    shared: set[str] = field(default_factory=set)

    def find(self, name: str) -> Value | None:
        """Return what a name means in this scope or in one around it."""
        scope: Scope | None = self
        while scope is not None:
            if name in scope.names:
                return scope.names[name]
            scope = scope.parent
        return None

    def root(self) -> Scope:
        """Return the scope of the module."""
        scope = self
        while scope.parent is not None:
            scope = scope.parent
        return scope


Value = Constant | Open | Name | Choice | Items | Mapping | Function | Class | Object | Member | Scope


ABSENT = Open("not set in every case", RUN_TIME)


def list_members(value: Value) -> tuple[Value, ...]:
    """Return the values between which a branch chooses; the value itself if it is one."""
    return value.members if isinstance(value, Choice) else (value,)


def choose(values: Iterable[Value]) -> Value:
    """Return the values as one; equal constants count once, and too many are open."""
    found: dict[object, Value] = {}
    for value in values:
        for member in list_members(value):
            found.setdefault(_identify(member), member)
    if len(found) == 1:
        return next(iter(found.values()))
    if not found or len(found) > CHOICES_MAX:
        return Open("it has too many possible values")
    return Choice(tuple(found.values()))


def _identify(value: Value) -> object:
    if isinstance(value, Constant):
        return type(value.value), value.value
    if isinstance(value, Name):
        return Name, value.name
    return (type(value), value) if isinstance(value, Open) else id(value)


def is_true(value: Value | None) -> bool | None:
    """Return whether a condition holds; None if that cannot be known."""
    if isinstance(value, Constant):
        return bool(value.value)
    if isinstance(value, Items):
        return True if value.items else None if value.open_ended else False
    if isinstance(value, Mapping):
        return True if value.entries else None if value.open_ended else False
    if isinstance(value, Choice):
        held = {is_true(member) for member in value.members}
        return held.pop() if len(held) == 1 else None
    if isinstance(value, Function | Class | Scope):
        return True
    return True if isinstance(value, Object) and value.cls is not None else None
