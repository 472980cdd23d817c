"""Stored: the volumes on which a container keeps its weights, and the claims that it mounts."""

from __future__ import annotations

import posixpath
from dataclasses import replace

from gpulint import engines
from gpulint.adapters.objects import pod_templates
from gpulint.adapters.pods import container_environment, download_volume, volume_claims
from gpulint.adapters.programs import container_command
from gpulint.catalog import capabilities
from gpulint.source.documents import Document, Path
from gpulint.source.repository import Repository
from gpulint.workload import Field, Origin, Role, Workload

OFFLINE = ("HF_HUB_OFFLINE", "TRANSFORMERS_OFFLINE")
SERVED = frozenset({"Deployment", "StatefulSet", "ReplicaSet", "DaemonSet", "Pod"})
ONE_NODE = "kubernetes.io/hostname"


def merge_volumes(workload: Workload, repository: Repository) -> Workload:
    """Return the workload with the facts of its volumes, from its file and the repository."""
    if workload.adapter not in ("kubernetes", "scripts"):
        return workload
    roles = tuple(role.having(**_read_fields(role, workload, repository)) for role in workload.roles)
    return replace(workload, roles=roles)


def _read_fields(role: Role, workload: Workload, repository: Repository) -> dict[str, Field]:
    if workload.adapter == "scripts":
        from gpulint.adapters.pods import checkpoint_storage

        return checkpoint_storage.scratch(role, workload.document)
    document, path = role.anchor.document, role.anchor.path
    container = path[:-1] if path and path[-1] == "name" else path
    if len(container) < 2 or container[-2] not in ("containers", "initContainers"):
        return {}
    spec = container[:-2]
    stored_fields = {
        **_read_weights(role, document, spec, container, repository),
        **_read_memory_volumes(document, spec, container),
    }
    stored_fields |= _read_claims(workload, document, spec, container, repository)
    if engines.find_purpose(role.text("engine")) == "inference":
        return stored_fields  # a server saves nothing
    from gpulint.adapters.pods import checkpoint_storage

    if role.value("accelerator_resource") is not None and document.get(("kind",)) not in SERVED:
        stored_fields |= checkpoint_storage.find_transient_output(document, spec, container)
    return stored_fields | checkpoint_storage.fields(role, document, spec, container, repository)


# ---- weights


def _read_weights(
    role: Role, document: Document, spec: Path, container: Path, repository: Repository
) -> dict[str, Field]:
    environment = container_environment.read(document, container)
    checkpoint = role.text("checkpoint")
    folder = _find_folder(role, document, container, environment, checkpoint)
    if folder is None or (held_on := volume_claims.find_storage(document, spec, container, folder, repository)) is None:
        return {}
    fields = {"weights_volume": Field(held_on.kind, (held_on.origin,))}
    if held_on.bytes_per_s is not None:
        fields["provisioned_bytes_per_s"] = held_on.bytes_per_s
    if checkpoint.startswith("/"):
        return fields if held_on.kind != "container" else {}
    is_exact = held_on.bounded or not held_on.reach  # other classes give a claim more than it asks for
    if held_on.size is not None and held_on.claim and is_exact and "model_volume_bytes" not in role.fields:
        enforced = held_on.bounded and held_on.reach == "node"
        fields["model_volume_bytes" if enforced else "claim_bytes"] = held_on.size
    if held_on.kind in volume_claims.EPHEMERAL and (limit := _read_limit(document, spec, container, held_on.kind)):
        fields["ephemeral_limit_bytes"] = limit
    mount = volume_claims.find_mount(document, container, folder)
    if mount is not None and document.get((*mount, "readOnly")) is True:
        fields["read_only_cache"] = Field(folder, (Origin(document, (*mount, "readOnly")),))
    return fields


