"""The report as workflow commands, which GitHub shows as annotations on the lines of a pull request."""

from __future__ import annotations

from collections.abc import Iterator

from gpulint.report.escaping import safe
from gpulint.report.formats import finding_lines, suggestion_lines, summary_line
from gpulint.report.model import Failure, Finding, Location, Report, Severity

COMMANDS = {Severity.ERROR: "error", Severity.WARNING: "warning", Severity.NOTE: "notice"}


def render(report: Report) -> str:
    """Return one command per finding and internal error, and a last one with the totals."""
    return "\n".join(_commands(report)) + "\n"


def _commands(report: Report) -> Iterator[str]:
    """Yield the lines. Every line is a command, so that no text of a file can start one."""
    yield from map(_failure, report.failures)
    yield from map(_finding, report.open)
    yield _command("notice", {"title": "gpulint"}, [*summary_line.render_short(report)])


def _finding(finding: Finding) -> str:
    sure = finding_lines.CONFIDENCE[finding.confidence]
    properties = {"title": f"{finding.rule}{sure}", **_place(finding.location)}
    tries = map(suggestion_lines.render_suggestion, finding.suggestions)
    return _command(
        COMMANDS[finding.severity], properties, [finding.message, *finding.arithmetic, *tries, finding.help]
    )


def _failure(failure: Failure) -> str:
    message = f"while {failure.doing}: {failure.error}"
    return _command("error", {"title": "internal error of gpulint", "file": failure.path}, [message])


def _place(location: Location) -> dict[str, str]:
    """Return a location in GitHub's form. Columns are allowed only on one line."""
    place = {"file": location.path, "line": str(location.line), "endLine": str(location.end_line)}
    if location.end_line != location.line:
        return place
    return {**place, "col": str(location.column), "endColumn": str(location.end_column)}


def _command(name: str, properties: dict[str, str], lines: list[str]) -> str:
    parameters = ",".join(f"{key}={_property(value)}" for key, value in properties.items())
    return f"::{name} {parameters}::{_data(chr(10).join(map(safe, filter(None, lines))))}"


def _data(value: str) -> str:
    return value.replace("%", "%25").replace("\r", "%0D").replace("\n", "%0A")


def _property(value: str) -> str:
    return _data(safe(value)).replace(":", "%3A").replace(",", "%2C")
