"""What a change adds and resolves, as lines of a terminal."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

from gpulint.report.escaping import count, safe
from gpulint.report.formats.terminal_layout import lay_out, wrap
from gpulint.report.formats.terminal_view import View
from gpulint.report.model import Comparison, Finding, HintUse

CHANGED_MAX = 20
INDENT = "  "


def render_comparison(comparison: Comparison, view: View) -> Iterator[str]:
    """Yield what a change adds and saves by workload, and the findings that it resolves."""
    from gpulint.report.formats import comparison as formats_comparison
    from gpulint.report.formats import node_pools

    lines = [f"change from {safe(comparison.base)}: {formats_comparison.render_sentence(comparison)}"]
    if comparison.changes:
        rows = formats_comparison.make_rows(comparison.changes)
        lines += _render_table(formats_comparison.TITLES, rows, "workload", view.width)
    if comparison.pools:
        lines += _render_table(node_pools.TITLES, node_pools.make_rows(comparison.pools), "node pool", view.width)
    yield _wrap(lines, view)
    ended = [
        *_list_resolved("fixed", comparison.gone),
        *_list_resolved("no longer evaluated because facts are missing", comparison.untold),
    ]
    if ended:
        yield _wrap(ended, view)
    if comparison.hints:
        yield _wrap(_list_hints(comparison.hints), view)


def _wrap(lines: Iterable[str], view: View) -> str:
    return "\n".join(view.paint_numbers(part) for line in lines for part in wrap(line, view.width))


def _list_hints(uses: Sequence[HintUse]) -> Iterator[str]:
    """Yield the hints that a change adds, each with its place."""
    from gpulint.report.formats import comparison as formats_comparison

    yield formats_comparison.name_hints(len(uses))
    for use in uses[:CHANGED_MAX]:
        yield f"  {safe(formats_comparison.render_hint(use))}  ({safe(f'{use.path}:{use.line}')})"
    if len(uses) > CHANGED_MAX:
        yield f"  and {len(uses) - CHANGED_MAX} more"


def _render_table(titles: tuple[str, ...], rows: Sequence[tuple[str, ...]], noun: str, width: int) -> Iterator[str]:
    """Yield the lines of a table with its first rows, and how many more there are."""
    table = lay_out(titles, [tuple(map(safe, row)) for row in rows[:CHANGED_MAX]], width - len(INDENT))
    yield from (f"{INDENT}{line}" for row in (table.head, *table.rows) for line in row)
    if len(rows) > CHANGED_MAX:
        yield f"{INDENT}and {count(len(rows) - CHANGED_MAX, noun)} more"


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
