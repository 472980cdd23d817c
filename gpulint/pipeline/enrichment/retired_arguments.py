"""Retired arguments: those of a trainer that a container starts, which the required releases do not have."""

from __future__ import annotations

from dataclasses import replace

from gpulint.source.repository import Repository
from gpulint.workload import Role, Workload

OF_TRAINERS = {"transformers": "trainer", "trl": "trainer", "llama-factory": "llama-factory"}
"""Trainers whose arguments are also keys of their configuration files, and the table that lists them."""


def merge_retired(workload: Workload, repository: Repository) -> Workload:
    """Return a workload with the arguments of its trainers that later releases renamed or removed."""
    if not any(_is_open(role) for role in workload.roles):
        return workload
    return replace(workload, roles=tuple(_merge(role, repository) for role in workload.roles))


def _is_open(role: Role) -> bool:
    return role.command is not None and role.text("engine") in OF_TRAINERS and "retired_setting" not in role.fields


def _merge(role: Role, repository: Repository) -> Role:
    if not _is_open(role) or role.command is None:
        return role
    from gpulint.adapters.programs import unknown_settings

    format = OF_TRAINERS[role.text("engine")]
    found = unknown_settings.arguments(role.command.words, format, unknown_settings.pins(repository))
    return role.having(**found) if found else role
