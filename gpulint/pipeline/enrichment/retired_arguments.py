"""Retired arguments and launchers: those that the required releases of a trainer and of PyTorch do not have."""

from __future__ import annotations

import re
from dataclasses import replace

from gpulint.source.repository import Repository
from gpulint.workload import Field, Role, Workload

LAUNCHER = "retired_launcher"
CHANGED = (2,)
"""The release of PyTorch in which the launcher passes other words to its ranks."""
OF_PYTORCH = re.compile(r"(?:^|/)pytorch(?:-\w+)?:(?:v)?(?P<major>\d)\.\d")


def merge_retired(workload: Workload, repository: Repository) -> Workload:
    """Return a workload with the arguments of its trainers that later releases renamed or removed."""
    trains = workload.kind == "training"
    roles = tuple(
        _leave_out_launcher(_merge(role, repository) if trains else role, repository) for role in workload.roles
    )
    return workload if roles == workload.roles else replace(workload, roles=roles)


def _leave_out_launcher(role: Role, repository: Repository) -> Role:
    """Return a role without its retired launcher if the required release of PyTorch is older than the change."""
    if LAUNCHER not in role.fields:
        return role
    from gpulint.adapters.programs import unknown_settings

    image = role.container.image.text if role.container is not None else None
    named = OF_PYTORCH.search(image or "")
    installed = (int(named["major"]),) if named else unknown_settings.pins(repository).get("torch")
    return role.having(**{LAUNCHER: Field(None)}) if installed is not None and installed < CHANGED else role


def _merge(role: Role, repository: Repository) -> Role:
    if role.command is None or "retired_setting" in role.fields:
        return role
    from gpulint.adapters.programs import unknown_settings

    format = unknown_settings.OF_TRAINERS.get(role.text("engine"))
    if format is None:
        return role
    found = unknown_settings.arguments(role.command.words, format, unknown_settings.pins(repository))
    return role.having(**found) if found else role
