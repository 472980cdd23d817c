"""Pools of nodes that a repository defines, and the join: from a selector, queue or partition to the card that they hold.

A pool is what Terraform, eksctl, Karpenter, a Cluster Toolkit blueprint or Slurm's settings say of nodes that are alike, or
what `pools` of gpulint.yaml does. A workload is joined with those that its labels name, and only where nothing nearer tells
its card; pools that may take it and hold different cards leave the card unknown.
"""

from __future__ import annotations

import functools
import itertools
import posixpath
import re
import sys
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import NamedTuple

from gpulint.adapters.pods import placement, taints
from gpulint.adapters.pods.placement import Label
from gpulint.adapters.pods.taints import Taint
from gpulint.catalog import hardware
from gpulint.source.documents import Document
from gpulint.source.repository import Repository
from gpulint.workload import Field, Origin, Role, Unknown, Workload

NAMES = r"\.(?:tf|tfvars)(?:\.\w+)?$|(?:^|/)(?:slurm|gres)\.conf$"
WORDS = r"eksctl\.io/|karpenter\.(?:sh|k8s\.aws|azure\.com)/|kueue\.x-k8s\.io/|deployment_groups\s*:|ComputeClass|SlurmQueues\s*:"
"""What the files are called, or hold, that may define pools or queues."""
QUEUES = ("kueue.x-k8s.io/queue-name", "scheduling.volcano.sh/queue-name", "kai.scheduler/queue", "runai/queue")
"""Labels that name a queue, whose flavours decide the nodes."""
SETTINGS = "pools in gpulint.yaml"
DECIDED = "queue or partition"


class Pool(NamedTuple):
    """Nodes that are alike: the values that each label of them may have, and what they hold.

    `is_open` says that nodes may carry labels that are not known here, `naming` which labels hold the pool's name; an
    `accelerator` of None is no card at all.
    """

    name: str
    origin: Origin | None
    labels: Mapping[str, frozenset[str]]
    accelerator: Field
    gpus: Field | None = None
    machine: Field | None = None
    taints: tuple[Taint, ...] = ()
    is_open: bool = False
    source: str = ""
    naming: tuple[str, ...] = ()
    mig_profile: Field | None = None
    sharing: Field | None = None

    def has_card(self) -> bool:
        return self.accelerator.value is not None and (self.gpus is None or self.gpus.value != 0)

    def place(self) -> tuple[Origin, ...]:
        return (self.origin,) if self.origin else ()


# ---- the pools of a repository


def of_repository(document: Document, repository: Repository) -> tuple[Pool, ...]:
    """All the pools that the files of a repository define, and those beside a document in its file."""
    found = repository.gathered(NAMES, WORDS, document.path)
    return _all(found) + _all(_beside(document, found))


def documents_of(document: Document, repository: Repository) -> tuple[Document, ...]:
    """The documents of a repository that may define pools or queues, and those beside a document in its file."""
    found = repository.gathered(NAMES, WORDS, document.path)
    return found + _beside(document, found)


def _beside(document: Document, found: tuple[Document, ...]) -> tuple[Document, ...]:
    """Those of a document's own file that may define any, where the repository does not hold that file."""
    paths = {one.path for one in found}
    own = (one for one in document.beside if one.path not in paths)
    return tuple(one for one in own if re.search(NAMES, one.path) or re.search(WORDS, one.text))


@functools.lru_cache(maxsize=4)
def _all(found: tuple[Document, ...]) -> tuple[Pool, ...]:
    if not found:
        return ()
    from gpulint.adapters.nodes import cluster_toolkit as blueprint
    from gpulint.adapters.nodes import kubernetes_pools as node_objects
    from gpulint.adapters.nodes import parallel_cluster
    from gpulint.adapters.nodes import slurm_conf as slurm_settings
    from gpulint.adapters.nodes.terraform import pools as terraform_pools

    readers = (terraform_pools, node_objects, blueprint, slurm_settings, parallel_cluster)
    return tuple(pool for reader in readers for pool in reader.pools(found))


# ---- the join


def joined(workload: Workload, repository: Repository) -> Workload:
    """A workload whose roles have the card of the pool that their labels, queue or partition lead to."""
    from gpulint.adapters.nodes import kueue as queues

    workload = queues.joined(workload, repository)
    if not any(_is_led(role) for role in workload.roles):
        return workload
    known = of_repository(workload.document, repository)
    if not known:
        return workload
    return replace(workload, roles=tuple(_joined(role, known) if _is_led(role) else role for role in workload.roles))


