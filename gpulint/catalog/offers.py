"""Offers: machines that a team can have, with region and price.

Settings narrow the catalog and replace its prices.
"""

from __future__ import annotations

import functools
import math
from typing import NamedTuple

from gpulint import units
from gpulint.catalog import hardware, tables
from gpulint.catalog.hardware import Node

SETTINGS = "gpulint.yaml"


class Offer(NamedTuple):
    """One kind of available machine. Costs are of the whole machine; None means unknown."""

    accelerator: str
    node_gpus: int
    instance_type: str = ""
    cloud: str = ""
    region: str = ""
    pool: str = ""
    cost_usd_per_hour: float | None = None
    spot_usd_per_hour: float | None = None
    price_date: str = ""
    price_source: str = ""
    own: bool = False


class Pool(NamedTuple):
    """Nodes that a team has: what one of them holds, and the labels that select them."""

    name: str
    accelerator: str
    gpus: int
    instance_type: str = ""
    labels: tuple[tuple[str, str], ...] = ()


class Price(NamedTuple):
    """What a team pays for a machine type, a pool or an accelerator, in one region or in all."""

    usd_per_hour: float
    date: str
    instance_type: str = ""
    accelerator: str = ""
    pool: str = ""
    region: str = ""
    spot_usd_per_hour: float | None = None
    source: str = ""


class Energy(NamedTuple):
    """Price and emissions of electricity at a team's site; None is not declared."""

    usd_per_kwh: float | None = None
    co2_kg_per_kwh: float | None = None
    pue: float | None = None


class Available(NamedTuple):
    """What a team can have and what it pays.

    Empty means the whole catalog at its prices, in the cloud of the file.

    `today` is the date for the age of prices, empty to leave the age out. `barred` are the
    accelerators that the organisation forbids.
    """

    clouds: tuple[str, ...] = ()
    regions: tuple[str, ...] = ()
    instance_types: tuple[str, ...] = ()
    accelerators: tuple[str, ...] = ()
    forbidden: tuple[str, ...] = ()
    pools: tuple[Pool, ...] = ()
    pools_only: bool = False
    prices: tuple[Price, ...] = ()
    energy: Energy = Energy()
    today: str = ""
    barred: frozenset[str] = frozenset()

    def allows(self, accelerator: str) -> bool:
        """Return whether a team may use an accelerator."""
        if accelerator in self.forbidden or accelerator in self.barred:
            return False
        return not self.accelerators or accelerator in self.accelerators


EVERYTHING = Available()


@functools.lru_cache(maxsize=512)
def list_offers(available: Available, cloud: str | None = None, accelerator: str = "") -> tuple[Offer, ...]:
    """Return all available machines, or those with one accelerator: the team's pools, and what the
    named or given clouds offer.

    Hosts with Arm processors are included only if the team names their type or accelerator, because
    most images are not built for them.
    """
    pooled = tuple(_price_pool(pool, available) for pool in available.pools)
    rented = () if available.pools_only else _list_rented(available, cloud, accelerator)
    wanted = (offer for offer in (*pooled, *rented) if accelerator in ("", offer.accelerator))
    return tuple(sorted((offer for offer in wanted if available.allows(offer.accelerator)), key=_sort_key))


def find_cheapest(available: Available, accelerator: str, gpus: int, cloud: str | None = None) -> Offer | None:
    """Return the cheapest available machine that holds so many of an accelerator, else a pool
    without a price.
    """
    return _find_cheapest(list_offers(available, cloud, accelerator), gpus, cloud)


def find_machine(available: Available, instance_type: str) -> Offer | None:
    """Return a machine type at the price that a team pays, even if the settings do not offer it."""
    node = hardware.node(instance_type)
    return _price_node(node, available) if node else None


def select_machine(
    available: Available, accelerator: str, gpus: int, instance_type: str = "", pool: str = "", cloud: str | None = None
) -> Offer | None:
    """Return the machine that a pod runs on: its pool or type, else the cheapest available, else
    the cheapest at all.
    """
    own = next((_price_pool(one, available) for one in available.pools if pool and one.name == pool), None)
    stated = find_machine(available, instance_type)
    if own or (stated and cloud in (None, stated.cloud)):
        return own or stated
    found = find_cheapest(available, accelerator, gpus, cloud)
    if found or available.pools_only:
        return found
    return _find_cheapest(_list_types(available.prices, available.regions, accelerator), gpus, cloud)


SITE = frozenset({"usd_per_kwh", "co2_kg_per_kwh", "pue"})
"""Facts of a machine's site."""


def find_machine_fact(offer: Offer, fact: str) -> tuple[float | None, str]:
    """Return a fact of an offered machine with its source."""
    match fact:
        case "machine_gpus":
            return offer.node_gpus, offer.instance_type or offer.pool
        case "machine_usd_per_hour":
            return offer.cost_usd_per_hour, describe_price(offer)
        case _:
            return offer.spot_usd_per_hour, describe_price(offer)


def describe_price(offer: Offer, today: str = "") -> str:
    """Return whose price it is, where, from which day, and how old it is today."""
    if offer.cost_usd_per_hour is None:
        return ""
    where = " ".join(filter(None, (offer.pool or offer.cloud, offer.region)))
    return f"{'own' if offer.own else 'list'} price {where} {offer.price_date}{describe_age(offer.price_date, today)}"


