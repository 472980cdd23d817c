"""Acceptance: what a report is once waivers of policies and the baseline are held against all that a run looked at."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import NamedTuple

from gpulint import __version__
from gpulint.findings import Finding, Location, Report, RuleCard
from gpulint.lint import Given
from gpulint.policy import baseline, check, subject, waivers
from gpulint.policy.baseline import Baseline, Entry, Held
from gpulint.policy.waivers import Trouble
from gpulint.repository import Repository


class Scope(NamedTuple):
    """What a run looked at: the files that it checked, and the folders that it went through, from the repository's root.

    `place` tells that of a path as it is shown.
    """

    seen: frozenset[str]
    walked: tuple[str, ...]
    place: Callable[[str], str]

    @property
    def whole(self) -> bool:
        """Whether all of the repository was gone through."""
        return not all(self.walked)

    def walks(self, folder: str) -> bool:
        """Whether all of a folder was gone through."""
        return any(not one or folder == one or folder.startswith(f"{one}/") for one in self.walked)


def settled(
    report: Report, scope: Scope, repository: Repository, given: Given, known: Baseline | None, ignores: bool
) -> Report:
    """A report under a baseline, with what is stale in it; where nothing is to be ignored, all that waivers silence speaks."""
    if known is not None:
        held = against(report, known, scope, repository)
        accepted = [
            one._replace(suppressed=baseline.waiver(known, held.accepted[index])) if index in held.accepted else one
            for index, one in enumerate(report.findings)
        ]
        gone = stale_entries(report, known, held, scope, repository, given)
        stale = [_trouble(known, one, number) for one, number in gone]
        report = _with(report._replace(findings=tuple(accepted)), stale, given)
    return report if ignores else unsilenced(report)


def against(report: Report, known: Baseline, scope: Scope, repository: Repository) -> Held:
    """A baseline held against a report: an entry may move where its file is gone, or was checked."""

    def free(path: str) -> bool:
        return path in scope.seen or repository.at_root(path) is None

    return baseline.held(known, report.findings, scope.place, free, __version__)


def stale_entries(
    report: Report, known: Baseline, held: Held, scope: Scope, repository: Repository, given: Given
) -> Iterator[tuple[Entry, int]]:
    """The entries of which a run would have found more than it did, with how many are gone.

    Nothing is said of an entry whose rule did not run, or lacked facts in that file, nor of a file that may lie elsewhere.
    """
    unjudged = {
        (scope.place(workload.location.path), one.rule)
        for workload in report.workloads
        for role in workload.roles
        for one in role.not_evaluated
    }
    failed = {*(one.path for one in report.failures), *(one.path for one in report.skipped)}
    unread = {scope.place(path) for path in failed}
    active = {rule.name for rule in given.rules}
    for entry, number in held.left.items():
        if entry.rule not in active or entry.path in unread or (entry.path, entry.rule) in unjudged:
            continue
        if entry.path in scope.seen or (scope.whole and repository.at_root(entry.path) is None):
            yield entry, number


def unsilenced(report: Report) -> Report:
    """A report in which waivers and baseline silence nothing, with how many findings they would."""
    shown = tuple(one._replace(suppressed=None) if _is_silenced(one) else one for one in report.findings)
    return report._replace(findings=shown, unsilenced=sum(map(_is_silenced, report.findings)))


def _is_silenced(finding: Finding) -> bool:
    return finding.suppressed is not None and finding.suppressed.kind != "base"


def _trouble(known: Baseline, entry: Entry, number: int) -> Trouble:
    which = f"{number} of {entry.number} × {entry.rule}" if entry.number > 1 else entry.rule
    of = f" of {entry.subject.object}" if entry.subject.object else ""
    message = f"{which}{of} is no longer in {entry.path}; gpulint baseline --prune takes the entry out"
    return Trouble("stale-baseline-entry", message, Location(known.path, entry.line, 1, entry.line, 1))


def _with(report: Report, troubles: Iterable[Trouble], given: Given) -> Report:
    """A report with findings about waivers and baseline."""
    said = subject.told(waivers.as_findings(troubles, given.rules), ())
    if not said:
        return report
    findings = tuple(sorted((*report.findings, *said), key=_placed_at))
    return report._replace(findings=findings, rules={**report.rules, **_cards(said, given)})


def _cards(said: Sequence[Finding], given: Given) -> dict[str, RuleCard]:
    names = {one.rule for one in said}
    return {rule.name: check.card(rule) for rule in given.rules if rule.name in names}


def _placed_at(one: Finding) -> tuple[str, int, int, str]:
    return one.location.path, one.location.line, one.location.column, one.rule
