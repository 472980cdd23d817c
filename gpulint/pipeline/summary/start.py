"""Whether an error prevents a role from running, and what its verdict then is."""

from __future__ import annotations

from collections.abc import Iterable

from gpulint.policy.rules.evaluate import Verdict
from gpulint.policy.rules.rule import Rule, load_shipped
from gpulint.report import verdicts
from gpulint.report.model import Finding, Scenarios, Severity

DOES_NOT_RUN = "does not run"
UNDERSIZED = "undersized"
TARGETS = "performance"
"""The family of rules about what a role must reach."""
STARTS_ANYWAY = frozenset({TARGETS, "governance", "suppressions"})
"""Families whose errors do not prevent a role from running."""


def correct(verdict: str, firing: Iterable[Verdict], problems: Iterable[Finding] = ()) -> str:
    """Return the verdict on a role beside its errors: one that cannot start does not fit, whatever memory it needs.

    `problems` are the findings about the document that declares the role.
    """
    if verdicts.sort_verdict(verdict) not in (verdicts.FIT, verdicts.DEPEND):
        return verdict
    failing = {found.rule.family for found in firing if _is_certain(found)}
    failing |= {rule.family for found in problems if (rule := _find_rule(found)) and _declared(rule) is Severity.ERROR}
    if failing - STARTS_ANYWAY:
        is_need = verdict.startswith(verdicts.NEEDS)
        return f"{DOES_NOT_RUN}; {verdict}" if is_need else DOES_NOT_RUN
    is_fit = verdicts.sort_verdict(verdict) == verdicts.FIT
    return UNDERSIZED if TARGETS in failing and is_fit else verdict


def _is_certain(found: Verdict) -> bool:
    """Whether a shipped rule that declares an error fires in full, whatever severity a policy gives it."""
    rule = found.rule
    is_full = found.severity == rule.severity and found.confidence == len(Scenarios._fields)
    return is_full and _declared(rule) is Severity.ERROR and rule.name in load_shipped()


def _find_rule(finding: Finding) -> Rule | None:
    """Return the shipped rule of a finding."""
    return load_shipped().get(finding.rule)


def _declared(rule: Rule) -> Severity:
    """Return the severity that a rule's file declares."""
    return rule.stated or rule.severity
