"""Kubernetes: the workloads of objects, by group and kind; pods inside any kind that carries `containers`."""

from __future__ import annotations

import math
import posixpath
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace

from gpulint import adapters, engines
from gpulint.adapters import (
    instance,
    joins,
    kinds,
    kustomize_patches,
    network,
    operators,
    pod,
    pools,
    ray_cluster,
    training_kinds,
)
from gpulint.adapters.kinds import Kind, Template
from gpulint.documents import Document, Path
from gpulint.facts import glossary
from gpulint.repository import Repository
from gpulint.workload import Field, Origin, Role, Unknown, Workload

MENTIONS = ("kind",)

DESCRIPTIVE = frozenset(
    {
        *(
            "admissionregistration.k8s.io",
            "apiextensions.k8s.io",
            "apiregistration.k8s.io",
            "rbac.authorization.k8s.io",
        ),
        *("kustomize.config.k8s.io", "monitoring.coreos.com", "policy", "networking.k8s.io", "storage.k8s.io"),
    }
)
"""Groups whose objects hold no pods, whatever they describe: their schemas and rules are never walked."""
TEMPLATES = frozenset(
    {("", "PodTemplate"), ("serving.kserve.io", "ServingRuntime"), ("serving.kserve.io", "ClusterServingRuntime")}
)
"""Objects that only say what pods of other objects look like."""
WRAPPERS: Mapping[tuple[str, str], tuple[Path, str]] = {
    ("workload.codeflare.dev", "AppWrapper"): (("spec", "components"), "template"),
    ("mcad.ibm.com", "AppWrapper"): (("spec", "resources", "GenericItems"), "generictemplate"),
    ("template.openshift.io", "Template"): (("objects",), ""),
}
"""Objects that hold whole other objects: project-codeflare/appwrapper v1.2.1 api/v1beta2/appwrapper_types.go.

An OpenShift Template (openshift/api 344baf8 template/v1/types.go) says `${NAME}` where whoever uses it decides.
"""
LAUNCHERS = frozenset({"launcher", "master"})
"""Templates of a run whose one pod may start the ranks of the others."""
NODE_AGENTS = frozenset({"DaemonSet"})
"""Kinds that look after nodes, which is what they are privileged for."""
MULTIPLIERS = ("gpus_per_pod", "pods_per_replica", "gpus_per_replica", "replicas")
STEERING = ("nodeSelector", "affinity", "nodeName", "resourceClaims", "runtimeClassName", "topologySpreadConstraints")
KINDS_READ: Mapping[tuple[str, str], Kind] = {**kinds.PLAIN, **training_kinds.TRAINING, **ray_cluster.RAY}


def claims(document: Document) -> bool:
    """Kubernetes objects have a group and a kind; the kinds of other adapters, gpulint's own among them, are theirs."""
    data = document.data
    if not isinstance(data, dict) or str(data.get("apiVersion", "")).startswith("gpulint/"):
        return False
    if not (isinstance(data.get("apiVersion"), str) and isinstance(data.get("kind"), str)):
        return False
    return group_and_kind(data) not in _read_elsewhere(document)


def unread(document: Document) -> bool:
    """Whether an object is of a kind that nobody described, so that what it asks for may be a workload."""
    found = group_and_kind(document.data) if isinstance(document.data, dict) else ("", "")
    return found not in {*KINDS_READ, *TEMPLATES, *WRAPPERS} and found[0] not in DESCRIPTIVE


def group_and_kind(data: Mapping[str, object]) -> tuple[str, str]:
    """What a kind is told by: the group of its API without the version, and its name."""
    return str(data.get("apiVersion", "")).rpartition("/")[0], str(data.get("kind"))


def _read_elsewhere(document: Document) -> frozenset[tuple[str, str]]:
    """The group and kind of objects that have an adapter of their own, of those that a file may hold."""
    others = (module for module in adapters.mentioned(document) if module.__name__ != __name__)
    return frozenset(kind for module in others for kind in getattr(module, "KINDS", ()) if isinstance(kind, tuple))


