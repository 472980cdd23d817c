"""Wiring: the feed of each inlet, found along its cable and through the power strips in between."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import NamedTuple

from gpulint.facility.netbox.exports import read_text
from gpulint.facility.netbox.objects import Entry, Inventory

End = tuple[str, int | str, str]
"""A point that a cable leads to: `port`, `outlet` or `feed`, with its id, or with its holder and its name."""
STEPS_MAX = 8
"""Maximum power strips in series between a server and its feed."""
_LISTS = {"power-ports": "port", "power-outlets": "outlet", "power-feeds": "feed"}
_MODELS = {"powerport": "port", "poweroutlet": "outlet", "powerfeed": "feed"}


class Side(NamedTuple):
    """One side of a cable: the point that it leads to, and the device or panel that has it."""

    end: End
    holder: int | str


class Wiring(NamedTuple):
    """The other end of every power cable, the inlet behind each outlet, and the inlets of each
    device.
    """

    peers: Mapping[End, End]
    behind: Mapping[End, End]
    inlets: Mapping[int | str, Sequence[End]]
    holders: Mapping[End, int | str]

    def feed_of(self, port: End) -> End | None:
        """Return the feed of an inlet; None if no cables lead to one."""
        for _ in range(STEPS_MAX):
            other = self.peers.get(port)
            if other is None or other[0] == "feed":
                return other
            inlet = self.behind.get(other) or self._only(other)
            if inlet is None:
                return None
            port = inlet
        return None

    def _only(self, outlet: End) -> End | None:
        """Return the inlet of a strip that has exactly one."""
        inlets = self.inlets.get(self.holders.get(outlet, ""), ())
        return inlets[0] if len(inlets) == 1 else None


def read_wiring(inventory: Inventory) -> Wiring:
    """Return the wiring of an inventory, declared at its ports or as a list of cables."""
    points = [
        (read_end(kind, entry), entry) for listed, kind in _LISTS.items() for entry in inventory.list_entries(listed)
    ]
    named = {(find_holder_name(entry), entry.text("name")): end for end, entry in points if isinstance(end[1], str)}
    holders = {end: find_holder(entry) for end, entry in points}
    peers: dict[End, End] = {}
    for side, other in [*_list_peers(points), *_list_cables(inventory, named)]:
        peers.setdefault(side.end, other.end)
        peers.setdefault(other.end, side.end)
        holders.setdefault(side.end, side.holder)
        holders.setdefault(other.end, other.holder)
    inlets: dict[int | str, list[End]] = {}
    for end, _ in points:
        if end[0] == "port":
            inlets.setdefault(holders[end], []).append(end)
    behind = {end: inlet for end, entry in points if (inlet := _find_inlet(entry, named)) is not None}
    return Wiring(peers, behind, inlets, holders)


def read_end(kind: str, entry: Entry) -> End:
    """Return a port, an outlet or a feed as a point that cables lead to."""
    return _read_end(kind, entry.row)


def find_holder(entry: Entry) -> int | str:
    """Return the device or panel that has a point."""
    return _find_holder(entry.row)


def find_holder_name(entry: Entry) -> str:
    """Return the name of the device that has a point; a feed has none."""
    return entry.text("device")


def _read_end(kind: str, row: Mapping[str, object]) -> End:
    number = row.get("id")
    if isinstance(number, int):
        return (kind, number, "")
    return (kind, read_text(row.get("device")), read_text(row.get("name")))


def _find_holder(row: Mapping[str, object]) -> int | str:
    device = row.get("device") or row.get("power_panel")
    number = device.get("id") if isinstance(device, dict) else None
    return number if isinstance(number, int) else read_text(device)


def _list_peers(points: Sequence[tuple[End, Entry]]) -> Iterator[tuple[Side, Side]]:
    """Yield both sides of the cables that the API lists at each point."""
    for end, entry in points:
        listed = entry.row.get("link_peers")
        if isinstance(listed, list) and len(listed) == 1:
            other = _parse_side(entry.row.get("link_peers_type"), listed[0])
            if other is not None:
                yield Side(end, find_holder(entry)), other


def _list_cables(inventory: Inventory, named: Mapping[tuple[str, str], End]) -> Iterator[tuple[Side, Side]]:
    """Yield the power cables with one end at each side."""
    for cable in inventory.list_entries("cables"):
        side, other = (_read_side(cable, side, named) for side in ("a", "b"))
        if side is not None and other is not None:
            yield side, other


def _read_side(cable: Entry, side: str, named: Mapping[tuple[str, str], End]) -> Side | None:
    stated = cable.row.get(f"{side}_terminations")
    if isinstance(stated, str):
        device = cable.text(f"device_{side}")
        end = named.get((device, stated))
        return None if end is None else Side(end, device)
    if not isinstance(stated, list) or len(stated) != 1 or not isinstance(stated[0], dict):
        return None
    return _parse_side(stated[0].get("object_type"), stated[0].get("object"))


def _parse_side(model: object, row: object) -> Side | None:
    """Return a point from its model, such as dcim.powerport, and what the API shows of it."""
    kind = _MODELS.get(str(model or "").rpartition(".")[2])
    return Side(_read_end(kind, row), _find_holder(row)) if kind and isinstance(row, dict) else None


def _find_inlet(entry: Entry, named: Mapping[tuple[str, str], End]) -> End | None:
    """Return the inlet that supplies an outlet."""
    inlet = entry.row.get("power_port")
    if isinstance(inlet, dict):
        return _read_end("port", inlet)
    return named.get((find_holder_name(entry), read_text(inlet))) if inlet else None
