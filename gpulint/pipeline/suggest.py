"""The suggest stage: the findings of an evaluated file, each with the suggestions that the rules
accept.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import NamedTuple

from gpulint.facts.model import Facts
from gpulint.pipeline.evaluate import Evaluated, EvaluatedDocument, EvaluatedWorkload
from gpulint.policy.resolved import ResolvedPolicy
from gpulint.policy.rules import evaluate
from gpulint.policy.rules.evaluate import EvaluatedRole, Outcome, Verdict
from gpulint.policy.rules.rule import Rule
from gpulint.report.model import FacilitySummary, Finding, Suggestion

Behind = tuple[Finding, Facts]
"""A finding, and the facts that it rests on."""


class SuggestedRole(NamedTuple):
    """A role with its findings, and its outcome without the rules that fire only with a suggestion
    and have none.
    """

    role: EvaluatedRole
    outcome: Outcome
    findings: tuple[Behind, ...]


class SuggestedWorkload(NamedTuple):
    """A workload with the findings of each role."""

    evaluated: EvaluatedWorkload
    roles: tuple[SuggestedRole, ...]

    @property
    def findings(self) -> Iterator[Behind]:
        """The findings of every role."""
        return (entry for role in self.roles for entry in role.findings)


class Suggested(NamedTuple):
    """An evaluated file with its findings, its workloads and its facilities, and the facts by
    object and role.
    """

    evaluated: Evaluated
    findings: tuple[Finding, ...]
    workloads: tuple[SuggestedWorkload, ...]
    facilities: tuple[FacilitySummary, ...]
    facts: Mapping[tuple[str, str], Facts]


def generate(evaluated: Evaluated) -> Suggested:
    """Return the findings of a file in its order, each with its suggestions."""
    policy = evaluated.policy
    findings = list(evaluated.findings)
    workloads: list[SuggestedWorkload] = []
    facilities: list[FacilitySummary] = []
    facts: dict[tuple[str, str], Facts] = {}
    for document in evaluated.documents:
        about_components, summaries = _describe_facility(document, policy)
        facilities += summaries
        suggested = [_suggest_workload(workload, policy) for workload in document.workloads]
        workloads += suggested
        found = [*about_components, *(entry for workload in suggested for entry in workload.findings)]
        findings += [*document.problems, *(finding for finding, _ in found)]
        facts |= {(finding.subject.object, finding.role): known for finding, known in found}
    for scaler, workload in evaluated.targets:
        found = list(_suggest_workload(workload, policy).findings)
        findings += [finding for finding, _ in found if finding.location.path == scaler.path]
    findings += evaluated.about_hints
    return Suggested(evaluated, tuple(findings), tuple(workloads), tuple(facilities), facts)


def _describe_facility(
    document: EvaluatedDocument, policy: ResolvedPolicy
) -> tuple[list[Behind], list[FacilitySummary]]:
    """Return the findings about the components of a document, and the facility as reports show it."""
    if document.facility is None:
        return [], []
    from gpulint.pipeline import facility

    described = facility.evaluate(document.facility.root, document.facility.components, policy)
    return list(described.findings), [described.summary]


def _suggest_workload(workload: EvaluatedWorkload, policy: ResolvedPolicy) -> SuggestedWorkload:
    return SuggestedWorkload(workload, tuple(_suggest_role(role, policy) for role in workload.roles))


def _suggest_role(role: EvaluatedRole, policy: ResolvedPolicy) -> SuggestedRole:
    outcome, suggestions = _resolve_conditional(role)
    findings: list[Behind] = []
    for verdict in outcome.verdicts:
        name = verdict.rule.name
        if policy.alternatives and name not in suggestions:
            suggestions[name] = _suggest(verdict, role)
        finding = evaluate.make_finding(verdict, role.workload, role.facts)
        findings.append((finding._replace(suggestions=suggestions.get(name, ())), role.facts))
    return SuggestedRole(role, outcome, tuple(findings))


def _resolve_conditional(role: EvaluatedRole) -> tuple[Outcome, dict[str, tuple[Suggestion, ...]]]:
    """Drop the rules that fire only with a suggestion and have none: they do not fire, and absorb
    nothing.
    """
    suggestions: dict[str, tuple[Suggestion, ...]] = {}
    outcome = role.outcome
    while conditional := [
        verdict for verdict in outcome.verdicts if verdict.rule.only_with and verdict.rule.name not in suggestions
    ]:
        suggestions.update({verdict.rule.name: _suggest(verdict, role) for verdict in conditional})
        firing = [rule for rule in role.rules if suggestions.get(rule.name) != ()]
        outcome = evaluate.evaluate(firing, role.facts)
    return outcome, {name: found for name, found in suggestions.items() if found}


def _suggest(verdict: Verdict, role: EvaluatedRole) -> tuple[Suggestion, ...]:
    from gpulint.suggestions import alternatives

    return alternatives.generate(verdict, role) or _replace_word(verdict.rule, role.facts)


def _replace_word(rule: Rule, facts: Facts) -> tuple[Suggestion, ...]:
    """Return the right word, or the removal of a superfluous entry, if the rule names one."""
    if not rule.instead and not rule.superfluous:
        return ()
    from gpulint.suggestions.edits import replacements

    return replacements.propose(rule, facts)
