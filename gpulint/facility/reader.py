"""Reader: a Facility document into the tree of its parts, every field with its place."""

from __future__ import annotations

import functools
import re
from collections.abc import Iterator

from gpulint import units
from gpulint.catalog import hardware
from gpulint.facility.model import HOLDS, LISTS, Part, keys
from gpulint.facts.resolver import Quantity
from gpulint.source.documents import Document, Path
from gpulint.workload import Field, Origin, Role, Unknown, Value

API_VERSION = "gpulint/v1"
OURS = "gpulint"
KIND = "Facility"
RANGE = re.compile(r"^(.*)\[(\d+)-(\d+)\](.*)$")
IN_UNITS = frozenset({"rack_units", "server_units", "position_u"})
RACK_UNITS = re.compile(r"^[uU]\s*(?=\d)|(?<=\d)\s*[uU]$")
WHOLE = frozenset({"servers", "psus", "psus_needed", "server_gpus", "feed_phases"})
"""What there are no halves of."""
ALIKE_MAX = 10_000
"""Parts that one name may stand for: a hall has fewer racks."""
PARTS_MAX = 50_000
"""Parts of one file: ranges within ranges would be more than any machine holds."""


def claims(document: Document) -> bool:
    """Whether a document describes a facility, of whatever version of our API."""
    return document.get(("kind",)) == KIND and str(document.get(("apiVersion",))).startswith(OURS)


@functools.lru_cache(maxsize=1)
def read(document: Document) -> Part:
    """The facility of a document that its contract accepts; what cannot be read is unknown."""
    name = _written(document, ("metadata", "name"))
    anchor = Origin(document, ("metadata", "name") if isinstance(name, str) else ("kind",))
    named = {"facility_name": Field(str(name), (anchor,))} if isinstance(name, str) else {}
    fields, parts = _inside(document, ("spec",), "facility")
    return Part("facility", Role(str(name or KIND), anchor, {**named, **fields}), parts)


def count(data: object) -> int:
    """The parts that a mapping of a file describes, those behind ranges of names among them."""
    if not isinstance(data, dict):
        return 0
    listed = (one for key, held in data.items() if key in LISTS and isinstance(held, list) for one in held)
    return sum(_alike(one) * (1 + count(one)) for one in listed)


def _alike(data: object) -> int:
    """How many parts the name of one stands for."""
    match = RANGE.match(str(data.get("name"))) if isinstance(data, dict) else None
    return max(1, int(match[3]) - int(match[2]) + 1) if match and len(match[3]) < len(str(PARTS_MAX)) + 2 else 1


def _inside(document: Document, path: Path, kind: str) -> tuple[dict[str, Field], tuple[Part, ...]]:
    """What a mapping states of a part, and the parts that it lists."""
    stated = document.get(path)
    if not isinstance(stated, dict):
        return {}, ()
    words = keys(kind)
    fields = {
        words[key].name: _field(document, (*path, key), value, words[key])
        for key, value in stated.items()
        if key in words and value is not None
    }
    listed = (key for key in stated if LISTS.get(key) in HOLDS.get(kind, ()) and isinstance(stated[key], list))
    return fields, tuple(one for key in listed for one in _listed(document, (*path, key), LISTS[key]))


def _listed(document: Document, path: Path, kind: str) -> Iterator[Part]:
    """The parts of a list, those of a name with a range one by one."""
    held = document.get(path)
    for at in range(len(held) if isinstance(held, list) else 0):
        place = (*path, at)
        fields, parts = _inside(document, place, kind)
        stated = _written(document, (*place, "name"))
        anchor = Origin(document, (*place, "name") if isinstance(stated, str) else place)
        for name in names(stated) if isinstance(stated, str) else (_nameless(fields, kind, at),):
            own = {f"{kind}_name": Field(name, (anchor,))} if f"{kind}_name" in fields or kind == "feed" else {}
            yield Part(kind, Role(name, anchor, {**fields, **own}), parts)


