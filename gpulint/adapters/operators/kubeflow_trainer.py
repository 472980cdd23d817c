"""TrainJob: Kubeflow Trainer 2's runs, whose pods a training runtime describes."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace

from gpulint.adapters import kubernetes, pods
from gpulint.adapters.claim import Claim
from gpulint.adapters.objects import merge, pod_templates, synthetic
from gpulint.adapters.objects.synthetic import Part
from gpulint.adapters.pods import container_environment
from gpulint.adapters.programs import replica
from gpulint.source.documents import Document, Node, Path
from gpulint.source.repository import Repository
from gpulint.workload import Field, Origin, Role, Unknown, Workload

MENTIONS = ("trainer.kubeflow.org",)

GROUP = "trainer.kubeflow.org"
KINDS = frozenset({(GROUP, "TrainJob"), (GROUP, "TrainingRuntime"), (GROUP, "ClusterTrainingRuntime")})
STEP = "trainer.kubeflow.org/trainjob-ancestor-step"
NODE = "node"
"""The job and the container of a runtime that a TrainJob's trainer overrides: kubeflow/trainer
v2.2.0 pkg/constants/constants.go.
"""
REFERENCE: Path = ("spec", "runtimeRef", "name")
TRAINER: Path = ("spec", "trainer")


def claims(document: Document) -> Claim:
    return kubernetes.claim_kinds(document, KINDS)


def workloads(document: Document, repository: Repository) -> Iterator[Workload]:
    """Yield the run of a TrainJob. A runtime by itself is only a template."""
    if document.get(("kind",)) != "TrainJob":
        return
    runtime = _find_runtime(document, repository)
    made = tuple(_merge(document, runtime) if runtime else _read_alone(document))
    roles = tuple(_add_counts(document, runtime, role) for role in made)
    if roles:
        name = str(document.get(("metadata", "name")) or "TrainJob")
        yield Workload(name, "training", "kubeflow_trainer", document, (), roles)


def _find_runtime(document: Document, repository: Repository) -> Document | None:
    """Return the one runtime of that kind and name in the repository."""
    kind = str(document.get(("spec", "runtimeRef", "kind")) or "ClusterTrainingRuntime")
    name = str(document.get(REFERENCE))
    runtimes = document.find_beside(kind, name) or repository.objects(kind, name, document.path)
    own = [runtime for runtime in runtimes if str(runtime.get(("apiVersion",))).startswith(f"{GROUP}/")]
    return own[0] if len(own) == 1 else None


def _read_own_pod(document: Document) -> Node:
    """Return the pod spec of the TrainJob itself: its trainer's container and its patches."""
    container: dict[str | Node, Part] = {
        key: document.node((*TRAINER, key)) for key in ("image", "command", "args", "env")
    }
    asked = document.node((*TRAINER, "resourcesPerNode"))
    spec: dict[str | Node, Part] = {
        key: document.node((*patch, key)) for patch in _list_patches(document) for key in ("nodeSelector", "affinity")
    }
    whole: Part = {"containers": [{"name": NODE, **container, "resources": asked}], **spec}
    return synthetic.build_node(whole, synthetic.place(document, TRAINER))


def _list_patches(document: Document) -> Iterator[Path]:
    """Yield the pod specs of patches, by today's key and those of Trainer 2.0 and 2.1."""
    for patch in pod_templates.items(document, ("spec", "runtimePatches")):
        for job in pod_templates.items(document, (*patch, "trainingRuntimeSpec", "template", "spec", "replicatedJobs")):
            if document.get((*job, "name")) == NODE:
                yield (*job, "template", "spec", "template", "spec")
    for key, inner in (("podTemplateOverrides", ("spec",)), ("podSpecOverrides", ())):
        for override in pod_templates.items(document, ("spec", key)):
            if any(
                document.get((*job, "name")) == NODE for job in pod_templates.items(document, (*override, "targetJobs"))
            ):
                yield (*override, *inner)


def _find_node(runtime: Document) -> Path | None:
    """Return the pod spec of the runtime's training job."""
    for job in pod_templates.items(runtime, ("spec", "template", "spec", "replicatedJobs")):
        step = runtime.get((*job, "template", "metadata", "labels", STEP))
        if step == "trainer" or (step is None and runtime.get((*job, "name")) == NODE):
            return (*job, "template", "spec", "template", "spec")
    return None


