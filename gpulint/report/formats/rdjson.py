"""The report as reviewdog's diagnostic JSON, in which columns count bytes of UTF-8."""

from __future__ import annotations

from gpulint.report import json_text
from gpulint.report.formats import suggestion_lines
from gpulint.report.model import Failure, Finding, Location, Report, RuleCard, Severity, Skip
from gpulint.report.report import STATING_GPUS
from gpulint.version import PROJECT

GRADES = {Severity.ERROR: "ERROR", Severity.WARNING: "WARNING", Severity.NOTE: "INFO"}


def render(report: Report) -> str:
    """Return the diagnostics. An internal error is one of its file."""
    findings = [_finding(finding, report.rules.get(finding.rule)) for finding in report.open]
    faults = [_fault(failure) for failure in report.failures]
    source = {"name": "gpulint", **({"url": PROJECT} if PROJECT else {})}
    return json_text.encode({"source": source, "diagnostics": [*faults, *findings, *map(_unread, report.skipped)]})


def _finding(finding: Finding, card: RuleCard | None) -> dict[str, object]:
    code = {"value": finding.rule, **({"url": card.page} if card and card.page else {})}
    tries = map(suggestion_lines.render_suggestion, finding.suggestions)
    diagnostic: dict[str, object] = {
        "message": "\n".join((finding.message, *finding.arithmetic, *tries)),
        "location": {"path": finding.location.path, "range": _range(finding.location)},
        "severity": GRADES[finding.severity],
        "code": code,
    }
    suggestion = _suggestion(finding)
    return {**diagnostic, "suggestions": [suggestion]} if suggestion else diagnostic


def _fault(failure: Failure) -> dict[str, object]:
    message = f"internal error of gpulint while {failure.doing}: {failure.error}"
    return _file_diagnostic(failure.path, "ERROR", message, "internal-error")


def _unread(skip: Skip) -> dict[str, object]:
    found = _file_diagnostic(skip.path, "INFO", f"not checked: {skip.reason}", "not-checked")
    if skip.cause not in STATING_GPUS:
        return found
    return {**found, "location": {"path": skip.path, "range": {"start": {"line": skip.line}}}}


def _file_diagnostic(path: str, grade: str, message: str, name: str) -> dict[str, object]:
    return {"message": message, "location": {"path": path}, "severity": grade, "code": {"value": name}}


def _suggestion(finding: Finding) -> dict[str, object] | None:
    """Return the first suggestion that is one edit within the finding's lines, to apply with one click."""
    for edits in (suggestion.edits for suggestion in finding.suggestions):
        exact = edits[0].exact if len(edits) == 1 else None
        if exact and exact.location.text and _is_within(exact.location, finding.location):
            return {"range": _range(exact.location), "text": exact.text}
    return None


def _is_within(inner: Location, outer: Location) -> bool:
    return inner.path == outer.path and outer.line <= inner.line and inner.end_line <= outer.end_line


def _range(location: Location) -> dict[str, object]:
    """Return a location in bytes, or whole lines if the text is not available."""
    start, end = {"line": location.line}, {"line": location.end_line}
    if not location.text:
        return {"start": start, "end": end}
    first, last = _lines(location)
    start["column"] = _bytes(first, location.column)
    end["column"] = _bytes(last, location.end_column)
    return {"start": start, "end": end}


def _lines(location: Location) -> tuple[str, str]:
    """Return the first and last line of a location."""
    lines = location.text.split("\n")
    return lines[0], lines[min(location.end_line - location.line, len(lines) - 1)]


def _bytes(line: str, column: int) -> int:
    return len(line[: column - 1].encode("utf-8", "replace")) + 1
