"""The report for a person at a terminal."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence

from gpulint.report.formats import grouping as alike
from gpulint.report.formats import summary_line as counts
from gpulint.report.formats.escaping import counted, safe
from gpulint.report.model import (
    Aim,
    Comparison,
    Edit,
    Finding,
    Fit,
    Location,
    Report,
    RoleSummary,
    Severity,
    Suggestion,
    WorkloadSummary,
)

STYLES = {Severity.ERROR: "31;1", Severity.WARNING: "33;1", Severity.NOTE: "36;1"}
MARKS = {"primary": "^", "second": "-"}
CHANGED_MAX = 20
UNREAD_MAX = 20
WORKLOAD_MAX = 96
WIDTH_MAX = 120
COLUMNS = ("workload", "architecture", "accelerator", "parallelism", "verdict", "headroom", "cost")
Paint = Callable[[str, str], str]
SURE = {3: "", 2: " (likely)", 1: " (possible)"}


def render(report: Report, colour: bool = False) -> str:
    """Findings with their snippets, what was understood, and what was counted."""
    paint = painted if colour else plain
    parts = [
        *(
            _finding(same[0], paint, first, same[1:])
            for same, first in _first_of_each_rule(alike.together(report.open, report.facilities))
        ),
        *(_compared(report.comparison) if report.comparison else ()),
        *_understood(counts.touched(report)),
        "\n".join((*counts.closing(report), *counts.needs(report))),
    ]
    return "\n\n".join(parts) + "\n"


def _first_of_each_rule(findings: Iterable[Sequence[Finding]]) -> Iterator[tuple[Sequence[Finding], bool]]:
    """Each finding with those like it, and whether it is the first of its rule, which alone says why it matters."""
    seen: set[str] = set()
    for same in findings:
        yield same, same[0].rule not in seen
        seen.add(same[0].rule)


def plain(text: str, style: str) -> str:
    """Text without a style."""
    return text


def painted(text: str, style: str) -> str:
    """Text in a style of a terminal."""
    return f"\x1b[{style}m{text}\x1b[0m"


# ---- findings


def shown(finding: Finding) -> str:
    """One finding whole, with its snippet, arithmetic and alternatives."""
    return _finding(finding, plain, explained=True)


def _finding(finding: Finding, paint: Paint, explained: bool, others: Sequence[Finding] = ()) -> str:
    lines = [*_finding_lines(finding, paint, explained)]
    return "\n".join([*lines[:2], *alike.others(others), *lines[2:]])


def _finding_lines(finding: Finding, paint: Paint, explained: bool) -> Iterator[str]:
    severity = finding.severity.word + SURE[finding.confidence]
    yield f"{paint(severity, STYLES[finding.severity])}[{finding.rule}]: {safe(finding.message)}"
    place = finding.location
    whose = owner(finding.workload, finding.role)
    yield f"  --> {safe(place.path)}:{place.line}:{place.column}" + (f"  ({safe(whose)})" if whose else "")
    yield from _snippet(finding)
    for line in finding.arithmetic:
        yield f"   = {safe(line)}"
    for suggestion in finding.suggestions:
        yield from _suggestion(suggestion, place)
    if explained:
        yield f"   = {finding.help}"


def owner(workload: str, role: str) -> str:
    """Whose finding it is, in one word."""
    return "/".join(dict.fromkeys(filter(None, (workload, role))))


def _snippet(finding: Finding) -> Iterator[str]:
    """The lines of the finding's spans, each marked under its columns."""
    spans = [(finding.location, "primary", finding.label)]
    spans += [
        (one.location, "second", one.label) for one in finding.related if one.location.path == finding.location.path
    ]
    spans.sort(key=lambda span: (span[0].line, span[0].column))
    gutter = len(str(max(span[0].line for span in spans)))
    last = 0
    for location, kind, label in spans:
        if not location.text:
            continue
        if last and location.line > last + 1:
            yield f"{'…':>{gutter}}"
        if location.line != last:
            yield f"{location.line:>{gutter}} | {_window(location)}"
        yield f"{'':>{gutter}} | {_marks(location, MARKS[kind])} {safe(label)}".rstrip()
        last = location.line
    for one in finding.related:
        if one.location.path != finding.location.path:
            yield f"   = {safe(one.label)}: {safe(one.location.path)}:{one.location.line}:{one.location.column}"


