"""The report with one line per finding, `path:line:column: severity[rule] message`, and the totals."""

from __future__ import annotations

from collections.abc import Iterator

from gpulint.report.escaping import safe
from gpulint.report.formats import summary_line
from gpulint.report.formats.finding_lines import CONFIDENCE
from gpulint.report.model import Finding, Report


def render(report: Report) -> str:
    """Return one line per finding and per internal error, followed by the closing lines."""
    return "\n".join(_lines(report)) + "\n"


def _lines(report: Report) -> Iterator[str]:
    yield from map(line, report.open)
    yield from summary_line.render_short(report)


def line(finding: Finding) -> str:
    """Return a finding in the format that editors and grep expect."""
    place = finding.location
    severity = finding.severity.word + CONFIDENCE[finding.confidence]
    where = f"{safe(place.path)}:{place.line}:{place.column}"
    return f"{where}: {severity}[{finding.rule}] {safe(finding.message)}"
