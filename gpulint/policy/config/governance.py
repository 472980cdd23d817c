"""Governance: what an organisation allows, requires and budgets."""

from __future__ import annotations

import fnmatch
from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import NamedTuple

from gpulint.catalog import package_data
from gpulint.workload import Origin

TEAM_LABEL = "team"
"""The label, or else the annotation, that names the team of a workload."""
FLOORS = ("training_network_floor_bytes_per_s",)
"""Thresholds whose default differs between scenarios."""


class Requirement(NamedTuple):
    """What matching workloads must declare;

    `paths` are .gitignore lines from the root, empty for all files.
    """

    paths: tuple[str, ...] = ()
    workload: str = "*"
    task: str = ""
    labels: tuple[str, ...] = ()
    annotations: tuple[str, ...] = ()
    objective: bool = False
    facts: tuple[str, ...] = ()
    origin: Origin | None = None

    def matches(self, workload: str, task: str) -> bool:
        """Return whether the requirement applies to a workload of a matching file."""
        return fnmatch.fnmatchcase(workload, self.workload) and self.task in ("", task)


class Budget(NamedTuple):
    """The limits of matching workloads together: those of a team, or of all matching files.

    `place` identifies the budget; `whole` is set if the run reads every file that it may cover.
    """

    name: str
    paths: tuple[str, ...] = ()
    team: str = ""
    gpus: float | None = None
    usd_per_hour: float | None = None
    power_w: float | None = None
    place: str = ""
    origin: Origin | None = None
    whole: bool = False


class AllowedAccelerators(NamedTuple):
    """Patterns of the allowed accelerators (all if empty), minus the forbidden ones."""

    allowed: tuple[str, ...] = ()
    forbidden: tuple[str, ...] = ()
    origin: Origin | None = None

    def __str__(self) -> str:
        among = ", ".join(self.allowed) or "any accelerator"
        return f"{among}, but not {', '.join(self.forbidden)}" if self.forbidden else among


class PolicyRequirements(NamedTuple):
    """All policy requirements of one file, or of a whole policy."""

    thresholds: Mapping[str, float] = MappingProxyType({})
    permitted: AllowedAccelerators = AllowedAccelerators()
    requirements: tuple[Requirement, ...] = ()
    budgets: tuple[Budget, ...] = ()
    team_label: str = TEAM_LABEL

    def select(self, matches: Callable[[tuple[str, ...]], bool]) -> PolicyRequirements:
        """Return the requirements and budgets of a file that matches these paths."""
        requirements = tuple(
            requirement for requirement in self.requirements if not requirement.paths or matches(requirement.paths)
        )
        budgets = tuple(budget for budget in self.budgets if not budget.paths or matches(budget.paths))
        if (len(requirements), len(budgets)) == (len(self.requirements), len(self.budgets)):
            return self
        return self._replace(requirements=requirements, budgets=budgets)

    def read_whole(self) -> PolicyRequirements:
        """Return the same for a run that reads every file of the policy."""
        return (
            self._replace(budgets=tuple(budget._replace(whole=True) for budget in self.budgets))
            if self.budgets
            else self
        )


NONE = PolicyRequirements()


def list_thresholds() -> tuple[str, ...]:
    """Return the names of the thresholds that an organisation may set."""
    rows = package_data.load_glossary()
    return (*(name for name, row in rows.items() if (row["of"], row["type"]) == ("policy", "number")), *FLOORS)
