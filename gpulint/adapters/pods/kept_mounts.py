"""Kept: the folders of a container on which volumes of its pod lie that outlive the container or bring their content."""

from __future__ import annotations

import re
from collections.abc import Iterator

from gpulint.adapters.objects import pod_templates
from gpulint.adapters.pods import volume_claims
from gpulint.source.documents import Document, Path

FETCHES = re.compile(
    r"huggingface-cli|huggingface\.co|\bhf download|snapshot_download|\bollama\b|from_pretrained|download-to-cache"
)
"""Words of a container that downloads weights for another one of its pod."""
BEGIN_EMPTY = ("emptyDir", "ephemeral")
WITHOUT = (*BEGIN_EMPTY, "configMap", "secret", "downwardAPI", "projected")
"""Sources of volumes that keep nothing which a container writes."""


def list_kept(document: Document, spec: Path, container: Path) -> tuple[str, ...]:
    """Return the folders of volumes that outlive the pod, or that another container fills."""
    return tuple(folder for folder, is_kept in _read_folders(document, spec, container) if is_kept)


def list_lost(document: Document, spec: Path, container: Path) -> tuple[str, ...]:
    """Return the folders of volumes that begin empty with each pod."""
    return tuple(folder for folder, is_kept in _read_folders(document, spec, container) if not is_kept)


def _read_folders(document: Document, spec: Path, container: Path) -> Iterator[tuple[str, bool]]:
    """Yield the folders of the volumes that hold data, and whether it is there for the next pod."""
    kinds = {
        str(document.get((*at, "name"))): next((kind for kind in WITHOUT if document.node((*at, kind)) is not None), "")
        for at in pod_templates.items(document, (*spec, "volumes"))
    }
    for mount in volume_claims.mounts(document, container):
        name = str(document.get((*mount, "name")))
        kind, folder = kinds.get(name, ""), str(document.get((*mount, "mountPath")))
        if kind in ("", *BEGIN_EMPTY):
            yield folder, not kind or _is_filled(document, spec, container, name)


def _is_filled(document: Document, spec: Path, container: Path, volume: str) -> bool:
    """Return whether another container of the pod may copy weights of its own image to a volume."""
    for key in ("initContainers", "containers"):
        for other in pod_templates.items(document, (*spec, key)):
            named = {str(document.get((*mount, "name"))) for mount in volume_claims.mounts(document, other)}
            if other != container and volume in named and not FETCHES.search(volume_claims.words(document, other)):
                return True
    return False
