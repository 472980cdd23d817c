"""The objects that a Kustomization builds, as data: resources, generated ConfigMaps, patches, images, replicas.

Nothing is executed or fetched: remote resources, generators and plugins are left out.
"""

from __future__ import annotations

import posixpath
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from typing import NamedTuple

from gpulint.adapters.charts import kustomize_edits
from gpulint.adapters.objects import embedded, merge, references, synthetic
from gpulint.adapters.objects.merge import Places
from gpulint.source.documents import Document, Node, Path
from gpulint.source.repository import Repository
from gpulint.workload import Origin

DEPTH_MAX = 6
"""Kustomizations on top of one another that are followed."""
OBJECTS_MAX = 400
LISTS = ("resources", "bases", "components")
PATCHES = ("patches", "patchesStrategicMerge", "patchesJson6902")


class Target(NamedTuple):
    """Which objects a patch is for: regular expressions of their kind and name; an empty one is any."""

    kind: str
    name: str

    def matches(self, root: Node) -> bool:
        """Return whether a patch for this target changes an object."""
        kind, name = _identify(root)
        return _is_match(self.kind, kind) and _is_match(self.name, name)


@dataclass(frozen=True)
class Built:
    """An object, the document of the file that states it, and whether the outermost Kustomization changes it."""

    root: Node
    source: Document
    is_changed: bool = False


@dataclass
class Build:
    """What a Kustomization builds, and where the values of other files are stated."""

    document: Document
    repository: Repository
    places: Places = field(default_factory=Places)
    objects: list[Built] = field(default_factory=list)


def build(document: Document, repository: Repository) -> Build:
    """Return the objects that a Kustomization builds out of files of the repository."""
    built = Build(document, repository)
    built.objects = list(_list_objects(built, document, None, DEPTH_MAX))
    return built


def _list_objects(build: Build, kustomization: Document, reference: Origin | None, depth: int) -> Sequence[Built]:
    """Return the objects of one Kustomization. A nested one is located at the `reference` to it."""
    objects: list[Built] = []
    folder = posixpath.dirname(kustomization.path)
    for key in LISTS:
        listed = kustomization.get((key,))
        for at, entry in enumerate(listed if isinstance(listed, list) else ()):
            if not isinstance(entry, str) or "://" in entry or "\n" in entry or len(objects) > OBJECTS_MAX:
                continue
            where = reference or Origin(kustomization, (key, at))
            path = posixpath.normpath(posixpath.join(folder, entry))
            if key == "components":
                objects = _apply_component(build, path, objects, where, depth, reference is None)
            else:
                objects += _read_resource(build, path, where, depth)
    return _transform(build, kustomization, objects, reference)


def _read_resource(build: Build, path: str, where: Origin, depth: int) -> Iterator[Built]:
    """Yield the objects of a file, or those of the Kustomization in a folder."""
    if nested := find_kustomization(path, build.repository):
        if depth and nested.path != build.document.path:
            yield from (replace(one, is_changed=False) for one in _list_objects(build, nested, where, depth - 1))
        return
    if not path.endswith((".yaml", ".yml", ".json")):
        return
    for source in build.repository.read_documents(path)[:OBJECTS_MAX]:
        root = build.places.copy(source, (), where) if source.get(("kind",)) is not None else None
        if root is not None:
            yield Built(root, source)


def find_kustomization(folder: str, repository: Repository) -> Document | None:
    """Return the Kustomization of a folder."""
    for name in references.KUSTOMIZATIONS:
        path = posixpath.join(folder, name)
        if repository.exists(path):
            return next(iter(repository.read_documents(path)), None)
    return None


def _apply_component(
    build: Build, path: str, objects: list[Built], where: Origin, depth: int, is_outermost: bool
) -> list[Built]:
    component = find_kustomization(path, build.repository)
    if component is None or not depth:
        return objects
    added = [
        built
        for at in _list_entries(component, "resources")
        for built in _read_resource(
            build, posixpath.normpath(posixpath.join(path, str(component.get(at)))), where, depth - 1
        )
    ]
    changed = _transform(build, component, [*objects, *added], where)
    return [one if is_outermost else replace(one, is_changed=False) for one in changed]


# ---- what one Kustomization changes


def _transform(build: Build, kustomization: Document, objects: list[Built], reference: Origin | None) -> list[Built]:
    objects = _generate(build, kustomization, objects, reference)
    for at, patch in _list_patches(build, kustomization, reference):
        objects = [_apply_patch(one, patch, kustomization, at) for one in objects]
    for at in (*_list_entries(kustomization, "images"), *_list_entries(kustomization, "replicas")):
        place = synthetic.place(*_locate(kustomization, at, reference))
        objects = [_apply_edit(one, kustomization, at, place) for one in objects]
    return objects


