"""Node pools matched to workloads by selector, queue or partition.

A workload is matched with the pools that its labels name, but only if nothing closer states its
accelerator. If matching pools have different accelerators, it stays unknown.
"""

from __future__ import annotations

import functools
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace

from gpulint.adapters import nodes
from gpulint.adapters.nodes import FoundPools
from gpulint.adapters.nodes.pool import DECIDED, QUEUES, Pool
from gpulint.adapters.pods import placement, taints
from gpulint.adapters.pods.placement import Label
from gpulint.catalog import hardware
from gpulint.pipeline.enrichment.pool_index import PoolIndex
from gpulint.source.documents import Document
from gpulint.source.repository import Repository
from gpulint.workload import Field, Origin, Role, Unknown, Workload

SETTINGS = "pools in gpulint.yaml"


def merge_pools(workload: Workload, repository: Repository) -> Workload:
    """Return a workload with the accelerator of the pool that labels, queue or partition select."""
    if not any(_is_cluster_decided(role) for role in workload.roles):
        return workload
    index = index_pools(workload.document, repository)
    return replace(
        workload, roles=tuple(_match(role, index) if _is_cluster_decided(role) else role for role in workload.roles)
    )


def index_pools(document: Document, repository: Repository) -> PoolIndex:
    """Return the pools that the repository's files define, and those in the document's own file."""
    found, own = nodes.read_pools(document, repository)
    return PoolIndex((*found.pools, *own)) if own else _index(found)


@functools.lru_cache(maxsize=4)
def _index(found: FoundPools) -> PoolIndex:
    return PoolIndex(found.pools)


def merge_configured_pools(workload: Workload, named: Sequence[Pool]) -> Workload:
    """Match a workload with gpulint.yaml's pools if the repository leaves an accelerator unknown."""
    if not named or not any(_is_cluster_decided(role) for role in workload.roles):
        return workload
    index = PoolIndex(named)
    return replace(
        workload, roles=tuple(_match(role, index) if _is_cluster_decided(role) else role for role in workload.roles)
    )


def _is_cluster_decided(role: Role) -> bool:
    """Return True if the cluster decides a role's accelerator, and a field selects its nodes."""
    card = role.fields.get("accelerator")
    return (
        card is not None and isinstance(card.value, Unknown) and card.value.category == DECIDED and bool(card.origins)
    )


def _match(role: Role, index: PoolIndex) -> Role:
    asked = _find_labels(role)
    near = index.find_near(asked, role.anchor.document.path)
    taking = near.select(asked)
    if not taking:
        return role.having(**near.find_unknown_name(asked))
    return apply_pools(role, taking)


def apply_pools(role: Role, taking: Sequence[Pool]) -> Role:
    """Return a role with what all selected pools agree on."""
    places = tuple(dict.fromkeys(place for pool in taking for place in pool.place()))
    card = role.fields["accelerator"]
    fields = {
        "accelerator": _merge_accelerators([pool.accelerator for pool in taking], taking, card.origins),
        "instance_type": _merge_field([pool.machine for pool in taking]),
        "pool_gpus": _merge_field([pool.gpus for pool in taking]),
        "pool_taint": _find_taint(role, taking),
        "mig_profile": _merge_field([pool.mig_profile for pool in taking]),
        "sharing": next((pool.sharing for pool in taking if pool.sharing is not None), None),
    }
    if len({pool.mig_profile.value if pool.mig_profile else None for pool in taking}) > 1:
        fields["accelerator"] = Field(Unknown("the matching pools have different MIG layouts", DECIDED), card.origins)
    stated = {name: field for name, field in fields.items() if field is not None}
    names = " or ".join(dict.fromkeys(pool.name for pool in taking))
    return role.having(**stated, node_pool=Field(names, (*card.origins, *places), source=taking[0].source))