def describe_age(day: str, today: str) -> str:
    """Return the end of a sentence about the age of a date."""
    if not today:
        return ""
    from datetime import date

    days = (date.fromisoformat(today) - date.fromisoformat(day)).days
    return "" if days < 0 else f", {days} day{'' if days == 1 else 's'} old"


def find_site_fact(available: Available, offer: Offer | None, fact: str) -> tuple[float | None, str]:
    """Return a fact of the site from settings, else the published one of the named region or the
    cloud.
    """
    if (stated := getattr(available.energy, fact)) is not None:
        return stated, SETTINGS
    if offer is None or not offer.cloud:
        return None, ""
    region = "" if fact == "pue" else offer.region if offer.region in available.regions else None
    row = next((row for row in tables.rows("grids") if (row["cloud"], row["region"]) == (offer.cloud, region)), None)
    return (units.scale(row[fact], 1), f"{row['source']} {row['date']}") if row and row.get(fact) else (None, "")


def _find_cheapest(listed: tuple[Offer, ...], gpus: int, cloud: str | None) -> Offer | None:
    fitting = [
        offer
        for offer in listed
        if offer.node_gpus >= gpus
        and (offer.pool or offer.cost_usd_per_hour is not None)
        and cloud in (None, offer.cloud)
    ]
    return min(fitting, key=_cost_key, default=None)


def _cost_key(offer: Offer) -> tuple[float, str, str]:
    return math.inf if offer.cost_usd_per_hour is None else offer.cost_usd_per_hour, offer.instance_type, offer.pool


@functools.lru_cache(maxsize=512)
def _list_types(prices: tuple[Price, ...], regions: tuple[str, ...], accelerator: str) -> tuple[Offer, ...]:
    """Return every machine type of the catalog with an accelerator."""
    team = Available(prices=prices, regions=regions)
    return tuple(_price_node(node, team) for node in hardware.list_nodes() if node.accelerator == accelerator)


def _sort_key(offer: Offer) -> tuple[str, int, float, str, str, str, str]:
    cost, machine, pool = _cost_key(offer)
    return offer.accelerator, offer.node_gpus, cost, offer.cloud, machine, offer.region, pool


def _list_rented(available: Available, cloud: str | None, accelerator: str) -> tuple[Offer, ...]:
    clouds = available.clouds or ((cloud,) if cloud else ())
    nodes = (node for node in hardware.list_nodes() if accelerator in ("", node.accelerator))
    fitting = (node for node in nodes if (not clouds or node.cloud in clouds) and _is_admitted(node, available))
    found = (_price_node(node, available) for node in fitting)
    return tuple(offer for offer in found if not _is_elsewhere(offer, available.regions))


def _is_admitted(node: Node, available: Available) -> bool:
    """Return whether the settings of a team admit a machine type."""
    if available.instance_types:
        return node.instance_type in available.instance_types
    return not node.arm or node.accelerator in available.accelerators


def _is_elsewhere(offer: Offer, regions: tuple[str, ...]) -> bool:
    """Return whether a machine has no price in a team's regions although the same cloud has such
    prices.
    """
    return offer.region not in regions and any(
        (offer.cloud, region) in hardware.list_priced_regions() for region in regions
    )


def _price_node(node: Node, available: Available) -> Offer:
    """Return a machine type with the price that a team pays, else its list price."""
    bare = Offer(node.accelerator, node.node_gpus, node.instance_type, node.cloud)
    listed = [price for price in hardware.list_prices(node.instance_type) if price.usd_per_hour is not None]
    near = [price for price in listed if price.region in available.regions] or [price for price in listed if price.home]
    if near:
        price = min(near, key=lambda price: (price.usd_per_hour, price.region))
        bare = bare._replace(
            region=price.region,
            cost_usd_per_hour=price.usd_per_hour,
            spot_usd_per_hour=price.spot_usd_per_hour,
            price_date=price.date,
            price_source=price.source,
        )
    return _apply_own_price(bare, available)


def _price_pool(pool: Pool, available: Available) -> Offer:
    """Return one node of a pool at its own price, else at that of its machine type."""
    node = hardware.node(pool.instance_type)
    rented = _price_node(node, available) if node else Offer("", 0)
    offer = rented._replace(accelerator=pool.accelerator, node_gpus=pool.gpus, pool=pool.name)
    return _apply_own_price(offer, available)


def _apply_own_price(offer: Offer, available: Available) -> Offer:
    """Return the offer at the price declared for its pool, machine type or accelerator, in that
    order.
    """
    stated = [price for price in available.prices if _applies_to(price, offer, available.regions)]
    if not stated:
        return offer
    price = min(stated, key=lambda price: (not price.pool, not price.instance_type, not price.region))
    counted = offer.node_gpus if price.accelerator else 1
    spot = price.spot_usd_per_hour
    return offer._replace(
        region=price.region or offer.region,
        cost_usd_per_hour=price.usd_per_hour * counted,
        spot_usd_per_hour=None if spot is None else spot * counted,
        price_date=price.date,
        price_source=price.source or SETTINGS,
        own=True,
    )


def _applies_to(price: Price, offer: Offer, regions: tuple[str, ...]) -> bool:
    """Return whether a declared price applies to an offer in one of the team's regions."""
    named = (
        (price.pool, offer.pool),
        (price.instance_type, offer.instance_type),
        (price.accelerator, offer.accelerator),
    )
    here = not price.region or not regions or price.region in regions
    return here and all(not stated or stated == value for stated, value in named)
