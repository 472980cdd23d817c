"""Unkept: the folder in which an engine stores the weights that it downloads, if no volume keeps it."""

from __future__ import annotations

import posixpath
import re
from dataclasses import replace

from gpulint.adapters.pods import download_volume
from gpulint.adapters.pods.download_volume import HUB_ID
from gpulint.catalog import tables
from gpulint.engines import Argument
from gpulint.workload import Container, Field, Role, Workload

TABLE = "weight_folders"
READ = frozenset({"kubernetes", "kustomize", "compose", "scripts"})
"""Adapters that know all volumes of a container; an operator or a chart may mount more."""
SERVICES = frozenset({"Deployment", "StatefulSet", "ReplicaSet", "DaemonSet", "Pod", "Service", "LeaderWorkerSet"})
"""Kinds of Kubernetes whose containers serve; a Service is one of Knative. The pod of a Job starts once."""
OFFLINE = ("HF_HUB_OFFLINE", "TRANSFORMERS_OFFLINE")
ELSEWHERE = (*download_volume.MOVING, *OFFLINE, "HOME", "XDG_CACHE_HOME", "TRANSFORMERS_CACHE", "NIM_MODEL_NAME")
"""Variables with which the folder is not known, or nothing is downloaded."""
LOCAL = re.compile(r"[/.~]|\w+://")
STORED = re.compile(r"--model(?:[-_](?:path|id|dir|name[-_]or[-_]path))?[= ]/")
"""An argument of any program that names weights in a folder."""
CACHE = re.compile(r"/\.cache/huggingface(?:/hub)?/?$|/\.ollama(?:/models)?/?$")
"""Folders that hold nothing but downloads."""


def mark_unkept(workload: Workload) -> Workload:
    """Return the workload with the folders whose weights end with their container."""
    if workload.adapter not in READ or all(role.container is None for role in workload.roles):
        return workload
    is_pod = workload.adapter in ("kubernetes", "kustomize")
    kind = str(workload.document.get((*workload.path, "kind"))) if is_pod else ""
    if is_pod and kind not in SERVICES:
        return workload
    return replace(workload, roles=tuple(role.having(**_read_role(role, kind)) for role in workload.roles))


def _read_role(role: Role, kind: str) -> dict[str, Field]:
    container = role.container
    if container is None:
        return {}
    row = _find_row(container)
    folder = _read_folder(role, row, container) if row is not None else _find_emptied(role, container)
    if folder is None or _is_kept(container, str(folder.value)) is not False:
        return {}
    is_open = bool(row["decided"]) if row is not None else not HUB_ID.fullmatch(role.text("checkpoint"))
    found = {"unkept_weights_folder": folder, "weights_open": Field(is_open)}
    if kind == "Pod" or not _is_meant_to_last(container, row, str(folder.value)):
        found["possible_trial"] = Field(True)
    return found


def _read_folder(role: Role, row: tables.Row, container: Container) -> Field | None:
    """Return the folder of a maker's own image."""
    folder = _find_folder(row, container) if _downloads(role, row) else None
    return Field(folder, (container.image.origin,)) if folder is not None else None


def _find_emptied(role: Role, container: Container) -> Field | None:
    """Return the download folder of any other image with GPUs, if a volume that begins empty lies on it."""
    words = " ".join(word.source_text for word in (*(container.entrypoint or ()), *(container.command or ())))
    is_local = LOCAL.match(role.text("checkpoint")) or STORED.search(words)
    if is_local or not role.value("accelerator_resource") or any(name in container.environment for name in OFFLINE):
        return None
    for name in (*download_volume.CACHE_VARIABLES, "TRANSFORMERS_CACHE"):
        if stated := container.environment.get(name):
            emptied = stated.text is not None and any(
                _contains(lost, stated.text) for lost in container.lost_mounts or ()
            )
            return Field(stated.text, (stated.origin,)) if emptied else None
    for folder in container.lost_mounts or ():
        if CACHE.search(folder):
            return Field(folder, (container.image.origin,), assumption=f"{folder} is the folder of downloaded weights")
    return None


def _find_row(container: Container) -> tables.Row | None:
    """Return the folder of a maker's own image, which brings no weights."""
    image = container.image.text or ""
    if container.build is not None:
        return None
    for row in tables.rows(TABLE):
        named = re.escape(row["image"]) + ("" if row["image"].endswith("/") else r"(?:[:@]|$)")
        if re.search(rf"(?:^|/){named}", image):
            return row
    return None


def _downloads(role: Role, row: tables.Row) -> bool:
    """Return whether an engine fetches its weights: a name on a hub, or what its callers or its image name."""
    checkpoint = role.value("checkpoint")
    if row["decided"]:
        return not LOCAL.match(role.text("checkpoint"))
    return isinstance(checkpoint, str) and bool(HUB_ID.fullmatch(checkpoint))


def _find_folder(row: tables.Row, container: Container) -> str | None:
    """Return the folder that the variables or the image decide; None if it is not known."""
    environment = container.environment
    words = [*(container.entrypoint or ()), *(container.command or ())]
    if any(name in environment for name in ELSEWHERE) or download_volume.is_moved(words) or _mentions_move(words):
        return None
    return next((environment[name].text for name in row["variables"].split() if name in environment), row["folder"])


def _mentions_move(words: list[Argument]) -> bool:
    """Return whether the script of a shell moves the download folder."""
    return any(name in word.source_text for word in words for name in download_volume.ARGUMENTS)


# ---- volumes


def _is_kept(container: Container, folder: str) -> bool | None:
    """Return whether a volume that outlives the container holds a folder; None if that is not known."""
    if container.mounts is None or None in container.mounts:
        return None
    return any(_share(mount, folder) for mount in container.mounts if mount is not None)


def _is_meant_to_last(container: Container, row: tables.Row | None, folder: str) -> bool:
    """Return whether a container is more than a trial: a pod without any volume that loads a checkpoint of a hub may be one."""
    if container.lost_mounts is None or row is None or row["decided"]:
        return True
    return bool(container.mounts) or any(_share(mount, folder) for mount in container.lost_mounts)


def _share(mount: str, folder: str) -> bool:
    """Return whether a mount contains a folder or lies inside it.

    >>> _share("/root", "/root/.ollama"), _share("/root/.ollama/models", "/root/.ollama"), _share("/models", "/root")
    (True, True, False)
    """
    return _contains(mount, folder) or _contains(folder, mount)


def _contains(outer: str, inner: str) -> bool:
    within = f"{posixpath.normpath(inner).rstrip('/')}/"
    return within.startswith(f"{posixpath.normpath(outer).rstrip('/')}/")
