"""Inventory: the objects that NetBox exports, by kind, whether its API or its tables wrote them."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import NamedTuple

from gpulint import units
from gpulint.facility.netbox import exports
from gpulint.facility.netbox.exports import Export, text_of
from gpulint.source.documents import Document, Path
from gpulint.source.documents.nodes import Invalid
from gpulint.workload import Field, Origin, Unknown, Value

KINDS = (
    "sites",
    "locations",
    "racks",
    "rack-types",
    "devices",
    "device-types",
    "power-port-templates",
    "power-outlet-templates",
    "power-panels",
    "power-feeds",
    "power-ports",
    "power-outlets",
    "interfaces",
    "modules",
    "inventory-items",
    "cables",
)
"""The endpoints of the API whose objects are read."""
PLACED = ("racks", "devices", "power-feeds")
"""Kinds without which an inventory describes no room."""
BYTES_MAX = exports.EXPORT_BYTES_MAX
COLUMNS: Mapping[str, frozenset[str]] = {
    "power-feeds": frozenset({"power_panel", "voltage", "amperage"}),
    "power-outlets": frozenset({"device", "feed_leg"}),
    "power-ports": frozenset({"device", "maximum_draw"}),
    "cables": frozenset({"a_terminations", "b_terminations"}),
    "interfaces": frozenset({"device", "name", "mac_address"}),
    "devices": frozenset({"name", "role", "rack", "device_type"}),
    "device-types": frozenset({"manufacturer", "model", "u_height"}),
    "racks": frozenset({"name", "site", "u_height"}),
    "power-panels": frozenset({"name", "site", "feeds"}),
}
"""The fields that tell what a list holds, where neither its name nor an address does."""
HEADINGS: Mapping[str, Mapping[str, str]] = {
    "devices": {"type": "device_type", "device_role": "role"},
    "device-types": {"device_type": "model", "height": "u_height", "full_depth": "is_full_depth"},
    "racks": {"height": "u_height"},
    "cables": {"termination_a": "a_terminations", "termination_b": "b_terminations"},
}
"""The fields of the API by the headings of a table, and by what older releases call them."""
DIGITS_MAX = 40
NUMBER_MAX = 10**9
_ENDPOINT = re.compile(r"/api/dcim/([a-z-]+)/")
_NUMBER = re.compile(r"-?\d+(?:\.\d+)?")


class Entry(NamedTuple):
    """One object of an inventory, and where it stands."""

    row: Mapping[str, object]
    document: Document
    path: Path = ()

    def origin(self, key: str = "") -> Origin:
        return Origin(self.document, (*self.path, key) if key else self.path)

    def text(self, key: str) -> str:
        """What it says under a key: of a choice its value, of another object its name; empty where it says nothing."""
        return text_of(self.row.get(key))

    def number(self, key: str) -> float | None:
        """The number under a key, without the unit that a table prints behind it."""
        return number_of(self.row.get(key))

    def id(self, key: str = "id") -> int | None:
        """The number by which other objects of the same export name it, or the object under a key."""
        stated = self.row.get(key)
        found = stated.get("id") if isinstance(stated, dict) else stated if key == "id" else None
        return int(found) if isinstance(found, int) or (isinstance(found, str) and found.isdigit()) else None

    def field(self, key: str, value: Value | Unknown) -> Field:
        """A value that it states under a key."""
        return Field(value, (self.origin(key),))

    def physical(self, key: str, unit: str, behind: str) -> Field | None:
        """A quantity with its unit, or `behind` it where none stands there; None where it says none."""
        stated = self.text(key)
        bare = _NUMBER.fullmatch(stated) is not None
        if not stated or (bare and not behind):
            return None
        try:
            found = units.parse(f"{stated} {behind}" if bare else stated, unit)
        except ValueError as error:
            return self.field(key, Unknown(str(error)))
        return self.field(key, found if found >= 0 else Unknown(f"{stated} is negative"))


class Trouble(NamedTuple):
    """What keeps a file from being read, or from being read whole."""

    path: str
    message: str


class Inventory(NamedTuple):
    """The objects of all files by kind, and the files that hold the types of devices."""

    entries: Mapping[str, Sequence[Entry]]
    types: tuple[str, ...]
    read: Callable[[str], bytes | None]
    troubles: tuple[Trouble, ...]

    def of(self, kind: str) -> Sequence[Entry]:
        """The objects of a kind."""
        return self.entries.get(kind, ())


def gathered(paths: Sequence[str], read: Callable[[str], bytes | None]) -> Inventory:
    """The inventory that some files hold; those of types of devices are opened when a device needs its type."""
    listed: dict[str, list[Export]] = {}
    troubles: list[Trouble] = []
    for path in (one for one in paths if one.endswith(exports.SUFFIXES)):
        for found in _exports(path, read, troubles):
            listed.setdefault(_kind(found), []).append(found)
    listed.pop("", None)
    entries = {kind: tuple(one for each in held for one in _entries(each, kind)) for kind, held in listed.items()}
    for kind, held in listed.items():
        if len(entries[kind]) < (total := max(one.total for one in held)):
            troubles.append(Trouble(held[-1].path, _partly(kind, len(entries[kind]), total)))
    types = tuple(one for one in paths if one.endswith((".yaml", ".yml")))
    return Inventory(entries, types, read, tuple(troubles))


def _partly(kind: str, found: int, total: int) -> str:
    return f"holds {found:,} of {total:,} {kind.replace('-', ' ')}: read the other pages too, as ?limit=1000&offset={found}"


def _exports(path: str, read: Callable[[str], bytes | None], troubles: list[Trouble]) -> Sequence[Export]:
    content = read(path)
    if content is None or len(content) > exports.EXPORT_BYTES_MAX:
        troubles.append(Trouble(path, "cannot be read" if content is None else "is too large to be read"))
        return ()
    try:
        return exports.read(path, content)
    except Invalid as error:
        troubles.append(Trouble(path, f"cannot be read: {error.message}"))
        return ()


def _kind(found: Export) -> str:
    """What a list holds: by the address of an object, by its name or its file's, or by its columns; empty is not ours."""
    first = next(iter(exports.objects(found)), {})
    if match := _ENDPOINT.search(str(first.get("url", ""))):
        return match[1] if match[1] in KINDS else ""
    stem = found.path.rpartition("/")[2].rpartition(".")[0]
    for name in (found.named, stem):
        if (told := _named(name)) is not None:
            return told
    return next((kind for kind, needed in COLUMNS.items() if needed <= _words(kind, first)), "")


def _words(kind: str, row: Mapping[str, object]) -> frozenset[str]:
    return frozenset(HEADINGS.get(kind, {}).get(key, key) for key in row)


def _named(name: str) -> str | None:
    """The kind that a name ends in or begins with, as netbox_power feeds or power-feeds-2; None where it tells none."""
    bare = re.sub(r"[^a-z]+", "-", name.lower().removeprefix("netbox")).strip("-")
    return next((kind for kind in sorted(KINDS, key=len, reverse=True) if bare == kind), None)


def _entries(found: Export, kind: str) -> Iterator[Entry]:
    headings = HEADINGS.get(kind, {})
    for at, row in enumerate(exports.objects(found)):
        renamed = headings.keys() & row.keys()
        yield Entry({headings.get(key, key): value for key, value in row.items()} if renamed else row, found, (at,))


def number_of(stated: object) -> float | None:
    """The number that a value begins with; None of one below zero, or larger than anything that stands in a room."""
    match = _NUMBER.match(text_of(stated)[:DIGITS_MAX])
    found = float(match[0]) if match else None
    if found is None or not 0 <= found <= NUMBER_MAX:
        return None
    return int(found) if found.is_integer() else found
