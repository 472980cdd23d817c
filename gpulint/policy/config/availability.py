"""Resolve what gpulint.yaml says a team has and pays against the catalog."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator

from gpulint.catalog import hardware, tables
from gpulint.catalog.offers import Available, Pool, Price
from gpulint.policy.config import requirements
from gpulint.policy.config.files import SettingsError
from gpulint.policy.config.settings import NamedPool, Settings
from gpulint.policy.did_you_mean import suggest


def load_available(settings: Settings) -> Available:
    """Return the available hardware with catalog ids; raise SettingsError for a name not in the catalog."""
    declared = settings.available
    pool_names = [pool.name for pool in settings.pools]
    available = declared._replace(
        clouds=_resolve_names(settings, "clouds", declared.clouds, _check_cloud),
        instance_types=_resolve_names(settings, "instance-types", declared.instance_types, _resolve_machine),
        regions=_resolve_names(
            settings, "regions", declared.regions, lambda place, name: _check_region(place, name, declared.prices)
        ),
        accelerators=_resolve_names(settings, "accelerators", declared.accelerators, _resolve_available),
        forbidden=_resolve_names(settings, "forbidden", declared.forbidden, _resolve_forbidden),
        pools=tuple(_resolve_pools(settings, settings.pools)),
        barred=requirements.find_barred(settings),
        prices=tuple(
            _resolve_price(settings.place("prices", index), price, pool_names)
            for index, price in enumerate(declared.prices)
        ),
    )
    _check_obtainable(settings, available)
    return available


def _resolve_names(
    settings: Settings, key: str, names: Iterable[str], resolve: Callable[[str, str], str]
) -> tuple[str, ...]:
    """Return the names of a list under `available:` as spelled in the catalog."""
    return tuple(resolve(settings.place("available", key, index), name) for index, name in enumerate(names))


def _resolve_pools(settings: Settings, pools: Iterable[NamedPool]) -> Iterator[Pool]:
    """Yield the pools whose accelerator and GPU count are declared or follow from the machine type."""
    for index, pool in enumerate(pools):
        place = settings.place("pools", index)
        accelerator = _resolve_accelerator(place, f"the pool {pool.name}", pool.accelerator) if pool.accelerator else ""
        node = hardware.node(_resolve_machine(place, pool.instance_type)) if pool.instance_type else None
        gpus = pool.gpus or (node.node_gpus if node else 0)
        accelerator = accelerator or (node.accelerator if node else "")
        if accelerator and gpus:
            yield Pool(
                pool.name, accelerator, gpus, node.instance_type if node else "", tuple(sorted(pool.labels.items()))
            )


def _resolve_price(place: str, price: Price, pools: list[str]) -> Price:
    if price.pool and price.pool not in pools:
        raise SettingsError(f"{place}: prices: there is no pool {price.pool} under `pools`{suggest(price.pool, pools)}")
    return price._replace(
        instance_type=_resolve_machine(place, price.instance_type) if price.instance_type else "",
        accelerator=_resolve_accelerator(place, "prices", price.accelerator) if price.accelerator else "",
    )


def _check_cloud(place: str, name: str) -> str:
    clouds = sorted({node.cloud for node in hardware.list_nodes()})
    if name not in clouds:
        hint = suggest(name, clouds) or f"; it has {', '.join(clouds)}"
        raise SettingsError(f"{place}: available: the catalog has no cloud {name}{hint}")
    return name


def _check_region(place: str, name: str, prices: Iterable[Price]) -> str:
    priced = {price.region for price in prices if price.region}
    grids = {row["region"] for row in tables.rows("grids") if row["region"]}
    regions = priced | grids | {region for _, region in hardware.list_priced_regions()}
    if name not in regions:
        raise SettingsError(
            f"{place}: available: the catalog has no region {name}{suggest(name, regions)}; "
            f"add a price under prices: to declare one"
        )
    return name


def _resolve_machine(place: str, name: str) -> str:
    node = hardware.node(name)
    if node is None:
        similar = suggest(name, (node.instance_type for node in hardware.list_nodes()))
        raise SettingsError(f"{place}: the catalog has no machine type {name}{similar}")
    return node.instance_type


def _resolve_available(place: str, name: str) -> str:
    return _resolve_accelerator(place, "available", name)


def _resolve_forbidden(place: str, name: str) -> str:
    return _resolve_accelerator(place, "available: forbidden", name)


def _resolve_accelerator(place: str, where: str, name: str) -> str:
    accelerator = hardware.find_accelerator(name)
    if accelerator is None:
        similar = suggest(name, (known.id for known in hardware.list_accelerators()))
        raise SettingsError(f"{place}: {where}: the catalog has no accelerator {name}{similar}")
    return accelerator.id


def _check_obtainable(settings: Settings, available: Available) -> None:
    """Raise SettingsError for a named accelerator that no machine has."""
    obtainable = {pool.accelerator for pool in available.pools}
    if not available.pools_only:
        obtainable |= {node.accelerator for node in hardware.list_nodes()}
    for index, name in enumerate(available.accelerators):
        if name not in obtainable:
            place = settings.place("available", "accelerators", index)
            raise SettingsError(
                f"{place}: available names {name}, but no known machine has it; declare the GPUs per node under pools:"
            )
