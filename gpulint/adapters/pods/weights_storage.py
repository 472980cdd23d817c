"""Stored: on what volumes a container keeps the weights that it loads, and which claims it holds."""

from __future__ import annotations

import posixpath
import re
from dataclasses import replace

from gpulint import engines
from gpulint.adapters.objects import pod_templates as kinds
from gpulint.adapters.pods import download_volume as volume
from gpulint.adapters.pods import volume_claims as claims
from gpulint.adapters.programs import container_command as command
from gpulint.source.documents import Document, Path
from gpulint.source.repository import Repository
from gpulint.workload import Field, Origin, Role, Workload

OFFLINE = ("HF_HUB_OFFLINE", "TRANSFORMERS_OFFLINE")
OFFICIAL = re.compile(r"(?:^|/)(?:vllm/vllm-openai|lmsysorg/sglang|huggingface/text-generation-inference)(?:[:@]|$)")
"""Images whose cache is where `volume.CACHES` says, and that bring no weights of their own."""
ONE_NODE = "kubernetes.io/hostname"


def joined(workload: Workload, repository: Repository) -> Workload:
    """The workload with what its volumes are made of, as its file and the repository show it."""
    if workload.adapter not in ("kubernetes", "scripts"):
        return workload
    found = tuple(role.having(**_fields(role, workload, repository)) for role in workload.roles)
    return replace(workload, roles=found)


def _fields(role: Role, workload: Workload, repository: Repository) -> dict[str, Field]:
    if workload.adapter == "scripts":
        from gpulint.adapters.pods import checkpoint_storage as saved

        return saved.scratch(role, workload.document)
    document, path = role.anchor.document, role.anchor.path
    container = path[:-1] if path and path[-1] == "name" else path
    if len(container) < 2 or container[-2] not in ("containers", "initContainers"):
        return {}
    spec = container[:-2]
    found = {**_weights(role, document, spec, container, repository), **_memory(document, spec, container)}
    found |= _claimed(workload, document, spec, container, repository)
    if engines.purpose(role.text("engine")) == "inference":
        return found  # a server saves nothing
    from gpulint.adapters.pods import checkpoint_storage as saved

    return found | saved.fields(role, document, spec, container, repository)


# ---- weights


def _weights(role: Role, document: Document, spec: Path, container: Path, repository: Repository) -> dict[str, Field]:
    environment = command.environment(document, container)
    checkpoint = role.text("checkpoint")
    folder = _folder(role, document, container, environment, checkpoint)
    if folder is None or (found := claims.holding(document, spec, container, folder, repository)) is None:
        return {}
    fields = {"weights_volume": Field(found.kind, (found.origin,))}
    if found.bytes_per_s is not None:
        fields["provisioned_bytes_per_s"] = found.bytes_per_s
    if checkpoint.startswith("/"):
        return fields if found.kind != "container" else {}
    told = found.bounded or not found.reach  # other classes give a claim more than it asks for
    if found.size is not None and found.claim and told and "model_volume_bytes" not in role.fields:
        enforced = found.bounded and found.reach == "node"
        fields["model_volume_bytes" if enforced else "claim_bytes"] = found.size
    if found.kind in claims.EPHEMERAL and (limit := _limit(document, spec, container, found.kind)):
        fields["ephemeral_limit_bytes"] = limit
    mount = claims.under(document, container, folder)
    if mount is not None and document.get((*mount, "readOnly")) is True:
        fields["read_only_cache"] = Field(folder, (Origin(document, (*mount, "readOnly")),))
    return fields


