"""Accelerators of a device, from the modules or inventory items that an inventory lists for it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NamedTuple

from gpulint.catalog import hardware
from gpulint.facility.netbox import power_cords
from gpulint.facility.netbox.exports import read_text
from gpulint.facility.netbox.objects import Entry, Inventory
from gpulint.workload import Field

LISTS = ("modules", "inventory-items")
"""Lists that may hold accelerators. The first list with accelerators of a device counts."""


class InstalledAccelerator(NamedTuple):
    """An accelerator and the inventory entry that lists it."""

    accelerator: str
    entry: Entry


def find_accelerators(inventory: Inventory) -> Mapping[int | str, Sequence[InstalledAccelerator]]:
    """Return the accelerators of each device."""
    found: dict[int | str, Sequence[InstalledAccelerator]] = {}
    for kind in LISTS:
        cards: dict[int | str, list[InstalledAccelerator]] = {}
        for entry in inventory.list_entries(kind):
            if (card := _find_accelerator(entry)) is not None:
                cards.setdefault(power_cords.find_holder(entry), []).append(card)
        found = {**cards, **found}
    return found


def read_fields(cards: Sequence[InstalledAccelerator]) -> dict[str, Field]:
    """Return the accelerator and its count if all accelerators of a server are of one kind."""
    if len({card.accelerator for card in cards}) != 1:
        return {}
    first = cards[0]
    return {
        "accelerator": first.entry.field("name", first.accelerator),
        "server_gpus": first.entry.field("name", len(cards)),
    }


def _find_accelerator(entry: Entry) -> InstalledAccelerator | None:
    """Return the accelerator that an entry is, by the exact name of its model or part and its
    vendor.
    """
    kind = entry.row.get("module_type")
    maker = read_text(kind.get("manufacturer")) if isinstance(kind, dict) else entry.text("manufacturer")
    texts = (read_text(kind), entry.text("part_id"), entry.text("name"))
    for name in (word for text in texts if text for word in (text, f"{maker} {text}")):
        accelerator = hardware.find_accelerator(name)
        if accelerator is not None and accelerator.vendor in maker.lower():
            return InstalledAccelerator(accelerator.id, entry)
    return None
