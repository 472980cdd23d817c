"""Keys: how the fields of a record stand in the JSON report and in its schema.

A field stands under its own name unless its annotation carries one of these markers.
"""

from __future__ import annotations

import enum
import functools
from collections.abc import Iterator
from typing import Annotated, Any, NamedTuple, get_args, get_origin, get_type_hints


class Mark(enum.Enum):
    """A marker that needs no words of its own."""

    HIDDEN = enum.auto()
    BY_NAME = enum.auto()
    DERIVED = enum.auto()


HIDDEN = Mark.HIDDEN
"""The field is not in the JSON."""
BY_NAME = Mark.BY_NAME
"""The facts of the field are the values of a mapping, under their names."""
DERIVED = Mark.DERIVED
"""The property is in the JSON, like a field."""


class Key(NamedTuple):
    """The field stands under another key."""

    name: str


class Inlined(NamedTuple):
    """The keys of the field's record stand among those of the record around it: all of them, or these."""

    keys: tuple[str, ...] = ()


class Between(NamedTuple):
    """The numbers that the field may have."""

    least: int
    most: int | None = None


class Items(NamedTuple):
    """How many items the field may have."""

    least: int = 0
    most: int | None = None


class Words(NamedTuple):
    """The only texts that the field may have."""

    words: tuple[str, ...]


class Entry(NamedTuple):
    """A field of a record as JSON has it: its key, its annotation, and what its markers say."""

    field: str
    key: str
    annotation: Any
    marks: tuple[object, ...]
    by_name: bool
    inlined: tuple[str, ...] | None


@functools.cache
def list_entries(record: type) -> tuple[Entry, ...]:
    """Return the fields of a record that stand in the JSON, in order."""
    hints = get_type_hints(record, include_extras=True)
    fields = [_make_entry(field, hints[field]) for field in record._fields]  # type: ignore[attr-defined]
    return (*(entry for entry in fields if HIDDEN not in entry.marks), *_list_derived(record))


def _list_derived(record: type) -> Iterator[Entry]:
    for name, member in vars(record).items():
        if isinstance(member, property) and member.fget is not None:
            entry = _make_entry(name, get_type_hints(member.fget, include_extras=True).get("return"))
            if DERIVED in entry.marks:
                yield entry


def _make_entry(field: str, hint: Any) -> Entry:
    annotation, *marks = get_args(hint) if get_origin(hint) is Annotated else (hint,)
    renamed = next((mark.name for mark in marks if isinstance(mark, Key)), field)
    inlined = next((mark.keys for mark in marks if isinstance(mark, Inlined)), None)
    return Entry(field, renamed, annotation, tuple(marks), BY_NAME in marks, inlined)
