"""Types of devices: what NetBox, or its library of device types, says of every device of a type."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from typing import NamedTuple

from gpulint.catalog.hardware import servers
from gpulint.facility.netbox.exports import text_of
from gpulint.facility.netbox.objects import Entry, Inventory, number_of
from gpulint.source import documents
from gpulint.workload import Field

PLUGS = {"iec-60320-c14": "C14", "iec-60320-c16": "C16", "iec-60320-c20": "C20"}
"""The plugs of servers, by NetBox's word."""
COOLED = {"air": "air", "liquid": "liquid", "hybrid": "hybrid"}
COUNTED = ("power_port", "power_outlet", "interface", "console_port", "module_bay", "device_bay")
NOTHING = (0,) * len(COUNTED)
"""How many of these a device has that cannot draw power."""


class Port(NamedTuple):
    """An inlet of a device: its plug, and the most that it draws; None is not stated."""

    name: str
    plug: str
    draw_w: float | None


class DeviceType(NamedTuple):
    """What is known of all devices of a type; the `server` of the catalog where it lists them."""

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
        """The rack units of one device."""
        stated = self.fields.get("server_units")
        found = stated.value if stated else getattr(self.server, "server_units", None)
        return found if isinstance(found, int | float) else None


class Types:
    """The types of an inventory's devices, each read once, when a device is of it."""

    def __init__(self, inventory: Inventory) -> None:
        self.inventory = inventory
        self._found: dict[tuple[str, str], DeviceType] = {}
        self._names: set[str] = set()
        self._files = _Files(inventory.types)
        self._listed: dict[int | str, Entry] = {}
        for entry in inventory.of("device-types"):
            for name in (entry.id(), *_names(entry)):
                self._listed.setdefault(name or "", entry)
        self._ports = _by_type(inventory.of("power-port-templates"))
        self._outlets = _by_type(inventory.of("power-outlet-templates"))

    def of(self, device: Entry) -> DeviceType:
        """The type of a device."""
        named = device.row.get("device_type")
        maker = text_of(named.get("manufacturer")) if isinstance(named, dict) else device.text("manufacturer")
        model = text_of(named.get("model") or named) if isinstance(named, dict) else text_of(named)
        if (maker, model) not in self._found:
            slug = text_of(named.get("slug")) if isinstance(named, dict) else ""
            listed = self._listed.get(device.id("device_type") or "") or self._listed.get(slug or model)
            found = self._read(maker, model, slug, listed)
            self._found[maker, model] = found._replace(name=f"{maker} {model}") if model in self._names else found
            self._names.add(model)
        return self._found[maker, model]

    def used(self) -> Sequence[DeviceType]:
        """The types that were asked for."""
        return tuple(self._found.values())

    def _read(self, maker: str, model: str, slug: str, listed: Entry | None) -> DeviceType:
        filed = self._filed(maker, model, slug)
        both = [one for one in (listed, filed) if one is not None]
        names = dict.fromkeys((slug, model, f"{maker} {model}", *(name for one in both for name in _names(one))))
        server = next((found for name in names if name and (found := servers.named(name))), None)
        key = listed.id() if listed else None
        ports = self._ports.get(key or model) or tuple(_items(filed, "power-ports"))
        outlets = self._outlets.get(key or model) or tuple(_items(filed, "power-outlets"))
        return DeviceType(
            name=model,
            server=server,
            fields={name: field for one in reversed(both) for name, field in _fields(one).items()},
            ports=tuple(map(port, ports)),
            outlets=tuple(text_of(one.get("type")) for one in outlets),
            stated=both[0] if both else None,
            passive=any(map(_passive, both)),
            half_depth=any(one.row.get("is_full_depth") in (False, "False", "false") for one in both),
        )

    def _filed(self, maker: str, model: str, slug: str) -> Entry | None:
        """The entry of a library of device types, searched for by the words of its file."""
        for path in self._files.likely_first(maker, model, slug):
            content = self.inventory.read(path) or b""
            if model.encode() in content or (slug and slug.encode() in content):
                found = _matching(documents.load(path, content).documents, model, slug)
                if found is not None:
                    return found
        return None


class _Files:
    """The files of a library by what they are called and by the folders that they lie in, in letters and digits."""

    def __init__(self, paths: Sequence[str]) -> None:
        self.paths = paths
        self._called: dict[str, list[str]] = {}
        self._inside: dict[str, list[str]] = {}
        for path in paths:
            *folders, name = path.split("/")
            self._called.setdefault(_bare(name.rpartition(".")[0]), []).append(path)
            for folder in dict.fromkeys(map(_bare, folders)):
                self._inside.setdefault(folder, []).append(path)

    def likely_first(self, maker: str, model: str, slug: str) -> Iterator[str]:
        """Those called as the model, then the others of its maker's folder, or all where there is no such folder."""
        wanted = (_bare(model), _bare(slug), _bare(slug).removeprefix(f"{_bare(maker)}-"))
        named = dict.fromkeys(path for one in wanted for path in self._called.get(one, ()))
        yield from named
        yield from (path for path in self._inside.get(_bare(maker), self.paths) if path not in named)


def _matching(loaded: Sequence[documents.Document], model: str, slug: str) -> Entry | None:
    for document in loaded:
        if isinstance(document.data, dict):
            entry = Entry(document.data, document)
            if entry.text("model") == model or (slug and entry.text("slug") == slug):
                return entry
    return None


def _bare(name: str) -> str:
    return re.sub(r"[^a-z0-9]+", "-", name.lower()).strip("-")


def _names(entry: Entry) -> Iterator[str]:
    yield from (name for key in ("slug", "model", "part_number") if (name := entry.text(key)))


def _by_type(entries: Sequence[Entry]) -> Mapping[int | str, Sequence[Mapping[str, object]]]:
    """The templates of each type, by its id or its model."""
    found: dict[int | str, list[Mapping[str, object]]] = {}
    for entry in entries:
        found.setdefault(entry.id("device_type") or entry.text("device_type"), []).append(entry.row)
    return found


def _items(entry: Entry | None, key: str) -> Iterator[Mapping[str, object]]:
    listed = entry.row.get(key) if entry is not None else None
    yield from (one for one in listed if isinstance(one, dict)) if isinstance(listed, list) else ()


def port(row: Mapping[str, object]) -> Port:
    """One inlet."""
    plug = PLUGS.get(text_of(row.get("type")), "")
    return Port(text_of(row.get("name")), plug, number_of(row.get("maximum_draw")))


def _fields(entry: Entry) -> dict[str, Field]:
    """What a type says of its devices in our words."""
    height, cooled = entry.number("u_height"), COOLED.get(entry.text("cooling_method"))
    stated = {
        "server_units": None if height is None else entry.field("u_height", height),
        "server_weight_kg": entry.physical("weight", "kg", entry.text("weight_unit")),
        "server_cooling": entry.field("cooling_method", cooled) if cooled else None,
    }
    return {name: field for name, field in stated.items() if field is not None}


def _passive(entry: Entry) -> bool:
    """Whether nothing of it can draw power: no inlet, no interface, no bay for a module or a device, and it is no blade."""
    if entry.text("subdevice_role") == "child":
        return False
    if entry.document.format == "yaml":
        return not any(entry.row.get(f"{one.replace('_', '-')}s") for one in COUNTED)
    return counts(entry, "_template_count") == NOTHING


def counts(entry: Entry, behind: str) -> tuple[object, ...]:
    """How many inlets, outlets, interfaces and bays the API counts of a device or a type."""
    return tuple(entry.row.get(f"{one}{behind}") for one in COUNTED)
