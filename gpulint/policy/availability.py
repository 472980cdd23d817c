"""Availability: what gpulint.yaml says that a team has and pays, held against the catalog."""

from __future__ import annotations

import difflib
from collections.abc import Iterable, Iterator

from gpulint import catalog, hardware
from gpulint.offers import Available, Pool, Price
from gpulint.policy.settings import NamedPool, Settings, SettingsError


def of(settings: Settings) -> Available:
    """What can be had, accelerators by their id; SettingsError says which names the catalog does not have."""
    pools = tuple(_held(settings, settings.pools))
    stated = settings.available
    found = stated._replace(
        clouds=tuple(_cloud(settings, name) for name in stated.clouds),
        instance_types=tuple(_machine(settings, name) for name in stated.instance_types),
        regions=tuple(_region(settings, name) for name in stated.regions),
        accelerators=tuple(_card(settings, "available", name) for name in stated.accelerators),
        forbidden=tuple(_card(settings, "available: forbidden", name) for name in stated.forbidden),
        pools=pools,
        prices=tuple(_price(settings, price, [pool.name for pool in settings.pools]) for price in stated.prices),
    )
    _can_be_had(settings, found)
    return found


def _held(settings: Settings, pools: Iterable[NamedPool]) -> Iterator[Pool]:
    """The pools whose card and count are stated, or known by their machine type."""
    for pool in pools:
        card = _card(settings, f"the pool {pool.name}", pool.accelerator) if pool.accelerator else ""
        node = hardware.node(_machine(settings, pool.instance_type)) if pool.instance_type else None
        gpus = pool.gpus or (node.node_gpus if node else 0)
        card = card or (node.accelerator if node else "")
        if card and gpus:
            yield Pool(pool.name, card, gpus, node.instance_type if node else "", tuple(sorted(pool.labels.items())))


def _price(settings: Settings, price: Price, pools: list[str]) -> Price:
    if price.pool and price.pool not in pools:
        raise SettingsError(
            f"{settings.path}: prices: no pool under pools: is called {price.pool}{near(price.pool, pools)}"
        )
    return price._replace(
        instance_type=_machine(settings, price.instance_type) if price.instance_type else "",
        accelerator=_card(settings, "prices", price.accelerator) if price.accelerator else "",
    )


def _cloud(settings: Settings, name: str) -> str:
    known = sorted({node.cloud for node in hardware.nodes()})
    if name not in known:
        said = near(name, known) or f"; it has {', '.join(known)}"
        raise SettingsError(f"{settings.path}: available: no cloud of the catalog is called {name}{said}")
    return name


def _region(settings: Settings, name: str) -> str:
    own = {price.region for price in settings.available.prices if price.region}
    grids = {row["region"] for row in catalog.rows("grids") if row["region"]}
    known = own | grids | {region for _, region in hardware.priced_regions()}
    if name not in known:
        raise SettingsError(
            f"{settings.path}: available: no region of the catalog is called {name}{near(name, known)}; "
            f"a price under prices: makes one known"
        )
    return name


def _machine(settings: Settings, name: str) -> str:
    node = hardware.node(name)
    if node is None:
        similar = near(name, (node.instance_type for node in hardware.nodes()))
        raise SettingsError(f"{settings.path}: no machine type of the catalog is called {name}{similar}")
    return node.instance_type


def _card(settings: Settings, where: str, name: str) -> str:
    product = hardware.named(name)
    if product is None:
        similar = near(name, (one.id for one in hardware.accelerators()))
        raise SettingsError(f"{settings.path}: {where} names {name}, no accelerator of the catalog{similar}")
    return product.id


def _can_be_had(settings: Settings, found: Available) -> None:
    """That some machine holds each accelerator that is named."""
    held = {pool.accelerator for pool in found.pools}
    if not found.pools_only:
        held |= {node.accelerator for node in hardware.nodes()}
    for name in found.accelerators:
        if name not in held:
            raise SettingsError(
                f"{settings.path}: available names {name}, which no machine holds: say under pools: how many one node has"
            )


def near(word: str, known: Iterable[str]) -> str:
    """The end of a message about an unknown name: what it may be meant to be; empty when nothing is near."""
    spelled = {name.lower(): name for name in known}
    found = [spelled[name] for name in difflib.get_close_matches(word.lower(), spelled, n=3, cutoff=0.5)]
    return f"; did you mean {', '.join(found)}?" if found else ""