def joined_with(workload: Workload, named: Sequence[Pool]) -> Workload:
    """A workload with the pools that gpulint.yaml names, where the repository leaves a card unknown."""
    if not named or not any(_is_led(role) for role in workload.roles):
        return workload
    return replace(workload, roles=tuple(_joined(role, named) if _is_led(role) else role for role in workload.roles))


def _is_led(role: Role) -> bool:
    """Whether the cluster decides the card of a role, and something names where in it the role is to run."""
    card = role.fields.get("accelerator")
    return (
        card is not None and isinstance(card.value, Unknown) and card.value.category == DECIDED and bool(card.origins)
    )


def _joined(role: Role, known: Sequence[Pool]) -> Role:
    asked = _asked(role)
    near = _nearest(asked, known, role.anchor.document.path)
    taking = matching(asked, near)
    if not taking:
        return role.having(**_nameless(asked, near))
    return with_pools(role, taking)


def _nearest(asked: Sequence[Label], known: Sequence[Pool], path: str) -> list[Pool]:
    """The pools without those of other clusters: of each label, the ones defined nearest to a file carry it for that file."""
    keys = [label.key for label in asked if not placement.MUTE_KEYS.fullmatch(label.key)]
    depths = [_shared_folders(pool, path) for pool in known]
    least = {
        key: max((depth for depth, pool in zip(depths, known, strict=True) if _tells(pool, key)), default=0)
        for key in keys
    }
    return [
        pool
        for depth, pool in zip(depths, known, strict=True)
        if all(depth >= least[key] for key in keys if _tells(pool, key))
    ]


def _tells(pool: Pool, key: str) -> bool:
    return key in pool.labels or key in pool.naming


def _shared_folders(pool: Pool, path: str) -> int:
    """How many folders lead both to the file that defines a pool and to another one; those that nothing defines are near."""
    if pool.origin is None:
        return sys.maxsize
    here, there = (posixpath.dirname(one).split("/") for one in (path, pool.origin.document.path))
    return sum(1 for _ in itertools.takewhile(lambda pair: pair[0] == pair[1] != "", zip(here, there, strict=False)))


def with_pools(role: Role, taking: Sequence[Pool]) -> Role:
    """A role with what all the pools agree on that may take it."""
    places = tuple(dict.fromkeys(place for pool in taking for place in pool.place()))
    card = role.fields["accelerator"]
    fields = {
        "accelerator": _agreed([pool.accelerator for pool in taking], taking, card.origins),
        "instance_type": _shared([pool.machine for pool in taking]),
        "pool_gpus": _shared([pool.gpus for pool in taking]),
        "pool_taint": _kept_off(role, taking),
        "mig_profile": _shared([pool.mig_profile for pool in taking]),
        "sharing": next((pool.sharing for pool in taking if pool.sharing is not None), None),
    }
    if len({pool.mig_profile.value if pool.mig_profile else None for pool in taking}) > 1:
        fields["accelerator"] = Field(
            Unknown("pools that cut their cards differently may take it", DECIDED), card.origins
        )
    stated = {name: field for name, field in fields.items() if field is not None}
    names = " or ".join(dict.fromkeys(pool.name for pool in taking))
    return role.having(**stated, node_pool=Field(names, (*card.origins, *places), source=taking[0].source))


def _agreed(cards: Sequence[Field], taking: Sequence[Pool], asked: tuple[Origin, ...]) -> Field:
    """The card of all pools; unknown, with the reason, where one is not known or they differ."""
    origins = tuple(dict.fromkeys((*asked, *(origin for card in cards for origin in card.origins))))
    if unknown := next((card for card in cards if isinstance(card.value, Unknown)), None):
        reason = unknown.value.reason if isinstance(unknown.value, Unknown) else ""
        return Field(Unknown(f"of the pool {taking[cards.index(unknown)].name}, {reason}", DECIDED), origins)
    values = sorted({str(card.value) for card in cards})
    if len(values) > 1:
        return Field(Unknown(f"pools with {', '.join(values)} may take it", DECIDED), origins)
    first = taking[0]
    where = first.source or (f"{first.origin.document.path}" if first.origin else "")
    return Field(values[0], origins, assumption=f"{values[0]}, the card of the pool {first.name} ({where})")


def _shared(stated: Sequence[Field | None]) -> Field | None:
    """What all pools state alike."""
    first = stated[0]
    if first is None or isinstance(first.value, Unknown):
        return None
    return first if all(one is not None and one.value == first.value for one in stated) else None


# ---- labels


