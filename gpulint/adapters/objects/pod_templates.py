"""Kinds: the pod templates of an object and how many pods each creates, by group and kind."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import NamedTuple

from gpulint.adapters.objects import objective_annotations
from gpulint.adapters.programs import replica
from gpulint.engines import Argument
from gpulint.source.documents import Document, Path
from gpulint.workload import Field, Origin, Unknown

DEPTH = 24
KNATIVE_BOUNDS = (
    ("autoscaling.knative.dev/min-scale", "autoscaling.knative.dev/minScale"),
    ("autoscaling.knative.dev/max-scale", "autoscaling.knative.dev/maxScale"),
)
"""The current and the older spelling.

Source: knative/serving v0.50.0 pkg (knative.dev/serving/pkg/apis/autoscaling/register.go).
"""
RUN = "run"
"""Pods that start together and may be one program."""


class Template(NamedTuple):
    """A pod template in an object: its role's name, its path and its multipliers.

    An empty name means the container's. `fields` are what the object states next to the template,
    `variables` what its controller sets in the containers. `own_start` is true if the controller
    starts the containers by a command of its own.
    """

    name: str
    spec: Path
    pods_per_replica: Field
    replicas: Field
    fields: Mapping[str, Field] = {}
    variables: Mapping[str, Argument] = {}
    own_start: bool = False


class Kind(NamedTuple):
    """How a kind is read: its pod templates, what they form together, and a default purpose."""

    templates: Callable[[Document, Path], Iterator[Template]]
    joined: str = ""
    purpose: str = "unknown"


def _read_pod(document: Document, path: Path) -> Iterator[Template]:
    yield Template("", (*path, "spec"), Field(1, source="a Pod"), Field(1, source="a Pod"))


def _read_replicated(document: Document, path: Path) -> Iterator[Template]:
    replicas = replica.count(document, (*path, "spec", "replicas"), 1)
    yield Template("", (*path, "spec", "template", "spec"), Field(1, source="one pod per replica"), replicas)


def _read_daemon_set(document: Document, path: Path) -> Iterator[Template]:
    per_node = Field(Unknown("one pod a node"))
    yield Template("", (*path, "spec", "template", "spec"), Field(1, source="one pod per node"), per_node)


def _read_job(document: Document, path: Path) -> Iterator[Template]:
    yield _read_batch(document, (*path, "spec"))


def _read_cron_job(document: Document, path: Path) -> Iterator[Template]:
    yield _read_batch(document, (*path, "spec", "jobTemplate", "spec"))


def _read_batch(document: Document, spec: Path) -> Template:
    """Read a Job: an Indexed Job is one run; any other runs `parallelism` pods side by side.

    The pods of an Indexed Job are its completions.
    """
    parallelism = replica.count(document, (*spec, "parallelism"), 1)
    template = (*spec, "template", "spec")
    if document.get((*spec, "completionMode")) == "Indexed":
        return Template(
            "", template, replica.count(document, (*spec, "completions"), 1), Field(1, source="an Indexed Job")
        )
    return Template("", template, Field(1, source="one pod per run"), parallelism)


def _read_job_set(document: Document, path: Path) -> Iterator[Template]:
    """Yield the replicated jobs of a set, which run together.

    Each has `replicas` jobs of `parallelism` pods.
    """
    for at in items(document, (*path, "spec", "replicatedJobs")):
        jobs = replica.count(document, (*at, "replicas"), 1)
        pods = replica.count(document, (*at, "template", "spec", "parallelism"), 1)
        name = str(document.get((*at, "name")) or at[-1])
        yield Template(name, (*at, "template", "spec", "template", "spec"), replica.product(jobs, pods), ONE_RUN)


def _read_leader_worker_set(document: Document, path: Path) -> Iterator[Template]:
    """Yield a group of `size` pods: the leader, and the workers.

    The workers' template is the leader's too unless that has one of its own.
    """
    base = (*path, "spec", "leaderWorkerTemplate")
    groups = replica.count(document, (*path, "spec", "replicas"), 1)
    size = replica.count(document, (*base, "size"), 1)
    worker = (*base, "workerTemplate", "spec")
    variables = {"LWS_GROUP_SIZE": render_count(size, Origin(document, (*base, "size")))}
    if document.get((*base, "leaderTemplate")) is None:
        yield Template("", worker, size, groups, variables=variables)
        return
    others = size.value - 1 if isinstance(size.value, int) else size.value
    leader = (*base, "leaderTemplate", "spec")
    yield Template("leader", leader, Field(1, source="one leader per group"), groups, variables=variables)
    yield Template("worker", worker, Field(others, size.origins), groups, variables=variables)


def _read_knative_service(document: Document, path: Path) -> Iterator[Template]:
    """Yield one pod per replica; Knative's autoscaler decides the replicas between two bounds."""
    annotations = (*path, "spec", "template", "metadata", "annotations")
    minimum, maximum = (_read_bound(document, annotations, names) for names in KNATIVE_BOUNDS)
    scaled = (
        minimum
        if minimum and maximum and minimum.value == maximum.value
        else Field(Unknown("the Knative autoscaler decides the number of pods"))
    )
    template = (*path, "spec", "template")
    objectives = objective_annotations.read_knative(document, template)
    yield Template("", (*template, "spec"), Field(1, source="one pod per replica"), scaled, objectives)


