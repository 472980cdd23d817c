"""Kubernetes: pods inside any kind that carries `containers`, with the multipliers of the kinds it knows, by group and kind."""

from __future__ import annotations

import math
import posixpath
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import NamedTuple

from gpulint import adapters
from gpulint.adapters import pod
from gpulint.documents import Document, Path
from gpulint.repository import Repository
from gpulint.workload import Field, Origin, Role, Unknown, Workload

MENTIONS = ("kind",)

DEPTH = 24
KUSTOMIZATIONS = ("kustomization.yaml", "kustomization.yml", "Kustomization")
TRAINING = frozenset({"Job", "PyTorchJob", "MPIJob", "TrainJob", "JobSet"})


class Template(NamedTuple):
    """A pod template in an object: its role's name (empty: the container's), where it stands, its multipliers, and
    whether an operator may add volumes to it.
    """

    name: str
    spec: Path
    pods_per_replica: Field
    replicas: Field
    injected: bool = False


def claims(document: Document) -> bool:
    """Kubernetes objects have a group and a kind; the kinds of other adapters, gpulint's own among them, are theirs."""
    data = document.data
    if not isinstance(data, dict) or str(data.get("apiVersion", "")).startswith("gpulint/"):
        return False
    if not (isinstance(data.get("apiVersion"), str) and isinstance(data.get("kind"), str)):
        return False
    return group_and_kind(data) not in _read_elsewhere(document)


def group_and_kind(data: Mapping[str, object]) -> tuple[str, str]:
    """What a kind is told by: the group of its API without the version, and its name."""
    return str(data.get("apiVersion", "")).rpartition("/")[0], str(data.get("kind"))


def _read_elsewhere(document: Document) -> frozenset[tuple[str, str]]:
    """The group and kind of objects that have an adapter of their own."""
    others = (module for module in adapters.mentioned(document) if module.__name__ != __name__)
    return frozenset(kind for module in others for kind in getattr(module, "KINDS", ()) if isinstance(kind, tuple))


def workloads(document: Document, repository: Repository) -> Iterator[Workload]:
    """The workloads of an object, or of each object of a List."""
    data = document.data
    items = data.get("items") if isinstance(data, dict) and str(data.get("kind", "")).endswith("List") else None
    objects = enumerate(items) if isinstance(items, list) else [(None, data)]
    for at, item in objects:
        if isinstance(item, dict):
            found = _object(document, () if at is None else ("items", at), item)
            yield from (
                (_completed_elsewhere(workload) for workload in found) if _patched(document, repository) else found
            )


def _object(document: Document, path: Path, data: Mapping[str, object]) -> Iterator[Workload]:
    group, kind = group_and_kind(data)
    reader = KINDS.get((group, kind), _any_kind)
    roles = tuple(role for template in reader(document, path) for role in _roles(document, path, template))
    if roles:
        yield Workload(_name(data), _purpose(kind, roles), "kubernetes", document, path, _joined(group, kind, roles))


def _patched(document: Document, repository: Repository) -> bool:
    """Whether kustomize may add to the objects of a file: its instructions stand beside it."""
    folder = posixpath.dirname(document.path)
    return any(repository.exists(posixpath.join(folder, name)) for name in KUSTOMIZATIONS)


def _completed_elsewhere(workload: Workload) -> Workload:
    """A workload whose containers may be given GPUs by a patch: that they ask for none is not known."""
    return replace(workload, roles=tuple(role.having(engine_image=Field(None)) for role in workload.roles))


def _name(data: Mapping[str, object]) -> str:
    metadata = data.get("metadata")
    named = metadata if isinstance(metadata, dict) else {}
    return str(named.get("name") or named.get("generateName") or data.get("kind"))


def _purpose(kind: str, roles: Sequence[Role]) -> str:
    """An object that runs an inference engine is an inference service, whatever its kind."""
    if any(role.text("engine") for role in roles):
        return "inference"
    return "training" if kind in TRAINING else "unknown"


def _roles(document: Document, path: Path, template: Template) -> Iterator[Role]:
    annotations = {
        **_annotations(document, (*path, "metadata")),
        **_annotations(document, (*template.spec[:-1], "metadata")),
    }
    for role in pod.roles(document, template.spec, annotations):
        name = f"{template.name}/{role.name}" if template.name else role.name
        counted = role.having(pods_per_replica=template.pods_per_replica, replicas=template.replicas)
        if template.injected:
            injected = Field(False, source="the operator may mount it")
            counted = counted.having(shared_memory_default=injected, engine_image=Field(None))
        yield replace(counted.having(gpus_per_replica=_gpus_per_replica(counted)), name=name)


