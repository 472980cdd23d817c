"""Device types: what NetBox or its device-type library declares for every device of a type."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from typing import NamedTuple

from gpulint.catalog.hardware import servers
from gpulint.facility.netbox.exports import read_text
from gpulint.facility.netbox.objects import Entry, Inventory, parse_number
from gpulint.source import documents
from gpulint.workload import Field

CONNECTORS = {"iec-60320-c14": "C14", "iec-60320-c16": "C16", "iec-60320-c20": "C20"}
"""Inlet connectors of servers, by NetBox's name."""
COOLING = {"air": "air", "liquid": "liquid", "hybrid": "hybrid"}
COUNTED_PORTS = ("power_port", "power_outlet", "interface", "console_port", "module_bay", "device_bay")
NOTHING = (0,) * len(COUNTED_PORTS)
"""Counts of a device that cannot draw power."""


class Port(NamedTuple):
    """A power inlet of a device: its connector and its maximum draw; None if not declared."""

    name: str
    plug: str
    draw_w: float | None


class DeviceType(NamedTuple):
    """What is known of all devices of a type, with its catalog `server` if the catalog lists it."""

    name: str
    server: servers.Server | None
    fields: Mapping[str, Field]
    ports: Sequence[Port]
    outlets: Sequence[str]
    stated: Entry | None = None
    passive: bool = False
    half_depth: bool = False

    @property
    def height(self) -> float | None:
        """Return the rack units of one device."""
        units = self.fields.get("server_units")
        value = units.value if units else getattr(self.server, "server_units", None)
        return value if isinstance(value, int | float) else None


class DeviceTypes:
    """The device types of an inventory. Each type is read once, when the first device of it
    appears.
    """

    def __init__(self, inventory: Inventory) -> None:
        self.inventory = inventory
        self._types: dict[tuple[str, str], DeviceType] = {}
        self._names: set[str] = set()
        self._files = _Files(inventory.types)
        self._listed: dict[int | str, Entry] = {}
        for entry in inventory.list_entries("device-types"):
            for name in (entry.id(), *_list_names(entry)):
                self._listed.setdefault(name or "", entry)
        self._ports = _group_by_type(inventory.list_entries("power-port-templates"))
        self._outlets = _group_by_type(inventory.list_entries("power-outlet-templates"))

    def find_type(self, device: Entry) -> DeviceType:
        """Return the type of a device."""
        reference = device.row.get("device_type")
        maker = read_text(reference.get("manufacturer")) if isinstance(reference, dict) else device.text("manufacturer")
        model = read_text(reference.get("model") or reference) if isinstance(reference, dict) else read_text(reference)
        if (maker, model) not in self._types:
            slug = read_text(reference.get("slug")) if isinstance(reference, dict) else ""
            listed = self._listed.get(device.id("device_type") or "") or self._listed.get(slug or model)
            device_type = self._read_type(maker, model, slug, listed)
            self._types[maker, model] = (
                device_type._replace(name=f"{maker} {model}") if model in self._names else device_type
            )
            self._names.add(model)
        return self._types[maker, model]

    def list_read(self) -> Sequence[DeviceType]:
        """Return the types that were read."""
        return tuple(self._types.values())

    def _read_type(self, maker: str, model: str, slug: str, listed: Entry | None) -> DeviceType:
        library_entry = self._find_library_entry(maker, model, slug)
        entries = [entry for entry in (listed, library_entry) if entry is not None]
        names = dict.fromkeys(
            (slug, model, f"{maker} {model}", *(name for entry in entries for name in _list_names(entry)))
        )
        server = next((listed_server for name in names if name and (listed_server := servers.find_server(name))), None)
        key = listed.id() if listed else None
        ports = self._ports.get(key or model) or tuple(_list_items(library_entry, "power-ports"))
        outlets = self._outlets.get(key or model) or tuple(_list_items(library_entry, "power-outlets"))
        return DeviceType(
            name=model,
            server=server,
            fields={name: field for entry in reversed(entries) for name, field in _read_fields(entry).items()},
            ports=tuple(map(read_port, ports)),
            outlets=tuple(read_text(entry.get("type")) for entry in outlets),
            stated=entries[0] if entries else None,
            passive=any(map(_is_passive, entries)),
            half_depth=any(entry.row.get("is_full_depth") in (False, "False", "false") for entry in entries),
        )

    def _find_library_entry(self, maker: str, model: str, slug: str) -> Entry | None:
        """Return the entry of the device-type library, searched for by the words in its files."""
        for path in self._files.likely_first(maker, model, slug):
            content = self.inventory.read(path) or b""
            if model.encode() in content or (slug and slug.encode() in content):
                entry = _find_entry(documents.load(path, content).documents, model, slug)
                if entry is not None:
                    return entry
        return None


