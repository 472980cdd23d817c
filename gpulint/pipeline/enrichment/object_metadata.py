"""Metadata: name, kind, namespace, labels, annotations and image of a workload's object."""

from __future__ import annotations

import functools
import posixpath
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import NamedTuple

from gpulint.source.documents import Document, Path
from gpulint.source.repository import Repository
from gpulint.workload import Field, Origin, Role, Unknown, Workload

MAPS = ("labels", "annotations")
FILLED_IN = ("{{", "$")
"""Marks of templates; names and images do not contain them."""
TARGETS: Mapping[str, tuple[Path, ...]] = {
    "helm_release": (("spec", "targetNamespace"), ("metadata", "namespace")),
    "argo_cd": (("spec", "destination", "namespace"), ("spec", "template", "spec", "destination", "namespace")),
}
"""Where objects that install a chart declare its namespace, by adapter."""
BY_CHART = "the chart's templates set it"
BY_MODULE = "expressions of the module set it"
KUSTOMIZATIONS = ("kustomization.yaml", "kustomization.yml", "Kustomization")
KEPT_MAX = 256


class KustomizationAdditions(NamedTuple):
    """What a Kustomization adds to the objects of the files that it lists."""

    path: str
    maps: Mapping[str, Mapping[str, str]]
    namespace: str = ""


def add_metadata(workload: Workload, repository: Repository) -> Workload:
    """Return the workload with the metadata of its object and of a Kustomization in the same
    folder.
    """
    added = _find_kustomization(workload.document, repository) if _is_object(workload.document) else None
    return replace(workload, roles=tuple(_describe_role(role, workload, added) for role in workload.roles))


def _describe_role(role: Role, workload: Workload, added: KustomizationAdditions | None) -> Role:
    document, kind = workload.document, workload.document.get((*workload.path, "kind"))
    holders = tuple(_find_holders(role, workload))
    own: dict[str, Field] = {
        "path": Field(document.path, source="the file's own"),
        "workload_name": Field(workload.name, source="the workload's own"),
        "object_kind": Field(kind if isinstance(kind, str) else None, source="the object's own"),
        "object_namespace": _find_namespace(holders, workload),
        **{name: _find_map(name, holders, workload) for name in MAPS},
    }
    if (image := _find_image(role.anchor)) is not None:
        own["image"] = image
    if added is not None:
        own |= _overlay(own, added)
    return role.having(**{name: field for name, field in own.items() if name not in role.fields})


def _find_item(value: object, part: str | int) -> object:
    """Return what a mapping or list holds under one step of a path."""
    if isinstance(value, dict):
        return value.get(part)
    return value[part] if isinstance(value, list) and isinstance(part, int) and part < len(value) else None


def _find_kustomization(document: Document, repository: Repository) -> KustomizationAdditions | None:
    """Return what the Kustomization of the same folder adds, if it lists the object's file."""
    folder, name = posixpath.split(document.path)
    for file in KUSTOMIZATIONS:
        path = posixpath.join(folder, file)
        if name == file or not repository.exists(path):
            continue
        for one in repository.read_documents(path):
            if name in _list_resources(one):
                return _read_additions(one)
    return None


@functools.lru_cache(maxsize=KEPT_MAX)
def _list_resources(kustomization: Document) -> frozenset[str]:
    """Return the files that a Kustomization lists; many objects ask about the same one."""
    listed = kustomization.get(("resources",))
    return frozenset(posixpath.normpath(str(item)) for item in listed) if isinstance(listed, list) else frozenset()


def _read_additions(document: Document) -> KustomizationAdditions:
    labels = _read_entries(document.get(("commonLabels",)))
    groups = document.get(("labels",))
    for group in groups if isinstance(groups, list) else ():
        labels |= _read_entries(group.get("pairs")) if isinstance(group, dict) else {}
    namespace = document.get(("namespace",))
    maps = {"labels": labels, "annotations": _read_entries(document.get(("commonAnnotations",)))}
    return KustomizationAdditions(document.path, maps, namespace if isinstance(namespace, str) else "")


