"""Queues of Kueue: from the label that names one to the flavours of nodes behind it, and to the GPUs it may ever admit.

kubernetes-sigs/kueue v0.14 apis/kueue/v1beta1 and v1beta2: a LocalQueue points to a ClusterQueue, whose resource groups give
each ResourceFlavor a quota; the flavour's node labels are put on the pods that are admitted with it. A set of pods gets one
flavour for a resource, of its nominal quota and, within a cohort, of what it may borrow.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import NamedTuple

from gpulint import units
from gpulint.adapters import nodes
from gpulint.adapters.pods import placement
from gpulint.adapters.pods.placement import Label
from gpulint.adapters.programs import replica as instance
from gpulint.source.documents import Document, Path
from gpulint.source.repository import Repository
from gpulint.workload import Field, Origin, Role, Unknown, Workload

LABEL = "kueue.x-k8s.io/queue-name"
ASKED = re.compile(
    r"kueue\.x-k8s\.io/podset-(?:.*topology|slice|group)|jobset\.sigs\.k8s\.io/exclusive-topology"
    r"|leaderworkerset\.sigs\.k8s\.io/(?:sub)?(?:group-)?exclusive"
)
"""Annotations by which an object says how near to one another its pods are to be."""
PARTIAL = "kueue.x-k8s.io/job-min-parallelism"
"""An annotation that lets a Job start with fewer pods than it asks for."""


class Quota(NamedTuple):
    """A flavour of a queue: its name, and how many of a resource it may ever admit with the places that say so."""

    flavour: str
    amount: Field


def joined(workload: Workload, repository: Repository) -> Workload:
    """A workload of a queue that the repository defines, with what the queue's flavours leave and its quota."""
    if LABEL not in workload.document.text:
        return workload
    found = nodes.documents_of(workload.document, repository)
    roles = tuple(_joined(role, workload.document, found, repository) for role in workload.roles)
    return replace(workload, roles=roles)


def _joined(role: Role, document: Document, found: Sequence[Document], repository: Repository) -> Role:
    label = _label(role, document)
    cluster = _cluster_queue(label, document, found) if label is not None else None
    if label is None or cluster is None:
        return role
    quotas = list(_quotas(cluster, role.text("accelerator_resource")))
    fields = {} if not quotas else {**_amount(quotas, document), "queued_gpus": _together(role, document)}
    fields |= _topology(role, label, quotas, found)
    card = role.fields.get("accelerator")
    if quotas and card is not None and isinstance(card.value, Unknown) and card.value.category == nodes.DECIDED:
        led = _card(label, quotas, found, nodes.of_repository(document, repository))
        fields |= {} if led is None else {"accelerator": led}
    return role.having(**fields)


def _label(role: Role, document: Document) -> Origin | None:
    """Where the queue of a role is named: on its object or on its pods."""
    path = role.anchor.path
    spec = path[: path.index("containers")] if "containers" in path else ()
    for place in (("metadata", "labels"), (*spec[:-1], "metadata", "labels")):
        if role.anchor.document is document and isinstance(document.get((*place, LABEL)), str):
            return Origin(document, (*place, LABEL))
    return None


def _cluster_queue(label: Origin, document: Document, found: Sequence[Document]) -> Document | None:
    """The one ClusterQueue that the queue of that name points to."""
    namespace = document.get(("metadata", "namespace"))
    local = [one for one in found if _is(one, "LocalQueue") and one.get(("metadata", "name")) == label.text()]
    own = [one for one in local if one.get(("metadata", "namespace")) == namespace] or local
    names = {str(one.get(("spec", "clusterQueue"))) for one in own}
    queues = [one for one in found if _is(one, "ClusterQueue") and one.get(("metadata", "name")) in names]
    return queues[0] if len(names) == 1 and len(queues) == 1 else None


def _is(document: Document, kind: str) -> bool:
    return document.get(("kind",)) == kind and str(document.get(("apiVersion",))).startswith("kueue.x-k8s.io/")


def _quotas(queue: Document, resource: str) -> Iterator[Quota]:
    """The flavours that a queue has for a resource."""
    for group in instance.items(queue, ("spec", "resourceGroups")):
        for flavour in instance.items(queue, (*group, "flavors")):
            for given in instance.items(queue, (*flavour, "resources")):
                if resource and queue.get((*given, "name")) == resource:
                    yield Quota(str(queue.get((*flavour, "name"))), _most(queue, given))


