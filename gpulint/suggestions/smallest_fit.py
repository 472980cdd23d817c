"""Smallest: the card, count and layout that fits where a spec names no accelerator, of what can be had."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import NamedTuple

from gpulint import engines
from gpulint.catalog import hardware
from gpulint.catalog.offers import EVERYTHING, Offer
from gpulint.facts.model import Facts, Missing
from gpulint.report.model import Fit, Worlds
from gpulint.suggestions.serving import changes as moves
from gpulint.workload import Field, Value

COUNTS = (1, 2, 4, 8)
"""GPUs of one machine that are tried where none are stated."""
OPEN = frozenset({"accelerator", "gpus_per_pod", "gpus_per_replica", "tensor_parallel"})
"""What may be missing: the card, how many of it, and the ranks that they make."""
SHARED = ("mig_profile", "sharing")
"""Slices and shares of a card are no card to choose."""
FILLED = 0.98
"""Share of the cards that weights may take before the formulas are asked."""
HALF = ("half", "float16", "fp16")
AXES = ("tensor_parallel", "pipeline_parallel", "data_parallel")
MAKERS = {"amd.com": "amd", "gpu.intel.com": "intel", "habana.ai": "habana"}
"""The maker of the cards that a device plugin of that domain hands out; nvidia of any other."""


class Layout(NamedTuple):
    """How many GPUs, in pods of how many, in how many tensor parallel ranks, whether the file states it, and what it sets."""

    gpus: int
    gpus_per_pod: int
    tensor_parallel: int
    stated: bool
    fields: Mapping[str, Field]


class Card(NamedTuple):
    """A product, and a machine to be had that holds it."""

    product: hardware.Accelerator
    offer: Offer

    def cost_usd_per_hour(self, gpus: int) -> float | None:
        """What so many of the machine's GPUs cost, as their share of it."""
        whole = self.offer.cost_usd_per_hour
        return None if whole is None else whole * gpus / self.offer.node_gpus

    def order(self, gpus: int) -> tuple[float, int, str, str, str, str]:
        """Cheapest first, of what has no price the least memory; the rest settles ties."""
        cost = self.cost_usd_per_hour(gpus)
        one = self.offer
        memory = memory_bytes(self.product)
        return math.inf if cost is None else cost, memory, self.product.id, one.cloud, one.instance_type, one.pool


class Asked(NamedTuple):
    """The role that is asked about, its facts with what they rest on, and what else must be said of a card."""

    known: Facts
    traced: Facts
    accepted: Callable[[Facts], bool]


def smallest(
    known: Facts, offered: Sequence[Offer], accepted: Callable[[Facts], bool] = lambda _: True
) -> tuple[Fit, ...]:
    """What fits even in the adverse world: the cheapest first (without prices that of least memory), then other counts
    where they take a smaller card. Nothing where the card is known, or more than card and count is missing."""
    if not _asks(known):
        return ()
    asked = Asked(known, known.traced(), accepted)
    return _ordered(_search(asked, _cards(known, offered)))


def room(known: Facts) -> str:
    """The fact that says how much of a card, or of an engine's share of it, is left."""
    return "training_room" if engines.trains(known.role) else "headroom"


def products(known: Facts, offered: Sequence[Offer]) -> list[hardware.Accelerator]:
    """What is to be had of the maker whose cards the role asks for, smallest first.

    Cards on hosts with Arm processors are among them, unless a team says what it has.
    """
    maker, had = maker_of(known), {offer.accelerator for offer in offered}
    if known.role.available == EVERYTHING:
        had |= {node.accelerator for node in hardware.list_nodes() if cloud_of(known) in (None, node.cloud)}
    found = [one for one in hardware.list_accelerators() if one.id in had and one.vendor == maker]
    return sorted(found, key=lambda one: (memory_bytes(one), one.id))


def cloud_of(known: Facts) -> str | None:
    """The cloud that the file is for; None where any may be."""
    cloud = known.likely("cloud")
    return cloud if isinstance(cloud, str) else None


def maker_of(known: Facts) -> str:
    """The maker of the cards that a role asks for."""
    return MAKERS.get(known.role.text("accelerator_resource").partition("/")[0], "nvidia")


def memory_bytes(product: hardware.Accelerator | None) -> int:
    """The memory of a card, as CUDA reports it where that is established."""
    return (product.cuda_memory_bytes or product.driver_memory_bytes or 0) if product else 0


def _asks(known: Facts) -> bool:
    left = known.worlds(room(known))
    if not isinstance(left, Missing) or "accelerator" not in left.names or not left.names <= OPEN:
        return False
    whole = known.role.value("device") in (None, "gpu") and not any(known.role.value(name) for name in SHARED)
    return whole and known.likely("gpus_per_replica") != 0