def _overlay(own: Mapping[str, Field], added: KustomizationAdditions) -> dict[str, Field]:
    """Return the fields that a Kustomization changes.

    Its own values count; overlays may add more.
    """
    changed = {"kustomization": Field(added.path, source="the same folder")}
    for name in MAPS:
        if isinstance(before := own[name].value, Mapping):
            changed[name] = replace(own[name], value={**before, **added.maps[name]})
    if added.namespace:
        changed["object_namespace"] = Field(added.namespace, source=added.path)
    return changed


def _find_holders(role: Role, workload: Workload) -> Iterator[Origin]:
    """Yield the `metadata` of an object and of the templates that a role comes from, outermost
    first.
    """
    document = workload.document
    paths = [workload.path, *([role.anchor.path] if role.anchor.document is document else [])]
    seen: set[Path] = set()
    for path in paths:
        value = document.data
        for end in range(len(path) + 1):
            value = value if end == 0 else _find_item(value, path[end - 1])
            place = (*path[:end], "metadata")
            if isinstance(value, dict) and isinstance(value.get("metadata"), dict) and place not in seen:
                seen.add(place)
                yield Origin(document, place)


def _find_namespace(holders: Sequence[Origin], workload: Workload) -> Field:
    document = workload.document
    if workload.adapter in TARGETS:
        found = [Origin(document, path) for path in TARGETS[workload.adapter]]
    else:
        found = [holder._replace(path=(*holder.path, "namespace")) for holder in holders]
    for origin in found:
        if isinstance(stated := origin.document.get(origin.path), str):
            unsure = any(mark in stated for mark in FILLED_IN)
            return Field(Unknown(f"{stated} is a placeholder", "placeholder") if unsure else stated, (origin,))
    if workload.adapter == "helm_values":
        return Field(Unknown("the namespace is set when the chart is installed"))
    if _is_object(document):
        return Field(Unknown("the object declares no namespace: it is set when the object is applied"))
    return Field(None, source="the format has no namespaces")


def _find_map(name: str, holders: Sequence[Origin], workload: Workload) -> Field:
    """Return labels or annotations: those of the object, completed by those of its pod template."""
    if workload.adapter == "helm_values":
        return Field(Unknown(BY_CHART))
    if workload.document.format == "hcl":
        return Field(Unknown(BY_MODULE))
    holding = [holder for holder in holders if isinstance(holder.document.get((*holder.path, name)), dict)]
    places = [holder._replace(path=(*holder.path, name)) for holder in holding] or _locate_service_labels(
        name, workload
    )
    merged: dict[str, str] = {}
    for place in reversed(places):
        merged.update(_read_entries(place.document.get(place.path)))
    return Field(
        merged, tuple(place._replace(key=True) for place in places), source="" if places else "nothing states any"
    )


def _locate_service_labels(name: str, workload: Workload) -> list[Origin]:
    """Return the labels of a Compose service, a mapping or a list of `key=value`."""
    place = Origin(workload.document, (*workload.path, name))
    stated = workload.adapter == "compose" and isinstance(workload.document.get(place.path), dict | list)
    return [place] if stated else []


def _read_entries(stated: object) -> dict[str, str]:
    if isinstance(stated, list):
        pairs = (str(item).partition("=") for item in stated)
        return {key: value for key, _, value in pairs}
    return {str(key): _render_text(value) for key, value in stated.items()} if isinstance(stated, dict) else {}


def _render_text(value: object) -> str:
    return str(value).lower() if isinstance(value, bool) else "" if value is None else str(value)


def _is_object(document: Document) -> bool:
    return isinstance(document.get(("apiVersion",)), str) and isinstance(document.get(("kind",)), str)


def _find_image(anchor: Origin) -> Field | None:
    """Return the image of the role's container; None if none is declared."""
    document = anchor.document
    for end in range(len(anchor.path), -1, -1):
        place = Origin(document, (*anchor.path[:end], "image"))
        if isinstance(stated := document.get(place.path), str):
            unsure = any(mark in stated for mark in FILLED_IN)
            return Field(Unknown(f"{stated} is a placeholder", "placeholder") if unsure else stated, (place,))
    return None
