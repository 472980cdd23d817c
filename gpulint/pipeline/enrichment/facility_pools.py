"""Facility context: node pools and energy of the facility configured in gpulint.yaml."""

from __future__ import annotations

import functools
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import NamedTuple

from gpulint import adapters
from gpulint.adapters.nodes.pool import DECIDED, QUEUES, Pool
from gpulint.adapters.pods import placement
from gpulint.adapters.pods.placement import Label
from gpulint.catalog import hardware, offers
from gpulint.catalog.offers import Available, Energy
from gpulint.facility.model import ComponentFacts
from gpulint.pipeline.enrichment import node_pools
from gpulint.pipeline.enrichment.pool_index import PoolGroup
from gpulint.policy.rules import facility
from gpulint.source import documents
from gpulint.source.repository import Repository
from gpulint.workload import Field, Origin, Role, Unknown, Workload

BATCH = frozenset({"scripts"})
"""Adapters of files that a batch system starts in its default partition if they name none."""
INVENTORIED = b"netbox"
"""A word of facility files that other files complete."""
LEADING = {"partition": "pool_partition", "queue": "pool_queue"}
"""Keys besides labels that select a pool, and the fact that declares each."""
OF_NETWORK = {"network_bytes_per_s": "pool_network_bytes_per_s", "network_kind": "pool_network_kind"}
OF_SITE = {"usd_per_kwh": "site_usd_per_kwh", "co2_kg_per_kwh": "site_co2_kg_per_kwh", "pue": "site_pue"}


class FacilityContext(NamedTuple):
    """A facility file: its components, its pools, the pools as workloads match them, and its
    energy.
    """

    path: str
    root: ComponentFacts
    pools: tuple[ComponentFacts, ...]
    named: tuple[Pool, ...]
    energy: Energy


class Unreadable(NamedTuple):
    """Why a file that gpulint.yaml names is not a facility."""

    path: str
    reason: str


def load(path: str, repository: Repository) -> FacilityContext | Unreadable:
    """Return the facility of a file of the repository."""
    content = repository.read(path)
    if content is None:
        return Unreadable(path, f"the facility file {path} named in gpulint.yaml does not exist")
    return _read_facility(path, content, repository if INVENTORIED in content else None)  # type: ignore[arg-type]


@functools.lru_cache(maxsize=8)
def _read_facility(path: str, content: bytes, repository: Repository | None) -> FacilityContext | Unreadable:
    for document in documents.load(path, content).documents:
        adapter = adapters.find_adapter(document)
        is_facility = adapter is not None and hasattr(adapter, "read_facility")
        described = adapter.read_facility(document, repository) if adapter is not None and is_facility else None
        if described is not None:
            return _build_premises(facility.resolve_facts(described, {}), path)
    return Unreadable(path, f"the facility file {path} named in gpulint.yaml contains no facility that can be read")


def _build_premises(root: ComponentFacts, path: str) -> FacilityContext:
    found = root.list_components("pool")
    energy = Energy(**{name: root.number(fact) for name, fact in OF_SITE.items()})
    return FacilityContext(path, root, found, tuple(_build_pool(pool, path) for pool in found), energy)


def _build_pool(facts: ComponentFacts, path: str) -> Pool:
    """Return a pool as workloads match it, with the accelerator and GPUs of its servers."""
    labels = facts.expected("pool_labels")
    led = dict(labels) if isinstance(labels, Mapping) else {}
    led |= {key: text for key, fact in LEADING.items() if isinstance(text := facts.expected(fact), str)}
    return Pool(
        facts.role.name,
        facts.role.anchor,
        {key: frozenset({value}) for key, value in led.items()},
        _find_accelerator(facts, path),
        _find_shared(facts, "server_gpus", path),
        is_open=True,
        source=path,
    )


def _find_accelerator(facts: ComponentFacts, path: str) -> Field:
    """Return the accelerator of all servers of a pool; unknown, with the reason, if there is none
    or several.
    """
    found = [server.expected("accelerator") for server in facts.list_components("server")]
    products = [hardware.find_accelerator(accelerator) for accelerator in found if isinstance(accelerator, str)]
    ids = {product.id for product in products if product is not None}
    if not found:
        return Field(Unknown("no server of the facility belongs to this pool"), source=path)
    if len(ids) != 1 or None in products or len(products) < len(found):
        return Field(Unknown(f"{path} does not say which accelerator its servers have"), source=path)
    return Field(ids.pop(), source=path, basis="joined")


def _find_shared(facts: ComponentFacts, fact: str, path: str) -> Field | None:
    """Return a value that all servers of a pool have in common."""
    values = {server.number(fact) for server in facts.list_components("server")}
    value = values.pop() if len(values) == 1 else None
    return None if value is None else Field(value, source=path, basis="joined")


# ---- workloads


def add_facility(workload: Workload, premises: FacilityContext) -> Workload:
    """Merge the values of the selected facility pools into a workload where it declares none."""
    workload = node_pools.merge_configured_pools(workload, premises.named)
    return replace(workload, roles=tuple(_add_to_role(role, workload, premises) for role in workload.roles))


