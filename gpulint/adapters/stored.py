"""Stored: on what volumes a container keeps the weights that it loads and the checkpoints that it writes."""

from __future__ import annotations

import posixpath
import re
from dataclasses import replace

from gpulint.adapters import claims, command, kinds, volume
from gpulint.adapters.claims import Volume
from gpulint.documents import Document, Path
from gpulint.repository import Repository
from gpulint.workload import Field, Origin, Role, Workload

OFFLINE = ("HF_HUB_OFFLINE", "TRANSFORMERS_OFFLINE")
EPHEMERAL = ("container", "empty-dir")
"""What ends with a pod and counts against its limit of local disk."""
OFFICIAL = re.compile(r"(?:^|/)(?:vllm/vllm-openai|lmsysorg/sglang|huggingface/text-generation-inference)(?:[:@]|$)")
"""Images whose cache is where `volume.CACHES` says, and that bring no weights of their own."""
CARRIED = re.compile(
    r"(?i)\b(?:s3|gs|gcs|r2|az|azure|abfss?|oci|cos|hf|oss|obs|wasbs?|hdfs|mlflow|wandb|swift)://|\brclone\b|\bgsutil\b|\bs5cmd\b"
    r"|\baws s3\b|\bgcloud storage\b|\bossutil|push_to_hub|hub_|hf upload|huggingface-cli upload|\brsync\b|\bscp\b|\bazcopy\b"
    r"|\bmc (?:cp|mirror)\b|\bkubectl cp\b|upload"
)
"""What may carry checkpoints out of a pod or a node."""
ONE_NODE = "kubernetes.io/hostname"
SCRATCH = re.compile(
    r"(?:/tmp|/var/tmp|/dev/shm|\"?\$\{?(?:TMPDIR|SLURM_TMPDIR|LOCAL_SCRATCH|LOCALSCRATCH)\b\}?)(?:/|\"|$)"
)
"""Folders of a node that a batch system empties when its job ends, or that only that node sees."""
BROUGHT = re.compile(
    r"(?m)^[^#\n]*\b(?:cp|mv|rsync|tar|scp|sbcast|sgather|zip)\b[^\n]*(?:/tmp|TMPDIR|/dev/shm|LOCAL_?SCRATCH)"
)
"""A line of a script that may bring something back from such a folder."""


def joined(workload: Workload, repository: Repository) -> Workload:
    """The workload with what its volumes are made of, as its file and the repository show it."""
    if workload.adapter not in ("kubernetes", "script"):
        return workload
    found = tuple(role.having(**_fields(role, workload, repository)) for role in workload.roles)
    return replace(workload, roles=found)


def _fields(role: Role, workload: Workload, repository: Repository) -> dict[str, Field]:
    if workload.adapter == "script":
        return _scratch(role, workload.document)
    document, path = role.anchor.document, role.anchor.path
    container = path[:-1] if path and path[-1] == "name" else path
    if len(container) < 2 or container[-2] not in ("containers", "initContainers"):
        return {}
    spec = container[:-2]
    found = {**_weights(role, document, spec, container, repository), **_memory(document, spec, container)}
    found |= _claimed(workload, document, spec, container, repository)
    return found | _checkpoints(role, document, spec, container, repository)


# ---- what a container mounts


def _under(document: Document, container: Path, folder: str) -> Path | None:
    """The mount that holds a folder of a container, the nearest one."""
    inside = f"{posixpath.normpath(folder)}/"
    held = [at for at in claims.mounts(document, container) if inside.startswith(f"{_bare(document, at)}/")]
    return max(held, key=lambda at: len(_bare(document, at)), default=None)


def _bare(document: Document, mount: Path) -> str:
    at = posixpath.normpath(str(document.get((*mount, "mountPath"))))
    return "" if at == "/" else at


