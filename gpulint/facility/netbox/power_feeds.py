"""Feeds: the circuits of an inventory, the racks that they supply, and their panels."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from typing import NamedTuple

from gpulint.facility.model import Component
from gpulint.facility.netbox import power_cords
from gpulint.facility.netbox.devices import Devices
from gpulint.facility.netbox.objects import Entry, Inventory
from gpulint.facility.netbox.racks import Racks
from gpulint.workload import Field, Role, Unknown

INACTIVE_STATUSES = frozenset({"offline", "failed"})
"""Status values of feeds that carry no power."""
SIDES = frozenset({"primary", "redundant"})
"""The roles of a feed among those of its rack."""
SOCKETS = {f"iec-60320-c{number}": f"C{number}" for number in (13, 15, 19, 21)}
"""Outlet types of power strips, by NetBox's name."""


class SuppliedFeed(NamedTuple):
    """A feed of a rack, and the outlets of the power strip connected to it."""

    entry: Entry
    sockets: Sequence[str] = ()


def find_rack_feeds(
    inventory: Inventory, racks: Racks, devices: Devices, wires: power_cords.Wiring, held: Mapping[int, Sequence[Entry]]
) -> Mapping[int, Sequence[SuppliedFeed]]:
    """Return the feeds of each rack: those that name it, or whose power strip is in it."""
    strips = {at: [device for device in entries if devices.sockets(device)] for at, entries in held.items()}
    strips_by_feed = _group_by_feed(strips, devices, wires)
    feeds: dict[int, list[SuppliedFeed]] = {}
    for feed in inventory.list_entries("power-feeds"):
        feed_strips = strips_by_feed.get(power_cords.read_end("feed", feed), ())
        declared_rack = racks.holding(feed)
        rack = feed_strips[0][0] if declared_rack is None and feed_strips else declared_rack
        if rack is not None and feed.text("status").lower() not in INACTIVE_STATUSES:
            feeds.setdefault(rack, []).append(
                SuppliedFeed(feed, [socket for _, sockets in feed_strips for socket in sockets])
            )
    return {
        at: _assign_strips(feed, [devices.sockets(strip) for strip in strips.get(at, ())]) for at, feed in feeds.items()
    }


def _group_by_feed(
    strips: Mapping[int, Sequence[Entry]], devices: Devices, wires: power_cords.Wiring
) -> Mapping[power_cords.End, Sequence[tuple[int, Sequence[str]]]]:
    """Return the rack and the outlets of each power strip, by its feed."""
    strips_by_feed: dict[power_cords.End, list[tuple[int, Sequence[str]]]] = {}
    for rack, rack_strips in strips.items():
        for strip in rack_strips:
            for end in _find_feeds(strip, devices, wires):
                strips_by_feed.setdefault(end, []).append((rack, devices.sockets(strip)))
    return strips_by_feed


def _find_feeds(strip: Entry, devices: Devices, wires: power_cords.Wiring) -> Iterator[power_cords.End]:
    """Yield the feeds that a power strip is connected to."""
    ends = (wires.feed_of(power_cords.read_end("port", inlet)) for inlet in devices.inlets(strip))
    yield from (end for end in ends if end is not None)


def _assign_strips(feeds: Sequence[SuppliedFeed], strips: Sequence[Sequence[str]]) -> Sequence[SuppliedFeed]:
    """Return the feeds with the outlets of their strips.
    They get none if the feed of a strip is unknown or a strip has other outlets.

    If no cable connects strips to feeds, but there are as many identical strips as feeds, each feed gets one.
    """
    all_known = all(socket in SOCKETS for strip in strips for socket in strip)
    counted = sum(len(feed.sockets) for feed in feeds)
    if all_known and counted == sum(map(len, strips)):
        return feeds
    if all_known and not counted and len(strips) == len(feeds) and len({tuple(sorted(strip)) for strip in strips}) == 1:
        return [feed._replace(sockets=strips[0]) for feed in feeds]
    return [feed._replace(sockets=()) for feed in feeds]


def has_redundant_sides(supplied: Sequence[SuppliedFeed]) -> bool:
    """Return whether some feeds of a rack back up others."""
    return len({feed.entry.text("type").lower() for feed in supplied} & SIDES) == len(SIDES)


def name_feeds(supplied: Sequence[SuppliedFeed]) -> Mapping[power_cords.End, str]:
    """Return the names of a rack's feeds, with their panels if two share a name."""
    counted = Counter(feed.entry.text("name") for feed in supplied)
    return {power_cords.read_end("feed", feed.entry): _render_name(feed.entry, counted) for feed in supplied}


def _render_name(feed: Entry, counted: Mapping[str, int]) -> str:
    name = feed.text("name")
    return name if counted[name] == 1 else f"{feed.text('power_panel')}/{name}"


def build_feed(supplied: SuppliedFeed, named: Mapping[power_cords.End, str], sided: bool) -> Component:
    """Return a feed of a rack as a component."""
    feed, name = supplied.entry, named[power_cords.read_end("feed", supplied.entry)]
    amperes, share, panel = feed.number("amperage"), feed.number("max_utilization"), feed.text("power_panel")
    phases = 3 if "three" in feed.text("phase").lower() else 1
    outlets = Counter(SOCKETS[socket] for socket in supplied.sockets if socket in SOCKETS)
    fields_or_none = {
        "feed_name": feed.field("name", name),
        "feed_voltage_v": _read_voltage(feed),
        "feed_phases": feed.field("phase", phases) if feed.text("phase") else None,
        "breaker_a": None if amperes is None else feed.field("amperage", amperes),
        "breaker_continuous_share": None if share is None else feed.field("max_utilization", share / 100),
        "feed_side": feed.field("type", feed.text("type").lower()) if sided else None,
        "panel": feed.field("power_panel", panel) if panel else None,
        "outlets": feed.field("name", {socket: str(count) for socket, count in sorted(outlets.items())})
        if outlets
        else None,
    }
    fields = {word: field for word, field in fields_or_none.items() if field is not None}
    return Component("feed", Role(name, feed.origin(), fields))


def _read_voltage(feed: Entry) -> Field | None:
    """Return the voltage of an alternating-current feed."""
    if feed.text("supply").lower() == "dc":
        return feed.field("voltage", Unknown(f"{feed.text('name')} is a direct-current feed"))
    volts = feed.number("voltage")
    return None if volts is None else feed.field("voltage", volts)


def build_panels(inventory: Inventory) -> dict[str, list[Component]]:
    """Return the panels of each site."""
    site_panels: dict[str, list[Component]] = {}
    for entry in inventory.list_entries("power-panels"):
        name = entry.text("name")
        fields = {"panel_name": entry.field("name", name)}
        site_panels.setdefault(entry.text("site"), []).append(Component("panel", Role(name, entry.origin(), fields)))
    return site_panels
