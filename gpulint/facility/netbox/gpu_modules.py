"""Cards: the accelerators of a device, as an inventory lists its modules or the items that it holds."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NamedTuple

from gpulint.catalog import hardware
from gpulint.facility.netbox import power_cords as wiring
from gpulint.facility.netbox.exports import text_of
from gpulint.facility.netbox.objects import Entry, Inventory
from gpulint.workload import Field

LISTS = ("modules", "inventory-items")
"""Where accelerators may stand; a device that has them in one list is not searched for in the next."""


class Card(NamedTuple):
    """An accelerator in its place."""

    accelerator: str
    entry: Entry


def of(inventory: Inventory) -> Mapping[int | str, Sequence[Card]]:
    """The accelerators of each device."""
    found: dict[int | str, Sequence[Card]] = {}
    for kind in LISTS:
        held: dict[int | str, list[Card]] = {}
        for entry in inventory.of(kind):
            if (card := _card(entry)) is not None:
                held.setdefault(wiring.holder(entry), []).append(card)
        found = {**held, **found}
    return found


def fields(cards: Sequence[Card]) -> dict[str, Field]:
    """What a server has of them, where they are all of one kind."""
    if len({one.accelerator for one in cards}) != 1:
        return {}
    first = cards[0]
    return {
        "accelerator": first.entry.field("name", first.accelerator),
        "server_gpus": first.entry.field("name", len(cards)),
    }


def _card(entry: Entry) -> Card | None:
    """The accelerator that a module or an item is, by the exact name of its model or part, of its own maker."""
    kind = entry.row.get("module_type")
    maker = text_of(kind.get("manufacturer")) if isinstance(kind, dict) else entry.text("manufacturer")
    stated = (text_of(kind), entry.text("part_id"), entry.text("name"))
    for name in (one for text in stated if text for one in (text, f"{maker} {text}")):
        product = hardware.named(name)
        if product is not None and product.vendor in maker.lower():
            return Card(product.id, entry)
    return None
