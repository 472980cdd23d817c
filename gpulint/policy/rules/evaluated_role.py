"""A role of a workload, or a component of a facility, with what its rules say."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from gpulint.facts.model import Facts
from gpulint.policy.rules.evaluate import Outcome
from gpulint.policy.rules.rule import Rule
from gpulint.workload import Workload

if TYPE_CHECKING:
    from gpulint.policy.rules.bounds import Bounds


class EvaluatedRole(NamedTuple):
    """A role of a workload, or a component of a facility, with its facts, the rules that match it and their outcome.

    `component` is the path of a component inside its facility; a role has none. `bounds` are those of a role whose
    memory rests on values that its file leaves open.
    """

    workload: Workload
    facts: Facts
    rules: tuple[Rule, ...]
    outcome: Outcome
    component: str = ""
    bounds: Bounds | None = None

    @property
    def owner(self) -> tuple[str, str]:
        """The names of the workload and the role, or of the facility and the component."""
        return self.workload.name, self.component or self.facts.role.name
