"""Mounted: the text of a file that a container has from a ConfigMap."""

from __future__ import annotations

import posixpath
from collections.abc import Iterator

from gpulint.adapters.objects import config_maps as config_map
from gpulint.source.documents import Document, Path
from gpulint.workload import Origin


def file(document: Document, spec: Path, container: Path, name: str) -> Origin | None:
    """Where the text of a container's file stands: a key of a ConfigMap that a volume brings there."""
    for mount in _mappings(document, (*container, "volumeMounts")):
        at, sub_path = mount.get("mountPath"), mount.get("subPath")
        if not isinstance(at, str):
            continue
        inside = sub_path if sub_path and posixpath.normpath(at) == posixpath.normpath(name) else _below(at, name)
        if isinstance(inside, str) and (found := _held(document, spec, mount.get("name"), inside)):
            return found
    return None


def _below(folder: str, name: str) -> str | None:
    """The path of a file from a folder; None where it lies elsewhere."""
    relative = posixpath.relpath(posixpath.normpath(name), posixpath.normpath(folder)) if name.startswith("/") else ".."
    return None if relative.startswith("..") else relative


def _held(document: Document, spec: Path, volume: object, inside: str) -> Origin | None:
    for one in _mappings(document, (*spec, "volumes")):
        source = one.get("configMap")
        if one.get("name") != volume or not isinstance(source, dict):
            continue
        items = source.get("items")
        renamed = {
            str(item.get("path")): str(item.get("key"))
            for item in (items if isinstance(items, list) else ())
            if isinstance(item, dict)
        }
        return config_map.text(document, source.get("name"), renamed.get(inside, inside) if renamed else inside)
    return None


def _mappings(document: Document, path: Path) -> Iterator[dict[str, object]]:
    listed = document.get(path)
    yield from (one for one in (listed if isinstance(listed, list) else ()) if isinstance(one, dict))
