"""Patches of kustomize: files that a Kustomization lays over an object, which are never the whole of one."""

from __future__ import annotations

import posixpath
from collections.abc import Iterator

from gpulint.source import documents
from gpulint.source.documents import Document
from gpulint.source.repository import Repository

FILES = ("kustomization.yaml", "kustomization.yml", "Kustomization")
LISTS = ("patchesStrategicMerge", "patchesJson6902", "patches")
FOLDERS_UP = 3
SELECTING = frozenset({"Deployment", "StatefulSet", "ReplicaSet", "DaemonSet"})
"""Kinds of the group apps whose `selector` the API server requires."""


def is_one(document: Document, repository: Repository) -> bool:
    """Whether an object is a patch: it lacks what an object needs, or a Kustomization near it names its file as one."""
    return _incomplete(document) or _named_as_one(document, repository)


def _incomplete(document: Document) -> bool:
    """A workload of the group apps without a selector, none of whose containers has an image."""
    if not str(document.get(("apiVersion",))).startswith("apps/") or document.get(("kind",)) not in SELECTING:
        return False
    containers = document.get(("spec", "template", "spec", "containers"))
    listed = containers if isinstance(containers, list) else []
    whole = any(isinstance(one, dict) and "image" in one for one in listed)
    return bool(listed) and not whole and document.get(("spec", "selector")) is None


def _named_as_one(document: Document, repository: Repository) -> bool:
    """Whether a Kustomization of the same folder, or of one above, lists the file among its patches."""
    folder = posixpath.dirname(document.path)
    for _ in range(FOLDERS_UP + 1):
        if any(document.path in _patch_files(repository, folder, name) for name in FILES):
            return True
        if not folder:
            return False
        folder = posixpath.dirname(folder)
    return False


def _patch_files(repository: Repository, folder: str, name: str) -> frozenset[str]:
    path = posixpath.join(folder, name)
    content = repository.read(path) if repository.exists(path) else None
    if content is None:
        return frozenset()
    found = documents.load(path, content).documents
    named = (file for one in found for file in _named(one))
    return frozenset(posixpath.normpath(posixpath.join(folder, file)) for file in named)


def _named(kustomization: Document) -> Iterator[str]:
    for key in LISTS:
        listed = kustomization.get((key,))
        for one in listed if isinstance(listed, list) else ():
            file = one.get("path") if isinstance(one, dict) else one
            if isinstance(file, str) and "\n" not in file:
                yield file
