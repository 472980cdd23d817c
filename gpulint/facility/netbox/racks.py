"""Places: the racks of an inventory, and their site and locations."""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

from gpulint.facility.netbox.objects import Entry, Inventory

DEPTH_MAX = 20
"""Maximum nesting of locations."""


class RackPlace(NamedTuple):
    """The name of a rack, its site, and its locations from the outermost in."""

    name: str
    site: str
    locations: tuple[str, ...] = ()


class Racks:
    """The racks of an inventory. Racks that no list contains are known from the devices and feeds
    in them.
    """

    def __init__(self, inventory: Inventory) -> None:
        self.entries: list[Entry] = []
        self.places: list[RackPlace] = []
        self._named: dict[int | tuple[str, ...], list[int]] = {}
        locations = _build_chains(inventory)
        for entry in inventory.list_entries("racks"):
            self._add(entry, entry.text("name"), locations)
        for kind in ("devices", "power-feeds"):
            for entry in inventory.list_entries(kind):
                if entry.text("rack") and self.holding(entry) is None:
                    self._add(Entry({"name": entry.text("rack")}, *entry[1:]), entry.text("rack"), locations, entry)

    def holding(self, entry: Entry) -> int | None:
        """Return the index of the rack of a device or feed; None if it names none, or an ambiguous
        one.
        """
        if not entry.text("rack"):
            return None
        names = (entry.id("rack"), (entry.text("site"), entry.text("rack")), (entry.text("rack"),))
        candidates = (self._named.get(name, ()) for name in names if name is not None)
        return next((indices[0] for indices in candidates if len(indices) == 1), None)

    def _add(
        self, entry: Entry, name: str, locations: Mapping[int | str, tuple[str, ...]], holder: Entry | None = None
    ) -> None:
        stated = holder or entry
        site, leaf = stated.text("site"), stated.text("location")
        chain = locations.get(stated.id("location") or leaf) or ((leaf,) if leaf else ())
        shown = f"{name} ({entry.text('facility_id')})" if entry.text("facility_id") else name
        number = stated.id("rack") if holder else entry.id()
        for name_key in dict.fromkeys((number, (site, name), (name,), (site, shown), (shown,))):
            if name_key is not None:
                self._named.setdefault(name_key, []).append(len(self.entries))
        self.entries.append(entry)
        self.places.append(RackPlace(name, site, chain))


def _build_chains(inventory: Inventory) -> Mapping[int | str, tuple[str, ...]]:
    """Return the chain of locations to each location from the outermost in, by id and by name."""
    locations: dict[int | str, Entry] = {}
    for entry in inventory.list_entries("locations"):
        locations[entry.id() or entry.text("name")] = entry
        locations.setdefault(entry.text("name"), entry)
    return {name: _build_chain(entry, locations) for name, entry in locations.items()}


def _build_chain(entry: Entry, locations: Mapping[int | str, Entry]) -> tuple[str, ...]:
    names = [entry.text("name")]
    for _ in range(DEPTH_MAX):
        above = locations.get(entry.id("parent") or entry.text("parent"))
        if above is None:
            break
        names.append(above.text("name"))
        entry = above
    return tuple(reversed(names))