def _volume(document: Document, spec: Path, container: Path, folder: str, repository: Repository) -> Volume | None:
    """What holds a folder of a container: the volume that is mounted there, else the container's own layer."""
    mount = _under(document, container, folder)
    if mount is None:
        return Volume("container", Origin(document, (*container, "name")), "local")
    found = claims.of(document, spec, str(document.get((*mount, "name"))), repository)
    return None if found is None else found._replace(origin=Origin(document, (*mount, "mountPath")))


# ---- weights


def _weights(role: Role, document: Document, spec: Path, container: Path, repository: Repository) -> dict[str, Field]:
    environment = command.environment(document, container)
    checkpoint = role.text("checkpoint")
    folder = _folder(role, document, container, environment, checkpoint)
    if folder is None or (found := _volume(document, spec, container, folder, repository)) is None:
        return {}
    fields = {"weights_volume": Field(found.kind, (found.origin,))}
    if found.bytes_per_s is not None:
        fields["provisioned_bytes_per_s"] = found.bytes_per_s
    if checkpoint.startswith("/"):
        return fields if found.kind != "container" else {}
    if found.size is not None and found.claim and "model_volume_bytes" not in role.fields and found.reach != "local":
        enforced = found.bounded and found.reach == "node"
        fields["model_volume_bytes" if enforced else "claim_bytes"] = found.size
    if found.kind in EPHEMERAL and (limit := _limit(document, spec, container, found.kind)):
        fields["ephemeral_limit_bytes"] = limit
    mount = _under(document, container, folder)
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
    return any(name in _words(document, container) for name in volume.ARGUMENTS)


def _words(document: Document, container: Path) -> str:
    return " ".join(str(document.get((*container, key)) or "") for key in ("command", "args", "env", "lifecycle"))


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
        is_memory = document.get((*at, "emptyDir", "medium")) == "Memory" and document.get((*at, "name")) in names
        size = claims.size(document, (*at, "emptyDir", "sizeLimit")) if is_memory else None
        found += [size] if size is not None else []
    values = [size.value for size in found if isinstance(size.value, int)]
    origins = tuple(origin for size in found for origin in size.origins)
    return {"memory_volume_bytes": Field(sum(values), origins)} if values and len(values) == len(found) else {}


# ---- checkpoints


def _checkpoints(
    role: Role, document: Document, spec: Path, container: Path, repository: Repository
) -> dict[str, Field]:
    stated = role.fields.get("checkpoint_folder")
    folder = stated.value if stated is not None else None
    if stated is None or not isinstance(folder, str) or "://" in folder or folder.startswith("~"):
        return {}
    if not folder.startswith("/"):
        base = document.get((*container, "workingDir"))
        if not isinstance(base, str):
            return {}
        folder = posixpath.join(base, folder)
    found = _volume(document, spec, container, folder, repository)
    if found is None or (found.kind in (*EPHEMERAL, "memory") and _carried(document, spec)):
        return {}
    fields = {"checkpoint_volume": Field(found.kind, (*stated.origins, found.origin))}
    if found.size is not None and found.bounded:
        fields["checkpoint_volume_bytes"] = found.size
    if found.bytes_per_s is not None:
        fields["provisioned_write_bytes_per_s"] = found.bytes_per_s
    return fields


def _carried(document: Document, spec: Path) -> bool:
    """Whether anything in a pod may carry its checkpoints out: a store in its words, or a container beside it."""
    if len(list(kinds.items(document, (*spec, "containers")))) > 1:
        return True
    return any(CARRIED.search(_words(document, at)) for at in kinds.items(document, (*spec, "containers")))


def _scratch(role: Role, document: Document) -> dict[str, Field]:
    """Checkpoints of a batch job in a folder that only its node has, and that nothing in the script brings back."""
    stated = role.fields.get("checkpoint_folder")
    if stated is None or not stated.origins or ("partition" not in role.fields and "#SBATCH" not in document.text):
        return {}
    value = stated.value if isinstance(stated.value, str) else stated.origins[0].text()
    if not SCRATCH.match(value) or CARRIED.search(document.text) or BROUGHT.search(document.text):
        return {}
    return {"checkpoint_volume": Field("scratch", stated.origins), "checkpoint_folder": Field(value, stated.origins)}
