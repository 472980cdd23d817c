"""Shape: a quick check that a Facility file follows the glossary's rows, so that most files need no
pydantic.
"""

from __future__ import annotations

import functools
from collections.abc import Mapping

from gpulint.facility.model import HOLDS, LISTS, NAMELESS, list_keys
from gpulint.facility.reader import API_VERSION, KIND

TOP = frozenset({"apiVersion", "kind", "metadata", "spec"})
TEXT = frozenset({str, int, float, bool})
SCALARS: Mapping[str, frozenset[type]] = {
    "number": frozenset({int, float, str}),
    "flag": frozenset({bool}),
    "text": TEXT,
}
"""The Python types of a scalar value, by its quantity's type."""


def is_plain(data: object) -> bool:
    """Return whether a file is valid beyond doubt. For any other file the full contract decides and
    gives the reason.
    """
    if not isinstance(data, dict) or data.keys() != TOP or (data["apiVersion"], data["kind"]) != (API_VERSION, KIND):
        return False
    metadata = data["metadata"]
    named = isinstance(metadata, dict) and all(type(key) is str for key in metadata)
    return named and type(metadata.get("name")) in TEXT and _is_part(data["spec"], "facility")


def _is_part(data: object, kind: str) -> bool:
    if not isinstance(data, dict) or (kind not in NAMELESS and "name" not in data):
        return False
    types = _key_types(kind)
    return all(key in types and _is_value(value, types[key]) for key, value in data.items())


def _is_value(value: object, sort: str) -> bool:
    if sort in SCALARS:
        return value is None or type(value) in SCALARS[sort]
    if sort == "name":
        return type(value) in TEXT
    if sort == "map":
        return isinstance(value, dict) and all(
            type(key) is str and (item is None or type(item) in SCALARS["number"]) for key, item in value.items()
        )
    if not isinstance(value, list):
        return False
    return all(type(item) is str for item in value) if sort == "list" else all(_is_part(item, sort) for item in value)


@functools.cache
def _key_types(kind: str) -> Mapping[str, str]:
    """Return what each key of a kind of component takes: a quantity's type, a name, or a list of
    components.
    """
    own = {key: quantity.type for key, quantity in list_keys(kind).items()}
    named = {} if kind == "facility" else {"name": "name"}
    return {**own, **named, **{key: held for key, held in LISTS.items() if held in HOLDS.get(kind, ())}}
