"""Values of a template: plain data, in which each scalar keeps the location that states it.

A value that nothing in the repository decides is open. What is computed from it is open too.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import NamedTuple

from gpulint.source import excess
from gpulint.source.documents import Document, Path
from gpulint.workload import Origin

OPEN = "\ue000"
"""Stands for text that nothing in the repository decides."""
GAP = "\ue001"
"""Stands for lines of which it is open whether they are written."""
NODES_MAX = 50_000
DEPTH_MAX = 60
TEXT_MAX, PARTS_MAX = 500_000, 50_000


class Part(NamedTuple):
    """A part of a text, and the location of the value that it is; None if the template writes or computes it."""

    text: str
    origin: Origin | None = None


class Value:
    """A scalar, a mapping or a list of values, or something open.

    `parts` are those of a text that is joined from several values.
    """

    __slots__ = ("data", "is_open", "origin", "parts")

    def __init__(
        self, data: object = None, origin: Origin | None = None, parts: tuple[Part, ...] = (), is_open: bool = False
    ) -> None:
        self.data = data
        self.origin = origin
        self.parts = parts
        self.is_open = is_open

    @property
    def entries(self) -> dict[str, Value]:
        """The entries of a mapping; none if it is something else."""
        return self.data if isinstance(self.data, dict) else {}

    @property
    def items(self) -> list[Value]:
        """The items of a list; none if it is something else."""
        return self.data if isinstance(self.data, list) else []


UNKNOWN = Value(is_open=True)


def build(data: object, origin: Origin | None = None, depth: int = DEPTH_MAX) -> Value:
    """Return plain data as a value, with the locations below one if it is given."""
    return _build(data, origin, depth, [0])


def _build(data: object, origin: Origin | None, depth: int, built: list[int]) -> Value:
    built[0] += 1
    if depth < 0 or excess.is_over(built[0], NODES_MAX, "the values of a chart have more than {} entries"):
        return UNKNOWN
    if isinstance(data, dict):
        return Value(
            {str(key): _build(inner, _descend(origin, key), depth - 1, built) for key, inner in data.items()}, origin
        )
    if isinstance(data, list):
        return Value([_build(inner, _descend(origin, at), depth - 1, built) for at, inner in enumerate(data)], origin)
    return Value(data, origin)


def _descend(origin: Origin | None, step: str | int) -> Origin | None:
    return None if origin is None else Origin(origin.document, (*origin.path, step))


def read(document: Document, path: Path = ()) -> Value:
    """Return the values at a path of a document; an empty mapping if there are none."""
    data = document.get(path)
    return build(data if isinstance(data, dict) else {}, Origin(document, path))


def merge(base: Value, over: Value, keep_null: bool = False) -> Value:
    """Return values over those of a chart, as Helm coalesces them: mappings merge, null removes a key, lists are replaced."""
    if not isinstance(base.data, dict) or not isinstance(over.data, dict):
        return over
    merged = dict(base.data)
    for key, value in over.data.items():
        if value.data is None and not value.is_open and not keep_null:
            merged.pop(key, None)
        else:
            merged[key] = merge(merged[key], value) if key in merged else value
    return Value(merged, over.origin)


def copy(value: Value) -> Value:
    """Return the value with mappings and lists of its own, which a template may change."""
    check_size(value)
    return _copy(value)


def _copy(value: Value) -> Value:
    if isinstance(value.data, dict):
        return Value({key: _copy(inner) for key, inner in value.data.items()}, value.origin)
    if isinstance(value.data, list):
        return Value([_copy(inner) for inner in value.data], value.origin)
    return value


def plain(value: Value) -> object:
    """Return a value without locations."""
    check_size(value)
    return _plain(value)


def _plain(value: Value) -> object:
    if isinstance(value.data, dict):
        return {key: _plain(inner) for key, inner in value.data.items()}
    if isinstance(value.data, list):
        return [_plain(inner) for inner in value.data]
    return OPEN if value.is_open else value.data


def check_size(value: Value) -> None:
    """Raise ValueError for a value that is too large, as one that a template puts into itself many times."""
    waiting, seen = [value], 0
    while waiting:
        seen += 1
        if seen > NODES_MAX:
            raise ValueError(f"a value has more than {NODES_MAX:,} entries")
        found = waiting.pop().data
        waiting += found.values() if isinstance(found, dict) else found if isinstance(found, list) else ()


def is_open(value: Value) -> bool:
    """Return whether a value, or a part of its text, is open."""
    return value.is_open or (isinstance(value.data, str) and (OPEN in value.data or GAP in value.data))


def truth(value: Value) -> bool | None:
    """Return whether a value is not empty, in the sense of text/template; None if that is open."""
    if value.is_open:
        return None
    if isinstance(value.data, str) and is_open(value):
        return True if value.data.replace(OPEN, "").replace(GAP, "").strip() else None
    return bool(value.data)


def format_scalar(data: object) -> str:
    """Return a scalar as a template prints it."""
    if data is None:
        return ""
    if isinstance(data, bool):
        return "true" if data else "false"
    if isinstance(data, float) and data.is_integer() and abs(data) < 1e21:
        return str(int(data))
    return str(data)


def list_parts(value: Value) -> tuple[Part, ...]:
    """Return the text of a value in parts."""
    if value.parts:
        return value.parts
    if value.is_open:
        return (Part(OPEN),)
    if isinstance(value.data, dict | list):
        return (Part(_format_collection(value)),)
    return (Part(format_scalar(value.data), value.origin),)


def _format_collection(value: Value) -> str:
    """Return a collection as Go prints it."""
    check_size(value)
    if isinstance(value.data, dict):
        return f"map[{' '.join(f'{key}:{_format(inner)}' for key, inner in sorted(value.data.items()))}]"
    return f"[{' '.join(map(_format, value.items))}]"


def _format(value: Value) -> str:
    return "".join(part.text for part in list_parts(value))


def join(parts: Iterable[Part]) -> Value:
    """Return a text of parts."""
    kept = tuple(part for part in parts if part.text or part.origin)
    if len(kept) > PARTS_MAX or sum(len(part.text) for part in kept) > TEXT_MAX:
        raise ValueError(f"a chart renders a text of more than {TEXT_MAX:,} characters")
    whole = "".join(part.text for part in kept)
    origin = kept[0].origin if len(kept) == 1 else None
    return Value(whole, origin, kept)


def text(value: Value) -> Value:
    """Return a value as text that keeps its locations."""
    return value if isinstance(value.data, str) else join(list_parts(value))


def word(value: Value) -> str:
    """Return the text of a value without its locations."""
    return "".join(part.text for part in list_parts(value))


def mapping(entries: Mapping[str, object]) -> Value:
    """Return a mapping of values or plain data without locations."""
    return Value({key: inner if isinstance(inner, Value) else build(inner) for key, inner in entries.items()})
