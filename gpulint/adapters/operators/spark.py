"""Spark: the driver and the executors of a SparkApplication, which name their GPUs by a key of their own."""

from __future__ import annotations

from collections.abc import Iterator

from gpulint.adapters import kubernetes
from gpulint.adapters import pods as adapters_pods
from gpulint.adapters.claim import Claim
from gpulint.adapters.objects import synthetic
from gpulint.adapters.objects.synthetic import Part
from gpulint.adapters.programs import replica
from gpulint.source.documents import Document, Node, Path
from gpulint.source.repository import Repository
from gpulint.workload import Field, Role, Unknown, Workload

MENTIONS = ("sparkoperator.k8s.io",)

GROUP = "sparkoperator.k8s.io"
KINDS = frozenset({(GROUP, "SparkApplication"), (GROUP, "ScheduledSparkApplication")})


def claims(document: Document) -> Claim:
    return kubernetes.claim_kinds(document, KINDS)


def workloads(document: Document, repository: Repository) -> Iterator[Workload]:
    """Yield driver and executors that request GPUs. Spark runs the user's own program on them."""
    base: Path = ("spec", "template") if document.get(("kind",)) == "ScheduledSparkApplication" else ("spec",)
    roles = tuple(role for name in ("driver", "executor") for role in _read_role(document, base, name))
    if roles:
        name = str(document.get(("metadata", "name")) or document.get(("kind",)))
        yield Workload(name, "unknown", "spark", document, (), roles)


def _read_role(document: Document, base: Path, name: str) -> Iterator[Role]:
    component = (*base, name)
    if not isinstance(document.get(component), dict):
        return
    made = synthetic.document(
        document,
        {"metadata": document.node(("metadata",)), "spec": _build_pod(document, base, component)},
        synthetic.place(document, component),
    )
    for role in adapters_pods.roles(made, ("spec",), {}):
        pods = Field(1, source="one driver") if name == "driver" else _count_instances(document, base, component)
        fields = {key: field for key, field in role.fields.items() if key not in ("engine", "program")}
        counted = Role(name, role.anchor, fields).having(pods_per_replica=Field(1), replicas=pods)
        yield counted.having(gpus_per_replica=kubernetes.gpus_per_replica(counted))


def _build_pod(document: Document, base: Path, component: Path) -> Part:
    """Return the pod that the operator creates: kubeflow/spark-operator v2.5.2
    api/v1beta2/sparkapplication_types.go.
    """
    template = (*component, "template", "spec")
    gpu, amount = document.node((*component, "gpu", "name")), document.node((*component, "gpu", "quantity"))
    resources: Part = (
        {"limits": {gpu: amount}} if gpu and gpu.kind == "scalar" and amount else _read_resources(document, template)
    )
    container: dict[str | Node, Part] = {
        "name": name if (name := _last_name(component)) else None,
        "image": document.node((*component, "image")) or document.node((*base, "image")),
        "resources": resources,
    }
    return {
        "nodeSelector": document.node((*component, "nodeSelector"))
        or document.node((*base, "nodeSelector"))
        or document.node((*template, "nodeSelector")),
        "affinity": document.node((*component, "affinity")) or document.node((*template, "affinity")),
        "containers": [container],
    }


def _read_resources(document: Document, template: Path) -> Part:
    """Return what the first container of a pod template requests."""
    return document.node((*template, "containers", 0, "resources"))


def _last_name(path: Path) -> str:
    return str(path[-1])


def _count_instances(document: Document, base: Path, component: Path) -> Field:
    if document.get((*base, "dynamicAllocation", "enabled")) is True:
        return Field(Unknown("Spark scales the executors"))
    return replica.count(document, (*component, "instances"), 1)
