"""Places: the racks of an inventory, and where each stands."""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

from gpulint.facility.netbox.objects import Entry, Inventory

DEPTH_MAX = 20
"""Locations inside one another."""


class Place(NamedTuple):
    """What a rack is called, its site, and its locations from the outermost in."""

    name: str
    site: str
    locations: tuple[str, ...] = ()


class Racks:
    """The racks of an inventory; those that no list holds are known by what stands in them."""

    def __init__(self, inventory: Inventory) -> None:
        self.entries: list[Entry] = []
        self.places: list[Place] = []
        self._named: dict[int | tuple[str, ...], list[int]] = {}
        locations = _chains(inventory)
        for entry in inventory.of("racks"):
            self._add(entry, entry.text("name"), locations)
        for kind in ("devices", "power-feeds"):
            for entry in inventory.of(kind):
                if entry.text("rack") and self.holding(entry) is None:
                    self._add(Entry({"name": entry.text("rack")}, *entry[1:]), entry.text("rack"), locations, entry)

    def holding(self, entry: Entry) -> int | None:
        """The rack of a device or a feed; None where it names none, or one of several."""
        if not entry.text("rack"):
            return None
        names = (entry.id("rack"), (entry.text("site"), entry.text("rack")), (entry.text("rack"),))
        found = (self._named.get(name, ()) for name in names if name is not None)
        return next((one[0] for one in found if len(one) == 1), None)

    def _add(
        self, entry: Entry, name: str, locations: Mapping[int | str, tuple[str, ...]], of: Entry | None = None
    ) -> None:
        stated = of or entry
        site, leaf = stated.text("site"), stated.text("location")
        chain = locations.get(stated.id("location") or leaf) or ((leaf,) if leaf else ())
        shown = f"{name} ({entry.text('facility_id')})" if entry.text("facility_id") else name
        number = stated.id("rack") if of else entry.id()
        for known in dict.fromkeys((number, (site, name), (name,), (site, shown), (shown,))):
            if known is not None:
                self._named.setdefault(known, []).append(len(self.entries))
        self.entries.append(entry)
        self.places.append(Place(name, site, chain))


def _chains(inventory: Inventory) -> Mapping[int | str, tuple[str, ...]]:
    """The locations that lead to each one from the outermost in, by id and by name."""
    known: dict[int | str, Entry] = {}
    for entry in inventory.of("locations"):
        known[entry.id() or entry.text("name")] = entry
        known.setdefault(entry.text("name"), entry)
    return {name: _chain(entry, known) for name, entry in known.items()}


def _chain(entry: Entry, known: Mapping[int | str, Entry]) -> tuple[str, ...]:
    found = [entry.text("name")]
    for _ in range(DEPTH_MAX):
        above = known.get(entry.id("parent") or entry.text("parent"))
        if above is None:
            break
        found.append(above.text("name"))
        entry = above
    return tuple(reversed(found))
