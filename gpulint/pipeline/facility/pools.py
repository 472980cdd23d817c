"""Premises: the facility that gpulint.yaml names, as workloads see it: the pools that lead to its servers, and its energy."""

from __future__ import annotations

import functools
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import NamedTuple

from gpulint import adapters
from gpulint.adapters import nodes as pools
from gpulint.adapters.nodes import Pool
from gpulint.adapters.pods import placement
from gpulint.adapters.pods.placement import Label
from gpulint.catalog import hardware, offers
from gpulint.catalog.offers import Available, Energy
from gpulint.facility.model import PartFacts
from gpulint.policy.rules import facility as facilities
from gpulint.source import documents
from gpulint.source.repository import Repository
from gpulint.workload import Field, Origin, Role, Unknown, Workload

BATCH = frozenset({"scripts"})
"""Adapters of files that a batch system starts in its default partition where they name none."""
INVENTORIED = b"netbox"
"""A word of facilities that other files complete."""
LEADING = {"partition": "pool_partition", "queue": "pool_queue"}
"""What leads to a pool beside labels: how a join calls it, and the fact that states it."""
OF_NETWORK = {"network_bytes_per_s": "pool_network_bytes_per_s", "network_kind": "pool_network_kind"}
OF_SITE = {"usd_per_kwh": "site_usd_per_kwh", "co2_kg_per_kwh": "site_co2_kg_per_kwh", "pue": "site_pue"}


class Premises(NamedTuple):
    """A facility of a file: its parts, its pools, the same as joins of workloads take them, and its electricity."""

    path: str
    root: PartFacts
    pools: tuple[PartFacts, ...]
    named: tuple[Pool, ...]
    energy: Energy


class Unreadable(NamedTuple):
    """Why a file that gpulint.yaml names is no facility."""

    path: str
    reason: str


def of(path: str, repository: Repository) -> Premises | Unreadable:
    """The facility of a file of the repository."""
    content = repository.read(path)
    if content is None:
        return Unreadable(path, f"{path}, the facility of gpulint.yaml, is not there")
    return _read(path, content, repository if INVENTORIED in content else None)  # type: ignore[arg-type]


@functools.lru_cache(maxsize=8)
def _read(path: str, content: bytes, repository: Repository | None) -> Premises | Unreadable:
    for document in documents.load(path, content).documents:
        adapter = adapters.claiming(document)
        describe = getattr(adapter, "facility", None)  # of a package, a module may have this name
        described = describe(document, repository) if callable(describe) else None
        if described is not None:
            return _of(facilities.facts_of(described, {}), path)
    return Unreadable(path, f"{path}, the facility of gpulint.yaml, holds none that can be read")


def _of(root: PartFacts, path: str) -> Premises:
    found = root.of_kind("pool")
    energy = Energy(**{name: root.number(fact) for name, fact in OF_SITE.items()})
    return Premises(path, root, found, tuple(_pool(one, path) for one in found), energy)


def _pool(known: PartFacts, path: str) -> Pool:
    """A pool as joins take it: its card and GPUs are those of its servers."""
    labels = known.likely("pool_labels")
    led = dict(labels) if isinstance(labels, Mapping) else {}
    led |= {key: text for key, fact in LEADING.items() if isinstance(text := known.likely(fact), str)}
    return Pool(
        known.role.name,
        known.role.anchor,
        {key: frozenset({value}) for key, value in led.items()},
        _card(known, path),
        _shared(known, "server_gpus", path),
        is_open=True,
        source=path,
    )


def _card(known: PartFacts, path: str) -> Field:
    """The card that all servers of a pool hold; unknown, with the reason, where none or several are known."""
    found = [one.likely("accelerator") for one in known.of_kind("server")]
    products = [hardware.named(one) for one in found if isinstance(one, str)]
    ids = {one.id for one in products if one is not None}
    if not found:
        return Field(Unknown("no server of the facility belongs to it"), source=path)
    if len(ids) != 1 or None in products or len(products) < len(found):
        return Field(Unknown(f"{path} does not say which card its servers hold"), source=path)
    return Field(ids.pop(), source=path)


def _shared(known: PartFacts, fact: str, path: str) -> Field | None:
    """What all servers of a pool have alike."""
    values = {one.number(fact) for one in known.of_kind("server")}
    value = values.pop() if len(values) == 1 else None
    return None if value is None else Field(value, source=path)


# ---- workloads


def joined(workload: Workload, premises: Premises) -> Workload:
    """A workload with what the pools of a facility that it is led to say of their nodes, where nothing nearer does."""
    workload = pools.joined_with(workload, premises.named)
    return replace(workload, roles=tuple(_joined(role, workload, premises) for role in workload.roles))


