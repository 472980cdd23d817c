"""Users: the specs that start a changed program, or read a changed script, variables or image build.

Such a file has no workload of its own. Its users are evaluated with and without it, and what only its text makes of
them is reported.
"""

from __future__ import annotations

import os
from collections.abc import Collection, Iterator, Sequence

from gpulint.pipeline import check
from gpulint.pipeline.session import Session, disable_suggestions
from gpulint.pipeline.watchdog import Watchdog
from gpulint.report.model import Finding, Report, Skip
from gpulint.source.repository import Source, mentions

LIMIT = f"more than {mentions.USERS_MAX} files use it; only the first {mentions.USERS_MAX} were checked with it"


def add(report: Report, run: Session, paths: Sequence[str], seen: Collection[str], watchdog: Watchdog) -> Report:
    """Return a report with what some named files make of the specs that use them, other than those checked already."""
    named = [path for path in paths if mentions.is_used(path) and _is_file(path, run)]
    if not named:
        return report
    found = run.tree.find_users(named)
    known = {os.path.normpath(path) for path in seen}
    reports = [report]
    for path in found.paths:
        if os.path.normpath(path) not in known and not _is_excluded(path, run):
            reports += _check_user(path, named, run, watchdog)
    skipped = tuple(Skip(path, LIMIT, "language") for path in named if found.is_cut)
    return _merge(reports)._replace(skipped=(*report.skipped, *skipped))


def _is_file(path: str, run: Session) -> bool:
    return run.tree.find_root_path(path) is not None and run.tree.read(path) is not None


def _is_excluded(path: str, run: Session) -> bool:
    inside = run.tree.find_root_path(path)
    return inside is not None and run.policies.excludes(inside)


def _check_user(path: str, named: Sequence[str], run: Session, watchdog: Watchdog) -> Iterator[Report]:
    """Yield what the named files make of a spec: its workloads that they change, and the findings that they cause."""
    content = run.tree.read(path)
    if content is None:
        return
    source = [Source(path, content)]
    now = check.check_files(source, run.tree, run.given, watchdog)
    bare = run.tree.rewritten({name: b"" for name in named if name != path})
    without = check.check_files(source, bare, disable_suggestions(run).given, watchdog)
    workloads = tuple(workload for workload in now.workloads if workload not in without.workloads)
    firing = {_identify(finding) for finding in without.findings}
    findings = tuple(finding for finding in now.findings if _identify(finding) not in firing)
    if workloads or findings or now.failures:
        cards = {finding.rule: now.rules[finding.rule] for finding in findings if finding.rule in now.rules}
        yield now._replace(workloads=workloads, findings=findings, rules=cards, skipped=())


def _identify(finding: Finding) -> tuple[object, ...]:
    return finding.rule, finding.severity, finding.message, finding.workload, finding.role


def _merge(reports: Sequence[Report]) -> Report:
    """Return a report with the findings and the workloads of further files."""
    first = reports[0]
    findings = sorted((finding for report in reports for finding in report.findings), key=Finding.place)
    return first._replace(
        findings=tuple(findings),
        workloads=tuple(workload for report in reports for workload in report.workloads),
        failures=tuple(failure for report in reports for failure in report.failures),
        documents=tuple(document for report in reports for document in report.documents),
        files=sum(report.files for report in reports),
        asks={name: ask for report in reports for name, ask in report.asks.items()},
        rules={name: card for report in reports for name, card in report.rules.items()},
    )