def _folder(
    role: Role, document: Document, container: Path, environment: command.Environment, checkpoint: str
) -> str | None:
    """The folder that weights are read from: of a path as stated, of a name on a hub the cache of its downloads."""
    if checkpoint.startswith("/"):
        return checkpoint
    moved = any(name in environment for name in (*volume.MOVING, *OFFLINE, "HOME"))
    if moved or not volume.HUB_ID.fullmatch(checkpoint) or _elsewhere(document, container):
        return None
    for name in volume.CACHE_VARIABLES:
        if name in environment:
            stated = environment[name].text
            return None if stated is None else posixpath.join(stated, "hub") if name == "HF_HOME" else stated
    default = volume.CACHES.get(role.text("engine"))
    official = OFFICIAL.search(str(document.get((*container, "image"))))
    if default is None or environment.open_ended or official is None:
        return None
    return default if default == "/data" else posixpath.join(default, "hub")


def _elsewhere(document: Document, container: Path) -> bool:
    return any(name in claims.words(document, container) for name in volume.ARGUMENTS)


def _limit(document: Document, spec: Path, container: Path, kind: str) -> Field | None:
    """The limit on local disk that downloads count against: the container's own, of a volume that of all containers."""
    places = [container] if kind == "container" else list(kinds.items(document, (*spec, "containers")))
    origins = [Origin(document, (*at, "resources", "limits", "ephemeral-storage")) for at in places]
    stated = [one for one in origins if document.get(one.path) is not None]
    if not stated:
        return None
    sizes = [claims.size(document, one.path) for one in stated]
    values = [size.value for size in sizes if size is not None and isinstance(size.value, int)]
    return Field(sum(values), tuple(stated)) if len(values) == len(stated) else None


# ---- claims and memory


def _claimed(
    workload: Workload, document: Document, spec: Path, container: Path, repository: Repository
) -> dict[str, Field]:
    """Claims that pods of one node, or one pod, may use at a time."""
    fields: dict[str, Field] = {}
    for mount in claims.mounts(document, container):
        found = claims.of(document, spec, str(document.get((*mount, "name"))), repository)
        if found is None or not found.claim or found.reach in ("shared", "local"):
            continue
        stated = Field(found.claim, (found.origin,))
        if found.modes == (claims.SINGLE_POD,):
            fields.setdefault("single_pod_claim", stated)
        elif found.modes == (claims.SINGLE_NODE,) and not _on_one_node(document, spec):
            fields.setdefault("single_node_claim", stated)
            if found.reach == "node" and _surges(workload):
                fields.setdefault("surging_claim", stated)
    return fields


def _on_one_node(document: Document, spec: Path) -> bool:
    """Whether all pods of a template may be meant for one node."""
    selector = document.get((*spec, "nodeSelector"))
    named = document.get((*spec, "nodeName")) or (isinstance(selector, dict) and ONE_NODE in selector)
    return bool(named or document.get((*spec, "affinity")))


def _surges(workload: Workload) -> bool:
    """Whether a Deployment's update starts new pods before old ones are gone (apps/v1: 25 % of each, by default)."""
    document, at = workload.document, (*workload.path, "spec", "strategy")
    if document.get((*workload.path, "kind")) != "Deployment" or document.get((*at, "type")) == "Recreate":
        return False
    surge, gone = (document.get((*at, "rollingUpdate", key)) for key in ("maxSurge", "maxUnavailable"))
    return str(surge) not in ("0", "0%") and str(gone) in ("None", "0", "0%", "25%")


def _memory(document: Document, spec: Path, container: Path) -> dict[str, Field]:
    """The volumes in memory that a container mounts, whose pages count as its own."""
    names = {str(document.get((*at, "name"))) for at in claims.mounts(document, container)}
    found: list[Field] = []
    for at in kinds.items(document, (*spec, "volumes")):
        is_memory = document.get((*at, "emptyDir", "medium")) == "Memory" and str(document.get((*at, "name"))) in names
        size = claims.size(document, (*at, "emptyDir", "sizeLimit")) if is_memory else None
        found += [size] if size is not None else []
    values = [size.value for size in found if isinstance(size.value, int)]
    origins = tuple(origin for size in found for origin in size.origins)
    return {"memory_volume_bytes": Field(sum(values), origins)} if values and len(values) == len(found) else {}