def _search(asked: Asked, cards: Sequence[Card]) -> Iterator[Fit]:
    """The cheapest card of each layout, as long as it is smaller than those of fewer GPUs."""
    largest = math.inf
    for layout in _layouts(asked.known):
        smaller = [card for card in _cheapest(cards, layout) if memory_bytes(card.product) < largest]
        if found := next(_fitting(smaller, layout, asked), None):
            yield found
            largest = memory_bytes(hardware.accelerator(found.accelerator))
            if layout.stated:
                return


def _cheapest(cards: Sequence[Card], layout: Layout) -> tuple[Card, ...]:
    """The best machine of each product that holds a pod, cheapest first."""
    best: dict[str, Card] = {}
    for card in sorted(cards, key=lambda one: one.order(layout.gpus)):
        if card.offer.node_gpus >= layout.gpus_per_pod:
            best.setdefault(card.product.id, card)
    return tuple(best.values())


def _layouts(known: Facts) -> Iterator[Layout]:
    """What the file states; where it leaves the count open, or no card does on it, the GPUs of one machine."""
    gpus, pods = moves.count_of(known, "gpus_per_replica"), moves.count_of(known, "pods_per_replica") or 1
    ranks, stages, copies = (moves.count_of(known, name) or 1 for name in AXES)
    whole = gpus or ranks * stages * copies
    if gpus or whole > 1:
        yield Layout(whole, whole // pods, ranks, True, {} if gpus else _counted(whole))
    alone = pods == 1 and (engines.trains(known.role) or whole == ranks)
    for count in COUNTS if alone else ():
        if count > (whole if gpus or whole > 1 else 0) and _divides(known, count):
            yield _on(count, known)


def _on(count: int, known: Facts) -> Layout:
    """So many GPUs of one machine: as tensor parallel ranks of a server, as ranks of data in training."""
    if engines.trains(known.role):
        return Layout(count, count, 1, False, _counted(count))
    return Layout(count, count, count, False, {**_counted(count), "tensor_parallel": Field(count)})


def _counted(gpus: int) -> Mapping[str, Field]:
    return {"gpus_per_pod": Field(gpus), "gpus_per_replica": Field(gpus), "pods_per_replica": Field(1)}


def _divides(known: Facts, count: int) -> bool:
    heads = moves.count_of(known, "attention_heads")
    return engines.trains(known.role) or heads is None or heads % count == 0


def _cards(known: Facts, offered: Sequence[Offer]) -> list[Card]:
    """Each offer of the maker that the role asks for, of products that compute in its number format."""
    had = ((offer, hardware.accelerator(offer.accelerator)) for offer in offered)
    maker = maker_of(known)
    return [Card(one, offer) for offer, one in had if one and one.vendor == maker and _computes(one, known)]


def _computes(product: hardware.Accelerator, known: Facts) -> bool:
    """Whether a product computes in the checkpoint's format, or the file casts it; all of AMD's and Intel's do."""
    cast = any(known.role.text(name) in HALF for name in ("weight_dtype", "training_dtype"))
    return cast or product.vendor != "nvidia" or not moves.loses_bfloat16(known, product)


def _fitting(cards: Sequence[Card], layout: Layout, asked: Asked) -> Iterator[Fit]:
    """The cards that leave room in every world, and that nothing speaks against."""
    for card in cards:
        if not _holds_the_weights(card, layout, asked.known):
            continue
        role = asked.known.role.having(**layout.fields, accelerator=Field(card.product.id))
        tried = asked.traced.variant(role)
        left = tried.worlds(room(asked.known))
        if not isinstance(left, Missing) and _room_in_every_world(left) and asked.accepted(tried):
            yield _shown(card, layout, left)


def _shown(card: Card, layout: Layout, left: Worlds[Value]) -> Fit:
    offer, cost = card.offer, card.cost_usd_per_hour(layout.gpus)
    listed = f"{offer.cloud} {offer.region} {offer.price_date}".strip() if cost is not None else ""
    return Fit(
        accelerator=card.product.id,
        name=card.product.name,
        gpus=layout.gpus,
        tensor_parallel=layout.tensor_parallel,
        headroom=Worlds(*left),
        cost_usd_per_hour=cost,
        prices=listed,
        pool=offer.pool,
    )


def _room_in_every_world(left: Worlds[Value]) -> bool:
    return all(isinstance(one, int | float) and one >= 0 for one in left)


def _holds_the_weights(card: Card, layout: Layout, known: Facts) -> bool:
    weights = known.likely("weight_bytes")
    if engines.trains(known.role) or not isinstance(weights, int | float):
        return True
    return weights <= FILLED * memory_bytes(card.product) * layout.gpus


def _ordered(found: Iterator[Fit]) -> tuple[Fit, ...]:
    """The smallest first, the others by count."""
    fits = tuple(found)
    if not fits:
        return ()
    first = min(fits, key=_size)
    return (first, *(one for one in fits if one is not first))


def _size(fit: Fit) -> tuple[float, int, int]:
    cost = math.inf if fit.cost_usd_per_hour is None else fit.cost_usd_per_hour
    return cost, memory_bytes(hardware.accelerator(fit.accelerator)) * fit.gpus, fit.gpus
