"""Ray clusters: the head and the groups of workers of a RayCluster, alone or inside a RayJob or RayService."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from gpulint.adapters.objects import pod_templates
from gpulint.adapters.objects.pod_templates import ONE_RUN, Kind, Template
from gpulint.adapters.programs import replica
from gpulint.source.documents import Document, Path
from gpulint.workload import Field, Origin, Unknown


def templates(document: Document, cluster: Path) -> Iterator[Template]:
    """Yield the head's pod and the worker groups. Each replica of a group has `numOfHosts` pods."""
    head = (*cluster, "headGroupSpec", "template", "spec")
    if document.get(head) is not None:
        yield Template("head", head, Field(1, source="one head per cluster"), ONE_RUN, own_start=True)
    scaled = document.get((*cluster, "enableInTreeAutoscaling")) is True
    for group in pod_templates.items(document, (*cluster, "workerGroupSpecs")):
        name = str(document.get((*group, "groupName")) or group[-1])
        hosts = replica.count(document, (*group, "numOfHosts"), 1)
        pods = replica.product(_count_replicas(document, group, scaled), hosts)
        yield Template(name, (*group, "template", "spec"), pods, ONE_RUN, own_start=True)


def _count_replicas(document: Document, group: Path, scaled: bool) -> Field:
    """Return KubeRay's replicas of a group, within its bounds (kuberay v1.7.0
    controllers/ray/utils/util.go).
    """
    stated = replica.count(document, (*group, "replicas"), 0)
    minimum = replica.count(document, (*group, "minReplicas"), 0)
    maximum = replica.count(document, (*group, "maxReplicas"), 0) if _is_set(document, group, "maxReplicas") else None
    if scaled and (maximum is None or minimum.value != maximum.value):
        bounds = (*minimum.origins, *(maximum.origins if maximum else ()))
        return Field(Unknown("Ray's autoscaler decides how many workers the group has"), bounds)
    if not isinstance(stated.value, int) or not isinstance(minimum.value, int):
        return stated if not isinstance(stated.value, int) else minimum
    desired = stated
    if stated.value < minimum.value:
        desired = minimum
    elif maximum is not None and isinstance(maximum.value, int) and stated.value > maximum.value:
        desired = maximum
    if desired.value == 0:
        return Field(Unknown("the group starts without workers"), desired.origins or (Origin(document, group),))
    return desired


def _is_set(document: Document, group: Path, key: str) -> bool:
    return document.get((*group, key)) is not None


def _read_cluster(document: Document, path: Path) -> Iterator[Template]:
    yield from templates(document, (*path, "spec"))


def _read_job(document: Document, path: Path) -> Iterator[Template]:
    yield from templates(document, (*path, "spec", "rayClusterSpec"))


def _read_service(document: Document, path: Path) -> Iterator[Template]:
    """Yield templates for both names of the cluster key: of ray.io/v1, and of v1alpha1 in older
    operators.
    """
    for key in ("rayClusterConfig", "rayClusterSpec"):
        yield from templates(document, (*path, "spec", key))


RAY: Mapping[tuple[str, str], Kind] = {
    ("ray.io", "RayCluster"): Kind(_read_cluster),
    ("ray.io", "RayJob"): Kind(_read_job, joined=pod_templates.RUN),
    ("ray.io", "RayService"): Kind(_read_service, purpose="inference"),
}
