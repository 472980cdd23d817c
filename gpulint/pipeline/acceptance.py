"""Suppression: apply waivers and the baseline to a report and report the unused ones."""

from __future__ import annotations

import functools
import os
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import NamedTuple

from gpulint.pipeline.session import Session
from gpulint.policy.config.settings import AcceptedFindings
from gpulint.policy.resolved import ResolvedPolicy
from gpulint.policy.rules import evaluate, identity
from gpulint.policy.waivers import baseline, waivers
from gpulint.policy.waivers.baseline import Baseline, Entry, Match
from gpulint.policy.waivers.waivers import Suppression, WaiverProblem
from gpulint.report.model import Finding, Location, Report
from gpulint.source.repository import Repository
from gpulint.version import __version__


class Scope(NamedTuple):
    """Files that a run checked and folders that it scanned completely, as paths from the root.

    `place` maps a shown path to one from the root.
    """

    seen: frozenset[str]
    walked: tuple[str, ...]
    place: Callable[[str], str]

    @property
    def whole(self) -> bool:
        """Return whether the whole repository was scanned."""
        return not all(self.walked)

    def walks(self, folder: str) -> bool:
        """Return whether a folder was scanned completely."""
        return any(not one or folder == one or folder.startswith(f"{one}/") for one in self.walked)


def resolve_scope(run: Session, seen: Iterable[str], walked: Iterable[str]) -> Scope:
    """Return the scope of a run.

    With paths excluded on the command line, no folder counts as scanned completely.
    """

    def place(path: str) -> str:
        found = run.tree.find_root_path(path)
        return path if found is None else found

    files = frozenset(map(place, seen))
    folders = () if run.options.exclude else tuple(_resolve_folder(path, run.tree.root, place) for path in walked)
    return Scope(files, tuple(folder for folder in folders if folder not in files), place)


def _resolve_folder(path: str, root: Path, place: Callable[[str], str]) -> str:
    """Return a named folder as a path from the root; the root itself is empty."""
    return "" if root.is_relative_to(os.path.abspath(path)) else place(path)


def suppress(report: Report, run: Session, scope: Scope) -> Report:
    """Apply policies and a baseline to a report.

    With ignores disabled, suppressed findings are shown as open.
    """
    report = _add_troubles(report, _find_unused_waivers(report, run, scope), run.given)
    if run.baseline is not None:
        report = _apply_baseline(run.baseline, report, run, scope)
    return report if run.options.ignores else reveal_suppressed(report)


def _apply_baseline(accepted_baseline: Baseline, report: Report, run: Session, scope: Scope) -> Report:
    matched = match_baseline(report, accepted_baseline, scope, run.tree)
    accepted = [
        finding._replace(suppressed=baseline.make_waiver(accepted_baseline, matched.accepted[index]))
        if index in matched.accepted
        else finding
        for index, finding in enumerate(report.findings)
    ]
    gone = find_stale_entries(report, matched, scope, run.tree, run.given)
    stale = [_build_stale_trouble(accepted_baseline, entry, number) for entry, number in gone]
    return _add_troubles(report._replace(findings=tuple(accepted)), stale, run.given)


def _find_unused_waivers(report: Report, run: Session, scope: Scope) -> Iterator[WaiverProblem]:
    """Yield unused policy waivers within the scope of the run, unless their rule lacked facts
    there.
    """
    reported = {finding.location for finding in report.findings if finding.family == baseline.NEVER_BASELINED}
    needing = [(finding.rule, scope.place(finding.location.path), finding) for finding in report.findings]
    lacking = _find_unevaluated(report, scope)
    active = functools.cache(lambda path: {rule.name for rule in run.given.resolve(path).rules})
    for accepted in (accepted for policy in run.policies.list_policies() for accepted in policy.waivers):
        place = accepted.waiver.location
        if place is None or place in reported or not scope.walks(accepted.folder):
            continue
        open_to_doubt = {name for path, name in lacking if run.policies.reaches(accepted, path)}
        needed = {
            name for name, path, finding in needing if name in accepted.rules and _reaches(accepted, path, finding, run)
        }
        if idle := [name for name in accepted.rules if name in active(place.path) - needed - open_to_doubt]:
            yield WaiverProblem(
                "unused-suppression",
                f"unused suppression: no {' or '.join(idle)} finding in the files it covers",
                place,
            )


