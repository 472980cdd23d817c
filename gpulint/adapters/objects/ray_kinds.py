"""Ray clusters: the head and the groups of workers of a RayCluster, alone or inside a RayJob or RayService."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from gpulint.adapters.objects import pod_templates as kinds
from gpulint.adapters.objects.pod_templates import ONE_RUN, Kind, Template
from gpulint.adapters.programs import replica as instance
from gpulint.source.documents import Document, Path
from gpulint.workload import Field, Origin, Unknown


def templates(document: Document, cluster: Path) -> Iterator[Template]:
    """The head is one pod; a group of workers has its replicas, each of `numOfHosts` pods."""
    head = (*cluster, "headGroupSpec", "template", "spec")
    if document.get(head) is not None:
        yield Template("head", head, Field(1, source="one head a cluster"), ONE_RUN, own_start=True)
    scaled = document.get((*cluster, "enableInTreeAutoscaling")) is True
    for group in kinds.items(document, (*cluster, "workerGroupSpecs")):
        name = str(document.get((*group, "groupName")) or group[-1])
        hosts = instance.count(document, (*group, "numOfHosts"), 1)
        pods = instance.product(_replicas(document, group, scaled), hosts)
        yield Template(name, (*group, "template", "spec"), pods, ONE_RUN, own_start=True)


def _replicas(document: Document, group: Path, scaled: bool) -> Field:
    """The replicas that KubeRay wants of a group, kept between its bounds (kuberay v1.7.0 controllers/ray/utils/util.go)."""
    stated = instance.count(document, (*group, "replicas"), 0)
    least = instance.count(document, (*group, "minReplicas"), 0)
    most = instance.count(document, (*group, "maxReplicas"), 0) if _has(document, group, "maxReplicas") else None
    if scaled and (most is None or least.value != most.value):
        bounds = (*least.origins, *(most.origins if most else ()))
        return Field(Unknown("Ray's autoscaler decides how many workers the group has"), bounds)
    if not isinstance(stated.value, int) or not isinstance(least.value, int):
        return stated if not isinstance(stated.value, int) else least
    wanted = stated
    if stated.value < least.value:
        wanted = least
    elif most is not None and isinstance(most.value, int) and stated.value > most.value:
        wanted = most
    if wanted.value == 0:
        return Field(Unknown("the group starts without workers"), wanted.origins or (Origin(document, group),))
    return wanted


def _has(document: Document, group: Path, key: str) -> bool:
    return document.get((*group, key)) is not None


def _cluster(document: Document, path: Path) -> Iterator[Template]:
    yield from templates(document, (*path, "spec"))


def _job(document: Document, path: Path) -> Iterator[Template]:
    yield from templates(document, (*path, "spec", "rayClusterSpec"))


def _service(document: Document, path: Path) -> Iterator[Template]:
    """Both spellings of the cluster's key: ray.io/v1, and v1alpha1 of older operators."""
    for key in ("rayClusterConfig", "rayClusterSpec"):
        yield from templates(document, (*path, "spec", key))


RAY: Mapping[tuple[str, str], Kind] = {
    ("ray.io", "RayCluster"): Kind(_cluster),
    ("ray.io", "RayJob"): Kind(_job, joined=kinds.RUN),
    ("ray.io", "RayService"): Kind(_service, purpose="inference"),
}