def _list_entries(document: Document, key: str) -> list[Path]:
    listed = document.get((key,))
    return [(key, at) for at in range(len(listed))] if isinstance(listed, list) else []


def _locate(kustomization: Document, path: Path, reference: Origin | None) -> tuple[Document, Path]:
    return (reference.document, reference.path) if reference else (kustomization, path)


def _generate(build: Build, kustomization: Document, objects: list[Built], reference: Origin | None) -> list[Built]:
    """Return the objects with the ConfigMaps that a Kustomization generates, or merges into those of its bases."""
    for at in _list_entries(kustomization, "configMapGenerator"):
        made = references.build_config_map(kustomization, at[1])  # type: ignore[arg-type]
        root = build.places.copy(made, (), reference) if reference else made.root
        if root is None:
            continue
        name, behavior = str(kustomization.get((*at, "name"))), kustomization.get((*at, "behavior"))
        before = next((one for one in objects if _identify(one.root) == ("ConfigMap", name)), None)
        merged = merge.merge(before.root, root) if before is not None and behavior == "merge" else root
        kept = [one for one in objects if one is not before]
        objects = [*kept, Built(merged or root, made, is_changed=True)]
    return objects


class Patch(NamedTuple):
    """A patch: the objects that it is for, and a merge patch or the operations of a JSON patch."""

    target: Target
    document: Document
    root: Node


def _list_patches(build: Build, kustomization: Document, reference: Origin | None) -> Iterator[tuple[Path, Patch]]:
    for key in PATCHES:
        for at in _list_entries(kustomization, key):
            for document in _read_patch(build, kustomization, at):
                where = reference or Origin(kustomization, at)
                inline = document.text is kustomization.text and reference is None
                root = document.root if inline else build.places.copy(document, (), where)
                target = _read_target(kustomization, at, document)
                if root is not None and target is not None:
                    yield at, Patch(target, document, root)


def _read_patch(build: Build, kustomization: Document, at: Path) -> Sequence[Document]:
    """Return the documents of a patch: of a file, or of a text in the Kustomization."""
    entry = kustomization.get(at)
    inner = next((key for key in ("patch", "path") if isinstance(entry, dict) and isinstance(entry.get(key), str)), "")
    path = (*at, inner) if inner else at
    text = kustomization.get(path)
    if not isinstance(text, str):
        return ()
    if inner == "patch" or "\n" in text:
        found = embedded.document(kustomization, path)
        return (found,) if found is not None else ()
    file = posixpath.normpath(posixpath.join(posixpath.dirname(kustomization.path), text))
    return build.repository.read_documents(file) if build.repository.exists(file) else ()


def _read_target(kustomization: Document, at: Path, patch: Document) -> Target | None:
    """Return which objects a patch is for: its stated target, else the object that it names itself."""
    stated = kustomization.get((*at, "target"))
    if isinstance(stated, dict):
        if stated.get("labelSelector") or stated.get("annotationSelector"):
            return Target(str(stated["kind"]), str(stated.get("name") or "")) if stated.get("kind") else None
        return Target(str(stated.get("kind") or ""), str(stated.get("name") or ""))
    if not isinstance(patch.data, dict):
        return None
    kind, name = _identify(patch.root)
    return Target(re.escape(kind), re.escape(name)) if kind and name else None


def _apply_patch(built: Built, patch: Patch, kustomization: Document, at: Path) -> Built:
    if not patch.target.matches(built.root):
        return built
    if patch.root.kind == "sequence":
        root = kustomize_edits.apply_operations(built.root, patch.root)
    else:
        root = kustomize_edits.merge_patch(built.root, patch.root)
    return replace(built, root=root, is_changed=True)


def _apply_edit(built: Built, kustomization: Document, at: Path, place: Node) -> Built:
    """Return an object with the image or the replicas that a Kustomization sets."""
    entry = kustomization.get(at)
    if not isinstance(entry, dict):
        return built
    if at[0] == "images":
        root = kustomize_edits.set_image(built.root, entry, place)
    else:
        named = _identify(built.root)[1] == entry.get("name")
        root = kustomize_edits.set_replicas(built.root, entry.get("count"), place) if named else built.root
    return built if root is built.root else replace(built, root=root, is_changed=True)


def find_config_map(built: Built) -> str:
    """Return the name of a built ConfigMap; empty for any other object."""
    kind, name = _identify(built.root)
    return name if kind == "ConfigMap" else ""


def _identify(root: Node) -> tuple[str, str]:
    """Return the kind and the name of an object."""
    return merge.text(merge.value(root, "kind")), merge.text(merge.value(root, "metadata", "name"))


def _is_match(pattern: str, text: str) -> bool:
    try:
        return not pattern or re.fullmatch(pattern, text) is not None
    except re.error:
        return pattern == text