def _asked(role: Role) -> tuple[Label, ...]:
    """The labels that nodes need for a role: of its selector, and of its required affinity where that has one term."""
    origin = role.fields["accelerator"].origins[0]
    if "partition" in role.fields:
        return tuple(of_job(role))
    for key in ("nodeSelector", "affinity"):
        if key in origin.path:
            spec = origin.path[: origin.path.index(key)]
            return tuple(placement.required(origin.document, spec))
    if origin.path and origin.path[-1] in QUEUES:
        return (Label("queue", ((origin.text(), origin),)),)
    return ()


def of_job(role: Role) -> Iterator[Label]:
    """The partitions that a job may run in, and each feature that it demands."""
    partition, features = role.fields["partition"], role.fields.get("node_features")
    yield Label("partition", tuple((one, partition.origins[0]) for one in _words(partition, ",")))
    for feature in _words(features, "&") if features else ():
        if features:
            yield Label("feature", tuple((one, features.origins[0]) for one in feature.split("|")))


def _words(field: Field, separator: str) -> tuple[str, ...]:
    value = field.value
    return tuple(value.split(separator)) if isinstance(value, str) and re.fullmatch(r"[\w.,&|-]+", value) else ()


def matching(asked: Sequence[Label], known: Sequence[Pool]) -> tuple[Pool, ...]:
    """The pools with cards whose nodes carry all the labels, and at least one of those that tell pools apart.

    None where a label may have a further value, of which no pool that is known has any.
    """
    found = tuple(pool for pool in known if pool.has_card() and _takes(pool, asked))
    return found if all(_covered(label, known) for label in asked) else ()


def _covered(label: Label, known: Sequence[Pool]) -> bool:
    """Whether every value that a label may have is one of a known pool, as far as any is."""
    there = frozenset().union(*(pool.labels.get(label.key, frozenset()) for pool in known))
    wanted = {value for value, _ in label.values}
    return not wanted & there or wanted <= there


def _takes(pool: Pool, asked: Sequence[Label]) -> bool:
    met = 0
    for label in asked:
        wanted = {value for value, _ in label.values}
        if label.key in pool.labels:
            if not wanted & pool.labels[label.key]:
                return False
            met += not placement.MUTE_KEYS.fullmatch(label.key)
        elif not (placement.MUTE_KEYS.fullmatch(label.key) or pool.is_open):
            return False
    return met > 0


def _nameless(asked: Sequence[Label], known: Sequence[Pool]) -> dict[str, Field]:
    """That no pool has the name that a selector states, where one folder of the repository names pools by that label."""
    for label in asked:
        alike = [pool for pool in known if label.key in pool.naming]
        folders = {posixpath.dirname(origin.document.path) for pool in alike for origin in pool.place()}
        if len(label.values) != 1 or len(folders) != 1 or any(label.key not in pool.labels for pool in alike):
            continue
        names = sorted({name for pool in alike for name in pool.labels[label.key]})
        ((value, origin),) = label.values
        if re.fullmatch(r"[\w.-]+", value) and value not in names:
            listed = ", ".join(names[:3]) + (", …" if len(names) > 3 else "")
            return {"unmatched_pool": Field(value, (origin,)), "pool_names": Field(listed, source="the repository")}
    return {}


# ---- taints


def _kept_off(role: Role, taking: Sequence[Pool]) -> Field | None:
    """A taint of every pool that the pod does not tolerate."""
    origin = role.fields["accelerator"].origins[0]
    key = next((key for key in ("nodeSelector", "affinity") if key in origin.path), None)
    if key is None:
        return None
    spec = origin.path[: origin.path.index(key)]
    kept = [
        taints.first_untolerated(pool.taints, origin.document, spec, role.text("accelerator_resource"))
        for pool in taking
    ]
    if any(taint is None for taint in kept):
        return None
    return Field(str(kept[0]), taking[0].place())


# ---- pools of gpulint.yaml


def named(
    name: str,
    labels: Mapping[str, str],
    partition: str,
    queue: str,
    accelerator: str,
    gpus: int,
    instance_type: str,
) -> Pool:
    """A pool as gpulint.yaml states it: its card, else that of its machine type."""
    product, node = hardware.named(accelerator), hardware.node(instance_type)
    card = product.id if product else node.accelerator if node else None
    count = gpus or (node.node_gpus if node else 0)
    led = {**labels, **({"partition": partition} if partition else {}), **({"queue": queue} if queue else {})}
    return Pool(
        name,
        None,
        {key: frozenset({value}) for key, value in led.items()},
        Field(card or Unknown("gpulint.yaml does not say which card it holds"), source=SETTINGS),
        Field(count, source=SETTINGS) if count else None,
        Field(instance_type, source=SETTINGS) if instance_type else None,
        is_open=True,
        source=SETTINGS,
    )
