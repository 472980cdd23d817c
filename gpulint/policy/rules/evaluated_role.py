"""A role of a workload, or a component of a facility, with what its rules say."""

from __future__ import annotations

from collections.abc import Collection
from typing import TYPE_CHECKING, NamedTuple

from gpulint.facts import basis
from gpulint.facts.basis import Known
from gpulint.facts.glossary import glossary
from gpulint.facts.model import Facts
from gpulint.policy.conditions import cel
from gpulint.policy.rules.evaluate import Outcome, Verdict
from gpulint.policy.rules.rule import Rule
from gpulint.report.model import Severity
from gpulint.workload import Role, Workload

if TYPE_CHECKING:
    from gpulint.policy.rules.bounds import Bounds


class EvaluatedRole(NamedTuple):
    """A role of a workload, or a component of a facility, with its facts, the rules that match it and their outcome.

    `component` is the path of a component inside its facility; a role has none. `bounds` are those of a role whose
    memory rests on values that its file leaves open. `stated` are the facts without assumed hardware, if some is assumed.
    """

    workload: Workload
    facts: Facts
    rules: tuple[Rule, ...]
    outcome: Outcome
    component: str = ""
    bounds: Bounds | None = None
    stated: Facts | None = None

    @property
    def owner(self) -> tuple[str, str]:
        """The names of the workload and the role, or of the facility and the component."""
        return self.workload.name, self.component or self.facts.role.name


def add_assumed(
    stated: EvaluatedRole, assumed: EvaluatedRole, source: str, together: Collection[str] = frozenset()
) -> Outcome:
    """Return the outcome of a role with what its rules say on hardware or a model that is assumed from a source.

    A rule that fires without the assumption keeps its verdict; one that fires only with it is one step lower, or two if
    it is one of those that fire only on two assumptions `together`.
    """
    kept = {verdict.rule.name: verdict for verdict in stated.outcome.verdicts}
    verdicts = {name: verdict._replace(facts=verdict.facts or stated.facts) for name, verdict in kept.items()}
    for verdict in assumed.outcome.verdicts:
        steps, before = 1 + (verdict.rule.name in together), kept.get(verdict.rule.name)
        severity = verdict.severity.lower_by(steps)
        if severity is not None and (before is None or before.severity < severity):
            said = f"{verdict.whatever}; {source}"
            verdicts[verdict.rule.name] = verdict._replace(severity=severity, whatever=said)
    left = tuple(entry for entry in assumed.outcome.not_evaluated if entry.rule not in verdicts)
    return Outcome(
        tuple(verdicts.values()), left, stated.outcome.holding | assumed.outcome.holding, assumed.outcome.bounded
    )


def lower(outcome: Outcome, source: str) -> Outcome:
    """Return an outcome of which every verdict rests on something assumed: each is one step lower."""
    lowered = ((verdict, verdict.severity.lower_by(1)) for verdict in outcome.verdicts)
    verdicts = tuple(
        verdict._replace(severity=severity, whatever=f"{verdict.whatever}; {source}")
        for verdict, severity in lowered
        if severity is not None
    )
    return outcome._replace(verdicts=verdicts)


def cap_errors(found: EvaluatedRole) -> EvaluatedRole:
    """Return an evaluated role without errors that rest on an assumed value or on the default of an open file.

    Each of them is a warning that names the value.
    """
    if all(verdict.severity < Severity.ERROR for verdict in found.outcome.verdicts):
        return found
    verdicts = tuple(_cap(verdict, found.facts) for verdict in found.outcome.verdicts)
    return found._replace(outcome=found.outcome._replace(verdicts=verdicts))


def _cap(verdict: Verdict, facts: Facts) -> Verdict:
    if verdict.severity < Severity.ERROR:
        return verdict
    weak = basis.find_weak(verdict.facts or facts, cel.find_names(verdict.rule.when), facts.role)
    if weak is None:
        return verdict
    said = f"{verdict.whatever}; {_describe_weak(weak, facts.role)}"
    return verdict._replace(severity=Severity.WARNING, whatever=said)


def _describe_weak(weak: Known, role: Role) -> str:
    """Return what a finding rests on that no file states."""
    if weak.field is not None and weak.field.assumption:
        return weak.field.assumption
    if weak.basis == "assumed":
        return weak.source
    further = role.open_ended or "another file or command may state it"
    source = "" if weak.source == "stated" else f" ({weak.source})"
    return f"{glossary()[weak.fact].meaning} is assumed{source}: {further}"
