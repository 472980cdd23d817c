"""Kueue's queues: from the label that names one to its flavours of nodes, and the GPUs it can admit.

kubernetes-sigs/kueue v0.14 apis/kueue/v1beta1 and v1beta2: a LocalQueue points to a ClusterQueue, whose
resource groups give each ResourceFlavor a quota. Admitted pods get the flavour's node labels. A set of
pods gets one flavour for a resource, up to its nominal quota plus what it may borrow within a cohort.
"""

from __future__ import annotations

import functools
import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from typing import NamedTuple

from gpulint import units
from gpulint.adapters import nodes
from gpulint.adapters.nodes.pool import DECIDED
from gpulint.adapters.pods import placement
from gpulint.adapters.pods.placement import Label
from gpulint.adapters.programs import replica
from gpulint.pipeline.enrichment import node_pools
from gpulint.pipeline.enrichment.pool_index import PoolIndex
from gpulint.source.documents import Document, Path
from gpulint.source.repository import Repository
from gpulint.workload import Field, Origin, Role, Unknown, Workload

LABEL = "kueue.x-k8s.io/queue-name"
ASKED = re.compile(
    r"kueue\.x-k8s\.io/podset-(?:.*topology|slice|group)|jobset\.sigs\.k8s\.io/exclusive-topology"
    r"|leaderworkerset\.sigs\.k8s\.io/(?:sub)?(?:group-)?exclusive"
)
"""Annotations by which an object states how close to each other its pods must be."""
PARTIAL = "kueue.x-k8s.io/job-min-parallelism"
"""An annotation that lets a Job start with fewer pods than it requests."""


Find = Callable[[str, str], list[Document]]
"""Finds the objects of a kind and name."""


class Quota(NamedTuple):
    """A flavour of a queue: its name, and the most of a resource that it can ever admit."""

    flavour: str
    amount: Field


def merge_queue(workload: Workload, repository: Repository) -> Workload:
    """Return a queued workload with the accelerator of its queue's flavours and with its quota."""
    if not workload.document.mentions(LABEL):
        return workload
    find = functools.partial(nodes.find_objects, document=workload.document, repository=repository)
    roles = tuple(_match(role, workload.document, find, repository) for role in workload.roles)
    return replace(workload, roles=roles)


def _match(role: Role, document: Document, find: Find, repository: Repository) -> Role:
    label = _locate_label(role, document)
    cluster = _find_cluster_queue(label, document, find) if label is not None else None
    if label is None or cluster is None:
        return role
    quotas = list(_read_quotas(cluster, role.text("accelerator_resource")))
    fields = {} if not quotas else {**_sum_quotas(quotas, document), "queued_gpus": _count_admitted(role, document)}
    fields |= _find_topology(role, label, quotas, find)
    card = role.fields.get("accelerator")
    if quotas and card is not None and isinstance(card.value, Unknown) and card.value.category == DECIDED:
        led = _find_accelerator(label, quotas, find, node_pools.index_pools(document, repository))
        fields |= {} if led is None else {"accelerator": led}
    return role.having(**fields)


def _locate_label(role: Role, document: Document) -> Origin | None:
    """Locate the label that names a role's queue, on its object or on its pods."""
    path = role.anchor.path
    spec = path[: path.index("containers")] if "containers" in path else ()
    for place in (("metadata", "labels"), (*spec[:-1], "metadata", "labels")):
        if role.anchor.document is document and isinstance(document.get((*place, LABEL)), str):
            return Origin(document, (*place, LABEL))
    return None


def _find_cluster_queue(label: Origin, document: Document, find: Find) -> Document | None:
    """Return the one ClusterQueue of a LocalQueue."""
    namespace = document.get(("metadata", "namespace"))
    local = [queue for queue in find("LocalQueue", label.text()) if _is_kind(queue, "LocalQueue")]
    own = [queue for queue in local if queue.get(("metadata", "namespace")) == namespace] or local
    names = {str(queue.get(("spec", "clusterQueue"))) for queue in own}
    queues = [queue for name in names for queue in find("ClusterQueue", name) if _is_kind(queue, "ClusterQueue")]
    return queues[0] if len(names) == 1 and len(queues) == 1 else None


def _is_kind(document: Document, kind: str) -> bool:
    return document.get(("kind",)) == kind and str(document.get(("apiVersion",))).startswith("kueue.x-k8s.io/")


def _read_quotas(queue: Document, resource: str) -> Iterator[Quota]:
    """Yield the flavours that a queue has for a resource."""
    for group in replica.items(queue, ("spec", "resourceGroups")):
        for flavour in replica.items(queue, (*group, "flavors")):
            for given in replica.items(queue, (*flavour, "resources")):
                if resource and queue.get((*given, "name")) == resource:
                    yield Quota(str(queue.get((*flavour, "name"))), _find_maximum(queue, given))


