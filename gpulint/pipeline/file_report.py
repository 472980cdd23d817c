"""The report stage for one file: its findings under its waivers, its workloads, and what these add
to a run's totals.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, NamedTuple

from gpulint.facts.model import Facts
from gpulint.pipeline.evaluate import Evaluated
from gpulint.pipeline.suggest import Suggested, SuggestedRole, SuggestedWorkload
from gpulint.policy.config.governance import Budget
from gpulint.policy.resolved import ResolvedPolicy
from gpulint.policy.rules import evaluate, identity
from gpulint.policy.rules.rule import Rule
from gpulint.report.model import Failure, Finding, Location, Report, RoleSummary, Skip, WorkloadSummary
from gpulint.source.repository import Source
from gpulint.workload import Workload

if TYPE_CHECKING:
    from gpulint.pipeline.budgets import Consumer
    from gpulint.pipeline.facility.workload_load import Allocation


class FileReport(NamedTuple):
    """The report on one file with the rules that govern it, and what it adds to budgets and to a
    facility.
    """

    report: Report
    rules: tuple[Rule, ...] = ()
    budgets: tuple[Budget, ...] = ()
    consumers: tuple[Consumer, ...] = ()
    facility: str = ""
    placed: tuple[Allocation, ...] = ()


def skip(entry: Skip) -> FileReport:
    """Return the report on a file that is not read."""
    return FileReport(Report(skipped=(entry,)))


def pass_by(policy: ResolvedPolicy, *, counts: bool = True) -> FileReport:
    """Return the report on a file in which no rule can fire; a program counts only if it is one for GPUs."""
    return FileReport(Report(files=int(counts)), policy.rules, policy.governance.budgets, facility=policy.facility)


def fail(path: str, action: str, error: Exception) -> Report:
    """Return the report on a file, or a policy, in which gpulint itself failed."""
    return Report(failures=(Failure(path, action, f"{type(error).__name__}: {error}"),))


def cut_short(path: str, reason: str, policy: ResolvedPolicy) -> FileReport:
    """Return the report on a file that exceeded a time limit: it was not checked, which fails the run."""
    skipped = Report(files=1, skipped=(Skip(path, reason, "limit"),))
    rule = policy.unchecked
    if rule is None:
        return FileReport(skipped, policy.rules)
    findings = tuple(identity.add_subjects((make_unchecked_finding(rule, path, reason),), ()))
    return FileReport(skipped._replace(findings=findings), (*policy.rules, rule))


def make_unchecked_finding(rule: Rule, path: str, reason: str) -> Finding:
    """Return the finding that a file was not checked, at its start."""
    message = f"this file was not checked: {reason}"
    return evaluate.make_document_finding(rule, Location(path, 1, 1, 1, 1), message)


def build(suggested: Suggested, findings: Sequence[Finding]) -> FileReport:
    """Return the report on a file whose suggestions are verified."""
    evaluated = suggested.evaluated
    policy = evaluated.policy
    problems = {id(workload): entry.problems for entry in evaluated.documents for workload in entry.workloads}
    workloads = tuple(_summarise(entry, problems.get(id(entry.evaluated), ())) for entry in suggested.workloads)
    missing = frozenset(entry.rule for workload in workloads for role in workload.roles for entry in role.not_evaluated)
    report = Report(
        _suppress(findings, suggested, missing),
        workloads,
        (*evaluated.skips, *_list_unsearched(suggested)),
        files=1,
        documents=tuple(document.recognised for document in evaluated.documents),
        facilities=suggested.facilities,
    )
    roles = [role for workload in evaluated.workloads for role in workload.roles]
    taking = [(role.workload, role.stated or role.facts) for role in roles]
    return FileReport(
        report,
        policy.rules,
        policy.governance.budgets,
        _find_consumers(taking, evaluated),
        policy.facility,
        _allocate(taking, evaluated),
    )


def _list_unsearched(suggested: Suggested) -> Iterator[Skip]:
    """Yield why not all suggestions for a file were searched, if they were not."""
    if reason := suggested.allowance.reason:
        yield Skip(suggested.evaluated.parsed.source.path, reason, "suggestions")


def _summarise(workload: SuggestedWorkload, problems: Sequence[Finding]) -> WorkloadSummary:
    """Return the summary of a workload; `problems` are the findings about its document."""
    found = workload.evaluated.workload
    roles = tuple(_summarise_role(role, problems) for role in workload.roles)
    return WorkloadSummary(found.name, found.kind, found.adapter, found.location(), roles)


def _summarise_role(suggested: SuggestedRole, problems: Sequence[Finding]) -> RoleSummary:
    from gpulint.pipeline.summary import role as summary_role

    role = suggested.role
    summary = summary_role.summarize(role.facts, suggested.outcome, role.rules, role.bounds, problems)
    if not role.facts.role.hints:
        return summary
    from gpulint.pipeline import hint_findings

    return summary._replace(hints=tuple(hint_findings.list_uses(role)))


def _suppress(findings: Sequence[Finding], suggested: Suggested, missing: frozenset[str]) -> tuple[Finding, ...]:
    """Return the findings with their subjects, under waivers; most files have neither findings nor
    waivers.
    """
    parsed, policy = suggested.evaluated.parsed, suggested.evaluated.policy
    if not findings and not parsed.loaded.comments and "gpulint" not in parsed.text:
        return ()
    from gpulint.pipeline import suppression

    source: Source = parsed.source
    return suppression.suppress(findings, source.path, parsed.text, parsed.loaded, policy, missing, suggested.facts)


def _find_consumers(taking: Sequence[tuple[Workload, Facts]], evaluated: Evaluated) -> tuple[Consumer, ...]:
    if not evaluated.policy.governance.budgets:
        return ()
    from gpulint.pipeline import budgets

    return tuple(budgets.find_consumers(taking, evaluated.policy.governance))


def _allocate(taking: Sequence[tuple[Workload, Facts]], evaluated: Evaluated) -> tuple[Allocation, ...]:
    if not evaluated.policy.facility:
        return ()
    from gpulint.pipeline.facility import workload_load

    return tuple(workload_load.allocate(taking))
