"""Dynamo: graphs of components, each a pod that the operator creates, on one or several nodes."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import NamedTuple

from gpulint.adapters import kubernetes, pods
from gpulint.adapters.claim import Claim
from gpulint.adapters.objects import merge, objective_annotations, synthetic
from gpulint.adapters.programs import replica
from gpulint.catalog import resource_names
from gpulint.source.documents import Document, Node, Path
from gpulint.source.repository import Repository
from gpulint.workload import Field, Origin, Role, Unknown, Workload

MENTIONS = ("nvidia.com/v1",)

GROUP = "nvidia.com"
GRAPH = "DynamoGraphDeployment"
COMPONENT = "DynamoComponentDeployment"
KINDS = frozenset(
    {
        (GROUP, GRAPH),
        (GROUP, COMPONENT),
        *((GROUP, kind) for kind in ("DynamoGraphDeploymentRequest", "DynamoModel", "DynamoCheckpoint")),
        (GROUP, "DynamoGraphDeploymentScalingAdapter"),
    }
)
MAIN = "main"
MOUNTED = "the Dynamo operator mounts /dev/shm, 8 GiB unless a size is stated (dynamo deploy/operator/api/v1beta1)"
RESOURCES = ("cpu", "memory")
GPU = resource_names.find_name("nvidia")
"""The resource that `gpu` requests without a gpuType.

Source: dynamo deploy/operator/api/v1alpha1/common.go.
"""


class Component(NamedTuple):
    """One component: its name, its path, and the variables that the graph gives all components."""

    name: str
    path: Path
    shared: Node | None


def claims(document: Document) -> Claim:
    return kubernetes.claim_kinds(document, KINDS)


def workloads(document: Document, repository: Repository) -> Iterator[Workload]:
    """Yield one workload with a role for each component that has GPUs or runs an engine."""
    roles = tuple(role for component in _find_components(document) for role in _read_roles(document, component))
    if roles:
        name = str(document.get(("metadata", "name")) or document.get(("kind",)))
        objectives = objective_annotations.read_planner(document)
        roles_with_objectives = tuple(replace(role, fields={**objectives, **role.fields}) for role in roles)
        yield Workload(name, "inference", "dynamo", document, (), roles_with_objectives)


def _find_components(document: Document) -> Iterator[Component]:
    """Yield the services of v1alpha1, the list of v1beta1, or the object's one component."""
    if document.get(("kind",)) == COMPONENT:
        name = document.get(("spec", "serviceName")) or document.get(("metadata", "name"))
        yield Component(str(name or COMPONENT), ("spec",), None)
        return
    if document.get(("kind",)) != GRAPH:
        return
    services, listed = document.get(("spec", "services")), document.get(("spec", "components"))
    shared = document.node(("spec", "envs")) or document.node(("spec", "env"))
    for name, service in services.items() if isinstance(services, dict) else ():
        if isinstance(service, dict):
            yield Component(str(name), ("spec", "services", name), shared)
    for at, component in enumerate(listed if isinstance(listed, list) else ()):
        if isinstance(component, dict):
            yield Component(str(component.get("name") or at), ("spec", "components", at), shared)


def _read_roles(document: Document, component: Component) -> Iterator[Role]:
    """Yield the containers of a component's pod with GPUs or an engine, on its number of nodes."""
    path = component.path
    spec = (
        _build_template_spec(document, component)
        if _is_template(document, path)
        else _build_extra_spec(document, component)
    )
    if spec is None:
        return
    made = merge.pod(document, spec)
    given = pods.hints(document, ("metadata",), path, (*path, "extraPodMetadata"), (*path, "podTemplate", "metadata"))
    for role in pods.roles(made, ("spec",), given):
        name = component.name if role.name in (MAIN, "0") else f"{component.name}/{role.name}"
        whole = replica.count_role(
            _complete_role(document, path, role), _count_nodes(document, path), _count_replicas(document, path)
        )
        yield replace(whole, name=name)


def _is_template(document: Document, path: Path) -> bool:
    return isinstance(document.get((*path, "podTemplate")), dict)


