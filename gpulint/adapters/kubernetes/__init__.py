"""Kubernetes: the workloads of objects, by group and kind.

Pods in any kind with `containers` are read too.
"""

from __future__ import annotations

import math
import posixpath
from collections.abc import Iterator, Mapping, Sequence, Set
from dataclasses import replace

from gpulint import adapters, engines
from gpulint.adapters import pods
from gpulint.adapters.claim import Claim
from gpulint.adapters.kubernetes import kustomize_patches
from gpulint.adapters.nodes.pool import QUEUES
from gpulint.adapters.objects import controllers, kubeflow_v1_kinds, pod_templates, ray_kinds, references
from gpulint.adapters.objects.pod_templates import Kind, Template
from gpulint.adapters.pods import network
from gpulint.adapters.programs import replica
from gpulint.facts.glossary import glossary
from gpulint.source.documents import Beside, Document, Path
from gpulint.source.repository import Repository
from gpulint.workload import Field, Origin, Role, Unknown, Workload

MENTIONS = ("kind",)
TRIGGERS = ()
CLAIMS = ("shape",)

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
"""API groups whose objects have no pods; their schemas and rules are never searched."""
TEMPLATES = frozenset(
    {("", "PodTemplate"), ("serving.kserve.io", "ServingRuntime"), ("serving.kserve.io", "ClusterServingRuntime")}
)
"""Objects that only describe pods of other objects."""
WRAPPERS: Mapping[tuple[str, str], tuple[Path, str]] = {
    ("workload.codeflare.dev", "AppWrapper"): (("spec", "components"), "template"),
    ("mcad.ibm.com", "AppWrapper"): (("spec", "resources", "GenericItems"), "generictemplate"),
    ("template.openshift.io", "Template"): (("objects",), ""),
}
"""Objects that contain complete other objects.

Sources: project-codeflare/appwrapper v1.2.1 api/v1beta2/appwrapper_types.go; openshift/api 344baf8
template/v1/types.go, whose Template has `${NAME}` for values that its user decides.
"""
LAUNCHERS = frozenset({"launcher", "master"})
"""Templates of a run whose single pod may start the ranks of the others."""
NODE_AGENTS = frozenset({"DaemonSet"})
"""Kinds that manage nodes and are privileged for that."""
MULTIPLIERS = ("gpus_per_pod", "pods_per_replica", "gpus_per_replica", "replicas")
STEERING = ("nodeSelector", "affinity", "nodeName", "resourceClaims", "runtimeClassName", "topologySpreadConstraints")
KINDS_READ: Mapping[tuple[str, str], Kind] = {**pod_templates.PLAIN, **kubeflow_v1_kinds.TRAINING, **ray_kinds.RAY}


def claims(document: Document) -> Claim:
    """Claim a Kubernetes object: it has a group and a kind, which are not gpulint's own."""
    data = document.data
    if not isinstance(data, dict) or str(data.get("apiVersion", "")).startswith("gpulint/"):
        return Claim.NONE
    is_object = isinstance(data.get("apiVersion"), str) and isinstance(data.get("kind"), str)
    return Claim.SHAPE.where(is_object)


def claim_kinds(document: Document, kinds: Set[tuple[str, str]]) -> Claim:
    """Claim an object by its group and kind."""
    data = document.data
    return Claim.EXACT.where(isinstance(data, dict) and group_and_kind(data) in kinds)


def unread(document: Document) -> bool:
    """Return whether an object's kind is unknown, so that it may be a workload."""
    identity = group_and_kind(document.data) if isinstance(document.data, dict) else ("", "")
    return identity not in {*KINDS_READ, *TEMPLATES, *WRAPPERS} and identity[0] not in DESCRIPTIVE


def is_patch(document: Document, repository: Repository) -> bool:
    """Return whether an object is a patch, which is never checked as a whole object."""
    return isinstance(document.data, dict) and kustomize_patches.is_patch(document, repository)


def group_and_kind(data: Mapping[str, object]) -> tuple[str, str]:
    """Return what identifies a kind: its API group without the version, and its name."""
    return str(data.get("apiVersion", "")).rpartition("/")[0], str(data.get("kind"))


