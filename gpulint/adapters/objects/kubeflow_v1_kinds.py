"""Training kinds: Kubeflow's jobs of version 1, MPIJob, HyperPod's and Volcano's jobs, whose pods are the nodes of one run."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from gpulint.adapters.objects import pod_templates as kinds
from gpulint.adapters.objects.pod_templates import ONE_RUN, Kind, Template
from gpulint.adapters.programs import replica as instance
from gpulint.engines import Argument
from gpulint.source.documents import Document, Path
from gpulint.workload import Field, Origin, Unknown

REPLICA_SPECS = {
    "PyTorchJob": "pytorchReplicaSpecs",
    "TFJob": "tfReplicaSpecs",
    "XGBoostJob": "xgbReplicaSpecs",
    "PaddleJob": "paddleReplicaSpecs",
    "MPIJob": "mpiReplicaSpecs",
    "JAXJob": "jaxReplicaSpecs",
}
"""kubeflow/training-operator v1.9.0 pkg/apis/kubeflow.org/v1/*_types.go."""
AUTOMATIC = frozenset({"auto", "gpu", "cpu"})
"""Values of nprocPerNode that torchrun turns into a count itself."""


def _kubeflow(document: Document, path: Path) -> Iterator[Template]:
    """One template a replica type; an elastic policy makes the number of workers a range."""
    spec = (*path, "spec")
    specs = (*spec, REPLICA_SPECS[str(document.get((*path, "kind")))])
    types = document.get(specs)
    named = [name for name, one in types.items() if isinstance(one, dict)] if isinstance(types, dict) else []
    replicas = {name: instance.count(document, (*specs, name, "replicas"), 1) for name in named}
    beside = _beside(document, spec)
    if document.get((*path, "kind")) == "MPIJob" and not named:
        yield from _first_mpi(document, spec, beside)
    variables = _variables(document, spec, replicas.values())
    for name in sorted(named, key=_order):
        pods = _elastic(document, spec, replicas[name]) if name.lower() == "worker" else replicas[name]
        yield Template(name.lower(), (*specs, name, "template", "spec"), pods, ONE_RUN, beside, variables)


def _first_mpi(document: Document, spec: Path, beside: Mapping[str, Field]) -> Iterator[Template]:
    """The workers of the first version, of one template: kubeflow/mpi-operator v0.2.3 pkg/apis/kubeflow/v1alpha1/types.go."""
    stated = document.get((*spec, "replicas")) is not None
    spread = Field(Unknown("the operator spreads the processing units over nodes"))
    pods = instance.count(document, (*spec, "replicas"), 1) if stated else spread
    yield Template("worker", (*spec, "template", "spec"), pods, ONE_RUN, beside)


def _order(name: str) -> int:
    """The first of a run leads it; the workers come after."""
    return name.lower() == "worker"


def _elastic(document: Document, spec: Path, replicas: Field) -> Field:
    """The workers of an elastic run: as many as stated where the policy's bounds are that number, or no metric scales them.

    kubeflow/training-operator v1.9.0 pkg/controller.v1/pytorch/hpa.go: without metrics no autoscaler is made.
    """
    policy = (*spec, "elasticPolicy")
    if not document.get((*policy, "metrics")):
        return replicas
    given = [key for key in ("minReplicas", "maxReplicas") if document.get((*policy, key)) is not None]
    bounds = [instance.count(document, (*policy, key), 0) for key in given]
    if all(bound.value == replicas.value for bound in bounds):
        return replicas
    amounts = [bound.value for bound in bounds if isinstance(bound.value, int)]
    reason = f"the elastic policy scales the workers ({' to '.join(map(str, amounts))})"
    return Field(Unknown(reason), tuple(origin for bound in bounds for origin in bound.origins))


def _beside(document: Document, spec: Path) -> Mapping[str, Field]:
    """Ranks a node and the metric that scales the run."""
    fields: dict[str, Field] = {}
    for path in ((*spec, "elasticPolicy", "nProcPerNode"), (*spec, "nprocPerNode"), (*spec, "slotsPerWorker")):
        value = document.get(path)
        if value is not None and str(value) not in AUTOMATIC:
            fields["processes_per_pod"] = instance.count(document, path, 1)
    least, most = (document.get((*spec, "elasticPolicy", key)) for key in ("minReplicas", "maxReplicas"))
    scaled = least is None or least != most
    for at in kinds.items(document, (*spec, "elasticPolicy", "metrics")) if scaled else ():
        place = (*at, "resource", "name")
        if isinstance(name := document.get(place), str):
            fields.setdefault("autoscaler_metric", Field(name, (Origin(document, place),)))
    return fields


def _variables(document: Document, spec: Path, replicas: object) -> Mapping[str, Argument]:
    """What the operator tells torchrun: nodes and ranks a node; the range of an elastic run is no number."""
    counts = [one for one in replicas if isinstance(one, Field)] if hasattr(replicas, "__iter__") else []
    if document.get((*spec, "pytorchReplicaSpecs")) is None or not counts:
        return {}
    at = Origin(document, (*spec, "pytorchReplicaSpecs"))
    nodes = _sum(counts)
    elastic = document.get((*spec, "elasticPolicy")) is not None
    found = {"PET_NNODES": Argument(None, at, "the elastic policy decides") if elastic else kinds.said(nodes, at)}
    ranks = Origin(document, (*spec, "nprocPerNode"))
    if isinstance(stated := document.get(ranks.path), str | int):
        found["PET_NPROC_PER_NODE"] = Argument(str(stated), ranks)
    return found


def _sum(counts: list[Field]) -> Field:
    unknown = next((one for one in counts if not isinstance(one.value, int)), None)
    if unknown is not None:
        return unknown
    total = sum(one.value for one in counts if isinstance(one.value, int))
    return Field(total, tuple(origin for one in counts for origin in one.origins))


def _hyper_pod(document: Document, path: Path) -> Iterator[Template]:
    """SageMaker HyperPod: every replica spec adds its replicas as nodes."""
    beside = _beside(document, (*path, "spec"))
    for at in kinds.items(document, (*path, "spec", "replicaSpecs")):
        name = str(document.get((*at, "name")) or at[-1])
        pods = instance.count(document, (*at, "replicas"), 1)
        yield Template(name, (*at, "template", "spec"), pods, ONE_RUN, beside)


def _volcano(document: Document, path: Path) -> Iterator[Template]:
    """Volcano: the tasks of a job are scheduled together."""
    for at in kinds.items(document, (*path, "spec", "tasks")):
        name = str(document.get((*at, "name")) or at[-1])
        pods = instance.count(document, (*at, "replicas"), 1)
        yield Template(name, (*at, "template", "spec"), pods, ONE_RUN)


TRAINING: Mapping[tuple[str, str], Kind] = {
    **{("kubeflow.org", kind): Kind(_kubeflow, joined=kinds.RUN, purpose="training") for kind in REPLICA_SPECS},
    ("sagemaker.amazonaws.com", "HyperPodPyTorchJob"): Kind(_hyper_pod, joined=kinds.RUN, purpose="training"),
    ("batch.volcano.sh", "Job"): Kind(_volcano, joined=kinds.RUN, purpose="training"),
}
