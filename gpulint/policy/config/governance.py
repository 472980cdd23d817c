"""Governance: what an organisation lets its workloads use, what they are to state, and how much they may take together."""

from __future__ import annotations

import fnmatch
from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import NamedTuple

from gpulint.catalog import package_data as shipped
from gpulint.workload import Origin

TEAM_LABEL = "team"
"""The label, or else the annotation, that names the team of a workload."""
FLOORS = ("training_network_floor_bytes_per_s",)
"""Numbers of an organisation whose default is not one number, but one in each world."""


class Requirement(NamedTuple):
    """What the workloads that match are to state; `paths` are lines of a .gitignore at the root, none for all files."""

    paths: tuple[str, ...] = ()
    workload: str = "*"
    task: str = ""
    labels: tuple[str, ...] = ()
    annotations: tuple[str, ...] = ()
    objective: bool = False
    facts: tuple[str, ...] = ()
    origin: Origin | None = None

    def matches(self, workload: str, task: str) -> bool:
        """Whether it is about a workload of a file that matches."""
        return fnmatch.fnmatchcase(workload, self.workload) and self.task in ("", task)


class Budget(NamedTuple):
    """How much the workloads that match may take together: those of a team, or all of the files that match.

    `place` tells budgets apart; `whole` says that the run reads every file that they may be in.
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


class Permitted(NamedTuple):
    """The accelerators that may be used, as patterns: those that are allowed, all where none is, less those that are not."""

    allowed: tuple[str, ...] = ()
    forbidden: tuple[str, ...] = ()
    origin: Origin | None = None

    def __str__(self) -> str:
        among = ", ".join(self.allowed) or "any accelerator"
        return f"{among}, but not {', '.join(self.forbidden)}" if self.forbidden else among


class Governance(NamedTuple):
    """All that a policy demands of one file, or of any that it governs."""

    thresholds: Mapping[str, float] = MappingProxyType({})
    permitted: Permitted = Permitted()
    requirements: tuple[Requirement, ...] = ()
    budgets: tuple[Budget, ...] = ()
    team_label: str = TEAM_LABEL

    def about(self, matches: Callable[[tuple[str, ...]], bool]) -> Governance:
        """What is demanded of a file that matches these paths."""
        requirements = tuple(one for one in self.requirements if not one.paths or matches(one.paths))
        budgets = tuple(one for one in self.budgets if not one.paths or matches(one.paths))
        if (len(requirements), len(budgets)) == (len(self.requirements), len(self.budgets)):
            return self
        return self._replace(requirements=requirements, budgets=budgets)

    def read_whole(self) -> Governance:
        """The same for a run that reads every file that the policy governs."""
        return self._replace(budgets=tuple(one._replace(whole=True) for one in self.budgets)) if self.budgets else self


NONE = Governance()


def thresholds() -> tuple[str, ...]:
    """The names of the numbers that an organisation may set."""
    rows = shipped.glossary()
    return (*(name for name, row in rows.items() if (row["of"], row["type"]) == ("policy", "number")), *FLOORS)
