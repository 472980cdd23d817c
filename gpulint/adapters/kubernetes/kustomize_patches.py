"""Patches of kustomize: files that a Kustomization applies to an object.

A patch is never a whole object.
"""

from __future__ import annotations

import functools
import posixpath
import re
from collections.abc import Iterator

from gpulint.adapters.objects.references import KUSTOMIZATIONS
from gpulint.engines import image_tags
from gpulint.source.documents import Document
from gpulint.source.repository import Repository

LISTS = ("patchesStrategicMerge", "patchesJson6902", "patches")
FOLDERS_UP = 3
KEPT_MAX = 256
NAMES = r"kustomization\.ya?ml|Kustomization"
FILES_MAX = 100
SETS_IMAGE = re.compile(r"\bimage[\"']?[ \t]*:|/image\b")
"""What a patch has that states the image of a container."""
SELECTING = frozenset({"Deployment", "StatefulSet", "ReplicaSet", "DaemonSet"})
"""Kinds of the group apps whose `selector` the API server requires."""


def is_patch(document: Document, repository: Repository) -> bool:
    """Return whether an object is a patch.

    A patch lacks what an object needs, or a Kustomization near it lists its file as one.
    """
    return _is_incomplete(document) or _is_listed(document, repository)


def _is_incomplete(document: Document) -> bool:
    """Return whether a workload of the group apps has neither a selector nor any image."""
    group, kind = (str(document.get((key,))) for key in ("apiVersion", "kind"))
    if not group.startswith("apps/") or kind not in SELECTING:
        return False
    containers = document.get(("spec", "template", "spec", "containers"))
    listed = containers if isinstance(containers, list) else []
    whole = any(isinstance(container, dict) and "image" in container for container in listed)
    return bool(listed) and not whole and document.get(("spec", "selector")) is None


def _is_listed(document: Document, repository: Repository) -> bool:
    """Return whether a Kustomization lists the file as a patch.

    It may be in the same folder or in one above.
    """
    return _is_file_listed(document.path, repository)  # type: ignore[arg-type]  # every object has a hash


@functools.lru_cache(maxsize=8)
def _is_file_listed(path: str, repository: Repository) -> bool:
    """Return the same for a file, whose documents all ask it."""
    folder = posixpath.dirname(path)
    for _ in range(FOLDERS_UP + 1):
        if any(path in _list_patch_files(repository, folder, name) for name in KUSTOMIZATIONS):
            return True
        if not folder:
            return False
        folder = posixpath.dirname(folder)
    return False


def _list_patch_files(repository: Repository, folder: str, name: str) -> frozenset[str]:
    path = posixpath.join(folder, name)
    if not repository.exists(path):
        return frozenset()
    listed = (_list_patches(kustomization, folder) for kustomization in repository.read_documents(path))
    return frozenset().union(*listed)


@functools.lru_cache(maxsize=KEPT_MAX)
def _list_patches(kustomization: Document, folder: str) -> frozenset[str]:
    """Return the files that a Kustomization lists; many objects ask about the same one."""
    named = _find_names(kustomization)
    return frozenset(posixpath.normpath(posixpath.join(folder, file)) for file in named)


def _find_names(kustomization: Document) -> Iterator[str]:
    for key in LISTS:
        listed = kustomization.get((key,))
        for entry in listed if isinstance(listed, list) else ():
            file = entry.get("path") if isinstance(entry, dict) else entry
            if isinstance(file, str) and "\n" not in file:
                yield file


def changes_image(image: str, near: str, repository: Repository) -> bool:
    """Return whether a Kustomization of the repository names an image, or one of its patches states any."""
    name = image_tags.split_image(image)[0]
    for path in repository.find_named(NAMES, near)[:FILES_MAX]:
        for kustomization in repository.read_documents(path):
            if name in _list_images(kustomization) or any(
                SETS_IMAGE.search(text) for text in _read_patches(kustomization, posixpath.dirname(path), repository)
            ):
                return True
    return False


def _list_images(kustomization: Document) -> Iterator[str]:
    listed = kustomization.get(("images",))
    yield from (
        str(entry.get("name")) for entry in (listed if isinstance(listed, list) else ()) if isinstance(entry, dict)
    )


def _read_patches(kustomization: Document, folder: str, repository: Repository) -> Iterator[str]:
    """Yield the texts of the patches of a Kustomization, of its own and of the files that it lists."""
    for path in _list_patches(kustomization, folder):
        yield (repository.read(path) or b"").decode("utf-8", "replace")
    for key in LISTS:
        listed = kustomization.get((key,))
        for entry in listed if isinstance(listed, list) else ():
            yield str(entry.get("patch") or "") if isinstance(entry, dict) else str(entry)
