"""The report as Checkstyle XML, which most build servers and reviewdog read."""

from __future__ import annotations

from collections.abc import Iterator

from gpulint.report.escaping import XML_HEAD, render_element
from gpulint.report.model import Failure, Finding, Report, Severity

FORMAT_VERSION = "4.3"
GRADES = {Severity.ERROR: "error", Severity.WARNING: "warning", Severity.NOTE: "info"}


def render(report: Report) -> str:
    """Return files with their findings. An internal error is an error of its file."""
    files: dict[str, list[str]] = {}
    for path, error in _errors(report):
        files.setdefault(path, []).append(error)
    found = [render_element("file", {"name": path}, found) for path, found in sorted(files.items())]
    return XML_HEAD + render_element("checkstyle", {"version": FORMAT_VERSION}, found) + "\n"


def _errors(report: Report) -> Iterator[tuple[str, str]]:
    for failure in report.failures:
        yield failure.path, _fault(failure)
    for finding in report.open:
        yield finding.location.path, _finding(finding)
    for skip in report.skipped:
        yield skip.path, _file_error("info", f"not checked: {skip.reason}", "not-checked", skip.line)


def _finding(finding: Finding) -> str:
    place = finding.location
    attributes = {"line": place.line, "column": place.column, "severity": GRADES[finding.severity]}
    source = f"gpulint.{finding.family}.{finding.rule}"
    return render_element("error", {**attributes, "message": finding.message, "source": source})


def _fault(failure: Failure) -> str:
    message = f"internal error of gpulint while {failure.doing}: {failure.error}"
    return _file_error("error", message, "internal-error")


def _file_error(grade: str, message: str, name: str, line: int = 1) -> str:
    attributes = {"line": line, "severity": grade, "message": message, "source": f"gpulint.{name}"}
    return render_element("error", attributes)
