"""TrainJob: runs of Kubeflow Trainer 2, whose pods a training runtime of the same repository or of the cluster describes."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace

from gpulint.adapters import kubernetes
from gpulint.adapters import pods as pod
from gpulint.adapters.objects import merge as joined
from gpulint.adapters.objects import pod_templates as kinds
from gpulint.adapters.objects import synthetic as tree
from gpulint.adapters.objects.synthetic import Part
from gpulint.adapters.programs import container_command as command
from gpulint.adapters.programs import replica as instance
from gpulint.source.documents import Document, Node, Path
from gpulint.source.repository import Repository
from gpulint.workload import Field, Origin, Role, Unknown, Workload

MENTIONS = ("trainer.kubeflow.org",)

GROUP = "trainer.kubeflow.org"
KINDS = frozenset({(GROUP, "TrainJob"), (GROUP, "TrainingRuntime"), (GROUP, "ClusterTrainingRuntime")})
STEP = "trainer.kubeflow.org/trainjob-ancestor-step"
NODE = "node"
"""The job and the container that a TrainJob's trainer replaces parts of: kubeflow/trainer v2.2.0 pkg/constants/constants.go."""
REFERENCE: Path = ("spec", "runtimeRef", "name")
TRAINER: Path = ("spec", "trainer")


def claims(document: Document) -> bool:
    data = document.data
    return isinstance(data, dict) and kubernetes.group_and_kind(data) in KINDS


def workloads(document: Document, repository: Repository) -> Iterator[Workload]:
    """The run of a TrainJob; a runtime is what runs of others are made of."""
    if document.get(("kind",)) != "TrainJob":
        return
    runtime = _runtime(document, repository)
    made = tuple(_merged(document, runtime) if runtime else _alone(document))
    roles = tuple(_counted(document, runtime, role) for role in made)
    if roles:
        name = str(document.get(("metadata", "name")) or "TrainJob")
        yield Workload(name, "training", "kubeflow_trainer", document, (), roles)


def _runtime(document: Document, repository: Repository) -> Document | None:
    """The one runtime of that kind and name, in the repository."""
    kind = str(document.get(("spec", "runtimeRef", "kind")) or "ClusterTrainingRuntime")
    name = str(document.get(REFERENCE))
    beside = [one for one in document.beside if (one.get(("kind",)), one.get(("metadata", "name"))) == (kind, name)]
    found = beside or repository.objects(kind, name, document.path)
    own = [one for one in found if str(one.get(("apiVersion",))).startswith(f"{GROUP}/")]
    return own[0] if len(own) == 1 else None


def _own(document: Document) -> Node:
    """The pod spec that the TrainJob itself states: its trainer as a container, and what it patches the pods with."""
    container: dict[str | Node, Part] = {
        key: document.node((*TRAINER, key)) for key in ("image", "command", "args", "env")
    }
    asked = document.node((*TRAINER, "resourcesPerNode"))
    spec: dict[str | Node, Part] = {
        key: document.node((*patch, key)) for patch in _patches(document) for key in ("nodeSelector", "affinity")
    }
    whole: Part = {"containers": [{"name": NODE, **container, "resources": asked}], **spec}
    return tree.written(whole, tree.place(document, TRAINER))


def _patches(document: Document) -> Iterator[Path]:
    """The pod specs of patches for the trainer's job, by the key of today and those of Trainer 2.0 and 2.1."""
    for patch in kinds.items(document, ("spec", "runtimePatches")):
        for job in kinds.items(document, (*patch, "trainingRuntimeSpec", "template", "spec", "replicatedJobs")):
            if document.get((*job, "name")) == NODE:
                yield (*job, "template", "spec", "template", "spec")
    for key, inner in (("podTemplateOverrides", ("spec",)), ("podSpecOverrides", ())):
        for override in kinds.items(document, ("spec", key)):
            if any(document.get((*job, "name")) == NODE for job in kinds.items(document, (*override, "targetJobs"))):
                yield (*override, *inner)


def _node(runtime: Document) -> Path | None:
    """The pod spec of the runtime's job that trains."""
    for job in kinds.items(runtime, ("spec", "template", "spec", "replicatedJobs")):
        step = runtime.get((*job, "template", "metadata", "labels", STEP))
        if step == "trainer" or (step is None and runtime.get((*job, "name")) == NODE):
            return (*job, "template", "spec", "template", "spec")
    return None


