"""Availability: what gpulint.yaml says that a team has and pays, held against the catalog."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator

from gpulint.catalog import hardware
from gpulint.catalog import tables as catalog
from gpulint.catalog.offers import Available, Pool, Price
from gpulint.policy.config import requirements as organisation
from gpulint.policy.config.did_you_mean import near
from gpulint.policy.config.settings import NamedPool, Settings, SettingsError


def of(settings: Settings) -> Available:
    """What can be had, accelerators by their id; SettingsError says which names the catalog does not have."""
    stated = settings.available
    named = [pool.name for pool in settings.pools]
    found = stated._replace(
        clouds=_each(settings, "clouds", stated.clouds, _cloud),
        instance_types=_each(settings, "instance-types", stated.instance_types, _machine),
        regions=_each(settings, "regions", stated.regions, lambda place, name: _region(place, name, stated.prices)),
        accelerators=_each(settings, "accelerators", stated.accelerators, _available_card),
        forbidden=_each(settings, "forbidden", stated.forbidden, _forbidden_card),
        pools=tuple(_held(settings, settings.pools)),
        barred=organisation.barred(settings),
        prices=tuple(
            _price(settings.place("prices", index), price, named) for index, price in enumerate(stated.prices)
        ),
    )
    _can_be_had(settings, found)
    return found


def _each(settings: Settings, key: str, names: Iterable[str], known: Callable[[str, str], str]) -> tuple[str, ...]:
    """The names of a list under `available:` as the catalog has them."""
    return tuple(known(settings.place("available", key, index), name) for index, name in enumerate(names))


def _held(settings: Settings, pools: Iterable[NamedPool]) -> Iterator[Pool]:
    """The pools whose card and count are stated, or known by their machine type."""
    for index, pool in enumerate(pools):
        place = settings.place("pools", index)
        card = _card(place, f"the pool {pool.name}", pool.accelerator) if pool.accelerator else ""
        node = hardware.node(_machine(place, pool.instance_type)) if pool.instance_type else None
        gpus = pool.gpus or (node.node_gpus if node else 0)
        card = card or (node.accelerator if node else "")
        if card and gpus:
            yield Pool(pool.name, card, gpus, node.instance_type if node else "", tuple(sorted(pool.labels.items())))


def _price(place: str, price: Price, pools: list[str]) -> Price:
    if price.pool and price.pool not in pools:
        raise SettingsError(f"{place}: prices: no pool under pools: is called {price.pool}{near(price.pool, pools)}")
    return price._replace(
        instance_type=_machine(place, price.instance_type) if price.instance_type else "",
        accelerator=_card(place, "prices", price.accelerator) if price.accelerator else "",
    )


def _cloud(place: str, name: str) -> str:
    known = sorted({node.cloud for node in hardware.list_nodes()})
    if name not in known:
        said = near(name, known) or f"; it has {', '.join(known)}"
        raise SettingsError(f"{place}: available: no cloud of the catalog is called {name}{said}")
    return name


def _region(place: str, name: str, prices: Iterable[Price]) -> str:
    own = {price.region for price in prices if price.region}
    grids = {row["region"] for row in catalog.rows("grids") if row["region"]}
    known = own | grids | {region for _, region in hardware.priced_regions()}
    if name not in known:
        raise SettingsError(
            f"{place}: available: no region of the catalog is called {name}{near(name, known)}; "
            f"a price under prices: makes one known"
        )
    return name


def _machine(place: str, name: str) -> str:
    node = hardware.node(name)
    if node is None:
        similar = near(name, (node.instance_type for node in hardware.list_nodes()))
        raise SettingsError(f"{place}: no machine type of the catalog is called {name}{similar}")
    return node.instance_type


def _available_card(place: str, name: str) -> str:
    return _card(place, "available", name)


def _forbidden_card(place: str, name: str) -> str:
    return _card(place, "available: forbidden", name)


def _card(place: str, where: str, name: str) -> str:
    product = hardware.named(name)
    if product is None:
        similar = near(name, (one.id for one in hardware.list_accelerators()))
        raise SettingsError(f"{place}: {where} names {name}, no accelerator of the catalog{similar}")
    return product.id


def _can_be_had(settings: Settings, found: Available) -> None:
    """That some machine holds each accelerator that is named."""
    held = {pool.accelerator for pool in found.pools}
    if not found.pools_only:
        held |= {node.accelerator for node in hardware.list_nodes()}
    for index, name in enumerate(found.accelerators):
        if name not in held:
            place = settings.place("available", "accelerators", index)
            raise SettingsError(
                f"{place}: available names {name}, which no machine holds: say under pools: how many one node has"
            )
