"""Kinds: where the pod templates of an object stand, and how many pods each makes, by group and kind."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import NamedTuple

from gpulint.adapters import instance, stated_objectives
from gpulint.documents import Document, Path
from gpulint.engines import Argument
from gpulint.workload import Field, Origin, Unknown

DEPTH = 24
KNATIVE_BOUNDS = (
    ("autoscaling.knative.dev/min-scale", "autoscaling.knative.dev/minScale"),
    ("autoscaling.knative.dev/max-scale", "autoscaling.knative.dev/maxScale"),
)
"""knative/serving v0.50.0 pkg (knative.dev/serving/pkg/apis/autoscaling/register.go), and the older spelling."""
RUN = "run"
"""Pods that start together, and may or may not be one program."""


class Template(NamedTuple):
    """A pod template in an object: its role's name (empty: the container's), where it stands and its multipliers.

    `fields` are what the object states beside the template, `variables` what its controller sets in the containers;
    `own_start` says that the controller starts the containers by a command of its own.
    """

    name: str
    spec: Path
    pods_per_replica: Field
    replicas: Field
    fields: Mapping[str, Field] = {}
    variables: Mapping[str, Argument] = {}
    own_start: bool = False


class Kind(NamedTuple):
    """How a kind is read: its pod templates, what they form together, and what it is for where nothing else tells."""

    templates: Callable[[Document, Path], Iterator[Template]]
    joined: str = ""
    purpose: str = "unknown"


def _pod(document: Document, path: Path) -> Iterator[Template]:
    yield Template("", (*path, "spec"), Field(1, source="a Pod"), Field(1, source="a Pod"))


def _replicated(document: Document, path: Path) -> Iterator[Template]:
    replicas = instance.count(document, (*path, "spec", "replicas"), 1)
    yield Template("", (*path, "spec", "template", "spec"), Field(1, source="one pod per replica"), replicas)


def _daemon_set(document: Document, path: Path) -> Iterator[Template]:
    each = Field(Unknown("one pod a node"))
    yield Template("", (*path, "spec", "template", "spec"), Field(1, source="one pod per node"), each)


def _job(document: Document, path: Path) -> Iterator[Template]:
    yield _batch(document, (*path, "spec"))


def _cron_job(document: Document, path: Path) -> Iterator[Template]:
    yield _batch(document, (*path, "spec", "jobTemplate", "spec"))


def _batch(document: Document, spec: Path) -> Template:
    """An Indexed Job is one run over its completions; any other runs `parallelism` pods side by side."""
    parallelism = instance.count(document, (*spec, "parallelism"), 1)
    template = (*spec, "template", "spec")
    if document.get((*spec, "completionMode")) == "Indexed":
        return Template(
            "", template, instance.count(document, (*spec, "completions"), 1), Field(1, source="an Indexed Job")
        )
    return Template("", template, Field(1, source="one pod per run"), parallelism)


def _job_set(document: Document, path: Path) -> Iterator[Template]:
    """The replicated jobs of a set run together: each has `replicas` jobs of `parallelism` pods."""
    for at in items(document, (*path, "spec", "replicatedJobs")):
        jobs = instance.count(document, (*at, "replicas"), 1)
        pods = instance.count(document, (*at, "template", "spec", "parallelism"), 1)
        name = str(document.get((*at, "name")) or at[-1])
        yield Template(name, (*at, "template", "spec", "template", "spec"), instance.product(jobs, pods), ONE_RUN)


def _leader_worker_set(document: Document, path: Path) -> Iterator[Template]:
    """`size` pods a group: the leader, and the workers (which lead too when there is no leader template)."""
    base = (*path, "spec", "leaderWorkerTemplate")
    groups = instance.count(document, (*path, "spec", "replicas"), 1)
    size = instance.count(document, (*base, "size"), 1)
    worker = (*base, "workerTemplate", "spec")
    known = {"LWS_GROUP_SIZE": said(size, Origin(document, (*base, "size")))}
    if document.get((*base, "leaderTemplate")) is None:
        yield Template("", worker, size, groups, variables=known)
        return
    others = size.value - 1 if isinstance(size.value, int) else size.value
    leader = (*base, "leaderTemplate", "spec")
    yield Template("leader", leader, Field(1, source="one leader per group"), groups, variables=known)
    yield Template("worker", worker, Field(others, size.origins), groups, variables=known)


def _knative_service(document: Document, path: Path) -> Iterator[Template]:
    """Knative: one pod a replica; how many, its autoscaler decides between bounds that may be the same."""
    annotations = (*path, "spec", "template", "metadata", "annotations")
    least, most = (_bound(document, annotations, names) for names in KNATIVE_BOUNDS)
    scaled = (
        least
        if least and most and least.value == most.value
        else Field(Unknown("the Knative autoscaler decides the number of pods"))
    )
    template = (*path, "spec", "template")
    aims = stated_objectives.of_knative(document, template)
    yield Template("", (*template, "spec"), Field(1, source="one pod per replica"), scaled, aims)


def _notebook(document: Document, path: Path) -> Iterator[Template]:
    """Kubeflow's notebook controller makes one pod of it, and none once it is stopped."""
    stopped = (*path, "metadata", "annotations", "kubeflow-resource-stopped")
    off = document.get(stopped) is not None
    replicas = Field(0, (Origin(document, stopped),)) if off else Field(1, source="one pod per Notebook")
    yield Template("", (*path, "spec", "template", "spec"), Field(1, source="one pod per Notebook"), replicas)


