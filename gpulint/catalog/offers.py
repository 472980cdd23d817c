"""Offers: the machines that a team can have, where, and at what price; settings narrow the catalog and replace its prices."""

from __future__ import annotations

import functools
import math
from typing import NamedTuple

from gpulint import units
from gpulint.catalog import hardware
from gpulint.catalog import tables as catalog
from gpulint.catalog.hardware import Node

SETTINGS = "gpulint.yaml"


class Offer(NamedTuple):
    """One kind of machine that can be had: costs are of the whole machine, None is not established."""

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
    """Nodes that a team has: what one of them holds, and the labels by which a file chooses them."""

    name: str
    accelerator: str
    gpus: int
    instance_type: str = ""
    labels: tuple[tuple[str, str], ...] = ()


class Price(NamedTuple):
    """What a team pays: for a machine of a type or a pool, or for one accelerator; in one region or in any."""

    usd_per_hour: float
    date: str
    instance_type: str = ""
    accelerator: str = ""
    pool: str = ""
    region: str = ""
    spot_usd_per_hour: float | None = None
    source: str = ""


class Energy(NamedTuple):
    """What electricity costs and emits where a team computes; None is not stated."""

    usd_per_kwh: float | None = None
    co2_kg_per_kwh: float | None = None
    pue: float | None = None


