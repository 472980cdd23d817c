"""The report as a pull-request comment, which is found by its first line and updated in place.

Text from files is written as code, so that no mention, link or markup in it takes effect.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence

from gpulint.report.escaping import safe
from gpulint.report.formats import comparison as formats_comparison
from gpulint.report.formats import finding_lines, node_pools, summary_line
from gpulint.report.formats.finding_lines import CONFIDENCE
from gpulint.report.model import Comparison, Failure, Finding, HintUse, Report, RuleCard, Skip
from gpulint.report.report import STATING_GPUS

MARKER = "<!-- gpulint report{} -->"
"""The first line of every comment, with its key if a repository has several gates."""
QUIET = "<!-- gpulint: quiet -->"
"""The second line of a comment that may update an existing one but is not worth creating."""
UNITS_MAX = 64_000
"""GitHub accepts 65,536. Characters outside the basic plane may count twice."""
CELL_CHARACTERS_MAX = 400
LISTED_MAX = 50
OLD = frozenset({"baseline", "base"})
HEAD = ("| | rule | where | what |", "|---|---|---|---|")
MARKUP = re.compile(r"([\\`*_\[\]<>&|~$@#])")


def render(report: Report) -> str:
    """Return the comment: the most severe findings first, then folded details up to the length limit."""
    rows = [_row(finding, report.rules.get(finding.rule)) for finding in _sort_by_severity(report.open)]
    head = [_marker(report), f"### gpulint: {_verdict(report)}", *_faults(report.failures)]
    against = f"Compared with {format_code(report.comparison.base)}." if report.comparison else ""
    budgets = [format_code(summary_line.render_budget(spent)) for spent in report.budgets[:LISTED_MAX]]
    foot = [
        format_code(summary_line.render_line(report)),
        *budgets,
        *filter(None, (summary_line.count_not_evaluated(report), against, _explain(report))),
    ]
    left = UNITS_MAX - _units("\n\n".join((*head, *HEAD, *foot)))
    listed = _take_fitting(rows, left)
    left -= _units("\n".join(listed))
    parts = [*head]
    if listed:
        parts.append("\n".join((*HEAD, *listed)))
    if len(listed) < len(rows):
        parts.append(f"… and {len(rows) - len(listed)} more, in the log")
    for title, inside in filter(all, (*_render_comparison(report.comparison), _details(report, left), *_lists(report))):
        folded = f"<details><summary>{title}</summary>\n\n{inside}\n\n</details>"
        parts.append(folded if _units(folded) < left else f"{title}, in the log")
        left -= _units(parts[-1])
    return "\n\n".join((*parts, "  \n".join(foot))) + "\n"


def _marker(report: Report) -> str:
    """Return the marker that identifies the comment and says whether it is worth creating."""
    key = re.sub(r"[^\w.-]+", "-", report.comment.key, flags=re.ASCII).strip("-")
    marker = MARKER.format(f": {key}" if key else "")
    return f"{marker}\n{QUIET}" if formats_comparison.is_quiet(report) else marker


def _verdict(report: Report) -> str:
    """Return internal errors, what a change adds, and the numbers of findings."""
    number = len(report.failures)
    faults = [f"{number} internal error{'s' * (number > 1)}"] if number else []
    found = ", ".join((*faults, summary_line.count_findings(report)))
    return f"{formats_comparison.render_sentence(report.comparison)}; {found}" if report.comparison else found


def _render_comparison(comparison: Comparison | None) -> Iterator[tuple[str, str]]:
    """Yield what a change makes of each workload, and the findings that it resolves."""
    if comparison is None:
        return
    rows = formats_comparison.make_rows(comparison.changes)
    yield f"{len(rows)} workload{'s' * (len(rows) > 1)} changed", _render_table(formats_comparison.TITLES, rows)
    pools = [(name, format_code(path), *cells) for name, path, *cells in node_pools.make_rows(comparison.pools)]
    yield f"{len(pools)} node pool{'s' * (len(pools) > 1)} changed", _render_table(node_pools.TITLES, pools)
    yield (
        f"{len(comparison.untold)} no longer evaluated because facts are missing",
        _render_list([*map(_render_resolved, comparison.untold)]),
    )
    yield f"{len(comparison.gone)} fixed", _render_list([*map(_render_resolved, comparison.gone)])
    yield formats_comparison.name_hints(len(comparison.hints)), _render_list([*map(_render_hint, comparison.hints)])


def _render_hint(use: HintUse) -> str:
    return f"{format_code(formats_comparison.render_hint(use))} at {format_code(f'{use.path}:{use.line}')}"


def _render_table(titles: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """Return a table with the first rows, and how many more there are; empty if there are none."""
    cells = [f"| {' | '.join((format_code(name), *figures))} |" for name, *figures in rows[:LISTED_MAX]]
    more = [f"| … and {len(rows) - LISTED_MAX} more |{' |' * (len(titles) - 1)}"] if len(rows) > LISTED_MAX else []
    head = (f"| {' | '.join(titles)} |", f"|{'---|' * len(titles)}")
    return "\n".join((*head, *cells, *more)) if rows else ""


def _render_resolved(finding: Finding) -> str:
    where = format_code(f"{finding.location.path}:{finding.location.line}")
    return f"{finding.severity.word} {format_code(finding.rule)} at {where}: {format_code(finding.message)}"


def _sort_by_severity(findings: Iterable[Finding]) -> list[Finding]:
    return sorted(findings, key=lambda finding: -finding.severity)


def _explain(report: Report) -> str:
    """How to read about a rule that has no page to link to."""
    cards = (report.rules.get(finding.rule) for finding in report.open)
    return (
        ""
        if all(card and card.page for card in cards)
        else f"To read about a rule: {format_code('gpulint explain RULE')}"
    )


def _row(finding: Finding, card: RuleCard | None) -> str:
    rule = format_code(finding.rule)
    if card and card.page:
        rule = f"[{rule}](<{card.page}>)"
    where = format_code(f"{finding.location.path}:{finding.location.line}")
    return f"| {finding.severity.word}{CONFIDENCE[finding.confidence]} | {rule} | {where} | {format_code(finding.message)} |"


def _faults(failures: Sequence[Failure]) -> Iterator[str]:
    for failure in failures[:LISTED_MAX]:
        yield f"**internal error** in {format_code(failure.path)} while {failure.doing}: {format_code(failure.error)}"
    if len(failures) > LISTED_MAX:
        yield f"… and {len(failures) - LISTED_MAX} more, in the log"


# ---- folded sections


def _details(report: Report, left: int) -> tuple[str, str]:
    """Return the findings as on a terminal, up to the length limit."""
    texts = [finding_lines.render_finding(finding) for finding in _sort_by_severity(report.open)]
    listed = _take_fitting(texts, left - 200)
    more = f"\n\n… and the details of {len(texts) - len(listed)} more, in the log" if len(listed) < len(texts) else ""
    return "Locations, arithmetic and suggestions", format_block("\n\n".join(listed)) + more if listed else ""


def _lists(report: Report) -> Iterator[tuple[str, str]]:
    """Yield the waived findings and the files that were not checked. Older findings are only counted."""
    waived = [
        finding for finding in report.findings if finding.suppressed is not None and finding.suppressed.kind not in OLD
    ]
    yield f"{len(waived)} suppressed", _render_list([_render_suppressed(finding) for finding in waived])
    yield f"{len(report.skipped)} not checked", _render_list([_render_skipped(skip) for skip in report.skipped])


def _render_list(items: Sequence[str]) -> str:
    more = [f"- … and {len(items) - LISTED_MAX} more"] if len(items) > LISTED_MAX else []
    return "\n".join((*(f"- {item}" for item in items[:LISTED_MAX]), *more))


def _render_suppressed(finding: Finding) -> str:
    waiver = finding.suppressed
    if waiver is None:
        return ""
    until = f", until {format_code(waiver.until)}" if waiver.until else ""
    owner = f", by {format_code(waiver.owner)}" if waiver.owner else ""
    where = format_code(f"{finding.location.path}:{finding.location.line}")
    return f"{format_code(finding.rule)} at {where}: {waiver.kind}, {format_code(waiver.reason)}{owner}{until}"


def _render_skipped(skip: Skip) -> str:
    place = f"{skip.path}:{skip.line}" if skip.cause in STATING_GPUS else skip.path
    return f"{format_code(place)}: {format_code(skip.reason)}"


# ---- literal text


def format_code(words: str) -> str:
    """Return text of a file as one code span, also inside a table."""
    line = safe(re.sub(r"(?<!\s)[^\S\r\n]*+[\r\n]\s*+", " ", words))
    if len(line) > CELL_CHARACTERS_MAX:
        line = line[: CELL_CHARACTERS_MAX - 1] + "…"
    if not line.strip():
        return ""
    line = re.sub(r"\\(?=\|)", r"\\ ", line).replace("|", "\\|")
    ticks = "`" * (_longest_run(line) + 1)
    space = " " if line[0] in "` " or line[-1] in "` " else ""
    return f"{ticks}{space}{line}{space}{ticks}"


def format_block(words: str) -> str:
    """Return lines in a code block that none of them can end."""
    ticks = "`" * max(3, _longest_run(words) + 1)
    return f"{ticks}text\n{words}\n{ticks}"


def escape(words: str) -> str:
    """Return a sentence of a rule with markup escaped."""
    return MARKUP.sub(r"\\\1", safe(words))


def _longest_run(words: str) -> int:
    return max(map(len, re.findall("`+", words)), default=0)


# ---- length


def _take_fitting(parts: Iterable[str], left: int) -> list[str]:
    """Return as many parts as fit, each with a line break."""
    taken = []
    for part in parts:
        left -= _units(part) + 2
        if left < 0:
            break
        taken.append(part)
    return taken


def _units(words: str) -> int:
    return len(words.encode("utf-16-le", "replace")) // 2
