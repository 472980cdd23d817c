"""Inventory: the objects that NetBox exports, by kind, from its API or its tables."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import NamedTuple

from gpulint import units
from gpulint.facility.netbox import exports
from gpulint.facility.netbox.exports import Export, read_text
from gpulint.source.documents import Document, Path
from gpulint.source.documents.nodes import InvalidSyntaxError
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
"""An inventory without any of these kinds describes no facility."""
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
"""The fields that identify the kind of a list whose name and addresses do not."""
HEADINGS: Mapping[str, Mapping[str, str]] = {
    "devices": {"type": "device_type", "device_role": "role"},
    "device-types": {"device_type": "model", "height": "u_height", "full_depth": "is_full_depth"},
    "racks": {"height": "u_height"},
    "cables": {"termination_a": "a_terminations", "termination_b": "b_terminations"},
}
"""The API's field names, by table heading and by the name in older releases."""
DIGITS_MAX = 40
NUMBER_MAX = 10**9
_ENDPOINT = re.compile(r"/api/dcim/([a-z-]+)/")
_NUMBER = re.compile(r"-?\d+(?:\.\d+)?")


class Entry(NamedTuple):
    """One object of an inventory, with its location."""

    row: Mapping[str, object]
    document: Document
    path: Path = ()

    def origin(self, key: str = "") -> Origin:
        return Origin(self.document, (*self.path, key) if key else self.path)

    def text(self, key: str) -> str:
        """Return the text under a key: the value of a choice, the name of another object, or an
        empty text.
        """
        return read_text(self.row.get(key))

    def number(self, key: str) -> float | None:
        """Return the number under a key, without the unit that a table appends."""
        return parse_number(self.row.get(key))

    def id(self, key: str = "id") -> int | None:
        """Return the number by which other objects of the export refer to this one, or to the
        object under a key.
        """
        value = self.row.get(key)
        number = value.get("id") if isinstance(value, dict) else value if key == "id" else None
        return int(number) if isinstance(number, int) or (isinstance(number, str) and number.isdigit()) else None

    def field(self, key: str, value: Value | Unknown) -> Field:
        """Return a field for a value that the object declares under a key."""
        return Field(value, (self.origin(key),))

    def physical(self, key: str, unit: str, behind: str) -> Field | None:
        """Return a quantity with its own unit, or else the unit `behind`; None if it declares none."""
        text = self.text(key)
        bare = _NUMBER.fullmatch(text) is not None
        if not text or (bare and not behind):
            return None
        try:
            quantity = units.parse(f"{text} {behind}" if bare else text, unit)
        except ValueError as error:
            return self.field(key, Unknown(str(error)))
        return self.field(key, quantity if quantity >= 0 else Unknown(f"{text} is negative"))


class ReadProblem(NamedTuple):
    """A problem that keeps a file from being read completely."""

    path: str
    message: str


class Inventory(NamedTuple):
    """The objects of all files by kind, and the files that hold device types."""

    entries: Mapping[str, Sequence[Entry]]
    types: tuple[str, ...]
    read: Callable[[str], bytes | None]
    troubles: tuple[ReadProblem, ...]

    def list_entries(self, kind: str) -> Sequence[Entry]:
        """Return the objects of a kind."""
        return self.entries.get(kind, ())


def gather(paths: Sequence[str], read: Callable[[str], bytes | None]) -> Inventory:
    """Read the inventory in some files. Device-type files are opened only when a device needs its
    type.
    """
    listed: dict[str, list[Export]] = {}
    troubles: list[ReadProblem] = []
    for path in (name for name in paths if name.endswith(exports.SUFFIXES)):
        for export in _read_exports(path, read, troubles):
            listed.setdefault(_find_kind(export), []).append(export)
    listed.pop("", None)
    entries = {
        kind: tuple(entry for export in lists for entry in _read_entries(export, kind))
        for kind, lists in listed.items()
    }
    for kind, lists in listed.items():
        if len(entries[kind]) < (total := max(export.total for export in lists)):
            troubles.append(ReadProblem(lists[-1].path, _render_partial(kind, len(entries[kind]), total)))
    types = tuple(name for name in paths if name.endswith((".yaml", ".yml")))
    return Inventory(entries, types, read, tuple(troubles))


def _render_partial(kind: str, found: int, total: int) -> str:
    kinds = kind.replace("-", " ")
    return f"holds {found:,} of {total:,} {kinds}: export the other pages too, such as ?limit=1000&offset={found}"


def _read_exports(path: str, read: Callable[[str], bytes | None], troubles: list[ReadProblem]) -> Sequence[Export]:
    content = read(path)
    if content is None or len(content) > exports.EXPORT_BYTES_MAX:
        troubles.append(ReadProblem(path, "cannot be read" if content is None else "is too large to be read"))
        return ()
    try:
        return exports.read(path, content)
    except InvalidSyntaxError as error:
        troubles.append(ReadProblem(path, f"cannot be read: {error.message}"))
        return ()


def _find_kind(found: Export) -> str:
    """Return what a list holds, from an object's address, the list's or file's name, or its
    columns; empty if unsupported.
    """
    first = next(iter(exports.list_objects(found)), {})
    if match := _ENDPOINT.search(str(first.get("url", ""))):
        return match[1] if match[1] in KINDS else ""
    stem = found.path.rpartition("/")[2].rpartition(".")[0]
    for name in (found.named, stem):
        if (kind_in_name := _parse_kind(name)) is not None:
            return kind_in_name
    return next((kind for kind, needed in COLUMNS.items() if needed <= _field_names(kind, first)), "")


def _field_names(kind: str, row: Mapping[str, object]) -> frozenset[str]:
    return frozenset(HEADINGS.get(kind, {}).get(key, key) for key in row)


def _parse_kind(name: str) -> str | None:
    """Return the kind in a name such as netbox_power feeds or power-feeds-2; None if there is none."""
    bare = re.sub(r"[^a-z]+", "-", name.lower().removeprefix("netbox")).strip("-")
    return next((kind for kind in sorted(KINDS, key=len, reverse=True) if bare == kind), None)


def _read_entries(found: Export, kind: str) -> Iterator[Entry]:
    headings = HEADINGS.get(kind, {})
    for at, row in enumerate(exports.list_objects(found)):
        renamed = headings.keys() & row.keys()
        yield Entry({headings.get(key, key): value for key, value in row.items()} if renamed else row, found, (at,))


def parse_number(stated: object) -> float | None:
    """Return the number at the start of a value; None if it is negative or implausibly large."""
    match = _NUMBER.match(read_text(stated)[:DIGITS_MAX])
    number = float(match[0]) if match else None
    if number is None or not 0 <= number <= NUMBER_MAX:
        return None
    return int(number) if number.is_integer() else number