def workloads(document: Document, repository: Repository) -> Iterator[Workload]:
    """Yield the workloads of an object, or of each object that it wraps."""
    data = document.data
    if not isinstance(data, dict):
        return
    if document.mentions("resourceClaim"):
        from gpulint.adapters.pods import device_claims

        device_claims.complete(document, repository)
    wrapped = tuple(_unwrap(document, data))
    for inner in wrapped:
        yield from adapters.read(inner, repository)
    if not wrapped and not kustomize_patches.is_patch(document, repository):
        yield from _allow_for_patches(_read_object(document, data), document, repository)


def _unwrap(document: Document, data: Mapping[str, object]) -> Iterator[Document]:
    """Yield the objects in a List or an AppWrapper, each as a document of its own."""
    if str(data.get("kind", "")).endswith("List"):
        places = list(pod_templates.items(document, ("items",)))
    else:
        listed, key = WRAPPERS.get(group_and_kind(data), ((), ""))
        inner = (key,) if key else ()
        places = [(*at, *inner) for at in pod_templates.items(document, listed)] if listed else []
    objects = [
        Document(document.path, document.index, document.text, node, document.format)
        for at in places
        if (node := document.node(at))
    ]
    beside = Beside((*document.beside, *objects)) if objects else Beside()
    for wrapped in objects:
        wrapped.beside = beside
        yield wrapped


def _read_object(document: Document, data: Mapping[str, object]) -> Iterator[Workload]:
    group, kind = group_and_kind(data)
    if group in DESCRIPTIVE or (group, kind) in TEMPLATES:
        return
    description = KINDS_READ.get((group, kind), Kind(pod_templates.read_any_kind))
    templates = [
        (template, tuple(_read_roles(document, (group, kind), template)))
        for template in description.templates(document, ())
    ]
    roles = tuple(role for _, made in templates for role in made)
    without = tuple(_read_without_gpus(document, tuple(template for template, _ in templates)))
    if roles:
        if description.joined:
            roles = _merge_roles(
                description.joined, _apply_launcher(document, templates, _mark_missing_selectors(document, templates))
            )
        else:
            roles = tuple(map(_open_multi_node, roles))
    if roles or without:
        kept = _leave_out_known(without, roles)
        aim = purpose(roles, description.purpose)
        yield Workload(_read_name(data), aim, "kubernetes", document, (), (*roles, *kept))


def _allow_for_patches(
    workloads_of_file: Iterator[Workload], document: Document, repository: Repository
) -> Iterator[Workload]:
    """Yield the workloads of a file; a Kustomization next to it may add GPU requests to them."""
    folder = posixpath.dirname(document.path)
    if any(repository.exists(posixpath.join(folder, name)) for name in references.KUSTOMIZATIONS):
        names = ("engine_image", "devices_unscheduled", "unmounted_memory_volume")
        absent = {name: Field(None) for name in (*names, *network.FACTS)}
        workloads_of_file = (
            replace(workload, roles=tuple(role.having(**absent) for role in workload.roles))
            for workload in workloads_of_file
        )
    yield from workloads_of_file


def _read_name(data: Mapping[str, object]) -> str:
    metadata = data.get("metadata")
    named = metadata if isinstance(metadata, dict) else {}
    return str(named.get("name") or named.get("generateName") or data.get("kind"))


def purpose(roles: Sequence[Role], otherwise: str) -> str:
    """Return what an object is for, by its engine and whatever its kind.

    An inference engine makes it an inference service, and a trainer makes it a training job.
    """
    purposes = {_find_purpose(role) for role in roles}
    return next((candidate for candidate in ("inference", "training") if candidate in purposes), otherwise)


# ---- roles


def _read_roles(document: Document, kind: tuple[str, str], template: Template) -> Iterator[Role]:
    annotations = pods.hints(document, ("metadata",), (*template.spec[:-1], "metadata"))
    for read in pods.roles(document, template.spec, annotations, template.variables):
        role = _remove_image_program(document, read) if template.own_start else read
        name = f"{template.name}/{role.name}" if template.name else role.name
        fields = {
            **template.fields,
            **_read_network(document, kind, template, role),
            **role.fields,
            **_allow_for_operator(kind),
        }
        fields.update(pods_per_replica=template.pods_per_replica, replicas=template.replicas)
        if kind[1] in NODE_AGENTS:
            fields.pop("privileged", None)
        counted = replace(role, name=name, fields=fields | _read_queue(document, template, fields))
        yield counted.having(gpus_per_replica=gpus_per_replica(counted))


