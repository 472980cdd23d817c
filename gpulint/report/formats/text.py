"""The report as text for a terminal: findings, workloads, questions, and the totals at its end."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence

from gpulint.report.escaping import count, safe
from gpulint.report.formats import finding_lines, grouping, questions, summary_line, totals, workload_table
from gpulint.report.formats.terminal_layout import shorten, wrap
from gpulint.report.formats.terminal_view import PIPE, View
from gpulint.report.model import Finding, Report

REMARKS_MAX = 5
"""The lines of assumptions and questions, unless asked for all."""


def render(report: Report, view: View = PIPE) -> str:
    """Return the findings, the workloads that need a decision, the questions, and the totals."""
    parts = [*_list_statistics(report, view)] if view.statistics else [*_render_findings(report, view)]
    if not view.quiet:
        workloads = summary_line.select_workloads(report)
        if report.comparison:
            from gpulint.report.formats import comparison_lines

            parts += comparison_lines.render_comparison(report.comparison, view)
        parts += workload_table.render_workloads(workloads, view)
        parts += filter(None, (_wrap(_list_remarks(report, view), view), _wrap(_list_closing(report), view)))
    elif report.failures:
        parts.append(_wrap(summary_line.render_failures(report), view))
    return "\n\n".join(parts) + "\n" * bool(parts)


def _wrap(lines: Iterable[str], view: View) -> str:
    return "\n".join(view.paint_numbers(part) for line in lines for part in wrap(line, view.width))


# ---- findings


def _render_findings(report: Report, view: View) -> Iterator[str]:
    """Yield each different finding as a block; blocks in brief follow one another without a gap."""
    different = grouping.group(report.open, report.facilities)
    groups, folded = (different, []) if view.everything else grouping.fold_notes(different)
    shown = groups[: view.limit] if view.limit else groups
    if view.is_brief(len(groups)):
        blocks = ["\n".join(finding_lines.render_brief(group, view)) for group in shown]
        yield from ("\n".join(blocks),) if blocks else ()
    else:
        yield from (
            "\n".join(finding_lines.render_full(group, view, is_first)) for group, is_first in _mark_first(shown)
        )
    if left := groups[len(shown) :]:
        locations = sum(map(len, left))
        where = f" at {count(locations, 'location')}" if locations > len(left) else ""
        yield f"and {len(left):,} more different finding{'s' * (len(left) > 1)}{where} (--limit {len(shown)})"
    if folded:
        yield "\n".join(map(grouping.render_folded, folded))


def _mark_first(groups: Iterable[Sequence[Finding]]) -> Iterator[tuple[Sequence[Finding], bool]]:
    """Yield each group of findings and whether it is the first of its rule. Only that one explains why."""
    seen: set[str] = set()
    for group in groups:
        yield group, group[0].rule not in seen
        seen.add(group[0].rule)


def _list_statistics(report: Report, view: View) -> Iterator[str]:
    """Yield the number of findings of each rule, the most severe and most frequent first."""
    counts = Counter((finding.severity, finding.rule) for finding in report.open)
    ranked = sorted(counts.items(), key=lambda entry: (-entry[0][0], -entry[1], entry[0][1]))
    if not ranked:
        return
    digits = max(len(f"{number:,}") for number in counts.values())
    lines = []
    for (severity, rule), number in ranked:
        card = report.rules.get(rule)
        word = f"{severity.word}[{rule}]"
        line = f"{number:>{digits},}  {word}" + (f"  {safe(card.summary)}" if card else "")
        first, *rest = wrap(line, view.width, digits + 4)
        lines += [first.replace(severity.word, view.paint(severity.word, finding_lines.STYLES[severity]), 1), *rest]
    yield "\n".join(lines)


# ---- the end


def _list_remarks(report: Report, view: View) -> Iterator[str]:
    """Yield what was assumed, and the questions that decide most or all that is missing."""
    workloads = summary_line.select_workloads(report)
    if view.missing:
        yield from workload_table.list_assumptions(workloads, 0 if view.everything else 1)
        yield from summary_line.render_needs(report)
        return
    missing = summary_line.count_not_evaluated(report)
    assumed = any(role.assumptions for workload in workloads for role in workload.roles)
    left = REMARKS_MAX - bool(missing) - assumed
    asked = []
    for question in map(questions.Question.render, questions.list_questions(report)):
        if (lines := len(wrap(question, view.width))) <= left:
            asked.append(question)
            left -= lines
    if view.everything:
        yield from workload_table.list_assumptions(workloads, 0)
    else:
        yield from (shorten(line, view.width) for line in workload_table.list_assumptions(workloads, left + 1))
    yield from asked
    if missing:
        yield f"{missing} (--explain-missing lists what they need)"


def _list_closing(report: Report) -> Iterator[str]:
    """Yield what was not checked and why, then the totals."""
    yield from summary_line.render_remarks(report)
    yield from totals.list_totals(report)
