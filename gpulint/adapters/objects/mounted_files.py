"""Mounted: the text of a file that a ConfigMap mounts into a container."""

from __future__ import annotations

import posixpath
from collections.abc import Iterator

from gpulint.adapters.objects import config_maps
from gpulint.source.documents import Document, Path
from gpulint.workload import Origin


def file(document: Document, spec: Path, container: Path, name: str) -> Origin | None:
    """Locate the text of a container's file: the key of a ConfigMap that a volume mounts there."""
    for mount in _list_mappings(document, (*container, "volumeMounts")):
        at, sub_path = mount.get("mountPath"), mount.get("subPath")
        if not isinstance(at, str):
            continue
        inside = (
            sub_path if sub_path and posixpath.normpath(at) == posixpath.normpath(name) else _relative_path(at, name)
        )
        if isinstance(inside, str) and (text := _find_config_map_key(document, spec, mount.get("name"), inside)):
            return text
    return None


def _relative_path(folder: str, name: str) -> str | None:
    """Return the path of a file from a folder; None if it is outside."""
    relative = posixpath.relpath(posixpath.normpath(name), posixpath.normpath(folder)) if name.startswith("/") else ".."
    return None if relative.startswith("..") else relative


def _find_config_map_key(document: Document, spec: Path, volume: object, inside: str) -> Origin | None:
    for volume_entry in _list_mappings(document, (*spec, "volumes")):
        source = volume_entry.get("configMap")
        if volume_entry.get("name") != volume or not isinstance(source, dict):
            continue
        items = source.get("items")
        renamed = {
            str(item.get("path")): str(item.get("key"))
            for item in (items if isinstance(items, list) else ())
            if isinstance(item, dict)
        }
        return config_maps.text(document, source.get("name"), renamed.get(inside, inside) if renamed else inside)
    return None


def _list_mappings(document: Document, path: Path) -> Iterator[dict[str, object]]:
    listed = document.get(path)
    yield from (entry for entry in (listed if isinstance(listed, list) else ()) if isinstance(entry, dict))
