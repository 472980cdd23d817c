"""One finding as lines: in full with its source excerpt, arithmetic and suggestions, or in brief."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from gpulint.report.escaping import safe
from gpulint.report.formats import grouping, suggestion_lines
from gpulint.report.formats.terminal_layout import shorten, wrap
from gpulint.report.formats.terminal_view import PLACE_STYLE, UNWRAPPED, WIDTH, View
from gpulint.report.model import Finding, Location, Severity

STYLES = {Severity.ERROR: "31;1", Severity.WARNING: "33;1", Severity.NOTE: "36;1"}
ARROW = "  --> "
MARKS = {"primary": "^", "second": "-"}
CONFIDENCE = {3: "", 2: " (likely)", 1: " (possible)"}


def render_finding(finding: Finding) -> str:
    """Return one finding in full, without colours and with unbroken lines."""
    return "\n".join(render_full((finding,), UNWRAPPED, explained=True))


def render_full(group: Sequence[Finding], view: View, explained: bool) -> Iterator[str]:
    """Yield the lines of the findings that say the same: all that is known about the first, and the other locations."""
    finding = group[0]
    yield from _head(group, view)
    yield from _snippet(finding, min(view.width, WIDTH))
    facts = [f"   = {safe(line)}" for line in finding.arithmetic]
    for suggestion in finding.suggestions:
        facts.append(f"   = {suggestion_lines.render_suggestion(suggestion)}")
        facts += [f"       {suggestion_lines.render_edit(edit, finding.location)}" for edit in suggestion.edits]
    facts += [f"   = {finding.help}"] if explained else []
    yield from (view.paint_numbers(part) for line in facts for part in wrap(line, view.width, 7))


def render_brief(group: Sequence[Finding], view: View) -> Iterator[str]:
    """Yield the lines of the findings that say the same: their locations, and one line that helps most."""
    finding = group[0]
    yield from _head(group, view, brief=True)
    line = next(_list_best(finding, is_repeated=len(group) > 1), "")
    if line:
        yield view.paint_numbers(shorten(line, view.width))


def _list_best(finding: Finding, is_repeated: bool) -> Iterator[str]:
    """Yield what helps most: the first suggestion, the arithmetic, the line of the file if there is only one."""
    for suggestion in finding.suggestions:
        yield f"   = {suggestion_lines.render_brief(suggestion, finding.location)}"
    yield from (f"   = {safe(line)}" for line in finding.arithmetic)
    if finding.location.text and not is_repeated:
        yield f"   | {safe(finding.location.text.splitlines()[0].strip())}"


def _head(group: Sequence[Finding], view: View, brief: bool = False) -> Iterator[str]:
    """Yield the message and the locations; in brief, the owner is named only where there is space."""
    finding = group[0]
    severity = finding.severity.word + CONFIDENCE[finding.confidence]
    first, *rest = wrap(f"{severity}[{finding.rule}]: {safe(finding.message)}", view.width)
    start = f"{severity}[{finding.rule}]"
    yield view.paint(severity, STYLES[finding.severity]) + f"[{finding.rule}]" + view.paint_numbers(first[len(start) :])
    yield from map(view.paint_numbers, rest)
    place = finding.location
    where = f"{safe(place.path)}:{place.line}:{place.column}"
    owner = f"({safe(name)})" if (name := name_owner(finding.workload, finding.role)) else ""
    has_space = len(ARROW) + len(where) + len("  ") + len(owner) <= view.width
    yield ARROW + view.paint_place(where, place) + (f"  {owner}" if owner and has_space else "")
    if owner and not has_space and not brief:
        yield f"      {owner}"
    for line in grouping.render_others(group[1:], finding, view.everything):
        yield from (view.paint(part, PLACE_STYLE) for part in wrap(line, view.width, 6))


def name_owner(workload: str, role: str) -> str:
    """Return the workload and role of a finding as one word."""
    return "/".join(dict.fromkeys(filter(None, (workload, role))))


# ---- the excerpt


def _snippet(finding: Finding, width: int) -> Iterator[str]:
    """Yield the source lines of a finding's locations, each marked under its columns."""
    spans = [(finding.location, "primary", finding.label)]
    spans += [
        (related.location, "second", related.label)
        for related in finding.related
        if related.location.path == finding.location.path
    ]
    spans.sort(key=lambda span: (span[0].line, span[0].column))
    gutter = len(str(max(span[0].line for span in spans)))
    most = width - gutter - len(" | ") - len("……")
    last = 0
    for location, kind, label in spans:
        if not location.text:
            continue
        if last and location.line > last + 1:
            yield f"{'…':>{gutter}}"
        if location.line != last:
            yield f"{location.line:>{gutter}} | {_window(location, most)}"
        yield from _label(f"{'':>{gutter}} |", _marks(location, MARKS[kind], most), safe(label), width)
        last = location.line
    for related in finding.related:
        place = related.location
        if place.path != finding.location.path:
            yield f"   = {safe(related.label)}: {safe(place.path)}:{place.line}:{place.column}"


def _label(margin: str, marks: str, label: str, width: int) -> Iterator[str]:
    """Yield the marks with their label, which stands below them if it does not fit."""
    if len(margin) + len(marks) + len(label) + 2 <= width:
        yield f"{margin} {marks} {label}".rstrip()
    else:
        yield f"{margin} {marks}"
        yield f"{margin} {label}"


def _window(location: Location, most: int) -> str:
    line = location.text.splitlines()[0] if location.text else ""
    start = _cut(location, most)
    return safe(("…" if start else "") + line[start : start + most] + ("…" if len(line) > start + most else ""))


def _marks(location: Location, mark: str, most: int) -> str:
    line = location.text.splitlines()[0] if location.text else ""
    start = _cut(location, most)
    end = location.end_column if location.end_line == location.line else len(line) + 1
    before = safe(line[start : location.column - 1])
    width = min(max(1, end - location.column), most)
    return " " * (len(before) + bool(start)) + mark * width


def _cut(location: Location, most: int) -> int:
    """Return the start of a long line's excerpt, so that it contains the location."""
    return max(0, location.column - most // 2) if location.end_column > most else 0
