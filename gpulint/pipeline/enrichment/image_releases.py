"""Image releases: images of engines, in any format that starts containers, whose tags move from release to release.

An image that the repository itself builds moves only when its author pushes it. It is named if its build also pushes a tag
that stays.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from gpulint import engines
from gpulint.adapters.images import declared, join
from gpulint.adapters.pods import image_tag
from gpulint.adapters.programs import processes
from gpulint.engines import image_tags
from gpulint.source.repository import Repository
from gpulint.workload import Container, Field, Origin, Role, Workload

FACT = "moving_image"
COMPLETE = frozenset({"compose", "nomad"})
"""Formats that give an image to the runtime as it is; in manifests and values of charts, another tool may add the tag."""
OBJECTS = frozenset({"kubernetes", "kustomize"})


def mark_moving(workload: Workload, repository: Repository) -> Workload:
    """Return a workload whose roles name the image of their engine if its tag moves."""
    roles = tuple(_mark(role, workload, repository) for role in workload.roles)
    return workload if roles == workload.roles else replace(workload, roles=roles)


def _mark(role: Role, workload: Workload, repository: Repository) -> Role:
    container = role.container
    if container is None or container.image.text is None:
        return role
    image = container.image
    whole = workload.adapter in COMPLETE or workload.document.format == "shell"
    if FACT not in role.fields:
        serves = engines.find_purpose(role.text("engine")) == "inference"
        moving = serves and image_tag.moves(image.text or "", complete=whole)
        if not moving or not any(_names(origin, image.text or "") for origin in processes.origins(image)):
            return role
    near = workload.document.path
    if _is_own(container, near, repository) or (
        workload.adapter in OBJECTS and _is_renamed(container, near, repository)
    ):
        return role.having(**{FACT: Field(None)}) if FACT in role.fields else role
    return role if FACT in role.fields else role.having(**{FACT: Field(image.text, processes.origins(image))})


def _names(origin: Origin, image: str) -> bool:
    """Return whether a file names an image: that of a chart's or a runtime's default is decided by its release."""
    repository, _ = image_tags.split_image(image)
    return "/".join(repository.rsplit("/", 2)[-2:]) in origin.document.text


def _is_renamed(container: Container, near: str, repository: Repository) -> bool:
    """Return whether a Kustomization may decide the tag."""
    from gpulint.adapters.kubernetes import kustomize_patches

    return kustomize_patches.changes_image(container.image.text or "", near, repository)


def _is_own(container: Container, near: str, repository: Repository) -> bool:
    """Return whether the repository builds an image and gives it no tag that stays, or only a machine has it."""
    if container.build is not None or _is_local(container.image.text or ""):
        return True
    if not join.find(container, near, repository):
        return False
    return not any(_stays(tag) for tag in _list_tags(container.image.text or "", near, repository))


def _is_local(image: str) -> bool:
    """Return whether an image has a name without a registry or an owner, as one that is built where it runs."""
    return "/" not in image_tags.split_image(image)[0]


def _list_tags(image: str, near: str, repository: Repository) -> Iterator[str]:
    """Yield the tags that files of the repository give an image which they build."""
    name = join.read_name(image)
    for one in join.list_declared(near, repository):
        if name and join.read_name(one.image) == name:
            yield declared.read_tag(one.image)


def _stays(tag: str) -> bool:
    """Return whether a tag stays with its build: a number, or what an expression makes of a release or a commit."""
    plain = image_tags.PLATFORM.sub("", tag)
    return not image_tag.MOVED & set(plain.replace("-", " ").replace("}", " ").split()) and (
        "$" in plain or any(character.isdigit() for character in plain)
    )
