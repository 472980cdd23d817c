"""Unchecked files: the findings about named and changed files that were not checked."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Sequence

from gpulint import adapters
from gpulint.pipeline import file_report
from gpulint.pipeline.session import Session
from gpulint.policy.rules import evaluate, identity, selection
from gpulint.policy.rules.rule import Rule
from gpulint.report.model import Finding, Report, Skip
from gpulint.report.report import SUSPICIOUS
from gpulint.source import documents
from gpulint.source.repository import Repository

REPORTED_BY = frozenset({"invalid-syntax", "input-limit", selection.UNCHECKED})
"""Rules whose findings already report that a file was not checked."""
SCANNED_BYTES = 20_000_000
"""How much of a file that is too large to be read is searched for trigger words."""
ADVICE = {
    "limit": "Split the file, or exclude it in gpulint.yaml if it deploys nothing.",
    "encoding": "Save the file as UTF-8 text.",
    "link": "Replace the link with the file that it leads to.",
    "suffix": "Give the file the suffix of its language.",
    "syntax": "Correct the syntax.",
    "unreadable": "Make the file readable.",
    "template": "Check what it renders to, for example with --render.",
    "patch": "Check what it renders to, for example with --render.",
    "rule": "Correct the rule.",
    "suggestions": "Split the file.",
}
"""The next step for a cause."""
OTHER_ADVICE = "Exclude it in gpulint.yaml if it needs no check."
PathTest = Callable[[str], bool]


def build_is_named(run: Session, paths: Sequence[str]) -> PathTest:
    """Return a function that says whether a file was named as such, and not only its folder."""
    named = {run.tree.find_root_path(path) or os.path.normpath(path) for path in paths}
    return lambda path: (run.tree.find_root_path(path) or os.path.normpath(path)) in named


def add_skips(report: Report, run: Session) -> Report:
    """Return a report that lists every file that the system refused to read, including those that others refer to."""
    refused = run.tree.list_unread()
    listed = {skip.path for skip in report.skipped}
    further = tuple(skip for skip in refused if skip.path not in listed)
    return report._replace(skipped=(*report.skipped, *further), refused=tuple(skip.path for skip in refused))


def add_findings(report: Report, run: Session, is_gated: PathTest) -> Report:
    """Return a report with a finding for each gated file that was not checked.

    Files whose reason is known and harmless fail only if the options ask for it. A file that the
    system refuses to read fails every run.
    """
    every = run.options.fail_on_unread
    skips = [
        skip
        for skip in report.skipped
        if (every and skip.cause != "excluded")
        or (skip.cause in SUSPICIOUS and (skip.path in report.refused or is_gated(skip.path)))
    ]
    if not skips:
        return report
    found = tuple(_find(report, run, skips))
    if not found:
        return report
    findings = identity.add_subjects((finding for _, finding in found), ())
    cards = {rule.name: evaluate.make_card(rule) for rule, _ in found}
    return report._replace(
        findings=tuple(sorted((*report.findings, *findings), key=Finding.place)), rules={**report.rules, **cards}
    )


def drop_findings(report: Report, is_changed: PathTest) -> Report:
    """Return a report of base without the findings about unchecked files that the change touches.

    A file that base could not read either is no excuse for a change of it.
    """
    kept = (
        finding
        for finding in report.findings
        if finding.rule not in REPORTED_BY or not is_changed(finding.location.path)
    )
    return report._replace(findings=tuple(kept))


def _find(report: Report, run: Session, skips: Sequence[Skip]) -> Iterator[tuple[Rule, Finding]]:
    reported = {finding.location.path for finding in report.findings if finding.rule in REPORTED_BY}
    by_path = {skip.path: skip for skip in reversed(skips) if skip.path not in reported}
    for path, skip in sorted(by_path.items()):
        rule = run.given.resolve(path).unchecked
        if rule is not None and (path in report.refused or _may_concern_gpus(skip, run.tree)):
            advice = ADVICE.get(skip.cause, OTHER_ADVICE)
            yield rule, file_report.make_unchecked_finding(rule, path, f"{skip.reason}. {advice}")


def _may_concern_gpus(skip: Skip, repository: Repository) -> bool:
    """Whether a file that was not read may be about GPUs, as far as its bytes can show it."""
    content = repository.head(skip.path, SCANNED_BYTES)
    if skip.cause == "link" or (content is None and skip.cause == "limit"):
        return True
    if not documents.find_format(skip.path) and not (content or b"").startswith(b"#!"):
        return False
    return not content or len(content) == SCANNED_BYTES or adapters.may_concern_gpus(skip.path, content)