def _add_to_role(role: Role, workload: Workload, premises: FacilityContext) -> Role:
    if role.available.pools_only:
        own = (*role.available.pools, *_list_offers(premises))
        role = replace(role, available=role.available._replace(pools=own))
    asked = tuple(_find_labels(role))
    taking = _match_pools(asked, premises) if asked else _find_default_pool(role, workload, premises)
    if not taking or role.text("part_of"):
        return role
    if not asked and not role.text("accelerator"):
        role = role.having(accelerator=_find_default_accelerator(taking[0], premises))
    names = tuple(pool.role.name for pool in taking)
    fields = {"facility_pools": Field(names, source=premises.path), **dict(_find_pool_fields(taking, role, premises))}
    role = role.having(**{name: field for name, field in fields.items() if role.value(name) is None})
    return replace(role, available=_add_energy(role.available, premises.energy))


def _list_offers(premises: FacilityContext) -> Iterator[offers.Pool]:
    """Yield the pools of a facility as offers, for teams restricted to their own nodes."""
    for pool in premises.named:
        card, count = pool.accelerator.value, pool.gpus.value if pool.gpus else None
        if isinstance(card, str) and isinstance(count, int | float):
            labels = {key: value for key, (value, *_) in pool.labels.items() if key not in LEADING}
            yield offers.Pool(pool.name, card, int(count), "", tuple(sorted(labels.items())))


def _add_energy(available: Available, energy: Energy) -> Available:
    """Return the offers with the facility's energy values that gpulint.yaml does not declare."""
    stated = zip(available.energy, energy, strict=True)
    return available._replace(energy=Energy(*(own if own is not None else here for own, here in stated)))


def _find_default_pool(role: Role, workload: Workload, premises: FacilityContext) -> tuple[ComponentFacts, ...]:
    """Return the default pool, if there is one and it has the role's accelerator."""
    card = role.fields.get("accelerator")
    open_ended = card is not None and isinstance(card.value, Unknown) and card.value.category == DECIDED
    in_batch = workload.adapter in BATCH and open_ended and "node_features" not in role.fields
    if not (in_batch or role.text("object_kind")) or role.text("cloud") or role.text("instance_type"):
        return ()
    default = [pool for pool in premises.pools if pool.expected("pool_default") is True]
    mine = [pool for pool in default if isinstance(pool.expected("pool_partition"), str) == in_batch]
    product = next((pool.accelerator.value for pool in premises.named if mine and pool.name == mine[0].role.name), None)
    fits = card is None or in_batch or card.value == product
    return tuple(mine) if len(mine) == 1 and fits and role.value("gpus_per_pod") else ()


def _find_default_accelerator(facts: ComponentFacts, premises: FacilityContext) -> Field:
    """Return the accelerator of the default pool."""
    card = next(pool.accelerator for pool in premises.named if pool.name == facts.role.name)
    assumption = f"{card.value}, the accelerator of the default pool {facts.role.name} ({premises.path})"
    return card if isinstance(card.value, Unknown) else replace(card, assumption=assumption, basis="joined")


def _match_pools(asked: Sequence[Label], premises: FacilityContext) -> tuple[ComponentFacts, ...]:
    """Return the pools that match these node labels."""
    led = {pool.name for pool in PoolGroup(premises.named).select(asked)}
    return tuple(pool for pool in premises.pools if pool.role.name in led)


def _find_labels(role: Role) -> Iterator[Label]:
    """Yield what selects nodes for a role: its partition, else its required node labels and its
    queue.
    """
    if "partition" in role.fields:
        yield from node_pools.read_job_labels(role)
        return
    if (place := _find_pod(role)) is not None:
        labelled = placement.read_required_labels(place.document, place.path)
        yield from (label for label in labelled if not placement.MUTE_KEYS.fullmatch(label.key))
    labels = role.value("labels")
    for key in QUEUES if isinstance(labels, Mapping) else ():
        if isinstance(labels, Mapping) and key in labels:
            yield Label("queue", ((labels[key], role.anchor),))


def _find_pod(role: Role) -> Origin | None:
    """Return the pod specification of a role's container."""
    for word in ("containers", "initContainers"):
        if word in role.anchor.path:
            return role.anchor._replace(path=role.anchor.path[: role.anchor.path.index(word)])
    card = role.fields.get("accelerator")
    for origin in card.origins if card else ():
        for key in ("nodeSelector", "affinity"):
            if key in origin.path:
                return origin._replace(path=origin.path[: origin.path.index(key)])
    return None


def _find_pool_fields(
    taking: Sequence[ComponentFacts], role: Role, premises: FacilityContext
) -> Iterator[tuple[str, Field]]:
    """Yield the node values that all selected pools share, and the maximum GPUs of one instance."""
    for name, fact in OF_NETWORK.items():
        values = {pool.expected(fact) for pool in taking}
        if len(values) == 1 and isinstance(value := values.pop(), int | float | str):
            yield name, Field(value, source=premises.path, basis="joined")
    named = [pool for pool in premises.named if pool.name in {pool_of_job.role.name for pool_of_job in taking}]
    for name, shared in (
        ("pool_gpus", [pool.gpus for pool in named]),
        ("power_cap_w", _find_caps(taking, premises.path)),
    ):
        if all(shared) and len({field.value for field in shared if field}) == 1 and shared[0]:
            yield name, shared[0]
    counts = [pool.number("held_gpus") for pool in taking]
    counted = [count for count in counts if count is not None]
    if len(counted) == len(counts):
        most = max(counted) if "partition" in role.fields else sum(counted)
        yield "pool_most_gpus", Field(most, (taking[0].role.anchor,), source=premises.path)


def _find_caps(taking: Sequence[ComponentFacts], path: str) -> list[Field | None]:
    return [_find_shared(pool, "power_cap_w", path) for pool in taking]
