"""Own scripts: a repository's own copy of a trainer's program need not do what the released one does."""

from __future__ import annotations

import posixpath
from collections.abc import Iterator
from dataclasses import replace

from gpulint import engines
from gpulint.engines.trainers import recipes, vocabulary
from gpulint.source.repository import Repository
from gpulint.workload import Field, Role, Workload

OWN = "the repository has its own copy of the program, which may set more"
PARTS_MAX = 8
FOLDERS_MAX = 8
SPECIFIC = frozenset({"open-r1"})
"""Trainers whose program takes the arguments of another one and no settings of a recipe."""


def reopen(workload: Workload, repository: Repository) -> Workload:
    """Return a workload whose settings stay open where they rest on a program that the repository has a copy of."""
    if not any(_rests_on_release(role) for role in workload.roles):
        return workload
    roles = (_reopen_role(role, workload.document.path, repository) for role in workload.roles)
    return replace(workload, roles=tuple(roles))


def _rests_on_release(role: Role) -> bool:
    """Return whether settings of a training run are those of a released program."""
    if not engines.is_training(role):
        return False
    return role.text("engine") in SPECIFIC or any(recipes.is_of_release(field) for field in role.fields.values())


def _reopen_role(role: Role, path: str, repository: Repository) -> Role:
    engine = role.fields.get("engine")
    if not _rests_on_release(role) or engine is None or not engine.origins:
        return role
    if not any(repository.exists(place) for place in _list_places(engine.origins[0].text(), path)):
        return role
    kept = {name: field for name, field in role.fields.items() if not _is_of_release(name, field)}
    return replace(role, fields=kept, open_ended=role.open_ended or OWN)


def _is_of_release(name: str, field: Field) -> bool:
    """Return whether a released program sets a field, and no word of the command."""
    return recipes.is_of_release(field) or (name in vocabulary.DECIDING and not field.origins)


def _list_places(program: str, path: str) -> Iterator[str]:
    """Yield where a repository would have a script or a module: below the folders above a file, by the end of its path."""
    name = program.strip().strip("\"'")
    if not name.endswith(".py"):
        if "." not in name or "/" in name:
            return
        name = f"{name.replace('.', '/')}.py"
    parts = [part for part in name.split("/") if part not in ("", ".", "..")][-PARTS_MAX:]
    folder = posixpath.dirname(path)
    for _ in range(FOLDERS_MAX):
        yield from (posixpath.join(folder, *parts[at:]) for at in range(max(1, len(parts) - 1)))
        if folder == posixpath.dirname(folder):
            return
        folder = posixpath.dirname(folder)