def _find_folder(
    role: Role, document: Document, container: Path, environment: container_command.Environment, checkpoint: str
) -> str | None:
    """Return the folder of the weights: the stated path, or the download cache for a name on a hub."""
    if checkpoint.startswith("/"):
        return checkpoint
    moved = any(name in environment for name in (*download_volume.MOVING, *OFFLINE, "HOME"))
    if moved or not download_volume.HUB_ID.fullmatch(checkpoint) or _is_moved(document, container):
        return None
    for name in download_volume.CACHE_VARIABLES:
        if name in environment:
            stated = environment[name].text
            return None if stated is None else posixpath.join(stated, "hub") if name == "HF_HOME" else stated
    default = capabilities.find_download_folder(role.text("engine"))
    official = capabilities.compile_official_images().search(str(document.get((*container, "image"))))
    if default is None or environment.open_ended or official is None:
        return None
    return default if default == "/data" else posixpath.join(default, "hub")


def _is_moved(document: Document, container: Path) -> bool:
    return any(name in volume_claims.words(document, container) for name in download_volume.ARGUMENTS)


def _read_limit(document: Document, spec: Path, container: Path, kind: str) -> Field | None:
    """Return the ephemeral-storage limit that counts downloads: the container's, or all containers'
    for a volume.
    """
    places = [container] if kind == "container" else list(pod_templates.items(document, (*spec, "containers")))
    origins = [Origin(document, (*at, "resources", "limits", "ephemeral-storage")) for at in places]
    stated = [origin for origin in origins if document.get(origin.path) is not None]
    if not stated:
        return None
    sizes = [volume_claims.size(document, origin.path) for origin in stated]
    values = [size.value for size in sizes if size is not None and isinstance(size.value, int)]
    return Field(sum(values), tuple(stated)) if len(values) == len(stated) else None


# ---- claims and memory


def _read_claims(
    workload: Workload, document: Document, spec: Path, container: Path, repository: Repository
) -> dict[str, Field]:
    """Return claims that pods of a single node, or a single pod, may use at a time."""
    fields: dict[str, Field] = {}
    for mount in volume_claims.mounts(document, container):
        held_on = volume_claims.find_volume(document, spec, str(document.get((*mount, "name"))), repository)
        if held_on is None or not held_on.claim or held_on.reach in ("shared", "local"):
            continue
        stated = Field(held_on.claim, (held_on.origin,))
        if held_on.modes == (volume_claims.SINGLE_POD,):
            fields.setdefault("single_pod_claim", stated)
        elif held_on.modes == (volume_claims.SINGLE_NODE,) and not _is_one_node(document, spec):
            fields.setdefault("single_node_claim", stated)
            if held_on.reach == "node" and _has_surge(workload):
                fields.setdefault("surging_claim", stated)
    return fields


def _is_one_node(document: Document, spec: Path) -> bool:
    """Return True if all pods of a template may be meant for one node."""
    selector = document.get((*spec, "nodeSelector"))
    named = document.get((*spec, "nodeName")) or (isinstance(selector, dict) and ONE_NODE in selector)
    return bool(named or document.get((*spec, "affinity")))


def _has_surge(workload: Workload) -> bool:
    """Return True if a Deployment's update starts new pods before old ones end (apps/v1 default: 25
    % each).
    """
    document, at = workload.document, (*workload.path, "spec", "strategy")
    if document.get((*workload.path, "kind")) != "Deployment" or document.get((*at, "type")) == "Recreate":
        return False
    surge, gone = (document.get((*at, "rollingUpdate", key)) for key in ("maxSurge", "maxUnavailable"))
    return str(surge) not in ("0", "0%") and str(gone) in ("None", "0", "0%", "25%")


def _read_memory_volumes(document: Document, spec: Path, container: Path) -> dict[str, Field]:
    """Return the in-memory volumes that a container mounts. Their pages count as its memory."""
    names = {str(document.get((*at, "name"))) for at in volume_claims.mounts(document, container)}
    sizes: list[Field] = []
    for at in pod_templates.items(document, (*spec, "volumes")):
        is_memory = document.get((*at, "emptyDir", "medium")) == "Memory" and str(document.get((*at, "name"))) in names
        size = volume_claims.size(document, (*at, "emptyDir", "sizeLimit")) if is_memory else None
        sizes += [size] if size is not None else []
    values = [size.value for size in sizes if isinstance(size.value, int)]
    origins = tuple(origin for size in sizes for origin in size.origins)
    return {"memory_volume_bytes": Field(sum(values), origins)} if values and len(values) == len(sizes) else {}
