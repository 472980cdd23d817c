"""Feeds: the circuits of an inventory, the racks that they end in, and the panels that they come from."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from typing import NamedTuple

from gpulint.facility.model import Part
from gpulint.facility.netbox import power_cords as wiring
from gpulint.facility.netbox.devices import Devices
from gpulint.facility.netbox.objects import Entry, Inventory
from gpulint.facility.netbox.racks import Racks
from gpulint.workload import Field, Role, Unknown

DOWN = frozenset({"offline", "failed"})
"""Feeds of these states carry nothing."""
SIDES = frozenset({"primary", "redundant"})
"""What a feed is to the others of its rack."""
SOCKETS = {f"iec-60320-c{number}": f"C{number}" for number in (13, 15, 19, 21)}
"""The outlets of power strips, by NetBox's word."""


class Supplied(NamedTuple):
    """A feed of a rack, and the outlets of the strip that hangs on it."""

    entry: Entry
    sockets: Sequence[str] = ()


def by_rack(
    inventory: Inventory, racks: Racks, devices: Devices, wires: wiring.Wiring, held: Mapping[int, Sequence[Entry]]
) -> Mapping[int, Sequence[Supplied]]:
    """The feeds of each rack: those that name it, or whose strip stands in it."""
    strips = {at: [one for one in found if devices.sockets(one)] for at, found in held.items()}
    hung = _by_feed(strips, devices, wires)
    feeds: dict[int, list[Supplied]] = {}
    for feed in inventory.of("power-feeds"):
        hanging = hung.get(wiring.end_of("feed", feed), ())
        named = racks.holding(feed)
        rack = hanging[0][0] if named is None and hanging else named
        if rack is not None and feed.text("status").lower() not in DOWN:
            feeds.setdefault(rack, []).append(Supplied(feed, [one for _, sockets in hanging for one in sockets]))
    return {at: _plugged(one, [devices.sockets(strip) for strip in strips.get(at, ())]) for at, one in feeds.items()}


def _by_feed(
    strips: Mapping[int, Sequence[Entry]], devices: Devices, wires: wiring.Wiring
) -> Mapping[wiring.End, Sequence[tuple[int, Sequence[str]]]]:
    """The rack and the outlets of each strip that hangs on a feed."""
    hung: dict[wiring.End, list[tuple[int, Sequence[str]]]] = {}
    for rack, held in strips.items():
        for strip in held:
            for end in _hung(strip, devices, wires):
                hung.setdefault(end, []).append((rack, devices.sockets(strip)))
    return hung


def _hung(strip: Entry, devices: Devices, wires: wiring.Wiring) -> Iterator[wiring.End]:
    """The feeds that a power strip hangs on."""
    ends = (wires.feed_of(wiring.end_of("port", one)) for one in devices.inlets(strip))
    yield from (one for one in ends if one is not None)


def _plugged(feeds: Sequence[Supplied], strips: Sequence[Sequence[str]]) -> Sequence[Supplied]:
    """The feeds with the outlets of their strips; without, where a strip hangs on nobody knows what or has other outlets.

    Where no cable says which strip hangs on which feed, but each has one and all are alike, each has that one.
    """
    known = all(one in SOCKETS for strip in strips for one in strip)
    counted = sum(len(one.sockets) for one in feeds)
    if known and counted == sum(map(len, strips)):
        return feeds
    if known and not counted and len(strips) == len(feeds) and len({tuple(sorted(one)) for one in strips}) == 1:
        return [one._replace(sockets=strips[0]) for one in feeds]
    return [one._replace(sockets=()) for one in feeds]


def sides(supplied: Sequence[Supplied]) -> bool:
    """Whether some feeds of a rack back others."""
    return len({one.entry.text("type").lower() for one in supplied} & SIDES) == len(SIDES)


def names(supplied: Sequence[Supplied]) -> Mapping[wiring.End, str]:
    """What the feeds of a rack are called: by their names, and by their panels too where two share one."""
    counted = Counter(one.entry.text("name") for one in supplied)
    return {wiring.end_of("feed", one.entry): _name(one.entry, counted) for one in supplied}


def _name(feed: Entry, counted: Mapping[str, int]) -> str:
    name = feed.text("name")
    return name if counted[name] == 1 else f"{feed.text('power_panel')}/{name}"


def part(supplied: Supplied, named: Mapping[wiring.End, str], sided: bool) -> Part:
    """A feed of a rack in our words."""
    feed, name = supplied.entry, named[wiring.end_of("feed", supplied.entry)]
    amperes, share, panel = feed.number("amperage"), feed.number("max_utilization"), feed.text("power_panel")
    phases = 3 if "three" in feed.text("phase").lower() else 1
    outlets = Counter(SOCKETS[one] for one in supplied.sockets if one in SOCKETS)
    stated = {
        "feed_name": feed.field("name", name),
        "feed_voltage_v": _voltage(feed),
        "feed_phases": feed.field("phase", phases) if feed.text("phase") else None,
        "breaker_a": None if amperes is None else feed.field("amperage", amperes),
        "breaker_continuous_share": None if share is None else feed.field("max_utilization", share / 100),
        "feed_side": feed.field("type", feed.text("type").lower()) if sided else None,
        "panel": feed.field("power_panel", panel) if panel else None,
        "outlets": feed.field("name", {one: str(count) for one, count in sorted(outlets.items())}) if outlets else None,
    }
    fields = {word: field for word, field in stated.items() if field is not None}
    return Part("feed", Role(name, feed.origin(), fields))


def _voltage(feed: Entry) -> Field | None:
    """The voltage of a feed of alternating current."""
    if feed.text("supply").lower() == "dc":
        return feed.field("voltage", Unknown(f"{feed.text('name')} is a feed of direct current"))
    volts = feed.number("voltage")
    return None if volts is None else feed.field("voltage", volts)


def panels(inventory: Inventory) -> dict[str, list[Part]]:
    """The panels of each site."""
    found: dict[str, list[Part]] = {}
    for entry in inventory.of("power-panels"):
        name = entry.text("name")
        fields = {"panel_name": entry.field("name", name)}
        found.setdefault(entry.text("site"), []).append(Part("panel", Role(name, entry.origin(), fields)))
    return found
