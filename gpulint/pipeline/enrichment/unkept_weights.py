"""Unkept: the folder in which an engine stores the weights that it downloads, if no volume keeps it."""

from __future__ import annotations

import posixpath
import re
from dataclasses import replace

from gpulint.adapters.pods import download_volume
from gpulint.catalog import tables
from gpulint.engines import Argument
from gpulint.workload import Container, Field, Role, Workload

TABLE = "weight_folders"
SERVICES = frozenset({"Deployment", "StatefulSet", "ReplicaSet", "DaemonSet", "Pod", "Service", "LeaderWorkerSet"})
"""Kinds of Kubernetes whose containers serve; a Service is one of Knative. The pod of a Job starts once."""
OFFLINE = ("HF_HUB_OFFLINE", "TRANSFORMERS_OFFLINE")
ELSEWHERE = (*download_volume.MOVING, *OFFLINE, "HOME", "XDG_CACHE_HOME", "TRANSFORMERS_CACHE", "NIM_MODEL_NAME")
"""Variables with which the folder is not known, or nothing is downloaded."""
LOCAL = re.compile(r"[/.~]|\w+://")


def mark_unkept(workload: Workload) -> Workload:
    """Return the workload with the folders whose weights end with their container."""
    if workload.adapter == "python" or not any(role.container is not None for role in workload.roles):
        return replace(workload, roles=tuple(map(_keep_hub_names, workload.roles)))
    if (
        workload.adapter in ("kubernetes", "kustomize")
        and workload.document.get((*workload.path, "kind")) not in SERVICES
    ):
        return workload
    return replace(workload, roles=tuple(role.having(**_read_role(role)) for role in workload.roles))


def _keep_hub_names(role: Role) -> Role:
    """Return the role of a program without the folder if it does not name a checkpoint of a hub."""
    if "unkept_weights_folder" not in role.fields or download_volume.HUB_ID.fullmatch(role.text("checkpoint")):
        return role
    return role.having(unkept_weights_folder=Field(None))


def _read_role(role: Role) -> dict[str, Field]:
    container = role.container
    row = _find_row(container)
    if container is None or row is None or not _downloads(role, row):
        return {}
    folder = _find_folder(row, container)
    if folder is None:
        return {}
    if _is_kept(container, folder) is not False or not _is_meant_to_last(container, row, folder):
        return {}
    unkept = Field(folder, (container.image.origin,))
    return {"unkept_weights_folder": unkept, "weights_open": Field(bool(row["decided"]))}


def _find_row(container: Container | None) -> tables.Row | None:
    """Return the folder of a maker's own image, which brings no weights."""
    image = (container.image.text or "") if container is not None else ""
    if container is None or container.build is not None or not image:
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
    return isinstance(checkpoint, str) and bool(download_volume.HUB_ID.fullmatch(checkpoint))


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


def _is_meant_to_last(container: Container, row: tables.Row, folder: str) -> bool:
    """Return whether a container is more than a trial: a pod without any volume that loads a checkpoint of a hub may be one."""
    if container.lost_mounts is None or row["decided"]:
        return True
    return bool(container.mounts) or any(_share(mount, folder) for mount in container.lost_mounts)


def _share(mount: str, folder: str) -> bool:
    """Return whether a mount contains a folder or lies inside it.

    >>> _share("/root", "/root/.ollama"), _share("/root/.ollama/models", "/root/.ollama"), _share("/models", "/root")
    (True, True, False)
    """
    outer, inner = f"{posixpath.normpath(mount).rstrip('/')}/", f"{posixpath.normpath(folder).rstrip('/')}/"
    return outer.startswith(inner) or inner.startswith(outer)
