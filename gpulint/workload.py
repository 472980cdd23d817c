"""Workload: a training job or an inference service as declared, in roles whose fields remember where they are stated."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import NamedTuple

from gpulint.catalog.offers import EVERYTHING, Available
from gpulint.report.model import Location
from gpulint.source.documents import Document, Path

Value = int | float | str | bool | None | tuple[str, ...] | Mapping[str, str]


@dataclass(frozen=True, slots=True)
class Unknown:
    """A value that is set but cannot be read, why, and of which `CATEGORIES` the reason is, where it is one of them.

    `lacking` is the quantity that somebody would have to state instead, where it is not the value's own.
    """

    reason: str
    category: str = ""
    lacking: str = ""


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
"""What explains that a file does not tell a value: who decides it instead."""


class Origin(NamedTuple):
    """One place that states a value: a path of a document, and the characters of its text when it is a word in it."""

    document: Document
    path: Path
    span: tuple[int, int] | None = None
    key: bool = False

    def location(self) -> Location:
        return self.document.locate(self.path, key=self.key, span=self.span)

    def text(self) -> str:
        """The text that stands there now."""
        value = str(self.path[-1]) if self.key else self.document.get(self.path)
        text = value if isinstance(value, str) else str(value)
        return text if self.span is None else text[slice(*self.span)]


@dataclass(frozen=True, slots=True)
class Field:
    """A value with every place that states it, the deciding one first, or else where it comes from.

    `source` names what supplied a value that no place in the file states ("default of vLLM 0.10", "--accelerator");
    `assumption` is a sentence for the report when the value was inferred.
    """

    value: Value | Unknown
    origins: tuple[Origin, ...] = ()
    source: str = ""
    assumption: str = ""


@dataclass(frozen=True, slots=True)
class Role:
    """One part of a workload with its own engine, parallelism and placement; fields carry glossary names.

    `anchor` is where a finding points when nothing more exact states the matter; `arguments` is the last of the engine's
    arguments (a key, where keys in the glossary's words state them); `open_ended` says why the arguments may hold more
    than could be read. `available` is what its team can have instead.
    """

    name: str
    anchor: Origin
    fields: Mapping[str, Field]
    arguments: Origin | None = None
    open_ended: str = ""
    available: Available = EVERYTHING

    def value(self, name: str) -> Value | Unknown:
        """The stated value; None when nothing states it."""
        field = self.fields.get(name)
        return None if field is None else field.value

    def text(self, name: str) -> str:
        """The stated value as text; empty when it is unknown or not stated."""
        value = self.value(name)
        return value if isinstance(value, str) else ""

    def having(self, **fields: Field) -> Role:
        """The same role with these fields instead."""
        return replace(self, fields={**self.fields, **fields})


@dataclass(frozen=True, slots=True)
class Workload:
    """What one object of a file asks the hardware to do."""

    name: str
    kind: str
    adapter: str
    document: Document
    path: Path
    roles: tuple[Role, ...]

    def location(self) -> Location:
        return self.document.locate((*self.path, "kind"))