def _merge(document: Document, runtime: Document) -> Iterator[Role]:
    """Yield the roles of the runtime's pod, with the TrainJob's overrides."""
    reference, places = Origin(document, REFERENCE), merge.Places()
    node = _find_node(runtime)
    described = places.copy(runtime, node, reference) if node else None
    spec = merge.merge(described, _read_own_pod(document))
    if spec is None or described is None:
        yield from _read_alone(document)
        return
    for role in pods.roles(merge.pod(document, spec), ("spec",), pods.hints(document, ("metadata",))):
        resolved = places.resolve(role)
        flux = runtime.get(("spec", "mlPolicy", "flux")) is not None
        shared = {"shared_memory_default": Field(False, source="the flux policy mounts it")} if flux else {}
        yield resolved.having(**shared)


def _read_alone(document: Document) -> Iterator[Role]:
    """Yield the role of a TrainJob whose runtime is not in the repository."""
    for role in pods.roles(
        merge.pod(document, _read_own_pod(document)), ("spec",), pods.hints(document, ("metadata",))
    ):
        yield _defer_to_runtime(document, role)


def _defer_to_runtime(document: Document, role: Role) -> Role:
    """Return a role whose missing runtime may decide what the TrainJob leaves unset."""
    place = (Origin(document, REFERENCE),)
    decided = Field(Unknown(f"the runtime {document.get(REFERENCE)} decides", "another object"), place)
    fields = {"shared_memory_default": Field(False, source="the runtime may mount it")}
    for quantity in ("gpus_per_pod", "engine", "accelerator"):
        if quantity not in role.fields or not role.fields[quantity].origins:
            fields[quantity] = decided
    if "program" in role.fields:
        fields.pop("engine", None)
    return role.having(**fields)


def _add_counts(document: Document, runtime: Document | None, role: Role) -> Role:
    """Return the role with its nodes, and the ranks on each."""
    nodes = replica.count(document, (*TRAINER, "numNodes"), 1)
    if document.get((*TRAINER, "numNodes")) is None:
        nodes = _read_nodes(document, runtime)
    started = {} if role.text("checkpoint") else _find_checkpoint(document, runtime)
    counted = role.having(pods_per_replica=nodes, replicas=pod_templates.ONE_RUN, **_read_ranks(document), **started)
    return counted.having(gpus_per_replica=kubernetes.gpus_per_replica(counted))


def _read_nodes(document: Document, runtime: Document | None) -> Field:
    """Return the nodes of the runtime's policy."""
    if runtime is None:
        reason = Unknown(f"the runtime {document.get(REFERENCE)} decides", "another object")
        return Field(reason, (Origin(document, REFERENCE),))
    nodes = replica.count(runtime, ("spec", "mlPolicy", "numNodes"), 1)
    return replace(nodes, origins=(Origin(document, REFERENCE), *nodes.origins))


def _find_checkpoint(document: Document, runtime: Document | None) -> dict[str, Field]:
    """Return the checkpoint that the model initializer fetches: the TrainJob's, else the runtime's."""
    own = document.get(("spec", "initializer", "model", "storageUri"))
    if isinstance(own, str):
        return _read_fetched(own, (Origin(document, ("spec", "initializer", "model", "storageUri")),))
    for job in pod_templates.items(runtime, ("spec", "template", "spec", "replicatedJobs")) if runtime else ():
        spec = (*job, "template", "spec", "template", "spec")
        if runtime is None or runtime.get((*job, "template", "metadata", "labels", STEP)) != "model-initializer":
            continue
        for container in pod_templates.items(runtime, (*spec, "containers")):
            if (uri := container_environment.read(runtime, container).get("STORAGE_URI")) is not None:
                return _read_fetched(uri.text or "", (Origin(document, REFERENCE), uri.origin))
    return {}


def _read_fetched(uri: str, origins: tuple[Origin, ...]) -> dict[str, Field]:
    return {"checkpoint": Field(uri, origins)} if uri.startswith("hf://") else {}


def _read_ranks(document: Document) -> Mapping[str, Field]:
    ranks = replica.count(document, (*TRAINER, "numProcPerNode"), 0)
    return {"processes_per_pod": ranks} if isinstance(ranks.value, int) and ranks.value else {}