def _bound(document: Document, annotations: Path, names: tuple[str, ...]) -> Field | None:
    stated = next((name for name in names if document.get((*annotations, name)) is not None), None)
    return instance.count(document, (*annotations, stated), 1) if stated else None


def any_kind(document: Document, path: Path) -> Iterator[Template]:
    """Every pod spec inside an object of a kind whose multipliers are not known."""
    kind = document.get((*path, "kind"))
    unknown = Field(Unknown(f"how many pods a {kind} makes is not known"))
    for spec in pod_specs(document.get(path) if path else document.data, path, DEPTH):
        yield Template(_role_name(spec), spec, unknown, unknown)


def _role_name(spec: Path) -> str:
    """The nearest name above a pod spec that tells it from its siblings."""
    named = (part for part in reversed(spec) if isinstance(part, str) and part not in {"spec", "template", "podSpec"})
    return next(named, "")


def pod_specs(value: object, path: Path, depth: int) -> Iterator[Path]:
    """Where mappings with a list of containers stand."""
    if depth == 0:
        return
    if isinstance(value, dict):
        if isinstance(value.get("containers"), list):
            yield path
            return
        for key, inner in value.items():
            yield from pod_specs(inner, (*path, key), depth - 1)
    elif isinstance(value, list):
        for at, inner in enumerate(value):
            yield from pod_specs(inner, (*path, at), depth - 1)


# ---- counts

ONE_RUN = Field(1, source="one run")


def said(field: Field, otherwise: Origin) -> Argument:
    """A count as the value of a variable that a controller makes of it."""
    origin = field.origins[0] if field.origins else otherwise
    if isinstance(field.value, Unknown):
        return Argument(None, origin, field.value.reason, category=field.value.category)
    return Argument(str(field.value), origin)


def items(document: Document, path: Path) -> Iterator[Path]:
    """Where the mappings of a list stand."""
    listed = document.get(path)
    for at, item in enumerate(listed if isinstance(listed, list) else ()):
        if isinstance(item, dict):
            yield (*path, at)


LEADER_WORKER_SET = ("leaderworkerset.x-k8s.io", "LeaderWorkerSet")
PLAIN: Mapping[tuple[str, str], Kind] = {
    ("", "Pod"): Kind(_pod),
    ("apps", "Deployment"): Kind(_replicated),
    ("apps", "StatefulSet"): Kind(_replicated),
    ("apps", "ReplicaSet"): Kind(_replicated),
    ("apps", "DaemonSet"): Kind(_daemon_set),
    ("batch", "Job"): Kind(_job, purpose="training"),
    ("batch", "CronJob"): Kind(_cron_job),
    ("jobset.x-k8s.io", "JobSet"): Kind(_job_set, joined=RUN, purpose="training"),
    LEADER_WORKER_SET: Kind(_leader_worker_set, joined="group"),
    ("serving.knative.dev", "Service"): Kind(_knative_service),
    ("kubeflow.org", "Notebook"): Kind(_notebook),
}