def _merge_accelerators(cards: Sequence[Field], taking: Sequence[Pool], asked: tuple[Origin, ...]) -> Field:
    """Return the accelerator of all pools, or Unknown with the reason if one is unknown or they
    differ.
    """
    origins = tuple(dict.fromkeys((*asked, *(origin for card in cards for origin in card.origins))))
    if unknown := next((card for card in cards if isinstance(card.value, Unknown)), None):
        reason = unknown.value.reason if isinstance(unknown.value, Unknown) else ""
        choices = getattr(unknown.value, "choices", ()) if len(cards) == 1 else ()
        named = f"pool {taking[cards.index(unknown)].name}: {reason}"
        return Field(Unknown(named, DECIDED, choices=choices), origins)
    values = sorted({str(card.value) for card in cards})
    if len(values) > 1:
        reason = f"the matching pools have different accelerators: {', '.join(values)}"
        return Field(Unknown(reason, DECIDED, choices=tuple(values)), origins)
    first = taking[0]
    where = first.source or (f"{first.origin.document.path}" if first.origin else "")
    return Field(
        values[0], origins, assumption=f"{values[0]}, the accelerator of pool {first.name} ({where})", basis="joined"
    )


def _merge_field(stated: Sequence[Field | None]) -> Field | None:
    """Return the field if all pools state the same."""
    first = stated[0]
    if first is None or isinstance(first.value, Unknown):
        return None
    return first if all(field is not None and field.value == first.value for field in stated) else None


# ---- labels


def _find_labels(role: Role) -> tuple[Label, ...]:
    """Return the labels that a role's nodes need: of its selector, and of an affinity with one term."""
    origin = role.fields["accelerator"].origins[0]
    if "partition" in role.fields:
        return tuple(read_job_labels(role))
    for key in ("nodeSelector", "affinity"):
        if key in origin.path:
            spec = origin.path[: origin.path.index(key)]
            return tuple(placement.read_required_labels(origin.document, spec))
    if origin.path and origin.path[-1] in QUEUES:
        return (Label("queue", ((origin.text(), origin),)),)
    return ()


def read_job_labels(role: Role) -> Iterator[Label]:
    """Yield the partitions that a job may run in, and each feature that it requires."""
    partition, features = role.fields["partition"], role.fields.get("node_features")
    yield Label("partition", tuple((name, partition.origins[0]) for name in _split_words(partition, ",")))
    for feature in _split_words(features, "&") if features else ():
        if features:
            yield Label("feature", tuple((name, features.origins[0]) for name in feature.split("|")))


def _split_words(field: Field, separator: str) -> tuple[str, ...]:
    value = field.value
    return tuple(value.split(separator)) if isinstance(value, str) and re.fullmatch(r"[\w.,&|-]+", value) else ()


# ---- taints


def _find_taint(role: Role, taking: Sequence[Pool]) -> Field | None:
    """Return a taint that the pod does not tolerate, if every pool has one."""
    origin = role.fields["accelerator"].origins[0]
    key = next((key for key in ("nodeSelector", "affinity") if key in origin.path), None)
    if key is None:
        return None
    spec = origin.path[: origin.path.index(key)]
    kept = [
        taints.find_untolerated(pool.taints, origin.document, spec, role.text("accelerator_resource"))
        for pool in taking
    ]
    if any(taint is None for taint in kept):
        return None
    return Field(str(kept[0]), taking[0].place())


# ---- pools of gpulint.yaml


def build_pool(
    name: str,
    labels: Mapping[str, str],
    partition: str,
    queue: str,
    accelerator: str,
    gpus: int,
    instance_type: str,
) -> Pool:
    """Return a pool of gpulint.yaml: its accelerator, or else that of its machine type."""
    product, node = hardware.find_accelerator(accelerator), hardware.node(instance_type)
    card = product.id if product else node.accelerator if node else None
    count = gpus or (node.node_gpus if node else 0)
    led = {**labels, **({"partition": partition} if partition else {}), **({"queue": queue} if queue else {})}
    return Pool(
        name,
        None,
        {key: frozenset({value}) for key, value in led.items()},
        Field(card or Unknown("gpulint.yaml does not state its accelerator"), source=SETTINGS),
        Field(count, source=SETTINGS) if count else None,
        Field(instance_type, source=SETTINGS) if instance_type else None,
        is_open=True,
        source=SETTINGS,
    )
