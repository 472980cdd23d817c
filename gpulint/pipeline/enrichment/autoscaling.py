"""Autoscaling: replicas and disruption budgets that other objects state for a role.

HorizontalPodAutoscalers, ScaledObjects and PodDisruptionBudgets are read from the same file or
folder.
"""

from __future__ import annotations

import functools
import itertools
import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace

from gpulint.source.documents import Document, Path
from gpulint.source.repository import Gathered, Repository
from gpulint.workload import Field, Origin, Role, Unknown, Workload

GROUPS: Mapping[str, str] = {
    "HorizontalPodAutoscaler": "autoscaling",
    "ScaledObject": "keda.sh",
    "PodAutoscaler": "autoscaling.aibrix.ai",
    "PodDisruptionBudget": "policy",
}
"""Objects that set how many pods of another object run, with their API groups."""
SCALED = frozenset({"Deployment", "StatefulSet", "ReplicaSet", "LeaderWorkerSet", "StormService", "RayCluster"})
RUNNING = re.compile(r"(?:[\w.]+\|)?vllm[:_]num_requests_running(?:\|gauge)?")
"""The gauge as vLLM exports it, and as Google's Prometheus adapter names it.

Source: vllm v0.11.0 vllm/v1/metrics/loggers.py.
"""
BOUNDS: Mapping[str, tuple[str, str]] = {
    "HorizontalPodAutoscaler": ("minReplicas", "maxReplicas"),
    "ScaledObject": ("minReplicaCount", "maxReplicaCount"),
    "PodAutoscaler": ("minReplicas", "maxReplicas"),
}
KEPT_MAX = 16


def merge_scalers(workload: Workload, repository: Repository) -> Workload:
    """Return the workload with the replicas, metric and disruption budget of other objects."""
    document = workload.document
    kind, name = document.get((*workload.path, "kind")), document.get((*workload.path, "metadata", "name"))
    if str(kind) not in SCALED or not isinstance(name, str):
        return workload
    fields = _read_fields(workload, str(kind), name, repository)
    return (
        replace(workload, roles=tuple(_apply_fields(role, fields) for role in workload.roles)) if fields else workload
    )


def targets(document: Document, repository: Repository) -> Iterator[Document]:
    """Yield the objects of other files that an autoscaler or a budget refers to."""
    kind = str(document.get(("kind",)))
    if kind in BOUNDS:
        named = document.get(("spec", "scaleTargetRef", "name"))
        wanted = str(document.get(("spec", "scaleTargetRef", "kind"), "Deployment"))
        neighbours = _find_neighbours(wanted, str(named), document, repository) if wanted in SCALED else ()
        yield from (
            neighbour
            for neighbour in neighbours
            if neighbour.get(("metadata", "name")) == named and neighbour.path != document.path
        )
    if kind == "PodDisruptionBudget":
        yield from (neighbour for neighbour in _find_covered(document, repository) if neighbour.path != document.path)


def _find_covered(budget: Document, repository: Repository) -> Iterator[Document]:
    """Yield the objects in the folder of a disruption budget with all the labels that it selects."""
    wanted = _read_selector(budget)
    for kind in sorted(SCALED) if wanted else ():
        by_label = _index_labels(repository.neighbours(kind, "", budget.path))
        rarest = min((by_label.get(label, []) for label in _list_hashable(wanted)), key=len, default=[])
        yield from (other for other in rarest if wanted.items() <= _read_labels(other, ()).items())


@functools.lru_cache(maxsize=KEPT_MAX)
def _index_labels(gathered: Gathered) -> dict[tuple[object, object], list[Document]]:
    """Return the objects by each label of their pods."""
    found: dict[tuple[object, object], list[Document]] = {}
    for document in gathered.documents:
        for label in _list_hashable(_read_labels(document, ())):
            found.setdefault(label, []).append(document)
    return found


@functools.lru_cache(maxsize=KEPT_MAX)
def _index_budgets(gathered: Gathered) -> dict[tuple[object, object], list[Document]]:
    """Return the disruption budgets by the label that they select and that the fewest of them do."""
    selected = [(budget, list(_list_hashable(_read_selector(budget)))) for budget in gathered.documents]
    counts = Counter(label for _, labels in selected for label in labels)
    found: dict[tuple[object, object], list[Document]] = {}
    for budget, labels in selected:
        if labels:
            found.setdefault(min(labels, key=counts.__getitem__), []).append(budget)
    return found


def _list_hashable(labels: Mapping[object, object]) -> Iterator[tuple[object, object]]:
    return ((name, value) for name, value in labels.items() if not isinstance(value, dict | list))


def _apply_fields(role: Role, fields: Mapping[str, Field]) -> Role:
    """Return a role with the fields of its autoscaler and budget.

    Replicas that the role states itself are the number that it starts with.
    """
    stated = role.fields.get("replicas", Field(None))
    minimum = {} if "replicas_least" in fields or not isinstance(stated.value, int) else {"replicas_least": stated}
    kept = {"replicas": stated} if stated.origins else {}
    return role.having(**{**minimum, **fields, **kept})