class Available(NamedTuple):
    """What a team can have and what it pays; empty is the whole catalog, at its prices, in the cloud of the file.

    `today` is the day on which the age of prices is told, empty where it is not. `barred` are the accelerators that its
    organisation lets nobody use.
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
        """Whether a team may use a product at all."""
        if accelerator in self.forbidden or accelerator in self.barred:
            return False
        return not self.accelerators or accelerator in self.accelerators


EVERYTHING = Available()


@functools.lru_cache(maxsize=512)
def of(available: Available, cloud: str | None = None, accelerator: str = "") -> tuple[Offer, ...]:
    """All that can be had, or of one accelerator: a team's pools, and what the clouds it names rent out, else one or any.

    Hosts with Arm processors, which most images are not built for, are among them where the team names their type or card.
    """
    pooled = tuple(_pooled(pool, available) for pool in available.pools)
    rented = () if available.pools_only else _rented(available, cloud, accelerator)
    wanted = (one for one in (*pooled, *rented) if accelerator in ("", one.accelerator))
    return tuple(sorted((one for one in wanted if available.allows(one.accelerator)), key=_order))


def cheapest(available: Available, accelerator: str, gpus: int, cloud: str | None = None) -> Offer | None:
    """The cheapest machine to be had, in a cloud or anywhere, that holds that many of a card; else a pool without a price."""
    return _cheapest(of(available, cloud, accelerator), gpus, cloud)


def machine(available: Available, instance_type: str) -> Offer | None:
    """The machine type of that name at the price that a team pays, whether it may be had anew or not."""
    node = hardware.node(instance_type)
    return _priced(node, available) if node else None


def carrying(
    available: Available, accelerator: str, gpus: int, instance_type: str = "", pool: str = "", cloud: str | None = None
) -> Offer | None:
    """The machine that a pod runs on: of its pool or its type, else the cheapest to be had, else the cheapest there is."""
    own = next((_pooled(one, available) for one in available.pools if pool and one.name == pool), None)
    stated = machine(available, instance_type)
    if own or (stated and cloud in (None, stated.cloud)):
        return own or stated
    found = cheapest(available, accelerator, gpus, cloud)
    if found or available.pools_only:
        return found
    return _cheapest(_listed(available.prices, available.regions, accelerator), gpus, cloud)


SITE = frozenset({"usd_per_kwh", "co2_kg_per_kwh", "pue"})
"""Facts of the site where a machine stands."""


def of_machine(one: Offer, fact: str) -> tuple[float | None, str]:
    """What an offer says of a machine, and where it is from."""
    match fact:
        case "machine_gpus":
            return one.node_gpus, one.instance_type or one.pool
        case "machine_usd_per_hour":
            return one.cost_usd_per_hour, listing(one)
        case _:
            return one.spot_usd_per_hour, listing(one)


def listing(one: Offer, today: str = "") -> str:
    """Whose price it is, where and of which day, and how old it is on a day."""
    if one.cost_usd_per_hour is None:
        return ""
    where = " ".join(filter(None, (one.pool or one.cloud, one.region)))
    return f"{'own' if one.own else 'list'} price {where} {one.price_date}{age(one.price_date, today)}"


def age(day: str, today: str) -> str:
    """The end of a sentence about a day that is past."""
    if not today:
        return ""
    from datetime import date

    days = (date.fromisoformat(today) - date.fromisoformat(day)).days
    return "" if days < 0 else f", {days} day{'' if days == 1 else 's'} old"


def site(available: Available, one: Offer | None, fact: str) -> tuple[float | None, str]:
    """What settings say of the site, else what is published for the region that they name, or for the cloud."""
    if (stated := getattr(available.energy, fact)) is not None:
        return stated, SETTINGS
    if one is None or not one.cloud:
        return None, ""
    region = "" if fact == "pue" else one.region if one.region in available.regions else None
    row = next((row for row in catalog.rows("grids") if (row["cloud"], row["region"]) == (one.cloud, region)), None)
    return (units.scaled(row[fact], 1), f"{row['source']} {row['date']}") if row and row.get(fact) else (None, "")


def _cheapest(listed: tuple[Offer, ...], gpus: int, cloud: str | None) -> Offer | None:
    fitting = [
        one
        for one in listed
        if one.node_gpus >= gpus and (one.pool or one.cost_usd_per_hour is not None) and cloud in (None, one.cloud)
    ]
    return min(fitting, key=_dearness, default=None)


def _dearness(one: Offer) -> tuple[float, str, str]:
    return math.inf if one.cost_usd_per_hour is None else one.cost_usd_per_hour, one.instance_type, one.pool


@functools.lru_cache(maxsize=512)
def _listed(prices: tuple[Price, ...], regions: tuple[str, ...], accelerator: str) -> tuple[Offer, ...]:
    """Every machine type of the catalog that holds an accelerator."""
    team = Available(prices=prices, regions=regions)
    return tuple(_priced(node, team) for node in hardware.list_nodes() if node.accelerator == accelerator)


def _order(one: Offer) -> tuple[str, int, float, str, str, str, str]:
    cost, machine, pool = _dearness(one)
    return one.accelerator, one.node_gpus, cost, one.cloud, machine, one.region, pool


def _rented(available: Available, cloud: str | None, accelerator: str) -> tuple[Offer, ...]:
    clouds = available.clouds or ((cloud,) if cloud else ())
    held = (node for node in hardware.list_nodes() if accelerator in ("", node.accelerator))
    fitting = (node for node in held if (not clouds or node.cloud in clouds) and _named(node, available))
    found = (_priced(node, available) for node in fitting)
    return tuple(one for one in found if not _elsewhere(one, available.regions))


def _named(node: Node, available: Available) -> bool:
    """Whether what a team names leaves a machine type in."""
    if available.instance_types:
        return node.instance_type in available.instance_types
    return not node.arm or node.accelerator in available.accelerators


def _elsewhere(one: Offer, regions: tuple[str, ...]) -> bool:
    """Whether a machine has no price in the regions of a team, and others of the same cloud have."""
    return one.region not in regions and any((one.cloud, region) in hardware.priced_regions() for region in regions)


def _priced(node: Node, available: Available) -> Offer:
    """A machine type with what a team pays for it, else its list price."""
    bare = Offer(node.accelerator, node.node_gpus, node.instance_type, node.cloud)
    listed = [one for one in hardware.list_prices(node.instance_type) if one.usd_per_hour is not None]
    near = [one for one in listed if one.region in available.regions] or [one for one in listed if one.home]
    if near:
        price = min(near, key=lambda one: (one.usd_per_hour, one.region))
        bare = bare._replace(
            region=price.region,
            cost_usd_per_hour=price.usd_per_hour,
            spot_usd_per_hour=price.spot_usd_per_hour,
            price_date=price.date,
            price_source=price.source,
        )
    return _at_own_price(bare, available)


def _pooled(pool: Pool, available: Available) -> Offer:
    """One node of a pool: at its own price, else at that of its machine type."""
    node = hardware.node(pool.instance_type)
    rented = _priced(node, available) if node else Offer("", 0)
    held = rented._replace(accelerator=pool.accelerator, node_gpus=pool.gpus, pool=pool.name)
    return _at_own_price(held, available)


def _at_own_price(one: Offer, available: Available) -> Offer:
    """The offer at the price that settings state for its pool, its machine type or its accelerators, in that order."""
    stated = [price for price in available.prices if _is_of(price, one, available.regions)]
    if not stated:
        return one
    price = min(stated, key=lambda price: (not price.pool, not price.instance_type, not price.region))
    counted = one.node_gpus if price.accelerator else 1
    spot = price.spot_usd_per_hour
    return one._replace(
        region=price.region or one.region,
        cost_usd_per_hour=price.usd_per_hour * counted,
        spot_usd_per_hour=None if spot is None else spot * counted,
        price_date=price.date,
        price_source=price.source or SETTINGS,
        own=True,
    )


def _is_of(price: Price, one: Offer, regions: tuple[str, ...]) -> bool:
    """Whether a stated price is of an offer: of what it names, all of it, in a region of the team."""
    named = ((price.pool, one.pool), (price.instance_type, one.instance_type), (price.accelerator, one.accelerator))
    here = not price.region or not regions or price.region in regions
    return here and all(not stated or stated == held for stated, held in named)
