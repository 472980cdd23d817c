"""Training kinds: Kubeflow's version 1 jobs, MPIJob, HyperPod and Volcano.

Their pods are one run.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from gpulint.adapters.objects import pod_templates
from gpulint.adapters.objects.pod_templates import ONE_RUN, Kind, Template
from gpulint.adapters.programs import replica as programs_replica
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
"""Values of nprocPerNode that torchrun itself turns into a count."""


def _read_kubeflow(document: Document, path: Path) -> Iterator[Template]:
    """Yield one template per replica type.

    An elastic policy makes the number of workers a range.
    """
    spec = (*path, "spec")
    specs = (*spec, REPLICA_SPECS[str(document.get((*path, "kind")))])
    types = document.get(specs)
    named = [name for name, replica in types.items() if isinstance(replica, dict)] if isinstance(types, dict) else []
    replicas = {name: programs_replica.count(document, (*specs, name, "replicas"), 1) for name in named}
    beside = _read_run_fields(document, spec)
    if document.get((*path, "kind")) == "MPIJob" and not named:
        yield from _read_first_mpi(document, spec, beside)
    variables = _build_variables(document, spec, replicas.values())
    for name in sorted(named, key=_sort_key):
        pods = _count_elastic(document, spec, replicas[name]) if name.lower() == "worker" else replicas[name]
        yield Template(name.lower(), (*specs, name, "template", "spec"), pods, ONE_RUN, beside, variables)


def _read_first_mpi(document: Document, spec: Path, beside: Mapping[str, Field]) -> Iterator[Template]:
    """Yield the workers of MPIJob's first version: kubeflow/mpi-operator v0.2.3
    pkg/apis/kubeflow/v1alpha1/types.go.
    """
    stated = document.get((*spec, "replicas")) is not None
    spread = Field(Unknown("the operator spreads the processing units over nodes"))
    pods = programs_replica.count(document, (*spec, "replicas"), 1) if stated else spread
    yield Template("worker", (*spec, "template", "spec"), pods, ONE_RUN, beside)


def _sort_key(name: str) -> int:
    """Sort replica types: the leader first, then the workers."""
    return name.lower() == "worker"


def _count_elastic(document: Document, spec: Path, replicas: Field) -> Field:
    """Return the workers of an elastic run, if its bounds are equal or no metric scales it.

    kubeflow/training-operator v1.9.0 pkg/controller.v1/pytorch/hpa.go: without metrics no autoscaler is made.
    """
    policy = (*spec, "elasticPolicy")
    if not document.get((*policy, "metrics")):
        return replicas
    given = [key for key in ("minReplicas", "maxReplicas") if document.get((*policy, key)) is not None]
    bounds = [programs_replica.count(document, (*policy, key), 0) for key in given]
    if all(bound.value == replicas.value for bound in bounds):
        return replicas
    amounts = [bound.value for bound in bounds if isinstance(bound.value, int)]
    reason = f"the elastic policy scales the workers ({' to '.join(map(str, amounts))})"
    return Field(Unknown(reason), tuple(origin for bound in bounds for origin in bound.origins))


def _read_run_fields(document: Document, spec: Path) -> Mapping[str, Field]:
    """Return ranks per node and the metric that scales the run."""
    fields: dict[str, Field] = {}
    for path in ((*spec, "elasticPolicy", "nProcPerNode"), (*spec, "nprocPerNode"), (*spec, "slotsPerWorker")):
        value = document.get(path)
        if value is not None and str(value) not in AUTOMATIC:
            fields["processes_per_pod"] = programs_replica.count(document, path, 1)
    least, most = (document.get((*spec, "elasticPolicy", key)) for key in ("minReplicas", "maxReplicas"))
    scaled = least is None or least != most
    for at in pod_templates.items(document, (*spec, "elasticPolicy", "metrics")) if scaled else ():
        place = (*at, "resource", "name")
        if isinstance(name := document.get(place), str):
            fields.setdefault("autoscaler_metric", Field(name, (Origin(document, place),)))
    return fields


def _build_variables(document: Document, spec: Path, replicas: object) -> Mapping[str, Argument]:
    """Return the operator's variables for torchrun: nodes and ranks per node.

    An elastic range is unknown.
    """
    counts = [replica for replica in replicas if isinstance(replica, Field)] if hasattr(replicas, "__iter__") else []
    if document.get((*spec, "pytorchReplicaSpecs")) is None or not counts:
        return {}
    at = Origin(document, (*spec, "pytorchReplicaSpecs"))
    nodes = _add_counts(counts)
    elastic = document.get((*spec, "elasticPolicy")) is not None
    variables = {
        "PET_NNODES": Argument(None, at, "the elastic policy decides")
        if elastic
        else pod_templates.render_count(nodes, at)
    }
    ranks = Origin(document, (*spec, "nprocPerNode"))
    if isinstance(stated := document.get(ranks.path), str | int):
        variables["PET_NPROC_PER_NODE"] = Argument(str(stated), ranks)
    return variables


def _add_counts(counts: list[Field]) -> Field:
    unknown = next((count for count in counts if not isinstance(count.value, int)), None)
    if unknown is not None:
        return unknown
    total = sum(count.value for count in counts if isinstance(count.value, int))
    return Field(total, tuple(origin for count in counts for origin in count.origins))


def _read_hyper_pod(document: Document, path: Path) -> Iterator[Template]:
    """Yield the templates of SageMaker HyperPod. The replicas of every spec are nodes."""
    beside = _read_run_fields(document, (*path, "spec"))
    for at in pod_templates.items(document, (*path, "spec", "replicaSpecs")):
        name = str(document.get((*at, "name")) or at[-1])
        pods = programs_replica.count(document, (*at, "replicas"), 1)
        yield Template(name, (*at, "template", "spec"), pods, ONE_RUN, beside)


def _read_volcano(document: Document, path: Path) -> Iterator[Template]:
    """Yield the templates of Volcano. The tasks of a job are scheduled together."""
    for at in pod_templates.items(document, (*path, "spec", "tasks")):
        name = str(document.get((*at, "name")) or at[-1])
        pods = programs_replica.count(document, (*at, "replicas"), 1)
        yield Template(name, (*at, "template", "spec"), pods, ONE_RUN)


TRAINING: Mapping[tuple[str, str], Kind] = {
    **{
        ("kubeflow.org", kind): Kind(_read_kubeflow, joined=pod_templates.RUN, purpose="training")
        for kind in REPLICA_SPECS
    },
    ("sagemaker.amazonaws.com", "HyperPodPyTorchJob"): Kind(
        _read_hyper_pod, joined=pod_templates.RUN, purpose="training"
    ),
    ("batch.volcano.sh", "Job"): Kind(_read_volcano, joined=pod_templates.RUN, purpose="training"),
}
