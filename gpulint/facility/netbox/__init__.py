"""NetBox: the objects of an inventory as the components of a facility."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence

from gpulint.facility import grouping
from gpulint.facility.model import Component
from gpulint.facility.netbox import network_links, power_cords, power_feeds
from gpulint.facility.netbox.devices import INACTIVE_STATUSES, Devices, Numbering
from gpulint.facility.netbox.objects import Entry, Inventory
from gpulint.facility.netbox.racks import Racks
from gpulint.workload import Field, Origin, Role


def build_facility(inventory: Inventory, name: str, anchor: Origin) -> Component:
    """Return the components that an inventory describes."""
    wires = power_cords.read_wiring(inventory)
    racks, devices = Racks(inventory), Devices(inventory, wires)
    held: dict[int, list[Entry]] = {}
    for device in inventory.list_entries("devices"):
        if device.text("status").lower() not in INACTIVE_STATUSES and (at := racks.holding(device)) is not None:
            held.setdefault(at, []).append(device)
    supplied = power_feeds.find_rack_feeds(inventory, racks, devices, wires, held)
    sites: dict[str, dict[tuple[str, ...], list[Component]]] = {}
    for at, place in enumerate(racks.places):
        rack = _build_rack(racks.entries[at], place.name, devices, held.get(at, ()), supplied.get(at, ()))
        sites.setdefault(place.site, {}).setdefault(place.locations, []).append(rack)
    panels = power_feeds.build_panels(inventory)
    parts = [
        _build_container("site", site, anchor, (*_build_rooms(rooms, anchor), *panels.pop(site, ())))
        for site, rooms in sites.items()
    ]
    left = (panel for listed in panels.values() for panel in listed)
    return _build_container(
        "facility", name, anchor, (*parts, *left, *network_links.build_cables(inventory), *devices.server_types())
    )


def _build_rooms(rooms: Mapping[tuple[str, ...], Sequence[Component]], anchor: Origin) -> Iterator[Component]:
    """Yield the rooms of a site: a location is a room, and one inside another is a row of it."""
    outer: dict[str, list[Component]] = {}
    for locations, racks in rooms.items():
        if not locations:
            yield from racks
        elif len(locations) == 1:
            outer.setdefault(locations[0], []).extend(racks)
        else:
            outer.setdefault(locations[-2], []).append(_build_container("row", locations[-1], anchor, racks))
    for name, parts in outer.items():
        yield _build_container("room", name, anchor, parts)


def _build_container(kind: str, name: str, anchor: Origin, parts: Iterable[Component]) -> Component:
    """Return a container of which the inventory declares only the name."""
    return Component(kind, Role(name, anchor, {f"{kind}_name": Field(name, (anchor,))}), tuple(parts))


def _build_rack(
    entry: Entry, name: str, devices: Devices, held: Sequence[Entry], supplied: Sequence[power_feeds.SuppliedFeed]
) -> Component:
    """Return a rack with its feeds and servers."""
    names = power_feeds.name_feeds(supplied)
    numbering = read_numbering(entry)
    fields = {"rack_name": entry.field("name", name), **_read_rack(entry)}
    sided = power_feeds.has_redundant_sides(supplied)
    if sided:
        fields["redundancy"] = Field("2N", tuple(feed.entry.origin("type") for feed in supplied))
    servers = (devices.server(device, numbering, names) for device in held if devices.is_server(device))
    return Component(
        "rack",
        Role(name, entry.origin(), fields),
        (*(power_feeds.build_feed(feed, names, sided) for feed in supplied), *grouping.group(servers, devices.height)),
    )


def _read_rack(entry: Entry) -> dict[str, Field]:
    """Return the fields of a rack in our terms."""
    height = entry.number("u_height")
    stated = {
        "rack_units": None if height is None else entry.field("u_height", height),
        "rack_load_limit_kg": entry.physical("max_weight", "kg", entry.text("weight_unit")),
        "cooling": entry.field("has_rdhx", "rear-door") if entry.row.get("has_rdhx") is True else None,
        "cooling_capacity_w": entry.physical("cooling_capacity", "w", "kW"),
    }
    return {name: field for name, field in stated.items() if field is not None}


def read_numbering(entry: Entry) -> Numbering:
    """Return how the units of a rack are counted."""
    descending = entry.row.get("desc_units") in (True, "True", "true")
    return Numbering(entry.number("u_height"), entry.number("starting_unit") or 1, descending)