def workloads(document: Document, repository: Repository) -> Iterator[Workload]:
    """The workloads of an object, or of each object that it wraps."""
    data = document.data
    if not isinstance(data, dict):
        return
    if "resourceClaim" in document.text:
        from gpulint.adapters import device_claims

        device_claims.complete(document, repository)
    wrapped = tuple(_wrapped(document, data))
    for inner in wrapped:
        yield from adapters.read(inner, repository)
    if not wrapped and not kustomize_patches.is_one(document, repository):
        yield from _patchable(_object(document, data), document, repository)


def _wrapped(document: Document, data: Mapping[str, object]) -> Iterator[Document]:
    """The objects inside a List or an AppWrapper, each as a document of its own."""
    if str(data.get("kind", "")).endswith("List"):
        places = list(kinds.items(document, ("items",)))
    else:
        listed, key = WRAPPERS.get(group_and_kind(data), ((), ""))
        inner = (key,) if key else ()
        places = [(*at, *inner) for at in kinds.items(document, listed)] if listed else []
    found = [
        Document(document.path, document.index, document.text, node, document.format)
        for at in places
        if (node := document.node(at))
    ]
    for one in found:
        one.beside = (*document.beside, *found)
        yield one


def _object(document: Document, data: Mapping[str, object]) -> Iterator[Workload]:
    group, kind = group_and_kind(data)
    if group in DESCRIPTIVE or (group, kind) in TEMPLATES:
        return
    known = KINDS_READ.get((group, kind), Kind(kinds.any_kind))
    found = [(template, tuple(_roles(document, (group, kind), template))) for template in known.templates(document, ())]
    roles = tuple(role for _, made in found for role in made)
    if roles:
        if known.joined:
            roles = _joined(known.joined, _started_from(document, found, _selected(document, found)))
        else:
            roles = tuple(map(_open_to_others, roles))
        yield Workload(_name(data), purpose(roles, known.purpose), "kubernetes", document, (), roles)


def _patchable(found: Iterator[Workload], document: Document, repository: Repository) -> Iterator[Workload]:
    """Workloads of a file beside which kustomize's instructions stand: that containers ask for no GPUs is not known."""
    folder = posixpath.dirname(document.path)
    if any(repository.exists(posixpath.join(folder, name)) for name in joins.KUSTOMIZATIONS):
        names = ("engine_image", "devices_unscheduled", "unmounted_memory_volume", "moving_image")
        absent = {name: Field(None) for name in (*names, *network.FACTS)}
        found = (replace(one, roles=tuple(role.having(**absent) for role in one.roles)) for one in found)
    yield from found


def _name(data: Mapping[str, object]) -> str:
    metadata = data.get("metadata")
    named = metadata if isinstance(metadata, dict) else {}
    return str(named.get("name") or named.get("generateName") or data.get("kind"))


def purpose(roles: Sequence[Role], otherwise: str) -> str:
    """An object that runs an inference engine is an inference service, whatever its kind; one that runs a trainer trains."""
    purposes = {_engine_purpose(role) for role in roles}
    return next((one for one in ("inference", "training") if one in purposes), otherwise)


# ---- roles


def _roles(document: Document, kind: tuple[str, str], template: Template) -> Iterator[Role]:
    annotations = pod.hints(document, ("metadata",), (*template.spec[:-1], "metadata"))
    for read in pod.roles(document, template.spec, annotations, template.variables):
        role = _without_images(document, read) if template.own_start else read
        name = f"{template.name}/{role.name}" if template.name else role.name
        fields = {**template.fields, **_networked(document, kind, template, role), **role.fields, **_injected(kind)}
        fields.update(pods_per_replica=template.pods_per_replica, replicas=template.replicas)
        if kind[1] in NODE_AGENTS:
            fields.pop("privileged", None)
        counted = replace(role, name=name, fields=fields | _queued(document, template, fields))
        yield counted.having(gpus_per_replica=gpus_per_replica(counted))


