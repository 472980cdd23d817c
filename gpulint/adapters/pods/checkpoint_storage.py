"""Saved: where a training run keeps its checkpoints, of a pod or of a batch job, and whether anything outlives it."""

from __future__ import annotations

import posixpath
import re
from collections.abc import Iterator

from gpulint.adapters.objects import pod_templates as kinds
from gpulint.adapters.pods import volume_claims as claims
from gpulint.adapters.pods.volume_claims import Volume
from gpulint.source.documents import Document, Path
from gpulint.source.repository import Repository
from gpulint.workload import Field, Origin, Role

CARRIED = re.compile(
    r"(?i)\b(?:s3|gs|gcs|r2|az|azure|abfss?|oci|cos|hf|oss|obs|wasbs?|hdfs|mlflow|wandb|swift)://|\brclone\b|\bgsutil\b|\bs5cmd\b"
    r"|\baws s3\b|\bgcloud storage\b|\bossutil|push_to_hub|hub_|hf upload|huggingface-cli upload|\brsync\b|\bscp\b|\bazcopy\b"
    r"|\bmc (?:cp|mirror)\b|\bkubectl cp\b|upload"
)
"""What may carry checkpoints out of a pod or a node."""
SCRATCH = re.compile(
    r"(?:/tmp|/var/tmp|/dev/shm|\"?\$\{?(?:TMPDIR|SLURM_TMPDIR|LOCAL_SCRATCH|LOCALSCRATCH)\b\}?)(?:/|\"|$)"
)
"""Folders of a node that a batch system empties when its job ends, or that only that node sees."""
BROUGHT = re.compile(
    r"(?m)^[^#\n]*\b(?:cp|mv|rsync|tar|scp|sbcast|sgather|zip)\b[^\n]*(?:/tmp|TMPDIR|/dev/shm|LOCAL_?SCRATCH)"
)
"""A line of a script that may bring something back from such a folder."""

SAVES = re.compile(r"--(?:checkpoint|save|ckpt)[-_](?:freq|frequency|interval|steps|every)\b")
"""Arguments of somebody's own program that say how often it saves."""
FOLDER = re.compile(
    r"--(?:checkpoint|checkpoints|save|ckpt)[-_](?:dir|path|folder|checkpoint)[= ]+(?P<folder>[\w./-]+)(?=\s|$)"
)
CHANGED = re.compile(r"(?:^|[;&\s])cd\s")
PROGRAM = re.compile(r"(?:^|\s)(/[\w./-]+\.py)\b")


def fields(role: Role, document: Document, spec: Path, container: Path, repository: Repository) -> dict[str, Field]:
    """What the checkpoints of a container's run lie on."""
    stated = role.fields.get("checkpoint_folder") or _of_own_program(role, document, container)
    folder = _absolute(document, spec, container, stated)
    if stated is None or folder is None:
        return {}
    if not folder:
        found: Volume | None = Volume("container", Origin(document, (*container, "name")), "local")
    else:
        found = claims.holding(document, spec, container, folder, repository)
    if found is None or (found.kind in (*claims.EPHEMERAL, "memory") and _carried(document, spec)):
        return {}
    told = {"checkpoint_volume": Field(found.kind, (*stated.origins, found.origin)), "checkpoint_folder": stated}
    if found.size is not None and found.bounded:
        told["checkpoint_volume_bytes"] = found.size
    if found.bytes_per_s is not None:
        told["provisioned_write_bytes_per_s"] = found.bytes_per_s
    return told


def _of_own_program(role: Role, document: Document, container: Path) -> Field | None:
    """The folder that a program of somebody's own is told to save into, as often as it is told."""
    asked = role.value("accelerator_resource") is not None
    places = list(_written(document, container))
    known = role.text("engine") and "program" not in role.fields
    if not asked or known or not any(SAVES.search(str(document.get(path))) for path in places):
        return None
    for path in places:
        if match := FOLDER.search(str(document.get(path))):
            return Field(match["folder"], (Origin(document, path, match.span("folder")),))
    return None


def _written(document: Document, container: Path) -> Iterator[Path]:
    """Where the words of a container's command stand."""
    for key in ("command", "args"):
        listed = document.get((*container, key))
        yield from ((*container, key, at) for at in range(len(listed) if isinstance(listed, list) else 0))


def _absolute(document: Document, spec: Path, container: Path, stated: Field | None) -> str | None:
    """The folder from the root of the container; empty where it lies in the image's own; None where that is not known."""
    folder = stated.value if stated is not None else None
    if not isinstance(folder, str) or "://" in folder or folder.startswith("~"):
        return None
    base = document.get((*container, "workingDir"))
    if folder.startswith("/") or isinstance(base, str):
        return posixpath.join(str(base), folder)
    return "" if _starts_in_its_image(document, spec, container) else None


def _starts_in_its_image(document: Document, spec: Path, container: Path) -> bool:
    """Whether a command runs in a folder of its image: the program lies there, or nothing else is mounted."""
    words = " ".join(str(document.get(path)) for path in _written(document, container))
    if CHANGED.search(words):
        return False
    held = {str(document.get((*at, "mountPath"))).rstrip("/") for at in claims.mounts(document, container)}
    programs = PROGRAM.findall(words)
    if programs:
        return not any(one.startswith(f"{folder}/") for one in programs for folder in held)
    return held <= {"/dev/shm"}


def _carried(document: Document, spec: Path) -> bool:
    """Whether anything in a pod may carry its checkpoints out: a store in its words, or a container beside it."""
    if len(list(kinds.items(document, (*spec, "containers")))) > 1:
        return True
    return any(CARRIED.search(claims.words(document, at)) for at in kinds.items(document, (*spec, "containers")))


def scratch(role: Role, document: Document) -> dict[str, Field]:
    """Checkpoints of a batch job in a folder that only its node has, and that nothing in the script brings back."""
    stated = role.fields.get("checkpoint_folder")
    if stated is None or not stated.origins or ("partition" not in role.fields and "#SBATCH" not in document.text):
        return {}
    value = stated.value if isinstance(stated.value, str) else stated.origins[0].text()
    if not SCRATCH.match(value) or CARRIED.search(document.text) or BROUGHT.search(document.text):
        return {}
    return {"checkpoint_volume": Field("scratch", stated.origins), "checkpoint_folder": Field(value, stated.origins)}