def _most(queue: Document, path: Path) -> Field:
    """The most that a flavour may ever admit: its quota, and what it may borrow where it is of a cohort."""
    origins = tuple(Origin(queue, (*path, key)) for key in ("nominalQuota", "borrowingLimit"))
    nominal, borrowed = (_count(queue.get((*path, key))) for key in ("nominalQuota", "borrowingLimit"))
    cohort = queue.get(("spec", "cohort")) or queue.get(("spec", "cohortName"))
    if nominal is None:
        return Field(Unknown("the quota is no number"), origins[:1])
    if not cohort:
        return Field(nominal, origins[:1])
    if borrowed is None:
        return Field(Unknown("the queue may borrow from its cohort"), origins[:1])
    return Field(nominal + borrowed, origins)


def _count(value: object) -> int | None:
    if isinstance(value, bool) or not isinstance(value, int | str):
        return None
    try:
        return int(units.quantity(value))
    except ValueError:
        return None


def _amount(quotas: Sequence[Quota], document: Document) -> dict[str, Field]:
    """The GPUs that all flavours may ever admit together, of which each set of pods gets one; none of a partial start."""
    amounts = [quota.amount for quota in quotas]
    counts = [amount.value for amount in amounts if isinstance(amount.value, int)]
    if len(counts) < len(amounts) or document.get(("metadata", "annotations", PARTIAL)):
        return {}
    return {"queue_gpus": Field(sum(counts), tuple(origin for amount in amounts for origin in amount.origins))}


def _together(role: Role, document: Document) -> Field:
    """The GPUs that are admitted together: of a Job, those of the pods that run side by side."""
    whole = role.fields["gpus_per_replica"]
    if (document.get(("apiVersion",)), document.get(("kind",))) != ("batch/v1", "Job"):
        return whole
    pods = instance.count(document, ("spec", "parallelism"), 1)
    completions = instance.count(document, ("spec", "completions"), 1)
    if document.get(("spec", "completions")) is not None and isinstance(completions.value, int):
        fewer = isinstance(pods.value, int) and completions.value < pods.value
        pods = completions if fewer else pods
    return instance.product(role.fields["gpus_per_pod"], pods)


def _topology(role: Role, label: Origin, quotas: Sequence[Quota], found: Sequence[Document]) -> dict[str, Field]:
    """The topology that all flavours of a queue know, where neither the object nor its pods ask for a part of it."""
    document, path = label.document, role.anchor.path
    spec = path[: path.index("containers")] if "containers" in path else ()
    given = (document.get((*place, "metadata", "annotations")) for place in ((), spec[:-1], spec[:-3], spec[:-4]))
    if any(ASKED.search(str(key)) for one in given if isinstance(one, dict) for key in one):
        return {}
    flavours = {str(one.get(("metadata", "name"))): one for one in found if _is(one, "ResourceFlavor")}
    known = {
        str((flavours[quota.flavour].get(("spec", "topologyName"))) or "")
        for quota in quotas
        if quota.flavour in flavours
    }
    if len(known) != 1 or "" in known or any(quota.flavour not in flavours for quota in quotas):
        return {}
    return {"topology_unasked": Field(known.pop(), (label,))}


def _card(
    label: Origin, quotas: Sequence[Quota], found: Sequence[Document], known: Sequence[nodes.Pool]
) -> Field | None:
    """The one card that all flavours of a queue lead to; unknown where they lead to several."""
    cards = []
    for quota in quotas:
        flavours = [
            one for one in found if _is(one, "ResourceFlavor") and one.get(("metadata", "name")) == quota.flavour
        ]
        if len(flavours) != 1:
            return None
        cards.append(_of_flavour(flavours[0], known))
    origins = (label, *dict.fromkeys(origin for card in cards if card for origin in card.origins))
    named = {card.value for card in cards if card is not None}
    if None in cards or len(named) != 1:
        known_names = sorted(str(one) for one in named if isinstance(one, str))
        why = f"its flavours lead to {', '.join(known_names)}" if len(known_names) > 1 else ""
        return Field(Unknown(why, nodes.DECIDED), origins) if why else None
    (card,) = named
    if isinstance(card, Unknown):
        return None
    return Field(
        card, origins, assumption=f"{card}, the card of the queue {label.text()} ({origins[-1].document.path})"
    )


def _of_flavour(flavour: Document, known: Sequence[nodes.Pool]) -> Field | None:
    """The card of the nodes that a flavour's labels select, by the labels themselves or by a pool that carries them."""
    given = flavour.get(("spec", "nodeLabels"))
    labels = [
        Label(str(key), ((str(value), Origin(flavour, ("spec", "nodeLabels", str(key)))),))
        for key, value in (given.items() if isinstance(given, dict) else ())
    ]
    card = placement.card(labels)
    if card is not None and isinstance(card.value, str):
        return card
    taking = nodes.matching(labels, known)
    values = {pool.accelerator.value for pool in taking}
    if len(values) != 1 or not isinstance(next(iter(values)), str):
        return None
    places = tuple(origin for label in labels for _, origin in label.values)
    return Field(next(iter(values)), (*places, *taking[0].place()))
