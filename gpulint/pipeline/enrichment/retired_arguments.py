"""Retired arguments: those of a trainer that a container starts, which the required releases do not have."""

from __future__ import annotations

from dataclasses import replace

from gpulint.source.repository import Repository
from gpulint.workload import Role, Workload


def merge_retired(workload: Workload, repository: Repository) -> Workload:
    """Return a workload with the arguments of its trainers that later releases renamed or removed."""
    if workload.kind != "training" or all(role.command is None for role in workload.roles):
        return workload
    return replace(workload, roles=tuple(_merge(role, repository) for role in workload.roles))


def _merge(role: Role, repository: Repository) -> Role:
    if role.command is None or "retired_setting" in role.fields:
        return role
    from gpulint.adapters.programs import unknown_settings

    format = unknown_settings.OF_TRAINERS.get(role.text("engine"))
    if format is None:
        return role
    found = unknown_settings.arguments(role.command.words, format, unknown_settings.pins(repository))
    return role.having(**found) if found else role
