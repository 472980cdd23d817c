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
from gpulint.workload import Container, Field, Role, Workload

FACT = "moving_image"
OBJECTS = frozenset({"kubernetes", "kustomize"})
"""Formats in which another tool may fill in a missing tag."""


def mark_moving(workload: Workload, repository: Repository) -> Workload:
    """Return a workload whose roles name the image of their engine if its tag moves."""
    roles = tuple(_mark(role, workload, repository) for role in workload.roles)
    return workload if roles == workload.roles else replace(workload, roles=roles)


def _mark(role: Role, workload: Workload, repository: Repository) -> Role:
    container = role.container
    if container is None or container.image.text is None:
        return role
    image = container.image
    whole = workload.adapter not in OBJECTS
    if FACT not in role.fields:
        serves = engines.find_purpose(role.text("engine")) == "inference"
        if not serves or not image_tag.moves(image.text or "", complete=whole):
            return role
    near = workload.document.path
    if _is_own(container, near, repository) or (not whole and _is_renamed(container, near, repository)):
        return role.having(**{FACT: Field(None)}) if FACT in role.fields else role
    return role if FACT in role.fields else role.having(**{FACT: Field(image.text, processes.origins(image))})


def _is_renamed(container: Container, near: str, repository: Repository) -> bool:
    """Return whether a Kustomization may decide the tag."""
    from gpulint.adapters.kubernetes import kustomize_patches

    return kustomize_patches.changes_image(container.image.text or "", near, repository)


def _is_own(container: Container, near: str, repository: Repository) -> bool:
    """Return whether the repository builds an image and gives it no tag that stays."""
    if container.build is not None:
        return True
    if not join.find(container, near, repository):
        return False
    return not any(_stays(tag) for tag in _list_tags(container.image.text or "", near, repository))


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