def _find_maximum(queue: Document, path: Path) -> Field:
    """Return the maximum that a flavour can admit: its quota, plus what it may borrow from a cohort."""
    origins = tuple(Origin(queue, (*path, key)) for key in ("nominalQuota", "borrowingLimit"))
    nominal, borrowed = (_parse_count(queue.get((*path, key))) for key in ("nominalQuota", "borrowingLimit"))
    cohort = queue.get(("spec", "cohort")) or queue.get(("spec", "cohortName"))
    if nominal is None:
        return Field(Unknown("the quota is not a number"), origins[:1])
    if not cohort:
        return Field(nominal, origins[:1])
    if borrowed is None:
        return Field(Unknown("the queue may borrow from its cohort"), origins[:1])
    return Field(nominal + borrowed, origins)


def _parse_count(value: object) -> int | None:
    if isinstance(value, bool) or not isinstance(value, int | str):
        return None
    try:
        return int(units.quantity(value))
    except ValueError:
        return None


def _sum_quotas(quotas: Sequence[Quota], document: Document) -> dict[str, Field]:
    """Return the GPUs that all flavours can admit together; nothing for a Job with partial start."""
    amounts = [quota.amount for quota in quotas]
    counts = [amount.value for amount in amounts if isinstance(amount.value, int)]
    if len(counts) < len(amounts) or document.get(("metadata", "annotations", PARTIAL)):
        return {}
    return {"queue_gpus": Field(sum(counts), tuple(origin for amount in amounts for origin in amount.origins))}


def _count_admitted(role: Role, document: Document) -> Field:
    """Return the GPUs that are admitted together: for a Job, those of its parallel pods."""
    whole = role.fields["gpus_per_replica"]
    if (document.get(("apiVersion",)), document.get(("kind",))) != ("batch/v1", "Job"):
        return whole
    pods = replica.count(document, ("spec", "parallelism"), 1)
    completions = replica.count(document, ("spec", "completions"), 1)
    if document.get(("spec", "completions")) is not None and isinstance(completions.value, int):
        fewer = isinstance(pods.value, int) and completions.value < pods.value
        pods = completions if fewer else pods
    return replica.product(role.fields["gpus_per_pod"], pods)


def _find_topology(role: Role, label: Origin, quotas: Sequence[Quota], find: Find) -> dict[str, Field]:
    """Return the topology that all flavours of a queue have, if the workload requests no part of it."""
    document, path = label.document, role.anchor.path
    spec = path[: path.index("containers")] if "containers" in path else ()
    given = (document.get((*place, "metadata", "annotations")) for place in ((), spec[:-1], spec[:-3], spec[:-4]))
    if any(
        ASKED.search(str(key)) for annotation_map in given if isinstance(annotation_map, dict) for key in annotation_map
    ):
        return {}
    flavours = {quota.flavour: flavour for quota in quotas for flavour in _find_flavours(quota, find)}
    topologies = {
        str((flavours[quota.flavour].get(("spec", "topologyName"))) or "")
        for quota in quotas
        if quota.flavour in flavours
    }
    if len(topologies) != 1 or "" in topologies or any(quota.flavour not in flavours for quota in quotas):
        return {}
    return {"topology_unasked": Field(topologies.pop(), (label,))}


def _find_flavours(quota: Quota, find: Find) -> list[Document]:
    return [flavour for flavour in find("ResourceFlavor", quota.flavour) if _is_kind(flavour, "ResourceFlavor")]


def _find_accelerator(label: Origin, quotas: Sequence[Quota], find: Find, pools: PoolIndex) -> Field | None:
    """Return the one accelerator of all flavours of a queue; unknown if they have several."""
    cards = []
    for quota in quotas:
        flavours = _find_flavours(quota, find)
        if len(flavours) != 1:
            return None
        cards.append(_read_flavour(flavours[0], pools))
    origins = (label, *dict.fromkeys(origin for card in cards if card for origin in card.origins))
    named = {card.value for card in cards if card is not None}
    if None in cards or len(named) != 1:
        accelerators = sorted(str(value) for value in named if isinstance(value, str))
        why = f"its flavours have different accelerators: {', '.join(accelerators)}" if len(accelerators) > 1 else ""
        return Field(Unknown(why, DECIDED), origins) if why else None
    (card,) = named
    if isinstance(card, Unknown):
        return None
    return Field(
        card,
        origins,
        assumption=f"{card}, the accelerator of queue {label.text()} ({origins[-1].document.path})",
        basis="joined",
    )


def _read_flavour(flavour: Document, pools: PoolIndex) -> Field | None:
    """Return the accelerator of a flavour's nodes, by its labels or by a pool that carries them."""
    given = flavour.get(("spec", "nodeLabels"))
    labels = [
        Label(str(key), ((str(value), Origin(flavour, ("spec", "nodeLabels", str(key)))),))
        for key, value in (given.items() if isinstance(given, dict) else ())
    ]
    card = placement.find_accelerator(labels)
    if card is not None and isinstance(card.value, str):
        return card
    taking = pools.every.select(labels)
    values = {pool.accelerator.value for pool in taking}
    if len(values) != 1 or not isinstance(next(iter(values)), str):
        return None
    places = tuple(origin for label in labels for _, origin in label.values)
    return Field(next(iter(values)), (*places, *taking[0].place()))