def _window(location: Location) -> str:
    line = location.text.splitlines()[0] if location.text else ""
    start = _cut(location)
    return safe(
        ("…" if start else "") + line[start : start + WIDTH_MAX] + ("…" if len(line) > start + WIDTH_MAX else "")
    )


def _marks(location: Location, mark: str) -> str:
    line = location.text.splitlines()[0] if location.text else ""
    start = _cut(location)
    end = location.end_column if location.end_line == location.line else len(line) + 1
    before = safe(line[start : location.column - 1])
    width = min(max(1, end - location.column), WIDTH_MAX)
    return " " * (len(before) + bool(start)) + mark * width


def _cut(location: Location) -> int:
    """Where a long line's window starts, so that the span is in it."""
    return max(0, location.column - WIDTH_MAX // 2) if location.end_column > WIDTH_MAX else 0


def _suggestion(suggestion: Suggestion, place: Location) -> Iterator[str]:
    yield f"   = {alternative(suggestion)}"
    for one in suggestion.edits:
        yield f"       {edit(one, place)}"


def alternative(suggestion: Suggestion) -> str:
    """What to try, what it costs where that changes, and what it gives up."""
    cost = ""
    if suggestion.cost_before_usd_per_hour is not None and suggestion.cost_after_usd_per_hour is not None:
        before, after = suggestion.cost_before_usd_per_hour, suggestion.cost_after_usd_per_hour
        cost = f", ${before:,.2f}/h to ${after:,.2f}/h ({suggestion.prices})" if before != after else ""
    gives_up = f" (gives up {safe(suggestion.gives_up)})" if suggestion.gives_up else ""
    return f"try {safe(suggestion.title)}{cost}{gives_up}"


def edit(edit: Edit, place: Location) -> str:
    """A change with its place, as one line."""
    where = ""
    if edit.location is not None:
        path = "" if edit.location.path == place.path else f"{safe(edit.location.path)}:"
        where = f"{path}{edit.location.line}:{edit.location.column}  "
    if not edit.old:
        return f"{where}add {safe(edit.new)}"
    return f"{where}{safe(edit.old)} → {safe(edit.new)}"


# ---- what a change makes


def _compared(comparison: Comparison) -> Iterator[str]:
    """What a change adds and saves, by workload, and which findings it ends."""
    from gpulint.report.formats import comparison as delta

    lines = [f"change from {safe(comparison.base)}: {delta.sentence(comparison)}"]
    if comparison.changes:
        rows = delta.rows(comparison.changes)
        more = len(rows) - CHANGED_MAX
        cells = [tuple(_short(safe(cell), WORKLOAD_MAX) for cell in row) for row in (delta.TITLES, *rows[:CHANGED_MAX])]
        widths = [max(len(row[at]) for row in cells) for at in range(len(delta.TITLES))]
        lines += [f"  {padded(row, widths)}" for row in cells]
        lines += [f"  and {counted(more, 'workload')} more"] if more > 0 else []
    yield "\n".join(lines)
    ended = [*_ended("fixed", comparison.gone), *_ended("no longer told, as facts are missing now", comparison.untold)]
    if ended:
        yield "\n".join(ended)


def _ended(title: str, found: Sequence[Finding]) -> Iterator[str]:
    if found:
        yield f"{title}: {counted(len(found), 'finding')}"
        yield from (
            f"  {one.severity.word}[{one.rule}]: {safe(one.message)}  ({_where(one)})" for one in found[:CHANGED_MAX]
        )
        if len(found) > CHANGED_MAX:
            yield f"  and {len(found) - CHANGED_MAX} more"


def _where(one: Finding) -> str:
    return safe(f"{one.location.path}:{one.location.line}")


# ---- what was understood


def _understood(workloads: Sequence[WorkloadSummary]) -> Iterator[str]:
    if not workloads:
        return
    roles = [(workload, role) for workload in workloads for role in workload.roles]
    unread = [role for _, role in roles if not role.engine and not role.part_of]
    left_out = frozenset(map(id, unread)) if len(unread) > UNREAD_MAX else frozenset()
    shown = [(workload, role) for workload, role in roles if id(role) not in left_out]
    parts = ["\n".join(_table(shown))] if shown else []
    if left_out:
        parts.append(
            f"and {counted(len(unread), 'role')} whose program gpulint does not read (--format json lists them)"
        )
    yield "\n".join(parts)
    if notes := [*_notes(workloads), *_prices(workloads)]:
        yield "\n".join(notes)


def _table(shown: Sequence[tuple[WorkloadSummary, RoleSummary]]) -> Iterator[str]:
    """Aligned rows; of several files, each under its path."""
    rows = [_row(workload, role) for workload, role in shown]
    titles = COLUMNS if any(row[-1] for row in rows) else COLUMNS[:-1]
    widths = [max(len(row[at]) for row in (titles, *rows)) for at in range(len(titles))]
    several = len({workload.location.path for workload, _ in shown}) > 1
    indent = "  " if several else ""
    yield indent + padded(titles, widths)
    last = ""
    for (workload, _), row in zip(shown, rows, strict=True):
        if several and workload.location.path != last:
            last = workload.location.path
            yield f"{safe(last)}:"
        yield indent + padded(row, widths)


def padded(row: Sequence[str], widths: Sequence[int]) -> str:
    """Cells under one another."""
    return "  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=False)).rstrip()


def _row(workload: WorkloadSummary, role: RoleSummary) -> tuple[str, ...]:
    name = workload.name if len(workload.roles) == 1 else f"{workload.name}/{role.name}"
    cells = (name, role.architecture, role.accelerator, role.parallelism, role.verdict, role.headroom, role.cost)
    return tuple(_short(safe(cell)) for cell in cells)


def _short(cell: str, most: int = 48) -> str:
    return cell if len(cell) <= most else cell[: most - 1] + "…"


def _notes(workloads: Iterable[WorkloadSummary]) -> Iterator[str]:
    for workload in workloads:
        for role in workload.roles:
            for aim in role.objectives:
                yield f"{safe(workload.name)}: {_aim(aim)}"
            if role.cost_of_work:
                yield f"{safe(workload.name)}: {role.cost_of_work}"
            for assumption in role.assumptions:
                yield f"assumed for {safe(workload.name)}: {safe(assumption)}"
            for said in hardware(role.fits_on, role.borderline, role.too_small, role.smallest):
                yield f"{safe(workload.name)} {said}"


def hardware(
    fits_on: Sequence[str], borderline: Sequence[str], too_small: Sequence[str], smallest: Sequence[Fit]
) -> Iterator[str]:
    """What a role fits on and does not, where no file names the card, and the smallest to be had."""
    if fits_on or borderline or too_small:
        parts = [f"fits on {_from_smallest(fits_on)}"]
        parts += [f"borderline on {', '.join(borderline)}"] if borderline else []
        parts += [f"too small: {', '.join(too_small[-3:])}"] if too_small else []
        yield "; ".join(parts)
    if smallest:
        yield f"smallest that fits: {'; '.join(fits(smallest))}"


def fits(fits: Sequence[Fit]) -> Iterator[str]:
    """The hardware to take, then what other counts take, each with the price of its share of a machine."""
    for at, one in enumerate(fits):
        ranks = f", tensor parallel {one.tensor_parallel}" if one.tensor_parallel > 1 else ""
        where = f" of {safe(one.pool)}" if one.pool else ""
        listed = f" (list, {one.prices})" if one.prices else ""
        cost = "" if one.cost_usd_per_hour is None else f", ${one.cost_usd_per_hour:,.2f}/h{listed}"
        count = f"with {one.gpus}: " if at else ""
        yield f"{count}{one.gpus} × {one.name}{where}{ranks}{cost}"


def _prices(workloads: Iterable[WorkloadSummary]) -> Iterator[str]:
    """Whose prices the costs are of, where and how old."""
    shown = dict.fromkeys(role.prices for workload in workloads for role in workload.roles if role.prices)
    if shown:
        yield f"cost at {safe(', '.join(shown))}"


def _aim(aim: Aim) -> str:
    """An objective beside what is likely and possible, or what has to be stated so that it can be told."""
    said = f"{aim.objective} {aim.wanted} wanted, "
    if not aim.likely:
        return f"{said}cannot tell without {', '.join(aim.needs)}" + (f"; {aim.at_best} at best" if aim.at_best else "")
    best = f", {aim.at_best} at best" if aim.at_best else ""
    return f"{said}{aim.likely} likely{best}: {aim.verdict}"


def _from_smallest(names: Sequence[str]) -> str:
    return f"{names[0]} and {len(names) - 1} larger" if len(names) > 1 else "".join(names) or "no listed accelerator"