def _merged(document: Document, runtime: Document) -> Iterator[Role]:
    """The roles of the runtime's pod with what the TrainJob states over it."""
    reference, places = Origin(document, REFERENCE), joined.Places()
    node = _node(runtime)
    described = places.copied(runtime, node, reference) if node else None
    spec = joined.merged(described, _own(document))
    if spec is None or described is None:
        yield from _alone(document)
        return
    for role in pod.roles(joined.pod(document, spec), ("spec",), pod.hints(document, ("metadata",))):
        resolved = places.resolved(role)
        flux = runtime.get(("spec", "mlPolicy", "flux")) is not None
        shared = {"shared_memory_default": Field(False, source="the flux policy mounts it")} if flux else {}
        yield resolved.having(**shared)


def _alone(document: Document) -> Iterator[Role]:
    """The role of a TrainJob whose runtime is not at hand."""
    for role in pod.roles(joined.pod(document, _own(document)), ("spec",), pod.hints(document, ("metadata",))):
        yield _open(document, role)


def _open(document: Document, role: Role) -> Role:
    """A role of which the runtime, which is not at hand, may decide what the TrainJob does not state."""
    place = (Origin(document, REFERENCE),)
    decided = Field(Unknown(f"the runtime {document.get(REFERENCE)} decides", "another object"), place)
    fields = {"shared_memory_default": Field(False, source="the runtime may mount it")}
    for quantity in ("gpus_per_pod", "engine", "accelerator"):
        if quantity not in role.fields or not role.fields[quantity].origins:
            fields[quantity] = decided
    if "program" in role.fields:
        fields.pop("engine", None)
    return role.having(**fields)


def _counted(document: Document, runtime: Document | None, role: Role) -> Role:
    """The role with its nodes, and the ranks on each."""
    nodes = instance.count(document, (*TRAINER, "numNodes"), 1)
    if document.get((*TRAINER, "numNodes")) is None:
        nodes = _nodes(document, runtime)
    started = {} if role.text("checkpoint") else _initialised(document, runtime)
    counted = role.having(pods_per_replica=nodes, replicas=kinds.ONE_RUN, **_ranks(document), **started)
    return counted.having(gpus_per_replica=kubernetes.gpus_per_replica(counted))


def _nodes(document: Document, runtime: Document | None) -> Field:
    """The nodes that the runtime's policy states."""
    if runtime is None:
        reason = Unknown(f"the runtime {document.get(REFERENCE)} decides", "another object")
        return Field(reason, (Origin(document, REFERENCE),))
    nodes = instance.count(runtime, ("spec", "mlPolicy", "numNodes"), 1)
    return replace(nodes, origins=(Origin(document, REFERENCE), *nodes.origins))


def _initialised(document: Document, runtime: Document | None) -> dict[str, Field]:
    """The checkpoint that the model initializer fetches: the TrainJob's, else the runtime's."""
    own = document.get(("spec", "initializer", "model", "storageUri"))
    if isinstance(own, str):
        return _fetched(own, (Origin(document, ("spec", "initializer", "model", "storageUri")),))
    for job in kinds.items(runtime, ("spec", "template", "spec", "replicatedJobs")) if runtime else ():
        spec = (*job, "template", "spec", "template", "spec")
        if runtime is None or runtime.get((*job, "template", "metadata", "labels", STEP)) != "model-initializer":
            continue
        for container in kinds.items(runtime, (*spec, "containers")):
            if (uri := command.environment(runtime, container).get("STORAGE_URI")) is not None:
                return _fetched(uri.text or "", (Origin(document, REFERENCE), uri.origin))
    return {}


def _fetched(uri: str, origins: tuple[Origin, ...]) -> dict[str, Field]:
    return {"checkpoint": Field(uri, origins)} if uri.startswith("hf://") else {}


def _ranks(document: Document) -> Mapping[str, Field]:
    ranks = instance.count(document, (*TRAINER, "numProcPerNode"), 0)
    return {"processes_per_pod": ranks} if isinstance(ranks.value, int) and ranks.value else {}
