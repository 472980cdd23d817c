"""Reader: a Facility document as the tree of its components, every field with its location."""

from __future__ import annotations

import functools
import re
from collections.abc import Iterator

from gpulint import units
from gpulint.catalog import hardware
from gpulint.facility.model import HOLDS, LISTS, Component, list_keys
from gpulint.facts.glossary import Quantity
from gpulint.source.documents import Document, Path
from gpulint.workload import Field, Origin, Role, Unknown, Value

API_VERSION = "gpulint/v1"
API_GROUP = "gpulint"
KIND = "Facility"
RANGE = re.compile(r"^(.*)\[(\d+)-(\d+)\](.*)$")
IN_UNITS = frozenset({"rack_units", "server_units", "position_u"})
RACK_UNITS = re.compile(r"^[uU]\s*(?=\d)|(?<=\d)\s*[uU]$")
WHOLE_NUMBERS = frozenset({"servers", "psus", "psus_needed", "server_gpus", "feed_phases"})
"""Quantities that must be whole numbers."""
RANGE_MAX = 10_000
"""Maximum components of one name range. A hall has fewer racks."""
COMPONENTS_MAX = 50_000
"""Maximum components of one file. Nested ranges could otherwise exhaust memory."""


def claims(document: Document) -> bool:
    """Return whether a document describes a facility, in any version of our API."""
    return document.get(("kind",)) == KIND and str(document.get(("apiVersion",))).startswith(API_GROUP)


@functools.lru_cache(maxsize=1)
def read(document: Document) -> Component:
    """Return the facility of a valid document. Values that cannot be read are unknown."""
    name = _read_written(document, ("metadata", "name"))
    anchor = Origin(document, ("metadata", "name") if isinstance(name, str) else ("kind",))
    named = {"facility_name": Field(str(name), (anchor,))} if isinstance(name, str) else {}
    fields, parts = _read_mapping(document, ("spec",), "facility")
    return Component("facility", Role(str(name or KIND), anchor, {**named, **fields}), parts)


def count_components(data: object) -> int:
    """Return the number of components that a mapping describes, with ranges of names expanded."""
    if not isinstance(data, dict):
        return 0
    listed = (item for key, items in data.items() if key in LISTS and isinstance(items, list) for item in items)
    return sum(_range_length(item) * (1 + count_components(item)) for item in listed)


def _range_length(data: object) -> int:
    """Return how many components a name range describes."""
    match = RANGE.match(str(data.get("name"))) if isinstance(data, dict) else None
    return max(1, int(match[3]) - int(match[2]) + 1) if match and len(match[3]) < len(str(COMPONENTS_MAX)) + 2 else 1


def _read_mapping(document: Document, path: Path, kind: str) -> tuple[dict[str, Field], tuple[Component, ...]]:
    """Return the fields of a component, and the components that it lists."""
    stated = document.get(path)
    if not isinstance(stated, dict):
        return {}, ()
    words = list_keys(kind)
    fields = {
        words[key].name: _read_field(document, (*path, key), value, words[key])
        for key, value in stated.items()
        if key in words and value is not None
    }
    listed = (key for key in stated if LISTS.get(key) in HOLDS.get(kind, ()) and isinstance(stated[key], list))
    return fields, tuple(child for key in listed for child in _read_list(document, (*path, key), LISTS[key]))


def _read_list(document: Document, path: Path, kind: str) -> Iterator[Component]:
    """Yield the components of a list, with name ranges expanded."""
    items = document.get(path)
    for at in range(len(items) if isinstance(items, list) else 0):
        place = (*path, at)
        fields, parts = _read_mapping(document, place, kind)
        stated = _read_written(document, (*place, "name"))
        anchor = Origin(document, (*place, "name") if isinstance(stated, str) else place)
        for name in expand_names(stated) if isinstance(stated, str) else (_default_name(fields, kind, at),):
            own = {f"{kind}_name": Field(name, (anchor,))} if f"{kind}_name" in fields or kind == "feed" else {}
            yield Component(kind, Role(name, anchor, {**fields, **own}), parts)


def _default_name(fields: dict[str, Field], kind: str, at: int) -> str:
    """Return a name for an unnamed component: a server's type, a feed's letter, a cable's ends."""
    if kind == "feed" and at < 26:
        return chr(ord("A") + at)
    if kind == "cable" and {"cable_from", "cable_to"} <= fields.keys():
        return f"{fields['cable_from'].value} to {fields['cable_to'].value}"
    stated = fields["server_type"].value if "server_type" in fields else None
    return stated if isinstance(stated, str) else f"{kind} {at + 1}"


