"""Autoscaling: replicas and disruption budgets that other objects state for a role.

HorizontalPodAutoscalers, ScaledObjects and PodDisruptionBudgets are read from the same file or
folder.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import replace

from gpulint.source.documents import Document, Path
from gpulint.source.repository import Repository
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
        neighbours = repository.neighbours(wanted, str(named), document.path) if wanted in SCALED else ()
        yield from (
            neighbour
            for neighbour in neighbours
            if neighbour.get(("metadata", "name")) == named and neighbour.path != document.path
        )
    if kind == "PodDisruptionBudget":
        for wanted in sorted(SCALED):
            yield from (
                neighbour
                for neighbour in repository.neighbours(wanted, "", document.path)
                if neighbour.path != document.path
            )


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
    kept = _find_objects(workload.document, "PodDisruptionBudget", "", repository)
    budgets = [resource for resource in kept if _covers(resource, workload)]
    if len(budgets) == 1:
        fields |= _read_budget(budgets[0])
    return fields


def _find_objects(document: Document, kind: str, name: str, repository: Repository) -> Iterator[Document]:
    """Yield the objects of a kind in the file itself, else in its folder."""
    here = document.find_beside(kind)
    for resource in here or repository.neighbours(kind, name, document.path):
        if str(resource.get(("apiVersion",))).startswith(f"{GROUPS[kind]}/") and _read_namespace(
            resource
        ) == _read_namespace(document):
            yield resource


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
    wanted = budget.get(("spec", "selector", "matchLabels"))
    labels = workload.document.get((*workload.path, "spec", "template", "metadata", "labels"))
    if not isinstance(wanted, dict) or not wanted or not isinstance(labels, dict):
        return False
    return wanted.items() <= labels.items() and budget.get(("spec", "selector", "matchExpressions")) is None


def _read_budget(budget: Document) -> dict[str, Field]:
    """Return how many pods a budget keeps, if it is a number."""
    origin = Origin(budget, ("spec", "minAvailable"))
    kept = budget.get(origin.path)
    return {"pods_kept": Field(kept, (origin,))} if isinstance(kept, int) and not isinstance(kept, bool) else {}
