"""Unchecked files: the findings about named and changed files that were not checked."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Sequence

from gpulint import adapters
from gpulint.pipeline.session import Session
from gpulint.policy.rules import evaluate, identity, selection
from gpulint.policy.rules.rule import Rule
from gpulint.report.model import Finding, Location, Report, Skip
from gpulint.report.report import SUSPICIOUS
from gpulint.source import documents
from gpulint.source.repository import Repository

SAID_BY = frozenset({"invalid-syntax", "input-limit", "file-not-checked"})
"""Rules whose findings say the same of a file."""
SCANNED_BYTES = 20_000_000
"""How much of a file is searched for words about GPUs that is too large to be read."""
ADVICE = {
    "limit": "Split the file, or exclude it in gpulint.yaml if it deploys nothing.",
    "encoding": "Save the file as UTF-8 text.",
    "link": "Replace the link by the file that it leads to.",
    "suffix": "Rename the file for the language that it is written in.",
    "syntax": "Correct its syntax.",
    "unreadable": "Make the file readable.",
    "suggestions": "Split the file.",
}
"""The next step for each suspicious cause."""
KNOWN = "Exclude it in gpulint.yaml, or check what it becomes."
Choose = Callable[[str], bool]


def choose_named(run: Session, paths: Sequence[str]) -> Choose:
    """Return a function that says whether a file was named as such, and not only its folder."""
    named = {run.tree.find_root_path(path) or os.path.normpath(path) for path in paths}
    return lambda path: (run.tree.find_root_path(path) or os.path.normpath(path)) in named


def add_skips(report: Report, run: Session) -> Report:
    """Return a report that lists every file that the system refused to read, also one that another refers to."""
    refused = run.tree.list_unread()
    listed = {skip.path for skip in report.skipped}
    further = tuple(skip for skip in refused if skip.path not in listed)
    return report._replace(skipped=(*report.skipped, *further), refused=tuple(skip.path for skip in refused))


def add_findings(report: Report, run: Session, is_gated: Choose) -> Report:
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


def drop_findings(report: Report, is_changed: Choose) -> Report:
    """Return a report of base without the findings about unchecked files that the change touches.

    Whatever base could not read does not excuse what head adds to it.
    """
    about = {selection.UNCHECKED, *SAID_BY}
    kept = tuple(
        finding for finding in report.findings if finding.rule not in about or not is_changed(finding.location.path)
    )
    return report._replace(findings=kept)


def _find(report: Report, run: Session, skips: Sequence[Skip]) -> Iterator[tuple[Rule, Finding]]:
    said = {finding.location.path for finding in report.findings if finding.rule in SAID_BY}
    by_path = {skip.path: skip for skip in reversed(skips) if skip.path not in said}
    for path, skip in sorted(by_path.items()):
        rule = run.given.resolve(path).unchecked
        if rule is not None and (path in report.refused or _may_concern_gpus(skip, run.tree)):
            advice = ADVICE.get(skip.cause, KNOWN)
            message = f"this file was not checked: {skip.reason}. {advice}"
            yield rule, evaluate.make_document_finding(rule, Location(path, 1, 1, 1, 1), message)


def _may_concern_gpus(skip: Skip, repository: Repository) -> bool:
    """Whether a file that was not read may be about GPUs, as far as its bytes can show it."""
    content = repository.head(skip.path, SCANNED_BYTES)
    if skip.cause == "link" or (content is None and skip.cause == "limit"):
        return True
    if not documents.find_format(skip.path) and not (content or b"").startswith(b"#!"):
        return False
    return not content or len(content) == SCANNED_BYTES or adapters.may_concern_gpus(skip.path, content)