def _joined(role: Role, workload: Workload, premises: Premises) -> Role:
    if role.available.pools_only:
        own = (*role.available.pools, *_had(premises))
        role = replace(role, available=role.available._replace(pools=own))
    asked = tuple(_asked(role))
    taking = _taking(asked, premises) if asked else _by_default(role, workload, premises)
    if not taking or role.text("part_of"):
        return role
    if not asked and not role.text("accelerator"):
        role = role.having(accelerator=_of_default(taking[0], premises))
    names = tuple(one.role.name for one in taking)
    fields = {"facility_pools": Field(names, source=premises.path), **dict(_told(taking, role, premises))}
    role = role.having(**{name: field for name, field in fields.items() if role.value(name) is None})
    return replace(role, available=_with_energy(role.available, premises.energy))


def _had(premises: Premises) -> Iterator[offers.Pool]:
    """The pools of a facility as what alternatives may be made of, where only a team's own nodes are."""
    for one in premises.named:
        card, count = one.accelerator.value, one.gpus.value if one.gpus else None
        if isinstance(card, str) and isinstance(count, int | float):
            labels = {key: value for key, (value, *_) in one.labels.items() if key not in LEADING}
            yield offers.Pool(one.name, card, int(count), "", tuple(sorted(labels.items())))


def _with_energy(available: Available, energy: Energy) -> Available:
    """What a team can have, with what the electricity of a facility costs where gpulint.yaml does not say it."""
    stated = zip(available.energy, energy, strict=True)
    return available._replace(energy=Energy(*(own if own is not None else here for own, here in stated)))


def _by_default(role: Role, workload: Workload, premises: Premises) -> tuple[PartFacts, ...]:
    """The pool that takes what nothing leads elsewhere, where it is one, and holds the card that a role names."""
    card = role.fields.get("accelerator")
    open_ended = card is not None and isinstance(card.value, Unknown) and card.value.category == pools.DECIDED
    in_batch = workload.adapter in BATCH and open_ended and "node_features" not in role.fields
    if not (in_batch or role.text("object_kind")) or role.text("cloud") or role.text("instance_type"):
        return ()
    default = [one for one in premises.pools if one.likely("pool_default") is True]
    mine = [one for one in default if isinstance(one.likely("pool_partition"), str) == in_batch]
    held = next((one.accelerator.value for one in premises.named if mine and one.name == mine[0].role.name), None)
    fits = card is None or in_batch or card.value == held
    return tuple(mine) if len(mine) == 1 and fits and role.value("gpus_per_pod") else ()


def _of_default(known: PartFacts, premises: Premises) -> Field:
    """The card of the pool that takes what nothing leads elsewhere."""
    card = next(one.accelerator for one in premises.named if one.name == known.role.name)
    told = f"{card.value}, the card of the default pool {known.role.name} ({premises.path})"
    return card if isinstance(card.value, Unknown) else replace(card, assumption=told)


def _taking(asked: Sequence[Label], premises: Premises) -> tuple[PartFacts, ...]:
    """The pools that may take what asks for these labels of a node."""
    led = {one.name for one in pools.matching(asked, premises.named)}
    return tuple(one for one in premises.pools if one.role.name in led)


def _asked(role: Role) -> Iterator[Label]:
    """What leads a role to nodes: its partition, else the labels that it wants of a node and its queue."""
    if "partition" in role.fields:
        yield from pools.of_job(role)
        return
    if (place := _pod(role)) is not None:
        labelled = placement.required(place.document, place.path)
        yield from (one for one in labelled if not placement.MUTE_KEYS.fullmatch(one.key))
    labels = role.value("labels")
    for key in pools.QUEUES if isinstance(labels, Mapping) else ():
        if isinstance(labels, Mapping) and key in labels:
            yield Label("queue", ((labels[key], role.anchor),))


def _pod(role: Role) -> Origin | None:
    """The specification of the pod that a role is a container of."""
    for word in ("containers", "initContainers"):
        if word in role.anchor.path:
            return role.anchor._replace(path=role.anchor.path[: role.anchor.path.index(word)])
    card = role.fields.get("accelerator")
    for origin in card.origins if card else ():
        for key in ("nodeSelector", "affinity"):
            if key in origin.path:
                return origin._replace(path=origin.path[: origin.path.index(key)])
    return None


def _told(taking: Sequence[PartFacts], role: Role, premises: Premises) -> Iterator[tuple[str, Field]]:
    """What all the pools say alike of their nodes, and the most GPUs that one instance may have of them."""
    for name, fact in OF_NETWORK.items():
        values = {one.likely(fact) for one in taking}
        if len(values) == 1 and isinstance(value := values.pop(), int | float | str):
            yield name, Field(value, source=premises.path)
    named = [one for one in premises.named if one.name in {each.role.name for each in taking}]
    for name, shared in (("pool_gpus", [one.gpus for one in named]), ("power_cap_w", _caps(taking, premises.path))):
        if all(shared) and len({one.value for one in shared if one}) == 1 and shared[0]:
            yield name, shared[0]
    held = [one.number("held_gpus") for one in taking]
    counted = [one for one in held if one is not None]
    if len(counted) == len(held):
        most = max(counted) if "partition" in role.fields else sum(counted)
        yield "pool_most_gpus", Field(most, (taking[0].role.anchor,), source=premises.path)


def _caps(taking: Sequence[PartFacts], path: str) -> list[Field | None]:
    return [_shared(one, "power_cap_w", path) for one in taking]