def _reaches(accepted: AcceptedFindings, path: str, finding: Finding, run: Session) -> bool:
    about = Suppression(finding.rule, accepted.waiver, None, accepted.workload, accepted.object)
    governs = accepted in run.policies.resolve(path).waivers
    return governs and run.policies.reaches(accepted, path) and about.reaches(finding)


def _find_unevaluated(report: Report, scope: Scope) -> set[tuple[str, str]]:
    """Return the pairs of file and rule for which some role lacked facts."""
    return {
        (scope.place(workload.location.path), lack.rule)
        for workload in report.workloads
        for role in workload.roles
        for lack in role.not_evaluated
    }


def match_baseline(report: Report, accepted_baseline: Baseline, scope: Scope, repository: Repository) -> Match:
    """Match a baseline against a report. An entry may move if its file is gone or was checked."""

    @functools.cache
    def free(path: str) -> bool:
        return path in scope.seen or repository.read_at_root(path) is None

    found = identity.keep_smaller_budgets(
        report.findings, ((entry.rule, entry.subject) for entry in accepted_baseline.entries)
    )
    return baseline.match_findings(accepted_baseline, found, scope.place, free, __version__)


def find_stale_entries(
    report: Report, matched: Match, scope: Scope, repository: Repository, given: ResolvedPolicy
) -> Iterator[tuple[Entry, int]]:
    """Yield the baseline entries that are no longer found, with the number that is gone.

    Entries whose rule did not run or lacked facts are skipped, and so are entries of files that
    could not be read or lie outside the scope.
    """
    unjudged = _find_unevaluated(report, scope)
    failed = {*(failure.path for failure in report.failures), *(skip.path for skip in report.skipped)}
    unread = {scope.place(path) for path in failed}
    active = {rule.name for rule in given.rules}
    for entry, number in matched.left.items():
        if entry.rule not in active or entry.path in unread or (entry.path, entry.rule) in unjudged:
            continue
        if entry.path in scope.seen or (scope.whole and repository.read_at_root(entry.path) is None):
            yield entry, number


def reveal_suppressed(report: Report) -> Report:
    """Return a report without suppression, with the number of findings that waivers and the
    baseline would hide.
    """
    shown = tuple(
        finding._replace(suppressed=None) if _is_silenced(finding) else finding for finding in report.findings
    )
    return report._replace(findings=shown, unsilenced=sum(map(_is_silenced, report.findings)))


def _is_silenced(finding: Finding) -> bool:
    return finding.suppressed is not None and finding.suppressed.kind != "base"


def _build_stale_trouble(accepted_baseline: Baseline, entry: Entry, number: int) -> WaiverProblem:
    which = f"{number} of {entry.number} × {entry.rule}" if entry.number > 1 else entry.rule
    of = f" of {entry.subject.object}" if entry.subject.object else ""
    message = f"{which}{of} is no longer found in {entry.path}; remove the entry with gpulint baseline --prune"
    return WaiverProblem(
        "stale-baseline-entry", message, Location(accepted_baseline.path, entry.line, 1, entry.line, 1)
    )


def _add_troubles(report: Report, troubles: Iterable[WaiverProblem], given: ResolvedPolicy) -> Report:
    """Return the report with added findings about waivers and the baseline."""
    findings_added = identity.add_subjects(waivers.make_findings(troubles, given.rules), ())
    if not findings_added:
        return report
    findings = tuple(sorted((*report.findings, *findings_added), key=Finding.place))
    return report._replace(
        findings=findings, rules={**report.rules, **evaluate.list_cards(findings_added, given.rules)}
    )