def _gpus_per_replica(role: Role) -> Field:
    per_pod, pods = role.fields["gpus_per_pod"], role.fields["pods_per_replica"]
    for part in (per_pod, pods):
        if isinstance(part.value, Unknown):
            return Field(part.value, per_pod.origins)
    if not isinstance(per_pod.value, int | float) or not isinstance(pods.value, int):
        return Field(Unknown("the GPU count is not a number"), per_pod.origins)
    return Field(per_pod.value * pods.value, (*per_pod.origins, *pods.origins))


def _joined(group: str, kind: str, roles: tuple[Role, ...]) -> tuple[Role, ...]:
    """Leader and workers of one group form one instance: the first role with an engine counts the GPUs of them all."""
    if (group, kind) != LEADER_WORKER_SET:
        return tuple(_open_to_others(role) for role in roles)
    if len(roles) < 2:
        return tuple(_alone(role) for role in roles)
    counts = [role.value("gpus_per_replica") for role in roles]
    origins = tuple(origin for role in roles for origin in role.fields["gpus_per_replica"].origins)
    unknown = next((count for count in counts if isinstance(count, Unknown)), None)
    total = unknown or sum(count for count in counts if isinstance(count, int | float))
    serving = next((role for role in roles if role.text("engine")), roles[0])
    return tuple(
        role.having(gpus_per_replica=Field(total, origins))
        if role is serving
        else role.having(part_of=Field(serving.name, source="one group"))
        for role in roles
    )


def _alone(role: Role) -> Role:
    """A role whose every pod may serve by itself: its parallelism fits in one, and nothing joins them."""
    sizes = [role.value(name) for name in ("tensor_parallel", "pipeline_parallel")]
    occupied = math.prod(size for size in sizes if isinstance(size, int))
    per_pod = role.value("gpus_per_pod")
    joined = role.value("multi_node") or not role.text("engine") or not isinstance(per_pod, int) or occupied > per_pod
    if joined or role.value("pods_per_replica") == 1:
        return role
    reason = Unknown("whether the pods of the group serve together is not stated")
    return role.having(gpus_per_replica=Field(reason, role.fields["gpus_per_replica"].origins))


def _open_to_others(role: Role) -> Role:
    """A role whose arguments let GPUs of other pods join has no GPU count of its own."""
    if not role.value("multi_node"):
        return role
    reason = Unknown(f"which GPUs join is decided elsewhere ({role.fields['multi_node'].source})")
    return role.having(gpus_per_replica=Field(reason, role.fields["gpus_per_replica"].origins))


def _annotations(document: Document, metadata: Path) -> dict[str, Origin]:
    given = document.get((*metadata, "annotations"))
    return {
        str(key): Origin(document, (*metadata, "annotations", key))
        for key in (given if isinstance(given, dict) else ())
        if str(key).startswith("gpulint/") or key in pod.PLACING
    }


# ---- kinds


def _pod(document: Document, path: Path) -> Iterator[Template]:
    yield Template("", (*path, "spec"), Field(1, source="a Pod"), Field(1, source="a Pod"))


def _replicated(document: Document, path: Path) -> Iterator[Template]:
    replicas = _count(document, (*path, "spec", "replicas"), 1)
    yield Template("", (*path, "spec", "template", "spec"), Field(1, source="one pod a replica"), replicas)


def _daemon_set(document: Document, path: Path) -> Iterator[Template]:
    each = Field(Unknown("one pod a node"))
    yield Template("", (*path, "spec", "template", "spec"), Field(1, source="one pod a node"), each)


def _job(document: Document, path: Path) -> Iterator[Template]:
    yield _batch(document, (*path, "spec"))


def _cron_job(document: Document, path: Path) -> Iterator[Template]:
    yield _batch(document, (*path, "spec", "jobTemplate", "spec"))


