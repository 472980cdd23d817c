"""Links: the network cables of an inventory whose interfaces declare enough to check them."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import NamedTuple

from gpulint import units
from gpulint.catalog.hardware import transceivers
from gpulint.facility.model import Component
from gpulint.facility.netbox.exports import read_text
from gpulint.facility.netbox.objects import Entry, Inventory
from gpulint.workload import Field, Role

MEDIA: Mapping[str, str] = {
    "mmf-om1": "OM1",
    "multimode fiber (om1)": "OM1",
    "mmf-om2": "OM2",
    "multimode fiber (om2)": "OM2",
    "mmf-om3": "OM3",
    "multimode fiber (om3)": "OM3",
    "mmf-om4": "OM4",
    "multimode fiber (om4)": "OM4",
    "mmf-om5": "OM5",
    "multimode fiber (om5)": "OM5",
    "smf-os1": "OS1",
    "single-mode fiber (os1)": "OS1",
    "smf-os2": "OS2",
    "single-mode fiber (os2)": "OS2",
    "dac-passive": "DAC",
    "direct attach copper (passive)": "DAC",
    "dac-active": "ACC",
    "direct attach copper (active)": "ACC",
    "aoc": "AOC",
    "active optical cabling (aoc)": "AOC",
}
"""Our media by the cable types of the API and the tables."""
COPPER = frozenset({"DAC", "ACC"})
INFINIBAND = {"infiniband-edr": "100G", "infiniband-hdr": "200G", "infiniband-ndr": "400G", "infiniband-xdr": "800G"}
"""The speed of four lanes."""
LENGTHS = {"meters": "m", "centimeters": "cm", "kilometers": "km", "feet": "ft", "inches": "in"}
INACTIVE_STATUSES = frozenset({"decommissioning"})
_SPEED = re.compile(r"(?<!\d)(\d++(?:\.\d++)?)([gt])base|\((\d++(?:\.\d++)?)([gt])e\)", re.IGNORECASE)


class CableEnd(NamedTuple):
    """One end of a cable: its name, its speed, and its standard if the interface names one."""

    name: str
    bytes_per_s: float | None
    standard: str


def build_cables(inventory: Inventory) -> Iterator[Component]:
    """Yield the network cables that can be checked.
    They are copper of a known speed, and fibre between interfaces that name their standard.
    """
    kinds = dict(_list_interface_types(inventory))
    for entry in inventory.list_entries("cables"):
        medium = MEDIA.get(entry.text("type").lower())
        ends = [_read_port(entry, side, kinds) for side in ("a", "b")]
        length_m = _read_length_m(entry)
        near, far = ends
        if (
            medium is None
            or length_m is None
            or near is None
            or far is None
            or entry.text("status").lower() in INACTIVE_STATUSES
        ):
            continue
        fields = {
            "cable_from": entry.field("a_terminations", near.name),
            "cable_to": entry.field("b_terminations", far.name),
            "cable_medium": entry.field("type", medium),
            "cable_length_m": entry.field("length", length_m),
        }
        if further := _read_checkable(entry, medium, near, far):
            name = entry.text("label") or f"{near.name} to {far.name}"
            yield Component("cable", Role(name, entry.origin(), fields | further))


def _read_checkable(entry: Entry, medium: str, near: CableEnd, far: CableEnd) -> dict[str, Field]:
    """Return the fields that make a cable checkable, or nothing if it is not."""
    if medium in COPPER and near.bytes_per_s and far.bytes_per_s:
        return {"cable_bytes_per_s": entry.field("a_terminations", min(near.bytes_per_s, far.bytes_per_s))}
    if medium not in (*COPPER, "AOC") and near.standard and far.standard:
        sides = (("optic", "a_terminations", near), ("far_optic", "b_terminations", far))
        return {fact: entry.field(key, port.standard) for fact, key, port in sides}
    return {}


def _list_interface_types(inventory: Inventory) -> Iterator[tuple[int | tuple[str, str], str]]:
    """Yield the types of interfaces, by id and by device and name."""
    for entry in inventory.list_entries("interfaces"):
        number = entry.id()
        if number is not None:
            yield number, entry.text("type")
        yield (entry.text("device"), entry.text("name")), entry.text("type")


def _read_port(entry: Entry, side: str, kinds: Mapping[int | tuple[str, str], str]) -> CableEnd | None:
    """Return the interface at one side of a cable; None for other objects and for several
    interfaces.
    """
    stated = entry.row.get(f"{side}_terminations")
    if isinstance(stated, str):
        device, name = entry.text(f"device_{side}"), stated.strip()
        kind = kinds.get((device, name))
    elif isinstance(stated, list) and len(stated) == 1 and isinstance(stated[0], dict):
        end = stated[0].get("object")
        if stated[0].get("object_type") != "dcim.interface" or not isinstance(end, dict):
            return None
        device, name = read_text(end.get("device")), read_text(end.get("name"))
        number = end.get("id")
        kind = (kinds.get(number) if isinstance(number, int) else None) or kinds.get((device, name))
    else:
        return None
    if not kind:
        return None
    standard = kind.partition(" (")[0]
    return CableEnd(f"{device}:{name}", _parse_speed(kind), standard if transceivers.find_optic(standard) else "")


def _parse_speed(kind: str) -> float | None:
    """Return the speed of an interface type: 400gbase-x-osfp, QSFP-DD (400GE), infiniband-ndr."""
    match = _SPEED.search(kind)
    stated = f"{match[1] or match[3]}{(match[2] or match[4]).upper()}" if match else INFINIBAND.get(kind.lower())
    return units.line_rate(stated) if stated else None


def _read_length_m(entry: Entry) -> float | None:
    stated, unit = entry.text("length"), entry.text("length_unit")
    try:
        return units.parse(f"{stated} {LENGTHS.get(unit.lower(), unit)}".strip(), "m") if stated else None
    except ValueError:
        return None
