"""The report as a comment on a pull request: one that is found again by its first line, and updated in place.

What files say stands in code, where no mention, link or markup of theirs can act.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence

from gpulint.report.formats import comparison as delta
from gpulint.report.formats import summary_line as counts
from gpulint.report.formats import text
from gpulint.report.formats.escaping import safe
from gpulint.report.formats.text import SURE
from gpulint.report.model import Comparison, Failure, Finding, Report, RuleCard, Skip

MARKER = "<!-- gpulint report{} -->"
"""The first line of every comment, with its key where a repository has several."""
QUIET = "<!-- gpulint: quiet -->"
"""The second line of a comment that is worth an update, but not worth to be made."""
UNITS_MAX = 64_000
"""GitHub takes 65,536; characters beyond the basic plane may count twice."""
CELL_CHARACTERS_MAX = 400
LISTED_MAX = 50
OLD = frozenset({"baseline", "base"})
HEAD = ("| | rule | where | what |", "|---|---|---|---|")
MARKUP = re.compile(r"([\\`*_\[\]<>&|~$@#])")


def render(report: Report) -> str:
    """The worst first, then what is behind it, folded, as far as a comment may be long."""
    rows = [_row(one, report.rules.get(one.rule)) for one in _worst_first(report.open)]
    head = [_marker(report), f"### gpulint: {_verdict(report)}", *_faults(report.failures)]
    against = f"Compared with {code(report.comparison.base)}." if report.comparison else ""
    budgets = [code(counts.budget(one)) for one in report.budgets[:LISTED_MAX]]
    foot = [code(counts.line(report)), *budgets, *filter(None, (counts.lacking(report), against, _explain(report)))]
    room = UNITS_MAX - _units("\n\n".join((*head, *HEAD, *foot)))
    shown = _fitting(rows, room)
    room -= _units("\n".join(shown))
    parts = [*head]
    if shown:
        parts.append("\n".join((*HEAD, *shown)))
    if len(shown) < len(rows):
        parts.append(f"… and {len(rows) - len(shown)} more, in the log")
    for title, inside in filter(all, (*_compared(report.comparison), _details(report, room), *_lists(report))):
        folded = f"<details><summary>{title}</summary>\n\n{inside}\n\n</details>"
        parts.append(folded if _units(folded) < room else f"{title}, in the log")
        room -= _units(parts[-1])
    return "\n\n".join((*parts, "  \n".join(foot))) + "\n"


def _marker(report: Report) -> str:
    """What the comment is found again by, and whether it is worth to be made."""
    key = re.sub(r"[^\w.-]+", "-", report.comment.key, flags=re.ASCII).strip("-")
    marker = MARKER.format(f": {key}" if key else "")
    return f"{marker}\n{QUIET}" if delta.is_quiet(report) else marker


def _verdict(report: Report) -> str:
    """What a change adds, and the findings, behind what may have kept some from being found."""
    number = len(report.failures)
    faults = [f"{number} internal error{'s' * (number > 1)}"] if number else []
    found = ", ".join((*faults, counts.found(report)))
    return f"{delta.sentence(report.comparison)}; {found}" if report.comparison else found


def _compared(comparison: Comparison | None) -> Iterator[tuple[str, str]]:
    """What a change makes of each workload, and which findings it ends."""
    if comparison is None:
        return
    rows = delta.rows(comparison.changes)
    cells = [f"| {' | '.join((code(name), *figures))} |" for name, *figures in rows[:LISTED_MAX]]
    more = [f"| … and {len(rows) - LISTED_MAX} more | | | | |"] if len(rows) > LISTED_MAX else []
    table = "\n".join((f"| {' | '.join(delta.TITLES)} |", f"|{'---|' * len(delta.TITLES)}", *cells, *more))
    yield f"{len(rows)} workload{'s' * (len(rows) > 1)} changed", table if rows else ""
    yield (
        f"{len(comparison.untold)} no longer told, as facts are missing now",
        _listed([*map(_ended, comparison.untold)]),
    )
    yield f"{len(comparison.gone)} fixed", _listed([*map(_ended, comparison.gone)])


def _ended(finding: Finding) -> str:
    where = code(f"{finding.location.path}:{finding.location.line}")
    return f"{finding.severity.word} {code(finding.rule)} at {where}: {code(finding.message)}"


def _worst_first(findings: Iterable[Finding]) -> list[Finding]:
    return sorted(findings, key=lambda one: -one.severity)


def _explain(report: Report) -> str:
    """How to read about a rule that has no page to link to."""
    cards = (report.rules.get(finding.rule) for finding in report.open)
    return "" if all(card and card.page for card in cards) else f"To read about a rule: {code('gpulint explain RULE')}"


def _row(finding: Finding, card: RuleCard | None) -> str:
    rule = code(finding.rule)
    if card and card.page:
        rule = f"[{rule}](<{card.page}>)"
    where = code(f"{finding.location.path}:{finding.location.line}")
    return f"| {finding.severity.word}{SURE[finding.confidence]} | {rule} | {where} | {code(finding.message)} |"


def _faults(failures: Sequence[Failure]) -> Iterator[str]:
    for one in failures[:LISTED_MAX]:
        yield f"**internal error** in {code(one.path)} while {one.doing}: {code(one.error)}"
    if len(failures) > LISTED_MAX:
        yield f"… and {len(failures) - LISTED_MAX} more, in the log"


# ---- what is folded


def _details(report: Report, room: int) -> tuple[str, str]:
    """The findings as on a terminal, as many as there is room for."""
    found = [text.shown(one) for one in _worst_first(report.open)]
    shown = _fitting(found, room - 200)
    more = f"\n\n… and the places of {len(found) - len(shown)} more, in the log" if len(shown) < len(found) else ""
    return "Places, arithmetic and alternatives", fenced("\n\n".join(shown)) + more if shown else ""


def _lists(report: Report) -> Iterator[tuple[str, str]]:
    """What somebody waives, and what was not read; old debt is counted in the last line."""
    waived = [one for one in report.findings if one.suppressed is not None and one.suppressed.kind not in OLD]
    yield f"{len(waived)} suppressed", _listed([_suppressed(one) for one in waived])
    yield f"{len(report.skipped)} not read", _listed([_skipped(one) for one in report.skipped])


def _listed(items: Sequence[str]) -> str:
    more = [f"- … and {len(items) - LISTED_MAX} more"] if len(items) > LISTED_MAX else []
    return "\n".join((*(f"- {one}" for one in items[:LISTED_MAX]), *more))


def _suppressed(finding: Finding) -> str:
    waiver = finding.suppressed
    if waiver is None:
        return ""
    until = f", until {code(waiver.until)}" if waiver.until else ""
    owner = f", by {code(waiver.owner)}" if waiver.owner else ""
    where = code(f"{finding.location.path}:{finding.location.line}")
    return f"{code(finding.rule)} at {where}: {waiver.kind}, {code(waiver.reason)}{owner}{until}"


def _skipped(skip: Skip) -> str:
    return f"{code(skip.path)}: {code(skip.reason)}"


# ---- words that are shown as they are


def code(words: str) -> str:
    """Words of a file in one span of code, also inside a table."""
    line = safe(re.sub(r"\s*[\r\n]+\s*", " ", words))
    if len(line) > CELL_CHARACTERS_MAX:
        line = line[: CELL_CHARACTERS_MAX - 1] + "…"
    if not line.strip():
        return ""
    line = re.sub(r"\\(?=\|)", r"\\ ", line).replace("|", "\\|")
    ticks = "`" * (_longest_run(line) + 1)
    space = " " if line[0] in "` " or line[-1] in "` " else ""
    return f"{ticks}{space}{line}{space}{ticks}"


def fenced(words: str) -> str:
    """Lines in a block of code that none of them can end."""
    ticks = "`" * max(3, _longest_run(words) + 1)
    return f"{ticks}text\n{words}\n{ticks}"


def prose(words: str) -> str:
    """A sentence of a rule, without markup."""
    return MARKUP.sub(r"\\\1", safe(words))


def _longest_run(words: str) -> int:
    return max(map(len, re.findall("`+", words)), default=0)


# ---- how long


def _fitting(parts: Iterable[str], room: int) -> list[str]:
    """As many parts as fit, each with a line's end."""
    fitting = []
    for one in parts:
        room -= _units(one) + 2
        if room < 0:
            break
        fitting.append(one)
    return fitting


def _units(words: str) -> int:
    return len(words.encode("utf-16-le", "replace")) // 2
