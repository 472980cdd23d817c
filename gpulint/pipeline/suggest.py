"""The suggest stage: the findings of an evaluated file, each with the suggestions that the rules
accept.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Hashable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, NamedTuple

from gpulint.facts.model import Facts
from gpulint.pipeline.evaluate import Evaluated, EvaluatedDocument, EvaluatedWorkload
from gpulint.policy.resolved import ResolvedPolicy
from gpulint.policy.rules import evaluate, evaluated_role
from gpulint.policy.rules.evaluate import Outcome, Verdict
from gpulint.policy.rules.evaluated_role import EvaluatedRole
from gpulint.policy.rules.rule import SMALLER_HARDWARE, Rule
from gpulint.report.model import FacilitySummary, Finding, Fit, Suggestion
from gpulint.suggestions.allowance import Allowance

if TYPE_CHECKING:
    from gpulint.suggestions.twins import Twins

Behind = tuple[Finding, Facts]
"""A finding, and the facts that it rests on."""


class SuggestedRole(NamedTuple):
    """A role with its findings, and its outcome without the rules that fire only with a suggestion
    and have none.

    `twins` has for each finding what it has in common with those of the role's twins.
    """

    role: EvaluatedRole
    outcome: Outcome
    findings: tuple[Behind, ...]
    twins: tuple[Hashable, ...]


class SuggestedWorkload(NamedTuple):
    """A workload with the findings of each role."""

    evaluated: EvaluatedWorkload
    roles: tuple[SuggestedRole, ...]

    @property
    def findings(self) -> Iterator[Behind]:
        """The findings of every role."""
        return (entry for role in self.roles for entry in role.findings)

    @property
    def twins(self) -> Iterator[Hashable]:
        """What each of these findings has in common with those of twins."""
        return (key for role in self.roles for key in role.twins)


class Conditional(NamedTuple):
    """The outcome of a role without the rules whose condition beside `when` is not met, and by rule what met it."""

    outcome: Outcome
    suggestions: dict[str, tuple[Suggestion, ...]]
    smaller: dict[str, Fit]


class Suggested(NamedTuple):
    """An evaluated file with its findings, its workloads and its facilities, and the facts by
    object and role.

    `twins` has for each finding what it has in common with those of twins of its object; None for a finding without.
    `allowance` says whether the search for suggestions came to an end.
    """

    evaluated: Evaluated
    findings: tuple[Finding, ...]
    workloads: tuple[SuggestedWorkload, ...]
    facilities: tuple[FacilitySummary, ...]
    facts: Mapping[tuple[str, str], Facts]
    allowance: Allowance
    twins: tuple[Hashable, ...] = ()


def generate(evaluated: Evaluated) -> Suggested:
    """Return the findings of a file in its order, each with its suggestions."""
    policy, suggesting = evaluated.policy, _Suggesting(evaluated)
    findings = list(evaluated.findings)
    twins: list[Hashable] = [None for _ in findings]
    workloads: list[SuggestedWorkload] = []
    facilities: list[FacilitySummary] = []
    facts: dict[tuple[str, str], Facts] = {}
    for document in evaluated.documents:
        about_components, summaries = _describe_facility(document, policy)
        facilities += summaries
        suggested = [suggesting.suggest(workload) for workload in document.workloads]
        workloads += suggested
        found = [*about_components, *(entry for workload in suggested for entry in workload.findings)]
        findings += [*document.problems, *(finding for finding, _ in found)]
        twins += [None for _ in (*document.problems, *about_components)]
        twins += [key for workload in suggested for key in workload.twins]
        facts |= {(finding.subject.object, finding.role): known for finding, known in found}
    for scaler, workload in evaluated.targets:
        found = list(suggesting.suggest(workload).findings)
        findings += [finding for finding, _ in found if finding.location.path == scaler.path]
    findings += evaluated.about_hints
    twins += [None] * (len(findings) - len(twins))
    return Suggested(
        evaluated, tuple(findings), tuple(workloads), tuple(facilities), facts, suggesting.allowance, tuple(twins)
    )


def _describe_facility(
    document: EvaluatedDocument, policy: ResolvedPolicy
) -> tuple[list[Behind], list[FacilitySummary]]:
    """Return the findings about the components of a document, and the facility as reports show it."""
    if document.facility is None:
        return [], []
    from gpulint.pipeline import facility

    described = facility.evaluate(document.facility.root, document.facility.components, policy)
    return list(described.findings), [described.summary]


class _Suggesting:
    """The search for suggestions in one file, which twins of a role share."""

    def __init__(self, evaluated: Evaluated) -> None:
        self._has_alternatives = evaluated.policy.alternatives
        workloads = tuple(evaluated.workloads)
        self._namesakes = Counter(workload.workload.name for workload in workloads)
        self._role_namesakes = Counter(role.owner for workload in workloads for role in workload.roles)
        self._twins: Twins | None = None
        self.allowance = Allowance()

    def suggest(self, workload: EvaluatedWorkload) -> SuggestedWorkload:
        """Return a workload with the findings of each role, each with its suggestions."""
        return SuggestedWorkload(workload, tuple(self._suggest_role(role) for role in workload.roles))

    def _suggest_role(self, role: EvaluatedRole) -> SuggestedRole:
        outcome, suggestions, smaller = self._resolve_conditional(role)
        findings: list[Behind] = []
        keys: list[Hashable] = []
        for verdict in outcome.verdicts:
            name = verdict.rule.name
            if self._has_alternatives and name not in suggestions:
                suggestions[name] = self._suggest(verdict, role)
            finding = evaluate.make_finding(verdict, role.workload, role.facts)
            finding = finding._replace(suggestions=suggestions.get(name, ()))
            findings.append((_add_hardware(finding, smaller.get(name)), role.facts))
            keys.append(self._identify(verdict, role) if finding.suggestions else None)
            for further, there in evaluate.list_further(verdict, role.workload, role.facts):
                replaced = _replace_word(verdict.rule, there) if self._has_alternatives else ()
                findings.append((further._replace(suggestions=replaced), role.facts))
                keys.append(None)
        return SuggestedRole(role, outcome, tuple(findings), tuple(keys))

    def _resolve_conditional(self, role: EvaluatedRole) -> Conditional:
        """Drop the rules that fire only with a suggestion or with smaller hardware and have none: they do not fire, and
        absorb nothing.
        """
        suggestions: dict[str, tuple[Suggestion, ...]] = {}
        smaller: dict[str, Fit | None] = {}
        outcome = role.outcome
        while conditional := [
            verdict
            for verdict in outcome.verdicts
            if verdict.rule.only_with and verdict.rule.name not in suggestions.keys() | smaller.keys()
        ]:
            for verdict in conditional:
                if verdict.rule.only_with == SMALLER_HARDWARE:
                    smaller[verdict.rule.name] = self._find_smaller(role)
                else:
                    suggestions[verdict.rule.name] = self._suggest(verdict, role)
            missing = {name for name, found in (suggestions | smaller).items() if not found}
            outcome = _evaluate_again(role, [rule for rule in role.rules if rule.name not in missing])
        return Conditional(
            outcome,
            {name: found for name, found in suggestions.items() if found},
            {name: found for name, found in smaller.items() if found},
        )

    def _find_smaller(self, role: EvaluatedRole) -> Fit | None:
        from gpulint.suggestions import smaller_hardware

        is_allowed = self.allowance.candidates.spend(smaller_hardware.EVALUATIONS)
        return smaller_hardware.find_smaller(role) if is_allowed else None

    def _suggest(self, verdict: Verdict, role: EvaluatedRole) -> tuple[Suggestion, ...]:
        from gpulint.suggestions import alternatives, twins

        if self._twins is None:
            self._twins = twins.Twins()
        return self._twins.suggest(
            self._identify(verdict, role),
            role,
            lambda: alternatives.generate(verdict, role, self.allowance) or _replace_word(verdict.rule, role.facts),
        )

    def _identify(self, verdict: Verdict, role: EvaluatedRole) -> Hashable:
        from gpulint.suggestions import twins

        namesakes = self._namesakes[role.workload.name], self._role_namesakes[role.owner]
        return twins.identify(verdict, role, namesakes)


def _evaluate_again(role: EvaluatedRole, rules: Sequence[Rule]) -> Outcome:
    """Return the outcome of some rules of a role. What fired before keeps its severity: it may rest on assumed hardware."""
    outcome = evaluate.evaluate(rules, role.facts)
    if role.bounds is not None:
        from gpulint.policy.rules import bounded_rules

        outcome = bounded_rules.apply(role.bounds, outcome, rules)
    before = {verdict.rule.name: verdict for verdict in role.outcome.verdicts}
    verdicts = []
    for verdict in outcome.verdicts:
        severity = verdict.severity.lower_by(role.stated is not None)
        if known := before.get(verdict.rule.name):
            verdicts.append(known)
        elif severity is not None:
            verdicts.append(verdict._replace(severity=severity))
    found = role._replace(outcome=outcome._replace(verdicts=tuple(verdicts)))
    return evaluated_role.cap_errors(found).outcome


def _add_hardware(finding: Finding, fit: Fit | None) -> Finding:
    """Return a finding that names the smallest hardware, if there is any."""
    if fit is None:
        return finding
    from gpulint.report.formats import suggestion_lines

    (named,) = suggestion_lines.render_fits((fit,))
    return finding._replace(arithmetic=(*finding.arithmetic, f"smallest that fits: {named}"))


def _replace_word(rule: Rule, facts: Facts) -> tuple[Suggestion, ...]:
    """Return the right word, or the removal of a superfluous entry, if the rule names one."""
    if not rule.instead and not rule.superfluous:
        return ()
    from gpulint.suggestions.edits import replacements

    return replacements.propose(rule, facts)
