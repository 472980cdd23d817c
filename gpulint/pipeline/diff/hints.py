"""Hints of a change: those that it adds or changes, and errors for those that contradict their file."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping, Sequence

from gpulint.pipeline.hint_findings import CONTRADICTS
from gpulint.policy.rules import evaluate
from gpulint.policy.rules.rule import Rule
from gpulint.report.model import Finding, HintUse, Report

NEW = "new-hint-contradicts-file"


def mark_new(report: Report, rules: Callable[[str], Sequence[Rule]]) -> Report:
    """Return a report in which new hints that contradict their file are errors, if that rule is selected for the file.

    Hints that base has too are suppressed already.
    """
    findings = tuple(_mark_new(finding, rules) for finding in report.findings)
    if findings == report.findings:
        return report
    report = _drop_hidden(report, findings)
    cards = {
        name: card
        for finding in findings
        for name, card in evaluate.list_cards([finding], rules(_path(finding))).items()
    }
    names = {finding.rule for finding in findings}
    kept = {name: card for name, card in report.rules.items() if name in names}
    return report._replace(findings=findings, rules={**cards, **kept})


def _drop_hidden(report: Report, findings: Sequence[Finding]) -> Report:
    """Return a report in which no finding counts as fixed for a role that a new hint contradicts."""
    hidden = {(finding.subject.object, finding.role) for finding in findings if finding.rule == NEW}
    found = report.comparison
    if found is None:
        return report
    gone = tuple(finding for finding in found.gone if (finding.subject.object, finding.role) not in hidden)
    return report._replace(comparison=found._replace(gone=gone))


def _path(finding: Finding) -> str:
    return finding.location.path


def _mark_new(finding: Finding, rules: Callable[[str], Sequence[Rule]]) -> Finding:
    if finding.rule != CONTRADICTS or finding.suppressed is not None:
        return finding
    rule = next((rule for rule in rules(_path(finding)) if rule.name == NEW), None)
    return finding if rule is None else finding._replace(rule=NEW, severity=rule.severity, help=rule.why)


def list_new(base: Report, head: Report, renamed: Mapping[str, str]) -> list[HintUse]:
    """Return the hints of comments and annotations in head that base has not for the same workload."""
    left = Counter((use.path, use.workload, use.text) for use in _list_uses(base))
    new: list[HintUse] = []
    for use in _list_uses(head):
        keys = [(path, use.workload, use.text) for path in (use.path, renamed.get(use.path, "")) if path]
        known = next((key for key in keys if left[key] > 0), None)
        if known is None:
            new.append(use)
        else:
            left[known] -= 1
    return new


def _list_uses(report: Report) -> list[HintUse]:
    """Return each hint once for each workload; what one of several roles states is shown with it."""
    found: dict[object, HintUse] = {}
    for use in (use for workload in report.workloads for role in workload.roles for use in role.hints):
        key = use.path, use.line, use.workload, use.text
        found[key] = found[key] if key in found and found[key].stated else use
    return list(found.values())