class _Files:
    """The files of a library by name and by folder, reduced to letters and digits."""

    def __init__(self, paths: Sequence[str]) -> None:
        self.paths = paths
        self._by_name: dict[str, list[str]] = {}
        self._by_folder: dict[str, list[str]] = {}
        for path in paths:
            *folders, name = path.split("/")
            self._by_name.setdefault(_normalise(name.rpartition(".")[0]), []).append(path)
            for folder in dict.fromkeys(map(_normalise, folders)):
                self._by_folder.setdefault(folder, []).append(path)

    def likely_first(self, maker: str, model: str, slug: str) -> Iterator[str]:
        """Yield files named like the model, then the others in the vendor's folder, or all without
        such a folder.
        """
        wanted = (_normalise(model), _normalise(slug), _normalise(slug).removeprefix(f"{_normalise(maker)}-"))
        matching = dict.fromkeys(path for word in wanted for path in self._by_name.get(word, ()))
        yield from matching
        yield from (path for path in self._by_folder.get(_normalise(maker), self.paths) if path not in matching)


def _find_entry(loaded: Sequence[documents.Document], model: str, slug: str) -> Entry | None:
    for document in loaded:
        if isinstance(document.data, dict):
            entry = Entry(document.data, document)
            if entry.text("model") == model or (slug and entry.text("slug") == slug):
                return entry
    return None


def _normalise(name: str) -> str:
    return re.sub(r"[^a-z0-9]+", "-", name.lower()).strip("-")


def _list_names(entry: Entry) -> Iterator[str]:
    yield from (name for key in ("slug", "model", "part_number") if (name := entry.text(key)))


def _group_by_type(entries: Sequence[Entry]) -> Mapping[int | str, Sequence[Mapping[str, object]]]:
    """Return the templates of each type, by its id or model."""
    templates: dict[int | str, list[Mapping[str, object]]] = {}
    for entry in entries:
        templates.setdefault(entry.id("device_type") or entry.text("device_type"), []).append(entry.row)
    return templates


def _list_items(entry: Entry | None, key: str) -> Iterator[Mapping[str, object]]:
    listed = entry.row.get(key) if entry is not None else None
    yield from (item for item in listed if isinstance(item, dict)) if isinstance(listed, list) else ()


def read_port(row: Mapping[str, object]) -> Port:
    """Return one inlet."""
    plug = CONNECTORS.get(read_text(row.get("type")), "")
    return Port(read_text(row.get("name")), plug, parse_number(row.get("maximum_draw")))


def _read_fields(entry: Entry) -> dict[str, Field]:
    """Return the fields of a type in our terms."""
    height, cooled = entry.number("u_height"), COOLING.get(entry.text("cooling_method"))
    fields = {
        "server_units": None if height is None else entry.field("u_height", height),
        "server_weight_kg": entry.physical("weight", "kg", entry.text("weight_unit")),
        "server_cooling": entry.field("cooling_method", cooled) if cooled else None,
    }
    return {name: field for name, field in fields.items() if field is not None}


def _is_passive(entry: Entry) -> bool:
    """Return whether a type cannot draw power: no inlet, interface or bay, and it is not a blade."""
    if entry.text("subdevice_role") == "child":
        return False
    if entry.document.format == "yaml":
        return not any(entry.row.get(f"{name.replace('_', '-')}s") for name in COUNTED_PORTS)
    return read_counts(entry, "_template_count") == NOTHING


def read_counts(entry: Entry, behind: str) -> tuple[object, ...]:
    """Return the counts of inlets, outlets, interfaces and bays that the API reports for a device
    or type.
    """
    return tuple(entry.row.get(f"{name}{behind}") for name in COUNTED_PORTS)