def _build_template_spec(document: Document, component: Component) -> Node | None:
    """Return the pod of v1beta1: as written, with the graph's variables in its main container."""
    spec = document.node((*component.path, "podTemplate", "spec"))
    if component.shared is None or spec is None:
        return spec
    at = synthetic.place(document, component.path)
    return merge.merge(synthetic.build_node({"containers": [{"name": MAIN, "env": component.shared}]}, at), spec)


def _build_extra_spec(document: Document, component: Component) -> Node | None:
    """Return the pod of v1alpha1.

    The main container gets the resources and variables that the service states.
    """
    path = component.path
    extra = merge.entries(document.node((*path, "extraPodSpec")))
    at = synthetic.place(document, path)
    stated: merge.Parts = {
        "name": MAIN,
        "resources": _build_resources(document, path),
        "env": _build_environment(document, component),
    }
    if secret := document.node((*path, "envFromSecret")):
        stated["envFrom"] = [{"secretRef": {"name": secret}}]
    own = extra.get("mainContainer", (None, None))[1]
    main = merge.merge(synthetic.build_node(stated, at), own)
    beside = merge.items(extra.get("containers", (None, None))[1])
    rest = [pair for key, pair in extra.items() if key not in ("mainContainer", "containers")]
    containers = (synthetic.word("containers", at), synthetic.build_node([main, *beside], at))
    return Node("mapping", at.start, at.end, [*rest, containers])


def _build_resources(document: Document, path: Path) -> merge.Parts:
    """Return the resources with Kubernetes' names; claims are passed on unchanged."""
    sides: merge.Parts = {
        side: _build_amounts(document, (*path, "resources", side))
        for side in ("limits", "requests")
        if isinstance(document.get((*path, "resources", side)), dict)
    }
    if claims := document.node((*path, "resources", "claims")):
        sides["claims"] = claims
    return sides


def _build_amounts(document: Document, path: Path) -> merge.Parts:
    amounts: merge.Parts = {name: document.node((*path, name)) for name in RESOURCES}
    kind = document.get((*path, "gpuType"))
    key, gpus = document.key_node((*path, "gpu")), document.node((*path, "gpu"))
    if key is not None and gpus is not None:
        amounts[synthetic.word(kind if isinstance(kind, str) and kind else GPU, key)] = gpus
    for pair in merge.entries(document.node((*path, "custom"))).values():
        amounts[pair[0]] = pair[1]
    return {name: amount for name, amount in amounts.items() if amount is not None}


def _build_environment(document: Document, component: Component) -> synthetic.Part:
    own = merge.items(document.node((*component.path, "envs")))
    return [*merge.items(component.shared), *own] or None


# ---- what the operator decides


def _complete_role(document: Document, path: Path, role: Role) -> Role:
    """Return a role with the mounted memory and the model that the component serves."""
    fields: dict[str, Field] = dict(role.fields)
    if fields["shared_memory_default"].value and not _is_shared_memory_off(document, path):
        fields["shared_memory_default"] = Field(False, source=MOUNTED)
    reference = Origin(document, (*path, "modelRef", "name"))
    stated = document.get(reference.path)
    if isinstance(stated, str) and role.value("checkpoint") is None:
        fields["checkpoint"] = Field(stated, (reference,))
    return replace(role, fields=fields)


def _is_shared_memory_off(document: Document, path: Path) -> bool:
    size = document.get((*path, "sharedMemorySize"))
    return document.get((*path, "sharedMemory", "disabled")) is True or str(size) == "0"


def _count_nodes(document: Document, path: Path) -> Field:
    if document.get((*path, "multinode")) is None:
        return replica.ONE_POD
    return replica.count(document, (*path, "multinode", "nodeCount"), 2, "default of Dynamo")


def _count_replicas(document: Document, path: Path) -> Field:
    """Return the replicas; a scaling adapter changes them from the stated number."""
    adapter = document.get((*path, "scalingAdapter"))
    if isinstance(adapter, Mapping) and (adapter.get("enabled") is True or _is_template(document, path)):
        at = Origin(document, (*path, "scalingAdapter"))
        return Field(Unknown("an autoscaler decides", "another object"), (at,))
    return replica.count(document, (*path, "replicas"), 1, "default of Dynamo")