def _without_images(document: Document, role: Role) -> Role:
    """A role whose container the operator starts by a command of its own: its image alone runs nothing."""
    at = role.anchor.path[: role.anchor.path.index("containers") + 2] if "containers" in role.anchor.path else ()
    if not at or any(document.get((*at, key)) for key in ("command", "args")):
        return role
    kept = {name: field for name, field in role.fields.items() if not _of_engine(name)}
    return replace(role, fields=kept, arguments=None, open_ended="")


def _of_engine(name: str) -> bool:
    row = glossary().get(name)
    return name in ("engine", "engine_version", "program") or (row is not None and row.of == "engine")


def _networked(document: Document, kind: tuple[str, str], template: Template, role: Role) -> dict[str, Field]:
    """What a container with GPUs says of its network, of kinds whose operator adds no network of its own."""
    at = role.anchor.path
    if operators.adds(*kind, "shared_memory") is None or "accelerator_resource" not in role.fields:
        return {}
    listed = next((key for key in ("containers", "initContainers") if key in at), "")
    if not listed:
        return {}
    machine = network.of_machines(role.fields.get("cloud"), role.fields.get("accelerator"), role.value("gpus_per_pod"))
    return {**network.of(document, template.spec, at[: at.index(listed) + 2]), **machine}


def _injected(kind: tuple[str, str]) -> dict[str, Field]:
    """What the kind's operator may add; of a kind that has not been looked up, anything."""
    row = operators.adds(*kind, "shared_memory")
    if row is None:
        source = "the operator may mount it"
        absent = {name: Field(None) for name in ("engine_image", "devices_unscheduled", "unmounted_memory_volume")}
        return {"shared_memory_default": Field(False, source=source), **absent}
    if row["value"] == "mounted":
        return {"shared_memory_default": Field(False, source=f"the operator mounts it ({row['source']})")}
    return {}


def _queued(document: Document, template: Template, fields: Mapping[str, Field]) -> dict[str, Field]:
    """That a queue decides the cards of a role for which nothing else does."""
    if "accelerator" in fields or fields["gpus_per_pod"].value == 0:
        return {}
    for path in (("metadata", "labels"), (*template.spec[:-1], "metadata", "labels")):
        for key in pools.QUEUES:
            if isinstance(name := document.get((*path, key)), str):
                decided = Unknown(f"the queue {name} determines the GPU model", "queue or partition")
                return {"accelerator": Field(decided, (Origin(document, (*path, key)),))}
    return {}


def gpus_per_replica(role: Role) -> Field:
    """The GPUs of one instance: those of a pod times its pods."""
    return instance.product(role.fields["gpus_per_pod"], role.fields["pods_per_replica"])


# ---- one instance of several roles


def _joined(together: str, roles: tuple[Role, ...]) -> tuple[Role, ...]:
    """Roles that form one instance: the first with an engine counts the GPUs of them all, the others are part of it."""
    if together == kinds.RUN and sum(map(_serves, roles)) > 1:
        return tuple(_alone(role) for role in roles)
    if len(roles) < 2:
        return tuple(_alone(role) for role in roles)
    leading = next((role for role in roles if role.text("engine")), roles[0])
    counts = [role.value("gpus_per_replica") for role in roles]
    origins = tuple(origin for role in roles for origin in role.fields["gpus_per_replica"].origins)
    unknown = next((count for count in counts if isinstance(count, Unknown)), None)
    total = unknown or sum(count for count in counts if isinstance(count, int | float))
    return tuple(
        role.having(gpus_per_replica=Field(total, origins))
        if role is leading
        else role.having(part_of=Field(leading.name, source=f"one {together}"))
        for role in roles
    )


def _serves(role: Role) -> bool:
    return _engine_purpose(role) == "inference"


def _engine_purpose(role: Role) -> str:
    """What the engine of a role is for; empty where it has none."""
    return engines.purpose(role.text("engine")) if role.text("engine") else ""


