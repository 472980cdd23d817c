"""The report as text for a terminal."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

from gpulint.report.escaping import count, safe
from gpulint.report.formats import grouping, summary_line
from gpulint.report.model import (
    Aim,
    Comparison,
    Edit,
    Finding,
    Fit,
    HintUse,
    Location,
    Report,
    RoleSummary,
    Severity,
    Suggestion,
    WorkloadSummary,
)
from gpulint.report.terminal_style import Paint, apply_style, plain

STYLES = {Severity.ERROR: "31;1", Severity.WARNING: "33;1", Severity.NOTE: "36;1"}
MARKS = {"primary": "^", "second": "-"}
CHANGED_MAX = 20
UNKNOWN_ENGINES_MAX = 20
WORKLOAD_MAX = 96
WIDTH_MAX = 120
COLUMNS = ("workload", "architecture", "accelerator", "parallelism", "verdict", "headroom", "cost")
CONFIDENCE = {3: "", 2: " (likely)", 1: " (possible)"}


def render(report: Report, colour: bool = False) -> str:
    """Return the findings with source excerpts, the workloads, and the totals."""
    paint = apply_style if colour else plain
    parts = [
        *(
            _finding(group[0], paint, first, group[1:])
            for group, first in _mark_first(grouping.group(report.open, report.facilities))
        ),
        *(_render_comparison(report.comparison) if report.comparison else ()),
        *_render_workloads(summary_line.select_workloads(report)),
        "\n".join((*summary_line.render_closing(report), *summary_line.render_needs(report))),
    ]
    return "\n\n".join(parts) + "\n"


def _mark_first(groups: Iterable[Sequence[Finding]]) -> Iterator[tuple[Sequence[Finding], bool]]:
    """Yield each group of findings and whether it is the first of its rule. Only that one explains why."""
    seen: set[str] = set()
    for group in groups:
        yield group, group[0].rule not in seen
        seen.add(group[0].rule)


# ---- findings


def render_finding(finding: Finding) -> str:
    """Return one finding with its source excerpt, arithmetic and suggestions."""
    return _finding(finding, plain, explained=True)


def _finding(finding: Finding, paint: Paint, explained: bool, others: Sequence[Finding] = ()) -> str:
    lines = [*_finding_lines(finding, paint, explained)]
    return "\n".join([*lines[:2], *grouping.render_others(others), *lines[2:]])


def _finding_lines(finding: Finding, paint: Paint, explained: bool) -> Iterator[str]:
    severity = finding.severity.word + CONFIDENCE[finding.confidence]
    yield f"{paint(severity, STYLES[finding.severity])}[{finding.rule}]: {safe(finding.message)}"
    place = finding.location
    owner_name = name_owner(finding.workload, finding.role)
    yield f"  --> {safe(place.path)}:{place.line}:{place.column}" + (f"  ({safe(owner_name)})" if owner_name else "")
    yield from _snippet(finding)
    for line in finding.arithmetic:
        yield f"   = {safe(line)}"
    for suggestion in finding.suggestions:
        yield from _suggestion(suggestion, place)
    if explained:
        yield f"   = {finding.help}"


def name_owner(workload: str, role: str) -> str:
    """Return the workload and role of a finding as one word."""
    return "/".join(dict.fromkeys(filter(None, (workload, role))))


def _snippet(finding: Finding) -> Iterator[str]:
    """Yield the source lines of a finding's locations, each marked under its columns."""
    spans = [(finding.location, "primary", finding.label)]
    spans += [
        (related.location, "second", related.label)
        for related in finding.related
        if related.location.path == finding.location.path
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
    for related in finding.related:
        place = related.location
        if place.path != finding.location.path:
            yield f"   = {safe(related.label)}: {safe(place.path)}:{place.line}:{place.column}"


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
    """Return the start of a long line's excerpt, so that it contains the location."""
    return max(0, location.column - WIDTH_MAX // 2) if location.end_column > WIDTH_MAX else 0


def _suggestion(suggestion: Suggestion, place: Location) -> Iterator[str]:
    yield f"   = {render_suggestion(suggestion)}"
    for change in suggestion.edits:
        yield f"       {render_edit(change, place)}"


def render_suggestion(suggestion: Suggestion) -> str:
    """Return a suggestion with its change of cost and its trade-off, if any."""
    cost = ""
    if suggestion.cost_before_usd_per_hour is not None and suggestion.cost_after_usd_per_hour is not None:
        before, after = suggestion.cost_before_usd_per_hour, suggestion.cost_after_usd_per_hour
        cost = f", ${before:,.2f}/h to ${after:,.2f}/h ({suggestion.prices})" if before != after else ""
    trade_off = f" (trade-off: {safe(suggestion.trade_off)})" if suggestion.trade_off else ""
    return f"try {safe(suggestion.title)}{cost}{trade_off}"


def render_edit(edit: Edit, place: Location) -> str:
    """Return a change with its location on one line."""
    where = ""
    if edit.location is not None:
        path = "" if edit.location.path == place.path else f"{safe(edit.location.path)}:"
        where = f"{path}{edit.location.line}:{edit.location.column}  "
    if not edit.old:
        return f"{where}add {safe(edit.new)}"
    return f"{where}{safe(edit.old)} → {safe(edit.new)}"


# ---- comparison


def _render_comparison(comparison: Comparison) -> Iterator[str]:
    """Yield what a change adds and saves by workload, and the findings that it resolves."""
    from gpulint.report.formats import comparison as formats_comparison
    from gpulint.report.formats import node_pools

    lines = [f"change from {safe(comparison.base)}: {formats_comparison.render_sentence(comparison)}"]
    if comparison.changes:
        rows = formats_comparison.make_rows(comparison.changes)
        lines += _render_table(formats_comparison.TITLES, rows, "workload")
    if comparison.pools:
        lines += _render_table(node_pools.TITLES, node_pools.make_rows(comparison.pools), "node pool")
    yield "\n".join(lines)
    ended = [
        *_list_resolved("fixed", comparison.gone),
        *_list_resolved("no longer evaluated because facts are missing", comparison.untold),
    ]
    if ended:
        yield "\n".join(ended)
    if comparison.hints:
        yield "\n".join(_list_hints(comparison.hints))


def _list_hints(uses: Sequence[HintUse]) -> Iterator[str]:
    """Yield the hints that a change adds, each with its place."""
    from gpulint.report.formats import comparison as formats_comparison

    yield formats_comparison.name_hints(len(uses))
    for use in uses[:CHANGED_MAX]:
        yield f"  {safe(formats_comparison.render_hint(use))}  ({safe(f'{use.path}:{use.line}')})"
    if len(uses) > CHANGED_MAX:
        yield f"  and {len(uses) - CHANGED_MAX} more"


def _render_table(titles: tuple[str, ...], rows: Sequence[tuple[str, ...]], noun: str) -> Iterator[str]:
    """Yield the lines of a table with its first rows, and how many more there are."""
    cells = [tuple(_short(safe(cell), WORKLOAD_MAX) for cell in row) for row in (titles, *rows[:CHANGED_MAX])]
    widths = [max(len(row[at]) for row in cells) for at in range(len(titles))]
    yield from (f"  {pad(row, widths)}" for row in cells)
    if len(rows) > CHANGED_MAX:
        yield f"  and {count(len(rows) - CHANGED_MAX, noun)} more"


def _list_resolved(title: str, findings: Sequence[Finding]) -> Iterator[str]:
    if findings:
        yield f"{title}: {count(len(findings), 'finding')}"
        yield from (
            f"  {finding.severity.word}[{finding.rule}]: {safe(finding.message)}  ({_where(finding)})"
            for finding in findings[:CHANGED_MAX]
        )
        if len(findings) > CHANGED_MAX:
            yield f"  and {len(findings) - CHANGED_MAX} more"


def _where(finding: Finding) -> str:
    return safe(f"{finding.location.path}:{finding.location.line}")


# ---- workloads


def _render_workloads(workloads: Sequence[WorkloadSummary]) -> Iterator[str]:
    if not workloads:
        return
    roles = [(workload, role) for workload in workloads for role in workload.roles]
    unknown = [role for _, role in roles if not role.engine and not role.part_of]
    hidden = frozenset(map(id, unknown)) if len(unknown) > UNKNOWN_ENGINES_MAX else frozenset()
    listed = [(workload, role) for workload, role in roles if id(role) not in hidden]
    parts = ["\n".join(_table(listed))] if listed else []
    if hidden:
        parts.append(
            f"and {count(len(unknown), 'role')} with an engine that gpulint does not know (--format json lists them)"
        )
    yield "\n".join(parts)
    if notes := [*_notes(workloads), *_prices(workloads)]:
        yield "\n".join(notes)


def _table(listed: Sequence[tuple[WorkloadSummary, RoleSummary]]) -> Iterator[str]:
    """Yield aligned rows, grouped by path if there are several files."""
    rows = [_row(workload, role) for workload, role in listed]
    titles = COLUMNS if any(row[-1] for row in rows) else COLUMNS[:-1]
    widths = [max(len(row[at]) for row in (titles, *rows)) for at in range(len(titles))]
    has_several_files = len({workload.location.path for workload, _ in listed}) > 1
    indent = "  " if has_several_files else ""
    yield indent + pad(titles, widths)
    last = ""
    for (workload, _), row in zip(listed, rows, strict=True):
        if has_several_files and workload.location.path != last:
            last = workload.location.path
            yield f"{safe(last)}:"
        yield indent + pad(row, widths)


def pad(row: Sequence[str], widths: Sequence[int]) -> str:
    """Return the cells of a row, padded to the column widths."""
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
            for objective in role.objectives:
                yield f"{safe(workload.name)}: {_objective(objective)}"
            if role.cost_of_work:
                yield f"{safe(workload.name)}: {role.cost_of_work}"
            for assumption in role.assumptions:
                yield f"assumed for {safe(workload.name)}: {safe(assumption)}"
            for text in render_hardware(role.fits_on, role.borderline, role.too_small, role.smallest):
                yield f"{safe(workload.name)} {text}"


def render_hardware(
    fits_on: Sequence[str], borderline: Sequence[str], too_small: Sequence[str], smallest: Sequence[Fit]
) -> Iterator[str]:
    """Yield the accelerators that fit a role that names none, those that do not, and the smallest option."""
    if fits_on or borderline or too_small:
        parts = [f"fits on {_summarise_sizes(fits_on)}"]
        parts += [f"borderline on {', '.join(borderline)}"] if borderline else []
        parts += [f"too small: {', '.join(too_small[-3:])}"] if too_small else []
        yield "; ".join(parts)
    if smallest:
        yield f"smallest that fits: {'; '.join(render_fits(smallest))}"


def render_fits(fits: Sequence[Fit]) -> Iterator[str]:
    """Yield the recommended hardware, then that of other GPU counts, each with its price."""
    for index, fit in enumerate(fits):
        ranks = f", tensor parallel {fit.tensor_parallel}" if fit.tensor_parallel > 1 else ""
        where = f" of {safe(fit.pool)}" if fit.pool else ""
        listed = f" (list, {fit.prices})" if fit.prices else ""
        cost = "" if fit.cost_usd_per_hour is None else f", ${fit.cost_usd_per_hour:,.2f}/h{listed}"
        count = f"with {fit.gpus}: " if index else ""
        yield f"{count}{fit.gpus} × {fit.name}{where}{ranks}{cost}"


def _prices(workloads: Iterable[WorkloadSummary]) -> Iterator[str]:
    """Yield the sources, regions and ages of the prices."""
    sources = dict.fromkeys(role.prices for workload in workloads for role in workload.roles if role.prices)
    if sources:
        yield f"cost at {safe(', '.join(sources))}"


def _objective(aim: Aim) -> str:
    """Return an objective with its expected and best value, or the facts needed to evaluate it."""
    target = f"{aim.objective} target {aim.wanted}"
    best = f", best case {aim.at_best}" if aim.at_best else ""
    if not aim.expected:
        return f"{target}{best}: not evaluated, state {', '.join(aim.needs)}"
    return f"{target}, expected {aim.expected}{best}: {aim.verdict}"


def _summarise_sizes(names: Sequence[str]) -> str:
    return f"{names[0]} and {len(names) - 1} larger" if len(names) > 1 else "".join(names) or "no listed accelerator"
