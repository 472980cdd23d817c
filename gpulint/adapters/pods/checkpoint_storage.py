"""Saved: where the checkpoints of a training run are kept, and whether they outlive its pod or job."""

from __future__ import annotations

import posixpath
import re
from collections.abc import Iterator

from gpulint.adapters.objects import pod_templates
from gpulint.adapters.pods import volume_claims
from gpulint.adapters.pods.volume_claims import Volume
from gpulint.source.documents import Document, Path
from gpulint.source.repository import Repository
from gpulint.workload import Field, Origin, Role

CARRIED = re.compile(
    r"(?i)\b(?:s3|gs|gcs|r2|az|azure|abfss?|oci|cos|hf|oss|obs|wasbs?|hdfs|mlflow|wandb|swift)://|\brclone\b|\bgsutil\b|\bs5cmd\b"
    r"|\baws s3\b|\bgcloud storage\b|\bossutil|push_to_hub|hub_|hf upload|huggingface-cli upload|\brsync\b|\bscp\b|\bazcopy\b"
    r"|\bmc (?:cp|mirror)\b|\bkubectl cp\b|upload"
)
"""Tools and schemes that may copy checkpoints out of a pod or a node."""
SCRATCH = re.compile(
    r"(?:/tmp|/var/tmp|/dev/shm|\"?\$\{?(?:TMPDIR|SLURM_TMPDIR|LOCAL_SCRATCH|LOCALSCRATCH)\b\}?)(?:/|\"|$)"
)
"""Node-local folders that a batch system empties after the job, or that only that node has."""
BROUGHT = re.compile(
    r"(?m)^[^#\n]*\b(?:cp|mv|rsync|tar|scp|sbcast|sgather|zip)\b[^\n]*(?:/tmp|TMPDIR|/dev/shm|LOCAL_?SCRATCH)"
)
"""A line of a script that may copy something back from such a folder."""

SAVES = re.compile(r"--(?:checkpoint|save|ckpt)[-_](?:freq|frequency|interval|steps|every)\b")
"""Arguments of a custom program that set how often it saves."""
FOLDER = re.compile(
    r"--(?:checkpoint|checkpoints|save|ckpt)[-_](?:dir|path|folder|checkpoint)[= ]+(?P<folder>[\w./-]+)(?=\s|$)"
)
RESULTS = re.compile(r"(?:^|/)(?:outputs?|checkpoints?|ckpts?|saved[-_]models?)/?$")
"""Names of folders for what a run leaves behind."""
CHANGED = re.compile(r"(?:^|[;&\s])cd\s")
PROGRAM = re.compile(r"(?:^|\s)(/[\w./-]+\.py)\b")


def fields(role: Role, document: Document, spec: Path, container: Path, repository: Repository) -> dict[str, Field]:
    """Return the volume of a container's checkpoints."""
    stated = role.fields.get("checkpoint_folder") or _find_own_folder(role, document, container)
    folder = _resolve_folder(document, spec, container, stated)
    if stated is None or folder is None:
        return {}
    if not folder:
        volume: Volume | None = Volume("container", Origin(document, (*container, "name")), "local")
    else:
        volume = volume_claims.find_storage(document, spec, container, folder, repository)
    if volume is None or (volume.kind in (*volume_claims.EPHEMERAL, "memory") and _copies_out(document, spec)):
        return {}
    checkpoint_fields = {
        "checkpoint_volume": Field(volume.kind, (*stated.origins, volume.origin)),
        "checkpoint_folder": stated,
    }
    if volume.size is not None and volume.bounded:
        checkpoint_fields["checkpoint_volume_bytes"] = volume.size
    if volume.bytes_per_s is not None:
        checkpoint_fields["provisioned_write_bytes_per_s"] = volume.bytes_per_s
    return checkpoint_fields


def find_transient_output(document: Document, spec: Path, container: Path) -> dict[str, Field]:
    """Return an emptyDir that its folder's name makes the place of results, if nothing copies out of the pod."""
    if _copies_out(document, spec):
        return {}
    empty = {
        str(document.get((*at, "name")))
        for at in pod_templates.items(document, (*spec, "volumes"))
        if document.node((*at, "emptyDir")) is not None
    }
    for mount in volume_claims.mounts(document, container):
        folder = str(document.get((*mount, "mountPath")))
        if str(document.get((*mount, "name"))) in empty and RESULTS.search(folder):
            named = Field(folder, (Origin(document, (*mount, "mountPath")),), assumption=f"{folder} holds the results")
            return {"transient_output": named}
    return {}


def _find_own_folder(role: Role, document: Document, container: Path) -> Field | None:
    """Return the checkpoint folder of a custom program, if it saves at intervals."""
    asked = role.value("accelerator_resource") is not None
    places = list(_list_words(document, container))
    is_engine = role.text("engine") and "program" not in role.fields
    if not asked or is_engine or not any(SAVES.search(str(document.get(path))) for path in places):
        return None
    for path in places:
        if match := FOLDER.search(str(document.get(path))):
            return Field(match["folder"], (Origin(document, path, match.span("folder")),))
    return None


def _list_words(document: Document, container: Path) -> Iterator[Path]:
    """Yield the paths of the words of a container's command."""
    for key in ("command", "args"):
        listed = document.get((*container, key))
        yield from ((*container, key, at) for at in range(len(listed) if isinstance(listed, list) else 0))


def _resolve_folder(document: Document, spec: Path, container: Path, stated: Field | None) -> str | None:
    """Return the absolute folder; empty if it is in the image, None if that is not known."""
    folder = stated.value if stated is not None else None
    if not isinstance(folder, str) or "://" in folder or folder.startswith("~"):
        return None
    base = document.get((*container, "workingDir"))
    if folder.startswith("/") or isinstance(base, str):
        return posixpath.join(str(base), folder)
    return "" if _runs_in_image(document, spec, container) else None


def _runs_in_image(document: Document, spec: Path, container: Path) -> bool:
    """Return True if a command runs in a folder of its image."""
    words = " ".join(str(document.get(path)) for path in _list_words(document, container))
    if CHANGED.search(words):
        return False
    mounted = {str(document.get((*at, "mountPath"))).rstrip("/") for at in volume_claims.mounts(document, container)}
    programs = PROGRAM.findall(words)
    if programs:
        return not any(program_path.startswith(f"{folder}/") for program_path in programs for folder in mounted)
    return mounted <= {"/dev/shm"}


def _copies_out(document: Document, spec: Path) -> bool:
    """Return True if something in a pod may copy its checkpoints out: a store, or another container."""
    if len(list(pod_templates.items(document, (*spec, "containers")))) > 1:
        return True
    return any(
        CARRIED.search(volume_claims.words(document, at)) for at in pod_templates.items(document, (*spec, "containers"))
    )


def scratch(role: Role, document: Document) -> dict[str, Field]:
    """Return a batch job's checkpoints in a node-local folder from which the script copies nothing
    back.
    """
    stated = role.fields.get("checkpoint_folder")
    if stated is None or not stated.origins or ("partition" not in role.fields and not document.mentions("#SBATCH")):
        return {}
    value = stated.value if isinstance(stated.value, str) else stated.origins[0].text()
    if not SCRATCH.match(value) or CARRIED.search(document.text) or BROUGHT.search(document.text):
        return {}
    return {"checkpoint_volume": Field("scratch", stated.origins), "checkpoint_folder": Field(value, stated.origins)}