def expand_names(stated: str) -> Iterator[str]:
    """Expand a name range such as r[01-08]. A plain name, or a range that is too long, stays as it
    is.
    """
    match = RANGE.match(stated)
    if match is None or not int(match[2]) <= int(match[3]) < int(match[2]) + RANGE_MAX:
        yield stated
        return
    for number in range(int(match[2]), int(match[3]) + 1):
        yield f"{match[1]}{number:0{len(match[2])}}{match[4]}"


def _read_field(document: Document, path: Path, held: object, quantity: Quantity) -> Field:
    """Return the value of a key in base units, with its location."""
    origin = (Origin(document, path),)
    try:
        return Field(
            parse_value(_find_written(document, path, held) if quantity.type == "text" else held, quantity), origin
        )
    except ValueError as error:
        return Field(Unknown(str(error)), origin)


def read_declared(document: Document, path: Path, quantity: Quantity) -> object:
    """Return the value at a location; a text as the file writes it."""
    return _read_written(document, path) if quantity.type == "text" else document.get(path)


def _read_written(document: Document, path: Path) -> object:
    """A scalar as it is written: YAML 1.1 reads N and y as truth values, and 012 as ten."""
    return _find_written(document, path, document.get(path))


def _find_written(document: Document, path: Path, found: object) -> object:
    """Return the value at a path as it is written in the file."""
    node = document.node(path) if isinstance(found, bool | int | float) else None
    whole = node is not None and node.kind == "scalar" and node.target is None and isinstance(node.value, str)
    return node.value if node is not None and whole else found


def parse_value(stated: object, quantity: Quantity) -> Value:
    """Return a declared value in base units. Raise ValueError with a message if it does not suit
    its quantity.
    """
    match quantity.type:
        case "number":
            return _parse_number(stated, quantity)
        case "flag":
            if not isinstance(stated, bool):
                raise ValueError(f"{stated} is not true or false")
            return stated
        case "map":
            if not isinstance(stated, dict):
                raise ValueError(f"{stated} is not a mapping such as {{NAME: VALUE}}")
            return {str(key): str(one) for key, one in stated.items() if one is not None}
        case "list":
            return tuple(map(str, stated)) if isinstance(stated, list) else (str(stated),)
    if isinstance(stated, bool | dict | list):
        raise ValueError(f"{stated} is not text")
    return _parse_accelerator(str(stated)) if quantity.name == "accelerator" else _parse_word(str(stated), quantity)


def _parse_accelerator(stated: str) -> str:
    accelerator = hardware.find_accelerator(stated)
    if accelerator is None:
        from gpulint.facility import misspellings

        raise ValueError(f"the catalog has no accelerator {stated}{misspellings.suggest_accelerator(stated)}")
    return accelerator.id


def _parse_number(stated: object, quantity: Quantity) -> Value:
    if isinstance(stated, bool) or not isinstance(stated, int | float | str):
        raise ValueError(f"{str(stated).lower()} is not a number")
    if not quantity.unit:
        return _parse_count(stated, quantity)
    number = units.parse(stated, quantity.unit)
    if number < 0 and quantity.unit != "c":
        raise ValueError(f"{stated} is negative")
    return number


def _parse_count(stated: float | str, quantity: Quantity) -> Value:
    """Return a number of things or of rack units, which people also write as 42U or U7."""
    text = str(stated).strip()
    bare = RACK_UNITS.sub("", text) if quantity.name in IN_UNITS else text
    if not re.fullmatch(r"\d+(\.\d+)?", bare):
        raise ValueError(f"{stated} is negative" if text.startswith("-") else f'"{text}" is not a number such as 42')
    number = float(bare)
    if quantity.name in WHOLE_NUMBERS and not number.is_integer():
        raise ValueError(f"{stated} is not a whole number")
    return int(number) if number.is_integer() else number


def _parse_word(stated: str, quantity: Quantity) -> str:
    if not quantity.words or stated in quantity.words:
        return stated
    near = next((word for word in quantity.words if word.lower() == stated.lower()), None)
    if near is not None:
        return near
    raise ValueError(f"{stated} is not one of {', '.join(quantity.words)}")