def _batch(document: Document, spec: Path) -> Template:
    """An Indexed Job is one run over its completions; any other runs `parallelism` pods side by side."""
    parallelism = _count(document, (*spec, "parallelism"), 1)
    template = (*spec, "template", "spec")
    if document.get((*spec, "completionMode")) == "Indexed":
        return Template("", template, _count(document, (*spec, "completions"), 1), Field(1, source="an Indexed Job"))
    return Template("", template, Field(1, source="one pod a run"), parallelism)


def _leader_worker_set(document: Document, path: Path) -> Iterator[Template]:
    """`size` pods a group: the leader, and the workers (which lead too when there is no leader template)."""
    base = (*path, "spec", "leaderWorkerTemplate")
    groups = _count(document, (*path, "spec", "replicas"), 1)
    size = _count(document, (*base, "size"), 1)
    worker = (*base, "workerTemplate", "spec")
    if document.get((*base, "leaderTemplate")) is None:
        yield Template("", worker, size, groups)
        return
    others = size.value - 1 if isinstance(size.value, int) else size.value
    yield Template("leader", (*base, "leaderTemplate", "spec"), Field(1, source="one leader a group"), groups)
    yield Template("worker", worker, Field(others, size.origins), groups)


def _inference_service(document: Document, path: Path) -> Iterator[Template]:
    """KServe: the predictor is a pod spec of its own; its `model` is a container without a list."""
    predictor = (*path, "spec", "predictor")
    replicas = _count(document, (*predictor, "minReplicas"), 1)
    alone = document.get((*predictor, "workerSpec")) is None
    pods = Field(1, source="one pod a replica") if alone else Field(Unknown("workerSpec adds pods"))
    yield Template("", predictor, pods, replicas)


def _knative_service(document: Document, path: Path) -> Iterator[Template]:
    """Knative: one pod a replica; how many, its autoscaler decides."""
    scaled = Field(Unknown("Knative scales the pods"))
    yield Template("", (*path, "spec", "template", "spec"), Field(1, source="one pod a replica"), scaled)


def _any_kind(document: Document, path: Path) -> Iterator[Template]:
    """Every pod spec inside an object of a kind whose multipliers are not known."""
    kind = document.get((*path, "kind"))
    unknown = Field(Unknown(f"how many pods a {kind} makes is not known"))
    for spec in _pod_specs(document.get(path) if path else document.data, path, DEPTH):
        yield Template(_role_name(document, spec), spec, unknown, unknown, injected=True)


def _role_name(document: Document, spec: Path) -> str:
    """The nearest name above a pod spec that tells it from its siblings."""
    named = (part for part in reversed(spec) if isinstance(part, str) and part not in {"spec", "template", "podSpec"})
    return next(named, "")


def _pod_specs(value: object, path: Path, depth: int) -> Iterator[Path]:
    if depth == 0:
        return
    if isinstance(value, dict):
        if isinstance(value.get("containers"), list):
            yield path
            return
        for key, inner in value.items():
            yield from _pod_specs(inner, (*path, key), depth - 1)
    elif isinstance(value, list):
        for at, inner in enumerate(value):
            yield from _pod_specs(inner, (*path, at), depth - 1)


def _count(document: Document, path: Path, absent: int) -> Field:
    """A count as written; the API server's default when it is absent."""
    value = document.get(path)
    if value is None:
        return Field(absent, source="default of Kubernetes")
    origins = (Origin(document, path),)
    if isinstance(value, int) and not isinstance(value, bool):
        return Field(value, origins)
    if isinstance(value, str) and value.isdigit():
        return Field(int(value), origins)
    return Field(Unknown(f"{path[-1]} is {value}"), origins)


LEADER_WORKER_SET = ("leaderworkerset.x-k8s.io", "LeaderWorkerSet")
KINDS: Mapping[tuple[str, str], Callable[[Document, Path], Iterator[Template]]] = {
    ("", "Pod"): _pod,
    ("apps", "Deployment"): _replicated,
    ("apps", "StatefulSet"): _replicated,
    ("apps", "ReplicaSet"): _replicated,
    ("apps", "DaemonSet"): _daemon_set,
    ("batch", "Job"): _job,
    ("batch", "CronJob"): _cron_job,
    LEADER_WORKER_SET: _leader_worker_set,
    ("serving.knative.dev", "Service"): _knative_service,
    ("serving.kserve.io", "InferenceService"): _inference_service,
    ("serving.kubeflow.org", "InferenceService"): _inference_service,
}
