"""The report as GitLab code quality JSON, which a merge request compares with that of its target."""

from __future__ import annotations

from collections.abc import Iterator

from gpulint.report import json_text
from gpulint.report.formats import fingerprints
from gpulint.report.model import Failure, Finding, Report, Severity, Skip

GRADES = {Severity.ERROR: "critical", Severity.WARNING: "major", Severity.NOTE: "minor"}
FAULT, UNREAD = "blocker", "info"


def render(report: Report) -> str:
    """Return a list of issues. An internal error has the highest severity, an unread file the lowest."""
    return json_text.encode([*map(_fault, report.failures), *_issues(report), *map(_unread, report.skipped)])


def _issues(report: Report) -> Iterator[dict[str, object]]:
    """Yield open findings, those that existed before a change, and those no longer evaluated.

    GitLab compares by itself and would show missing ones as fixed.
    """
    current = [
        finding for finding in report.findings if finding.suppressed is None or finding.suppressed.kind == "base"
    ]
    unevaluated = report.comparison.untold if report.comparison else ()
    for finding, mark in fingerprints.mark_unique((*current, *unevaluated)):
        yield _issue(finding, mark)


def _issue(finding: Finding, mark: str) -> dict[str, object]:
    place = finding.location
    lines = {"begin": place.line, "end": place.end_line}
    return {
        "description": finding.message,
        "check_name": finding.rule,
        "fingerprint": fingerprints.hash_words(place.path, mark),
        "severity": GRADES[finding.severity],
        "location": {"path": place.path, "lines": lines},
    }


def _fault(failure: Failure) -> dict[str, object]:
    message = f"internal error of gpulint while {failure.doing}: {failure.error}"
    return _file_issue(failure.path, "internal-error", message, FAULT)


def _unread(skip: Skip) -> dict[str, object]:
    return _file_issue(skip.path, "not-checked", f"not checked: {skip.reason}", UNREAD, skip.line)


def _file_issue(path: str, name: str, message: str, grade: str, line: int = 1) -> dict[str, object]:
    return {
        "description": message,
        "check_name": name,
        "fingerprint": fingerprints.hash_words(name, path, message),
        "severity": grade,
        "location": {"path": path, "lines": {"begin": line, "end": line}},
    }
