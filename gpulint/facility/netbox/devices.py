"""Devices: what stands in the racks of an inventory, as servers and as the types of machine that they are."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import NamedTuple

from gpulint.facility.model import Part
from gpulint.facility.netbox import device_types
from gpulint.facility.netbox import gpu_modules as cards
from gpulint.facility.netbox import power_cords as wiring
from gpulint.facility.netbox.device_types import DeviceType, Types
from gpulint.facility.netbox.objects import Entry, Inventory
from gpulint.workload import Field, Role, Unknown, Value

GONE = frozenset({"inventory", "decommissioning"})
"""Devices of these states draw nothing, whatever rack they are booked in."""


class Numbering(NamedTuple):
    """How the units of a rack are counted: how many, from which on, and whether from the top."""

    units: float | None = None
    first: float = 1
    descending: bool = False

    def lowest(self, position: float, height: float) -> float | None:
        """The lowest unit of a device, counted from the floor; None where that cannot be told."""
        if not self.descending:
            return position - self.first + 1
        return None if self.units is None else self.units - (position - self.first) - height + 1


class Devices:
    """The devices of an inventory, with what is stated of each one beside its type."""

    def __init__(self, inventory: Inventory, wires: wiring.Wiring) -> None:
        self.types = Types(inventory)
        self.wires = wires
        self._cards = cards.of(inventory)
        self._ports: dict[int | str, list[Entry]] = {}
        self._sockets: dict[int | str, list[str]] = {}
        for entry in inventory.of("power-ports"):
            self._ports.setdefault(wiring.holder(entry), []).append(entry)
        for entry in inventory.of("power-outlets"):
            self._sockets.setdefault(wiring.holder(entry), []).append(entry.text("type"))

    def server(self, device: Entry, numbering: Numbering, feeds: Mapping[wiring.End, str]) -> Part:
        """A device as a server of its rack, whose feeds have names."""
        kind = self.types.of(device)
        name = known_as(kind)
        fields = {"server_type": device.field("device_type", name)} if name else {}
        fields |= _placed(device, kind, numbering)
        fields |= _unlisted(kind, cards.fields(self._cards.get(key(device), ())))
        fields |= self._drawn(device, kind)
        fields |= self._cords(device, feeds)
        return Part("server", Role(device.text("name") or kind.name, device.origin(), fields))

    def sockets(self, device: Entry) -> Sequence[str]:
        """The outlets of a device, by NetBox's words."""
        return self._sockets.get(key(device)) or self.types.of(device).outlets

    def inlets(self, device: Entry) -> Sequence[Entry]:
        """The inlets that are stated of the device itself."""
        return self._ports.get(key(device), ())

    def height(self, name: str) -> float | None:
        """The rack units of a type, by what it is called."""
        return next((kind.height for kind in self.types.used() if known_as(kind) == name), None)

    def server_types(self) -> Iterator[Part]:
        """The types of the servers that were read, with what the catalog does not say of them."""
        for kind in self.types.used():
            fields = _unlisted(kind, of_type(kind))
            if fields and kind.stated is not None:
                yield Part("server_type", Role(known_as(kind), kind.stated.origin(), fields))

    def _drawn(self, device: Entry, kind: DeviceType) -> dict[str, Field]:
        """What is stated of a device's inlets, or that it draws nothing of its own."""
        own = self.inlets(device)
        idle = device.row.get("parent_device") or device_types.counts(device, "_count") == device_types.NOTHING
        if self.sockets(device) or (idle and not own):
            return {"server_max_w": device.field("device_type", 0)}
        ports = tuple(device_types.port(one.row) for one in own)
        return _unlisted(kind, _of_ports(ports, own[0].field)) if own and ports != kind.ports else {}

    def is_server(self, device: Entry) -> bool:
        """Whether a device takes room in its rack: a strip at its side takes none."""
        return not self.sockets(device) or bool(self.types.of(device).height)

    def _cords(self, device: Entry, feeds: Mapping[wiring.End, str]) -> dict[str, Field]:
        """How many of a device's cords hang on each feed of its rack; nothing where one leads elsewhere or nowhere."""
        own = self.inlets(device)
        found = [self.wires.feed_of(wiring.end_of("port", one)) for one in own]
        named = [feeds[one] for one in found if one is not None and one in feeds]
        if not named or len(named) < len(found) or self.sockets(device):
            return {}
        return {"cords": own[0].field("name", {name: str(count) for name, count in Counter(named).items()})}


def key(device: Entry) -> int | str:
    """By what the ports of a device name it."""
    number = device.id()
    return device.text("name") if number is None else number


def known_as(kind: DeviceType) -> str:
    """What a type is called: as the catalog calls it, where that lists it."""
    return kind.server.id if kind.server else kind.name


def _unlisted(kind: DeviceType, fields: Mapping[str, Field]) -> dict[str, Field]:
    """What the catalog does not say of a type: where it says something, that is its maker's word."""
    return {name: field for name, field in fields.items() if getattr(kind.server, name, None) is None}


def of_type(kind: DeviceType) -> dict[str, Field]:
    """What a type says of its servers in our words."""
    if kind.stated is None:
        return {}
    if kind.outlets or kind.passive:
        return {**kind.fields, "server_max_w": kind.stated.field("model", 0)}
    return {**kind.fields, **_of_ports(kind.ports, kind.stated.field)}


def _of_ports(ports: Sequence[device_types.Port], field: Callable[[str, Value | Unknown], Field]) -> dict[str, Field]:
    """What the inlets of one server say: how many, of which plug, and the most that they draw where each says it."""
    if not ports:
        return {}
    plugs, draws = {one.plug for one in ports}, [one.draw_w for one in ports]
    fields = {"psus": field("power-ports", len(ports))}
    if len(plugs) == 1 and (plug := plugs.pop()):
        fields["psu_inlet"] = field("power-ports", plug)
    known = [one for one in draws if one is not None]
    if len(known) == len(draws):
        fields["inlets_w"] = field("power-ports", sum(known))
    return fields


def _placed(device: Entry, kind: DeviceType, numbering: Numbering) -> dict[str, Field]:
    """Where a device stands; one of half depth that is not said to be in front shares the units of what may be there."""
    position, height = device.number("position"), kind.height
    behind = kind.half_depth and position is not None and device.text("face").lower() != "front"
    if behind or device.row.get("parent_device"):
        return {"server_units": device.field("position", 0)}
    if position is None or height is None or (lowest := numbering.lowest(position, height)) is None:
        return {}
    return {"position_u": device.field("position", lowest)}