def _read_notebook(document: Document, path: Path) -> Iterator[Template]:
    """Yield the one pod of a notebook; Kubeflow's controller removes it when it is stopped."""
    stopped = (*path, "metadata", "annotations", "kubeflow-resource-stopped")
    off = document.get(stopped) is not None
    replicas = Field(0, (Origin(document, stopped),)) if off else Field(1, source="one pod per Notebook")
    yield Template("", (*path, "spec", "template", "spec"), Field(1, source="one pod per Notebook"), replicas)


def _read_bound(document: Document, annotations: Path, names: tuple[str, ...]) -> Field | None:
    stated = next((name for name in names if document.get((*annotations, name)) is not None), None)
    return replica.count(document, (*annotations, stated), 1) if stated else None


def read_any_kind(document: Document, path: Path) -> Iterator[Template]:
    """Yield every pod spec in an object of a kind whose multipliers are not known."""
    kind = document.get((*path, "kind"))
    unknown = Field(Unknown(f"how many pods a {kind} makes is not known"))
    for spec in pod_specs(document.get(path) if path else document.data, path, DEPTH):
        yield Template(_name_role(spec), spec, unknown, unknown)


def _name_role(spec: Path) -> str:
    """Return the nearest name above a pod spec that distinguishes it from its siblings."""
    named = (part for part in reversed(spec) if isinstance(part, str) and part not in {"spec", "template", "podSpec"})
    return next(named, "")


def pod_specs(value: object, path: Path, depth: int) -> Iterator[Path]:
    """Yield the paths of mappings with a list of containers."""
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


def render_count(field: Field, otherwise: Origin) -> Argument:
    """Return a count as the value of a variable that a controller sets from it."""
    origin = field.origins[0] if field.origins else otherwise
    if isinstance(field.value, Unknown):
        return Argument(None, origin, field.value.reason, category=field.value.category)
    return Argument(str(field.value), origin)


def items(document: Document, path: Path) -> Iterator[Path]:
    """Yield the paths of the mappings in a list."""
    listed = document.get(path)
    for at, item in enumerate(listed if isinstance(listed, list) else ()):
        if isinstance(item, dict):
            yield (*path, at)


LEADER_WORKER_SET = ("leaderworkerset.x-k8s.io", "LeaderWorkerSet")
PLAIN: Mapping[tuple[str, str], Kind] = {
    ("", "Pod"): Kind(_read_pod),
    ("apps", "Deployment"): Kind(_read_replicated),
    ("apps", "StatefulSet"): Kind(_read_replicated),
    ("apps", "ReplicaSet"): Kind(_read_replicated),
    ("apps", "DaemonSet"): Kind(_read_daemon_set),
    ("batch", "Job"): Kind(_read_job, purpose="training"),
    ("batch", "CronJob"): Kind(_read_cron_job),
    ("jobset.x-k8s.io", "JobSet"): Kind(_read_job_set, joined=RUN, purpose="training"),
    LEADER_WORKER_SET: Kind(_read_leader_worker_set, joined="group"),
    ("serving.knative.dev", "Service"): Kind(_read_knative_service),
    ("kubeflow.org", "Notebook"): Kind(_read_notebook),
}
