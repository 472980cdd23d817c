"""Autoscaling: what HorizontalPodAutoscalers, ScaledObjects and PodDisruptionBudgets of the same file or folder say of a role."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import replace

from gpulint import adapters
from gpulint.source.documents import Document, Path
from gpulint.source.repository import Repository
from gpulint.workload import Field, Origin, Role, Unknown, Workload

SCALED = frozenset({"Deployment", "StatefulSet", "ReplicaSet", "LeaderWorkerSet", "StormService", "RayCluster"})
RUNNING = re.compile(r"(?:[\w.]+\|)?vllm[:_]num_requests_running(?:\|gauge)?")
"""The gauge as vLLM exports it, and as Google's adapter for Prometheus names it (vllm v0.11.0 vllm/v1/metrics/loggers.py)."""
BOUNDS: Mapping[str, tuple[str, str]] = {
    "HorizontalPodAutoscaler": ("minReplicas", "maxReplicas"),
    "ScaledObject": ("minReplicaCount", "maxReplicaCount"),
    "PodAutoscaler": ("minReplicas", "maxReplicas"),
}


def joined(workload: Workload, repository: Repository) -> Workload:
    """The workload with the replicas, the metric and the disruption budget that other objects state for it."""
    document = workload.document
    kind, name = document.get((*workload.path, "kind")), document.get((*workload.path, "metadata", "name"))
    if str(kind) not in SCALED or not isinstance(name, str):
        return workload
    fields = _fields(workload, str(kind), name, repository)
    return replace(workload, roles=tuple(_told(role, fields) for role in workload.roles)) if fields else workload


def targets(document: Document, repository: Repository) -> Iterator[Document]:
    """The objects of other files that an autoscaler or a budget is about."""
    kind = str(document.get(("kind",)))
    if kind in BOUNDS:
        named = document.get(("spec", "scaleTargetRef", "name"))
        wanted = str(document.get(("spec", "scaleTargetRef", "kind"), "Deployment"))
        found = repository.neighbours(wanted, str(named), document.path) if wanted in SCALED else ()
        yield from (one for one in found if one.get(("metadata", "name")) == named and one.path != document.path)
    if kind == "PodDisruptionBudget":
        for wanted in sorted(SCALED):
            yield from (one for one in repository.neighbours(wanted, "", document.path) if one.path != document.path)


def _told(role: Role, fields: Mapping[str, Field]) -> Role:
    """A role with what autoscaler and budget say; replicas that it states itself are those it starts with."""
    stated = role.fields.get("replicas", Field(None))
    least = {} if "replicas_least" in fields or not isinstance(stated.value, int) else {"replicas_least": stated}
    kept = {"replicas": stated} if stated.origins else {}
    return role.having(**{**least, **fields, **kept})


def _fields(workload: Workload, kind: str, name: str, repository: Repository) -> dict[str, Field]:
    scalers = [
        one
        for scaler in BOUNDS
        for one in _beside(workload.document, scaler, name, repository)
        if (one.get(("spec", "scaleTargetRef", "kind"), "Deployment"), one.get(("spec", "scaleTargetRef", "name")))
        == (kind, name)
    ]
    fields = _scaled(scalers[0]) if len(scalers) == 1 else {}
    kept = _beside(workload.document, "PodDisruptionBudget", "", repository)
    budgets = [one for one in kept if _covers(one, workload)]
    if len(budgets) == 1:
        fields |= _kept(budgets[0])
    return fields


def _beside(document: Document, kind: str, name: str, repository: Repository) -> Iterator[Document]:
    """The objects of a kind in the file itself, else in its folder."""
    here = [one for one in document.beside if one.get(("kind",)) == kind]
    for one in here or repository.neighbours(kind, name, document.path):
        if str(one.get(("apiVersion",))).startswith(f"{adapters.SCALERS[kind]}/") and _namespace(one) == _namespace(
            document
        ):
            yield one


def _namespace(document: Document) -> object:
    return document.get(("metadata", "namespace"))


def _scaled(scaler: Document) -> dict[str, Field]:
    least, most = (Origin(scaler, ("spec", key)) for key in BOUNDS[str(scaler.get(("kind",)))])
    low, high = scaler.get(least.path, 1), scaler.get(most.path)
    same = isinstance(low, int) and low == high
    replicas = Field(low if same else Unknown("an autoscaler decides", "another object"), (most,))  # type: ignore[arg-type]
    fields = {"replicas": replicas}
    if isinstance(low, int):
        fields["replicas_least"] = Field(low, (least,))
    if isinstance(high, int):
        fields["replicas_most"] = Field(high, (most,))
    return fields | _metric(scaler) | _running(scaler)


def _metric(scaler: Document) -> dict[str, Field]:
    """The one resource that every metric of a HorizontalPodAutoscaler measures; any other metric is what it should be."""
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


def _running(scaler: Document) -> dict[str, Field]:
    """How many running requests an autoscaler wants of each pod, by vLLM's own gauge."""
    path: Path = ("spec", "metrics")
    listed = scaler.get(path)
    for at in range(len(listed) if isinstance(listed, list) else 0):
        name = scaler.get((*path, at, "pods", "metric", "name"))
        target = Origin(scaler, (*path, at, "pods", "target", "averageValue"))
        if isinstance(name, str) and RUNNING.fullmatch(name) and str(scaler.get(target.path)).isdecimal():
            return {"replica_running_target": Field(int(str(scaler.get(target.path))), (target,))}
    return {}


def _covers(budget: Document, workload: Workload) -> bool:
    """Whether every label that a budget selects by is one of the workload's pods."""
    wanted = budget.get(("spec", "selector", "matchLabels"))
    labels = workload.document.get((*workload.path, "spec", "template", "metadata", "labels"))
    if not isinstance(wanted, dict) or not wanted or not isinstance(labels, dict):
        return False
    return wanted.items() <= labels.items() and budget.get(("spec", "selector", "matchExpressions")) is None


def _kept(budget: Document) -> dict[str, Field]:
    """How many pods a budget keeps, where it is written as a number."""
    origin = Origin(budget, ("spec", "minAvailable"))
    kept = budget.get(origin.path)
    return {"pods_kept": Field(kept, (origin,))} if isinstance(kept, int) and not isinstance(kept, bool) else {}
