"""The totals of a run: what all workloads together take of budgets and of the facilities that
policies name.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from gpulint.pipeline import file_report
from gpulint.pipeline.file_report import FileReport
from gpulint.pipeline.parse import UNREAD
from gpulint.policy.config.settings import FILE
from gpulint.policy.resolved import ResolvedPolicy
from gpulint.report.model import Report
from gpulint.source.repository import Repository


def has_any(files: Sequence[FileReport], policy: ResolvedPolicy) -> bool:
    """Whether the policies of a run have a budget or name a facility."""
    return bool(policy.governance.budgets) or any(file.budgets or file.facility for file in files)


def check(files: Sequence[FileReport], repository: Repository, policy: ResolvedPolicy) -> list[FileReport]:
    """Return the reports on the budgets and the facilities of a run."""
    return [_check_budgets(files, policy), *_check_facilities(files, repository, policy)]


def _check_budgets(files: Sequence[FileReport], policy: ResolvedPolicy) -> FileReport:
    """Report on the budgets of the run's policy, and on those of other policies that govern a file."""
    found = (*policy.governance.budgets, *(budget for file in files for budget in file.budgets))
    by_place = {budget.place: budget for budget in found}
    if not by_place:
        return FileReport(Report())
    from gpulint.pipeline import budgets, suppression

    consumers = [consumer for file in files for consumer in file.consumers]
    try:
        exceeded, spent = budgets.evaluate_budgets(by_place.values(), consumers, policy.rules, _count_unread(files))
        findings = tuple(
            finding for entry, facts in exceeded for finding in suppression.suppress_budget(entry, facts, policy)
        )
    except Exception as error:  # counted: the report and the exit code say so
        return FileReport(file_report.fail(FILE, "evaluating its budgets", error))
    return FileReport(Report(findings, budgets=tuple(spent)), policy.rules)


def _check_facilities(
    files: Sequence[FileReport], repository: Repository, policy: ResolvedPolicy
) -> Iterator[FileReport]:
    """Report on each facility that a policy names, with the workloads that its files run there."""
    read = [summary for file in files for summary in file.report.facilities]
    for path in dict.fromkeys(file.facility for file in files if file.facility and file.report.workloads):
        from gpulint.pipeline import facility

        inside = [file for file in files if file.facility == path]
        placed = [allocation for file in inside for allocation in file.placed]
        try:
            found = facility.evaluate_allocation(path, placed, _count_unread(inside), read, repository, policy)
        except Exception as error:  # counted: the report and the exit code say so
            found = file_report.fail(path, "evaluating the workloads placed in it", error)
        yield FileReport(found, policy.rules)


def _count_unread(files: Sequence[FileReport]) -> int:
    """Count the files that ask for GPUs in an object that is not read."""
    return sum(skip.reason == UNREAD for file in files for skip in file.report.skipped)