def _read_without_gpus(document: Document, templates: Sequence[Template]) -> Iterator[Role]:
    """Yield the containers without GPUs whose variables or words hold a mistake."""
    for template in templates:
        for role in pods.list_without_gpus(document, template.spec, template.variables):
            counts = dict.fromkeys(("pods_per_replica", "replicas"), Field(1, (role.anchor,)))
            name = f"{template.name}/{role.name}" if template.name else role.name
            yield replace(role, name=name).having(**counts, gpus_per_replica=role.fields["gpus_per_pod"])


def _leave_out_known(without: Sequence[Role], roles: Sequence[Role]) -> Iterator[Role]:
    """Yield the containers without GPUs that state more than what was applied to the pods whose ranks they start."""
    known = {(name, field.value) for role in roles for name, field in role.fields.items() if name in pods.MISTAKES}
    for role in without:
        if any(name in pods.MISTAKES and (name, field.value) not in known for name, field in role.fields.items()):
            yield role


def _remove_image_program(document: Document, role: Role) -> Role:
    """Return a role without its image's program if the operator starts a command of its own."""
    at = role.anchor.path[: role.anchor.path.index("containers") + 2] if "containers" in role.anchor.path else ()
    if not at or any(document.get((*at, key)) for key in ("command", "args")):
        return role
    kept = {name: field for name, field in role.fields.items() if not _is_engine_fact(name)}
    return replace(role, fields=kept, arguments=None, open_ended="")


def _is_engine_fact(name: str) -> bool:
    row = glossary().get(name)
    return name in ("engine", "engine_version", "program") or (row is not None and row.of == "engine")


def _read_network(document: Document, kind: tuple[str, str], template: Template, role: Role) -> dict[str, Field]:
    """Return the network of a container with GPUs, unless the kind's operator adds one."""
    at = role.anchor.path
    if controllers.find_addition(*kind, "shared_memory") is None or "accelerator_resource" not in role.fields:
        return {}
    listed = next((key for key in ("containers", "initContainers") if key in at), "")
    if not listed:
        return {}
    machine = network.find_machine_network(
        role.fields.get("cloud"), role.fields.get("accelerator"), role.value("gpus_per_pod")
    )
    return {**network.read_network(document, template.spec, at[: at.index(listed) + 2]), **machine}


def _allow_for_operator(kind: tuple[str, str]) -> dict[str, Field]:
    """Return what the kind's operator may add; for an unlisted kind that is anything."""
    row = controllers.find_addition(*kind, "shared_memory")
    if row is None:
        source = "the operator may mount it"
        absent = {name: Field(None) for name in ("engine_image", "devices_unscheduled", "unmounted_memory_volume")}
        return {"shared_memory_default": Field(False, source=source), **absent}
    if row["value"] == "mounted":
        return {"shared_memory_default": Field(False, source=f"the operator mounts it ({row['source']})")}
    return {}


def _read_queue(document: Document, template: Template, fields: Mapping[str, Field]) -> dict[str, Field]:
    """Return the queue that decides the GPU model of a role if nothing else does."""
    if "accelerator" in fields or fields["gpus_per_pod"].value == 0:
        return {}
    for path in (("metadata", "labels"), (*template.spec[:-1], "metadata", "labels")):
        for key in QUEUES:
            if isinstance(name := document.get((*path, key)), str):
                decided = Unknown(f"the accelerator depends on the queue {name}", "queue or partition")
                return {"accelerator": Field(decided, (Origin(document, (*path, key)),))}
    return {}


def gpus_per_replica(role: Role) -> Field:
    """Return the GPUs of one instance: those of a pod times its pods."""
    return replica.product(role.fields["gpus_per_pod"], role.fields["pods_per_replica"])


# ---- one instance of several roles


def _merge_roles(together: str, roles: tuple[Role, ...]) -> tuple[Role, ...]:
    """Merge roles that form one instance.

    The first with an engine counts the GPUs of all; the others are part of it.
    """
    if together == pod_templates.RUN and sum(map(_serves, roles)) > 1:
        return tuple(_open_single_pods(role) for role in roles)
    if len(roles) < 2:
        return tuple(_open_single_pods(role) for role in roles)
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
    return _find_purpose(role) == "inference"


