"""The report as GitLab's code quality JSON, which a merge request compares with that of its target."""

from __future__ import annotations

from collections.abc import Iterator

from gpulint.report.formats import fingerprints as identity
from gpulint.report.formats import json
from gpulint.report.model import Failure, Finding, Report, Severity, Skip

GRADES = {Severity.ERROR: "critical", Severity.WARNING: "major", Severity.NOTE: "minor"}
FAULT, UNREAD = "blocker", "info"


def render(report: Report) -> str:
    """A list of issues; a fault of ours is one of the worst grade, a file that was not read one of the least."""
    return json.encoded([*map(_fault, report.failures), *_issues(report), *map(_unread, report.skipped)])


def _issues(report: Report) -> Iterator[dict[str, object]]:
    """What counts, what stood before a change, and what nobody can tell any more.

    GitLab compares by itself, and would show as fixed what is not there.
    """
    standing = [one for one in report.findings if one.suppressed is None or one.suppressed.kind == "base"]
    untold = report.comparison.untold if report.comparison else ()
    for finding, mark in identity.told_apart((*standing, *untold)):
        yield _issue(finding, mark)


def _issue(finding: Finding, mark: str) -> dict[str, object]:
    place = finding.location
    lines = {"begin": place.line, "end": place.end_line}
    return {
        "description": finding.message,
        "check_name": finding.rule,
        "fingerprint": identity.hashed(place.path, mark),
        "severity": GRADES[finding.severity],
        "location": {"path": place.path, "lines": lines},
    }


def _fault(failure: Failure) -> dict[str, object]:
    said = f"internal error of gpulint while {failure.doing}: {failure.error}"
    return _of_file(failure.path, "internal-error", said, FAULT)


def _unread(skip: Skip) -> dict[str, object]:
    return _of_file(skip.path, "not-read", f"not read: {skip.reason}", UNREAD)


def _of_file(path: str, name: str, said: str, grade: str) -> dict[str, object]:
    return {
        "description": said,
        "check_name": name,
        "fingerprint": identity.hashed(name, path, said),
        "severity": grade,
        "location": {"path": path, "lines": {"begin": 1, "end": 1}},
    }
