"""Devices in the racks of an inventory, as servers and as server types."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import NamedTuple

from gpulint.facility.model import Component
from gpulint.facility.netbox import device_types, gpu_modules, power_cords
from gpulint.facility.netbox.device_types import DeviceType, DeviceTypes
from gpulint.facility.netbox.objects import Entry, Inventory
from gpulint.workload import Field, Role, Unknown, Value

INACTIVE_STATUSES = frozenset({"inventory", "decommissioning"})
"""Status values of devices that draw no power, whatever rack they are assigned to."""


class Numbering(NamedTuple):
    """How the units of a rack are counted: their number, the first number, and whether from the
    top.
    """

    units: float | None = None
    first: float = 1
    descending: bool = False

    def lowest(self, position: float, height: float) -> float | None:
        """Return the lowest unit of a device, counted from the floor; None if it is unknown."""
        if not self.descending:
            return position - self.first + 1
        return None if self.units is None else self.units - (position - self.first) - height + 1


class Devices:
    """The devices of an inventory, with what is declared for each one in addition to its type."""

    def __init__(self, inventory: Inventory, wires: power_cords.Wiring) -> None:
        self.types = DeviceTypes(inventory)
        self.wires = wires
        self._cards = gpu_modules.find_accelerators(inventory)
        self._ports: dict[int | str, list[Entry]] = {}
        self._sockets: dict[int | str, list[str]] = {}
        for entry in inventory.list_entries("power-ports"):
            self._ports.setdefault(power_cords.find_holder(entry), []).append(entry)
        for entry in inventory.list_entries("power-outlets"):
            self._sockets.setdefault(power_cords.find_holder(entry), []).append(entry.text("type"))

    def server(self, device: Entry, numbering: Numbering, feeds: Mapping[power_cords.End, str]) -> Component:
        """Return a device as a server of its rack; `feeds` names the feeds of that rack."""
        kind = self.types.find_type(device)
        name = type_name(kind)
        fields = {"server_type": device.field("device_type", name)} if name else {}
        fields |= _read_position(device, kind, numbering)
        fields |= _drop_listed(kind, gpu_modules.read_fields(self._cards.get(port_key(device), ())))
        fields |= self._read_power(device, kind)
        fields |= self._read_cords(device, feeds)
        return Component("server", Role(device.text("name") or kind.name, device.origin(), fields))

    def sockets(self, device: Entry) -> Sequence[str]:
        """Return the outlets of a device, by NetBox's names."""
        return self._sockets.get(port_key(device)) or self.types.find_type(device).outlets

    def inlets(self, device: Entry) -> Sequence[Entry]:
        """Return the inlets declared for the device itself."""
        return self._ports.get(port_key(device), ())

    def height(self, name: str) -> float | None:
        """Return the rack units of a server type by its name."""
        return next((kind.height for kind in self.types.list_read() if type_name(kind) == name), None)

    def server_types(self) -> Iterator[Component]:
        """Yield the types of the servers that were read, with what the catalog lacks."""
        for kind in self.types.list_read():
            fields = _drop_listed(kind, read_type_fields(kind))
            if fields and kind.stated is not None:
                yield Component("server_type", Role(type_name(kind), kind.stated.origin(), fields))

    def _read_power(self, device: Entry, kind: DeviceType) -> dict[str, Field]:
        """Return the declared inlets of a device, or zero power if it draws none of its own."""
        inlets = self.inlets(device)
        idle = device.row.get("parent_device") or device_types.read_counts(device, "_count") == device_types.NOTHING
        if self.sockets(device) or (idle and not inlets):
            return {"server_max_w": device.field("device_type", 0)}
        ports = tuple(device_types.read_port(inlet.row) for inlet in inlets)
        return _drop_listed(kind, _read_ports(ports, inlets[0].field)) if inlets and ports != kind.ports else {}

    def is_server(self, device: Entry) -> bool:
        """Return whether a device takes rack units. A power strip at the side takes none."""
        return not self.sockets(device) or bool(self.types.find_type(device).height)

    def _read_cords(self, device: Entry, feeds: Mapping[power_cords.End, str]) -> dict[str, Field]:
        """Return how many cords connect a device to each feed of its rack. The result is empty if
        one leads elsewhere or nowhere.
        """
        inlets = self.inlets(device)
        ends = [self.wires.feed_of(power_cords.read_end("port", inlet)) for inlet in inlets]
        feed_names = [feeds[end] for end in ends if end is not None and end in feeds]
        if not feed_names or len(feed_names) < len(ends) or self.sockets(device):
            return {}
        return {"cords": inlets[0].field("name", {name: str(count) for name, count in Counter(feed_names).items()})}


def port_key(device: Entry) -> int | str:
    """Return the key by which ports name a device."""
    number = device.id()
    return device.text("name") if number is None else number


def type_name(kind: DeviceType) -> str:
    """Return the name of a type: its catalog id if the catalog lists it."""
    return kind.server.id if kind.server else kind.name


def _drop_listed(kind: DeviceType, fields: Mapping[str, Field]) -> dict[str, Field]:
    """Keep only fields that the catalog does not list, since the catalog has the vendor's own
    values.
    """
    return {name: field for name, field in fields.items() if getattr(kind.server, name, None) is None}


def read_type_fields(kind: DeviceType) -> dict[str, Field]:
    """Return the fields that a type declares for its servers, in our terms."""
    if kind.stated is None:
        return {}
    if kind.outlets or kind.passive:
        return {**kind.fields, "server_max_w": kind.stated.field("model", 0)}
    return {**kind.fields, **_read_ports(kind.ports, kind.stated.field)}


def _read_ports(ports: Sequence[device_types.Port], field: Callable[[str, Value | Unknown], Field]) -> dict[str, Field]:
    """Return the number, the connector and the total draw of one server's inlets, if all declare
    it.
    """
    if not ports:
        return {}
    plugs, draws = {port.plug for port in ports}, [port.draw_w for port in ports]
    fields = {"psus": field("power-ports", len(ports))}
    if len(plugs) == 1 and (plug := plugs.pop()):
        fields["psu_inlet"] = field("power-ports", plug)
    declared_w = [port for port in draws if port is not None]
    if len(declared_w) == len(draws):
        fields["inlets_w"] = field("power-ports", sum(declared_w))
    return fields


def _read_position(device: Entry, kind: DeviceType, numbering: Numbering) -> dict[str, Field]:
    """Return the position of a device. A half-depth device not declared as front shares the units
    behind another.
    """
    position, height = device.number("position"), kind.height
    behind = kind.half_depth and position is not None and device.text("face").lower() != "front"
    if behind or device.row.get("parent_device"):
        return {"server_units": device.field("position", 0)}
    if position is None or height is None or (lowest := numbering.lowest(position, height)) is None:
        return {}
    return {"position_u": device.field("position", lowest)}