def _find_purpose(role: Role) -> str:
    """Return what the engine of a role is for; empty without an engine."""
    return engines.find_purpose(role.text("engine")) if role.text("engine") else ""


def _apply_launcher(
    document: Document, templates: Sequence[tuple[Template, tuple[Role, ...]]], roles: tuple[Role, ...]
) -> tuple[Role, ...]:
    """Apply what a launcher without GPUs runs to the pods whose ranks it starts.

    This requires exactly one role with GPUs.
    """
    launchers = [template for template, _ in templates if template.name.lower() in LAUNCHERS]
    waiting = [role for role in roles if not role.text("engine") and not _asks_for_none(role)]
    if (
        len(launchers) != 1
        or len(waiting) != 1
        or any(not _asks_for_none(role) for role in roles if role not in waiting)
    ):
        return roles
    started = pods.read_launched(document, launchers[0].spec, launchers[0].variables)
    if started is None or not waiting[0].name.lower().startswith("worker"):
        return roles
    kept = {name: field for name, field in waiting[0].fields.items() if name not in ("engine", "program")}
    counted = {name: waiting[0].fields[name] for name in MULTIPLIERS}
    ranks = replace(waiting[0], fields={**kept, **started.fields, **counted})
    return (replace(ranks, arguments=started.arguments, open_ended=started.open_ended),)


def _asks_for_none(role: Role) -> bool:
    return role.value("accelerator_resource") is None and not role.fields["gpus_per_pod"].origins


def _mark_missing_selectors(
    document: Document, templates: Sequence[tuple[Template, tuple[Role, ...]]]
) -> tuple[Role, ...]:
    """Return the roles of one instance, marked if they lack a sibling's accelerator selector.

    Such pods may run on any node.
    """
    pinned = [
        role
        for _, roles in templates
        for role in roles
        if role.text("accelerator") and role.fields["accelerator"].origins
    ]
    roles: list[Role] = []
    for template, made in templates:
        free = not _is_steered(document, template.spec)
        for role in made:
            like = (
                sibling
                for sibling in pinned
                if sibling.text("accelerator_resource") == role.text("accelerator_resource") != ""
            )
            other = next(like, None) if free else None
            roles.append(role.having(selector_missing=_describe_selector(document, template, other)) if other else role)
    return tuple(roles)


def _is_steered(document: Document, spec: Path) -> bool:
    """Return whether anything decides the nodes: a selector, affinity, claim, queue or topology."""
    if any(document.get((*spec, key)) for key in STEERING):
        return True
    metadata = [document.get(path) for path in (("metadata",), (*spec[:-1], "metadata"))]
    given = [entry.get(part) for entry in metadata if isinstance(entry, dict) for part in ("labels", "annotations")]
    return any(key in QUEUES or "topology" in str(key) for entry in given if isinstance(entry, dict) for key in entry)


def _describe_selector(document: Document, template: Template, other: Role) -> Field:
    """Return the selector of another role, located at the template without one."""
    selector = other.fields["accelerator"].origins[0]
    own = template.spec[:-1] if template.spec[-1] == "spec" else template.spec
    return Field(f"{selector.path[-1]}: {selector.text()}", (Origin(document, own), selector))


def _open_single_pods(role: Role) -> Role:
    """Return a role whose every pod may serve by itself, with unknown GPUs per instance.

    That is so if its parallelism fits in one pod and nothing connects the pods.
    """
    sizes = [role.value(name) for name in ("tensor_parallel", "pipeline_parallel")]
    occupied = math.prod(size for size in sizes if isinstance(size, int))
    per_pod = role.value("gpus_per_pod")
    shared = role.value("multi_node") or not _serves(role) or not isinstance(per_pod, int) or occupied > per_pod
    if shared or role.value("pods_per_replica") == 1:
        return role
    reason = Unknown("whether the pods of the group serve together is not stated")
    return role.having(gpus_per_replica=Field(reason, role.fields["gpus_per_replica"].origins))


def _open_multi_node(role: Role) -> Role:
    """Return a role with unknown GPUs per instance if GPUs of other pods may take part."""
    if not role.value("multi_node"):
        return role
    reason = Unknown(f"which other GPUs take part is decided elsewhere ({role.fields['multi_node'].source})")
    return role.having(gpus_per_replica=Field(reason, role.fields["gpus_per_replica"].origins))
