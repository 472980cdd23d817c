"""Shape: whether a Facility file is plainly one by the glossary's rows, so that most need no pydantic."""

from __future__ import annotations

import functools
from collections.abc import Mapping

from gpulint.facility.model import HOLDS, LISTS, NAMELESS, keys
from gpulint.facility.reader import API_VERSION, KIND

TOP = frozenset({"apiVersion", "kind", "metadata", "spec"})
TEXT = frozenset({str, int, float, bool})
SCALARS: Mapping[str, frozenset[type]] = {
    "number": frozenset({int, float, str}),
    "flag": frozenset({bool}),
    "text": TEXT,
}
"""The types of a value that is one word or number, by its quantity's type."""


def is_plain(data: object) -> bool:
    """Whether a file is one that its contract accepts without a second look; of any other the contract says why not."""
    if not isinstance(data, dict) or data.keys() != TOP or (data["apiVersion"], data["kind"]) != (API_VERSION, KIND):
        return False
    metadata = data["metadata"]
    named = isinstance(metadata, dict) and all(type(key) is str for key in metadata)
    return named and type(metadata.get("name")) in TEXT and _is_part(data["spec"], "facility")


def _is_part(data: object, kind: str) -> bool:
    if not isinstance(data, dict) or (kind not in NAMELESS and "name" not in data):
        return False
    types = _types(kind)
    return all(key in types and _is_value(value, types[key]) for key, value in data.items())


def _is_value(value: object, sort: str) -> bool:
    if sort in SCALARS:
        return value is None or type(value) in SCALARS[sort]
    if sort == "name":
        return type(value) in TEXT
    if sort == "map":
        return isinstance(value, dict) and all(
            type(key) is str and type(one) in SCALARS["number"] for key, one in value.items()
        )
    if not isinstance(value, list):
        return False
    return all(type(one) is str for one in value) if sort == "list" else all(_is_part(one, sort) for one in value)


@functools.cache
def _types(kind: str) -> Mapping[str, str]:
    """What each key of a kind of part takes: a quantity's type, a name, or a list of a kind of part."""
    own = {key: one.type for key, one in keys(kind).items()}
    named = {} if kind == "facility" else {"name": "name"}
    return {**own, **named, **{key: held for key, held in LISTS.items() if held in HOLDS.get(kind, ())}}
