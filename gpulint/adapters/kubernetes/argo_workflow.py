"""Argo Workflows: the steps of a workflow that compute, each a container of its own."""

from __future__ import annotations

from collections.abc import Iterator

from gpulint.adapters import kubernetes
from gpulint.adapters import pods as adapters_pods
from gpulint.adapters.claim import Claim
from gpulint.adapters.objects import pod_templates, synthetic
from gpulint.adapters.objects.synthetic import Part
from gpulint.source.documents import Document, Node, Path
from gpulint.source.repository import Repository
from gpulint.workload import Field, Role, Unknown, Workload

MENTIONS = ("argoproj.io",)
TRIGGERS = ()

GROUP = "argoproj.io"
SPECS: dict[str, Path] = {
    "Workflow": ("spec",),
    "WorkflowTemplate": ("spec",),
    "ClusterWorkflowTemplate": ("spec",),
    "CronWorkflow": ("spec", "workflowSpec"),
}
KINDS = frozenset(
    {(GROUP, "Workflow"), (GROUP, "WorkflowTemplate"), (GROUP, "ClusterWorkflowTemplate"), (GROUP, "CronWorkflow")}
)


def claims(document: Document) -> Claim:
    return kubernetes.claim_kinds(document, KINDS)


def workloads(document: Document, repository: Repository) -> Iterator[Workload]:
    """Yield one role per template whose container requests GPUs or runs an engine."""
    base = SPECS[str(document.get(("kind",)))]
    roles = tuple(
        role for at in pod_templates.items(document, (*base, "templates")) for role in _read_roles(document, base, at)
    )
    if roles:
        metadata = document.get(("metadata",))
        named = metadata if isinstance(metadata, dict) else {}
        name = str(named.get("name") or named.get("generateName") or document.get(("kind",)))
        yield Workload(name, kubernetes.purpose(roles, "unknown"), "argo_workflow", document, (), roles)


def _read_roles(document: Document, base: Path, at: Path) -> Iterator[Role]:
    """Yield the roles of a template, which is one pod each time that a step calls it.

    The steps decide how often that is.
    """
    pods, name = Field(1, source="one pod per step"), str(document.get((*at, "name")) or at[-1])
    made = synthetic.document(
        document,
        {"metadata": document.node(("metadata",)), "spec": _build_pod(document, base, at)},
        synthetic.place(document, at),
    )
    for role in adapters_pods.roles(made, ("spec",), {}):
        times = Field(Unknown("the steps of the workflow decide how often it runs"))
        counted = Role(name, role.anchor, role.fields, role.arguments, role.open_ended)
        counted = counted.having(pods_per_replica=pods, replicas=times)
        yield counted.having(gpus_per_replica=kubernetes.gpus_per_replica(counted))


def _build_pod(document: Document, base: Path, at: Path) -> Part:
    """Build the pod of a template: its one container or script, or its set of containers."""
    single = document.node((*at, "container")) or document.node((*at, "script"))
    several = document.node((*at, "containerSet", "containers"))
    parts: dict[str | Node, Part] = {
        "containers": several if several is not None else ([single] if single is not None else [])
    }
    for key in ("nodeSelector", "affinity", "volumes"):
        parts[key] = document.node((*at, key)) or document.node((*base, key))
    return parts