def _read_fields(workload: Workload, kind: str, name: str, repository: Repository) -> dict[str, Field]:
    scalers = [
        resource
        for scaler in BOUNDS
        for resource in _find_objects(workload.document, scaler, name, repository)
        if (
            resource.get(("spec", "scaleTargetRef", "kind"), "Deployment"),
            resource.get(("spec", "scaleTargetRef", "name")),
        )
        == (kind, name)
    ]
    fields = _read_scaler(scalers[0]) if len(scalers) == 1 else {}
    budgets = list(itertools.islice(_find_budgets(workload, repository), 2))
    if len(budgets) == 1:
        fields |= _read_budget(budgets[0])
    return fields


def _find_budgets(workload: Workload, repository: Repository) -> Iterator[Document]:
    """Yield the disruption budgets that cover a workload, of its file if that has any, else of its folder."""
    document, kind = workload.document, "PodDisruptionBudget"
    candidates: Iterable[Document] = document.find_beside(kind)
    if not candidates:
        by_label = _index_budgets(repository.neighbours(kind, "", document.path))
        labels = _list_hashable(_read_labels(document, workload.path))
        candidates = (budget for label in labels for budget in by_label.get(label, ()))
    return (one for one in candidates if _belongs(one, kind, document) and _covers(one, workload))


def _find_objects(document: Document, kind: str, name: str, repository: Repository) -> Iterator[Document]:
    """Yield the objects of a kind in the file itself, else in its folder."""
    here = document.find_beside(kind)
    for resource in here or _find_neighbours(kind, name, document, repository):
        if _belongs(resource, kind, document):
            yield resource


def _find_neighbours(kind: str, name: str, document: Document, repository: Repository) -> tuple[Document, ...]:
    return repository.neighbours(kind, name, document.path).documents


def _belongs(resource: Document, kind: str, document: Document) -> bool:
    """Return whether an object has the group of its kind, and the namespace of a document."""
    in_group = str(resource.get(("apiVersion",))).startswith(f"{GROUPS[kind]}/")
    return in_group and _read_namespace(resource) == _read_namespace(document)


def _read_namespace(document: Document) -> object:
    return document.get(("metadata", "namespace"))


def _read_scaler(scaler: Document) -> dict[str, Field]:
    minimum, maximum = (Origin(scaler, ("spec", key)) for key in BOUNDS[str(scaler.get(("kind",)))])
    low, high = scaler.get(minimum.path, 1), scaler.get(maximum.path)
    same = isinstance(low, int) and low == high
    replicas = Field(low if same else Unknown("an autoscaler decides", "another object"), (maximum,))  # type: ignore[arg-type]
    fields = {"replicas": replicas}
    if isinstance(low, int):
        fields["replicas_least"] = Field(low, (minimum,))
    if isinstance(high, int):
        fields["replicas_most"] = Field(high, (maximum,))
    return fields | _read_metric(scaler) | _read_running_target(scaler)


def _read_metric(scaler: Document) -> dict[str, Field]:
    """Return the one resource that every metric of a HorizontalPodAutoscaler measures.

    Any other metric is a suitable one, and nothing is returned.
    """
    path: Path = ("spec", "metrics")
    listed = scaler.get(path)
    named = [
        scaler.get((*path, at, "resource", "name"), scaler.get((*path, at, "containerResource", "name")))
        for at in range(len(listed) if isinstance(listed, list) else 0)
    ]
    if scaler.get(("kind",)) != "HorizontalPodAutoscaler":
        return {}
    if scaler.get(("spec", "targetCPUUtilizationPercentage")) is not None:
        return {"autoscaler_metric": Field("cpu", (Origin(scaler, ("spec", "targetCPUUtilizationPercentage")),))}
    if named and set(named) <= {"cpu", "memory"}:
        return {"autoscaler_metric": Field(str(named[0]), (Origin(scaler, (*path, 0, "resource", "name")),))}
    return {}


def _read_running_target(scaler: Document) -> dict[str, Field]:
    """Return the target of running requests per pod, by vLLM's own gauge."""
    path: Path = ("spec", "metrics")
    listed = scaler.get(path)
    for at in range(len(listed) if isinstance(listed, list) else 0):
        name = scaler.get((*path, at, "pods", "metric", "name"))
        target = Origin(scaler, (*path, at, "pods", "target", "averageValue"))
        if isinstance(name, str) and RUNNING.fullmatch(name) and str(scaler.get(target.path)).isdecimal():
            return {"replica_running_target": Field(int(str(scaler.get(target.path))), (target,))}
    return {}


def _covers(budget: Document, workload: Workload) -> bool:
    """Return whether every label that a budget selects is one of the workload's pods."""
    wanted = _read_selector(budget)
    return bool(wanted) and wanted.items() <= _read_labels(workload.document, workload.path).items()


def _read_selector(budget: Document) -> Mapping[object, object]:
    """Return the labels that a disruption budget selects; none if it selects by expressions too."""
    wanted = budget.get(("spec", "selector", "matchLabels"))
    by_expression = budget.get(("spec", "selector", "matchExpressions")) is not None
    return wanted if isinstance(wanted, dict) and not by_expression else {}


def _read_labels(document: Document, path: Path) -> Mapping[object, object]:
    """Return the labels of the pods of an object."""
    labels = document.get((*path, "spec", "template", "metadata", "labels"))
    return labels if isinstance(labels, dict) else {}


def _read_budget(budget: Document) -> dict[str, Field]:
    """Return how many pods a budget keeps, if it is a number."""
    origin = Origin(budget, ("spec", "minAvailable"))
    kept = budget.get(origin.path)
    return {"pods_kept": Field(kept, (origin,))} if isinstance(kept, int) and not isinstance(kept, bool) else {}