def _started_from(
    document: Document, found: Sequence[tuple[Template, tuple[Role, ...]]], roles: tuple[Role, ...]
) -> tuple[Role, ...]:
    """A launcher without GPUs starts the ranks in the pods of the one role that has some: what it runs is said of it."""
    launchers = [template for template, _ in found if template.name.lower() in LAUNCHERS]
    waiting = [role for role in roles if not role.text("engine") and not _asks_for_none(role)]
    if (
        len(launchers) != 1
        or len(waiting) != 1
        or any(not _asks_for_none(role) for role in roles if role not in waiting)
    ):
        return roles
    started = pod.launched(document, launchers[0].spec, launchers[0].variables)
    if started is None or not waiting[0].name.lower().startswith("worker"):
        return roles
    kept = {name: field for name, field in waiting[0].fields.items() if name not in ("engine", "program")}
    counted = {name: waiting[0].fields[name] for name in MULTIPLIERS}
    ranks = replace(waiting[0], fields={**kept, **started.fields, **counted})
    return (replace(ranks, arguments=started.arguments, open_ended=started.open_ended),)


def _asks_for_none(role: Role) -> bool:
    return role.value("accelerator_resource") is None and not role.fields["gpus_per_pod"].origins


def _selected(document: Document, found: Sequence[tuple[Template, tuple[Role, ...]]]) -> tuple[Role, ...]:
    """The roles of one instance; those of pods that any node may take say so where a sibling is pinned to an accelerator."""
    pinned = [
        role for _, roles in found for role in roles if role.text("accelerator") and role.fields["accelerator"].origins
    ]
    roles: list[Role] = []
    for template, made in found:
        free = not _steered(document, template.spec)
        for role in made:
            like = (
                one for one in pinned if one.text("accelerator_resource") == role.text("accelerator_resource") != ""
            )
            other = next(like, None) if free else None
            roles.append(role.having(selector_missing=_lacking(document, template, other)) if other else role)
    return tuple(roles)


def _steered(document: Document, spec: Path) -> bool:
    """Whether anything decides which nodes pods run on: a selector, affinity, claim, queue or topology."""
    if any(document.get((*spec, key)) for key in STEERING):
        return True
    metadata = [document.get(path) for path in (("metadata",), (*spec[:-1], "metadata"))]
    given = [one.get(part) for one in metadata if isinstance(one, dict) for part in ("labels", "annotations")]
    return any(key in pools.QUEUES or "topology" in str(key) for one in given if isinstance(one, dict) for key in one)


def _lacking(document: Document, template: Template, other: Role) -> Field:
    """The selector of another role, at the template that has none."""
    selector = other.fields["accelerator"].origins[0]
    own = template.spec[:-1] if template.spec[-1] == "spec" else template.spec
    return Field(f"{selector.path[-1]}: {selector.text()}", (Origin(document, own), selector))


def _alone(role: Role) -> Role:
    """A role whose every pod may serve by itself: its parallelism fits in one, and nothing joins them."""
    sizes = [role.value(name) for name in ("tensor_parallel", "pipeline_parallel")]
    occupied = math.prod(size for size in sizes if isinstance(size, int))
    per_pod = role.value("gpus_per_pod")
    shared = role.value("multi_node") or not _serves(role) or not isinstance(per_pod, int) or occupied > per_pod
    if shared or role.value("pods_per_replica") == 1:
        return role
    reason = Unknown("whether the pods of the group serve together is not stated")
    return role.having(gpus_per_replica=Field(reason, role.fields["gpus_per_replica"].origins))


def _open_to_others(role: Role) -> Role:
    """A role whose arguments let GPUs of other pods join has no GPU count of its own."""
    if not role.value("multi_node"):
        return role
    reason = Unknown(f"which other GPUs take part is decided elsewhere ({role.fields['multi_node'].source})")
    return role.having(gpus_per_replica=Field(reason, role.fields["gpus_per_replica"].origins))