def _nameless(fields: dict[str, Field], kind: str, at: int) -> str:
    """What to call a part without a name: a server its type, a feed by its letter, a cable by its ends."""
    if kind == "feed" and at < 26:
        return chr(ord("A") + at)
    if kind == "cable" and {"cable_from", "cable_to"} <= fields.keys():
        return f"{fields['cable_from'].value} to {fields['cable_to'].value}"
    stated = fields["server_type"].value if "server_type" in fields else None
    return stated if isinstance(stated, str) else f"{kind} {at + 1}"


def names(stated: str) -> Iterator[str]:
    """The names that a range stands for, as r[01-08]: itself where it holds none, or one that is too long."""
    match = RANGE.match(stated)
    if match is None or not int(match[2]) <= int(match[3]) < int(match[2]) + ALIKE_MAX:
        yield stated
        return
    for number in range(int(match[2]), int(match[3]) + 1):
        yield f"{match[1]}{number:0{len(match[2])}}{match[4]}"


def _field(document: Document, path: Path, held: object, quantity: Quantity) -> Field:
    """The value of a key in base units, with its place."""
    origin = (Origin(document, path),)
    try:
        return Field(value(_as_written(document, path, held) if quantity.type == "text" else held, quantity), origin)
    except ValueError as error:
        return Field(Unknown(str(error)), origin)


def stated(document: Document, path: Path, quantity: Quantity) -> object:
    """What stands at a place; where a text is wanted, as it is written."""
    return _written(document, path) if quantity.type == "text" else document.get(path)


def _written(document: Document, path: Path) -> object:
    """A scalar as it is written: YAML 1.1 reads N and y as truth values, and 012 as ten."""
    return _as_written(document, path, document.get(path))


def _as_written(document: Document, path: Path, found: object) -> object:
    """What was found at a path as it is written there."""
    node = document.node(path) if isinstance(found, bool | int | float) else None
    whole = node is not None and node.kind == "scalar" and node.target is None and isinstance(node.value, str)
    return node.value if node is not None and whole else found


def value(stated: object, quantity: Quantity) -> Value:
    """A stated value in base units; ValueError in words where it is none of its quantity."""
    match quantity.type:
        case "number":
            return _number(stated, quantity)
        case "flag":
            if not isinstance(stated, bool):
                raise ValueError(f"{stated} is not true or false")
            return stated
        case "map":
            if not isinstance(stated, dict):
                raise ValueError(f"{stated} is not a mapping such as {{NAME: VALUE}}")
            return {str(key): str(one) for key, one in stated.items()}
        case "list":
            return tuple(map(str, stated)) if isinstance(stated, list) else (str(stated),)
    if isinstance(stated, bool | dict | list):
        raise ValueError(f"{stated} is not a text")
    return _product(str(stated)) if quantity.name == "accelerator" else _word(str(stated), quantity)


def _product(stated: str) -> str:
    product = hardware.named(stated)
    if product is None:
        from gpulint.facility import misspellings as mistakes

        raise ValueError(f"the catalog has no accelerator {stated}{mistakes.near_accelerator(stated)}")
    return product.id


def _number(stated: object, quantity: Quantity) -> Value:
    if isinstance(stated, bool) or not isinstance(stated, int | float | str):
        raise ValueError(f"{str(stated).lower()} is not a number")
    if not quantity.unit:
        return _counted(stated, quantity)
    found = units.parse(stated, quantity.unit)
    if found < 0 and quantity.unit != "c":
        raise ValueError(f"{stated} is negative")
    return found


def _counted(stated: float | str, quantity: Quantity) -> Value:
    """A number of things, or of rack units, which people also write 42U and U7."""
    text = str(stated).strip()
    bare = RACK_UNITS.sub("", text) if quantity.name in IN_UNITS else text
    if not re.fullmatch(r"\d+(\.\d+)?", bare):
        raise ValueError(f"{stated} is negative" if text.startswith("-") else f'"{text}" is not a number such as 42')
    found = float(bare)
    if quantity.name in WHOLE and not found.is_integer():
        raise ValueError(f"{stated} is not a whole number")
    return int(found) if found.is_integer() else found


def _word(stated: str, quantity: Quantity) -> str:
    if not quantity.words or stated in quantity.words:
        return stated
    near = next((one for one in quantity.words if one.lower() == stated.lower()), None)
    if near is not None:
        return near
    raise ValueError(f"{stated} is none of {', '.join(quantity.words)}")
