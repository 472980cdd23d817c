"""KubeRay's ray-cluster chart: a head and groups of workers, with keys like those of pods.

Read from its templates (ray-project/kuberay v1.4:
helm-chart/ray-cluster/templates/raycluster-cluster.yaml).
"""

from __future__ import annotations

from collections.abc import Iterator

from gpulint.adapters.charts import values as charts_values
from gpulint.adapters.charts.values import Values
from gpulint.adapters.objects.synthetic import Part
from gpulint.source.documents import Document
from gpulint.source.repository import Repository
from gpulint.workload import Workload

GROUP = frozenset(
    {"rayStartParams", "containerEnv", "groupName", "enableInTreeAutoscaling", "sidecarContainers", "numOfHosts"}
)
POD = ("volumes", "nodeSelector", "affinity", "tolerations", "runtimeClassName", "resourceClaims")
CONTAINER = ("command", "args", "envFrom", "volumeMounts", "resources", "securityContext")


def fits(values: Values) -> bool:
    workers = {"worker", "additionalWorkerGroups"} & values.entries().keys()
    stated = {*values.entries("head"), *values.entries("worker")}
    return bool(workers) and "head" in values.entries() and bool(GROUP & stated)


def workloads(values: Values, repository: Repository) -> Iterator[Workload]:
    name = values.text("fullnameOverride") or values.text("nameOverride") or "ray-cluster"
    yield from charts_values.workloads(values, _build_object(values), repository, name)


def _build_object(values: Values) -> Document:
    groups = [("worker", values.descend("worker"))] if isinstance(values.get("worker"), dict) else []
    further = values.entries("additionalWorkerGroups")
    groups += [(str(name), values.descend("additionalWorkerGroups", name)) for name in further]
    return values.object(
        {
            "apiVersion": "ray.io/v1",
            "kind": "RayCluster",
            "metadata": {"name": "ray-cluster"},
            "spec": {
                "headGroupSpec": {
                    "rayStartParams": values.node("head", "rayStartParams"),
                    "template": _build_template(values, values.descend("head"), "ray-head"),
                },
                "workerGroupSpecs": [
                    _build_group(values, name, group) for name, group in groups if group.get("disabled") is not True
                ],
            },
        }
    )


def _build_group(values: Values, name: str, group: Values) -> Part:
    return {
        "groupName": group.node("groupName") or group.word(name),
        "replicas": group.node("replicas"),
        "minReplicas": group.node("minReplicas"),
        "maxReplicas": group.node("maxReplicas"),
        "numOfHosts": group.node("numOfHosts"),
        "rayStartParams": group.node("rayStartParams"),
        "template": _build_template(values, group, "ray-worker"),
    }


def _build_template(values: Values, group: Values, name: str) -> Part:
    container: Part = {
        "name": group.word(name),
        "image": charts_values.image(group, "image") or charts_values.image(values, "image"),
        "env": [
            *charts_values.variables(values, "common", "containerEnv"),
            *charts_values.variables(group, "containerEnv"),
        ],
        **{key: group.node(key) for key in CONTAINER},
    }
    pod: Part = {"containers": [container, *group.items("sidecarContainers")], **{key: group.node(key) for key in POD}}
    return {"metadata": {"annotations": group.node("annotations")}, "spec": pod}
