"""Proof: the edits of an option carried out in the text, read and judged anew; an option that says more than before is none."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from gpulint import fix, lint
from gpulint.findings import Suggestion
from gpulint.lint import Given, Judged
from gpulint.repository import Repository, Source
from gpulint.splices import Inexact

Said = tuple[Mapping[str, int], frozenset[str]]
"""The severity of each rule that speaks, and the rules that lacked a fact."""


def objection(
    one: Suggestion,
    cures: Iterable[str],
    source: Source,
    before: Sequence[Judged],
    repository: Repository,
    given: Given,
) -> str:
    """What the text would newly say, or what would stay, after an option's edits; empty where it keeps what it promises.

    An option without an exact place for every edit, or with places in other files, is judged by its values alone.
    """
    if any(edit.location is None or edit.location.path != source.path for edit in one.edits):
        return ""
    try:
        written = fix.written(one, {source.path: source.content})[source.path]
    except Inexact:
        return ""
    after = list(lint.judged(Source(source.path, written), repository, given))
    return _difference(frozenset(cures), _said(before), _said(after))


def _said(roles: Iterable[Judged]) -> Said:
    speaking: dict[str, int] = {}
    lacking: set[str] = set()
    for one in roles:
        lacking |= {lacked.rule for lacked in one.outcome.not_evaluated}
        for verdict in one.outcome.verdicts:
            speaking[verdict.rule.name] = max(verdict.severity, speaking.get(verdict.rule.name, 0))
    return speaking, frozenset(lacking)


def _difference(cures: frozenset[str], before: Said, after: Said) -> str:
    if stays := sorted(cures & after[0].keys()):
        return f"{stays[0]} would stay once written"
    if worse := sorted(name for name, severity in after[0].items() if severity > before[0].get(name, 0)):
        return f"{worse[0]} would speak once written"
    lacking = sorted(after[1] - before[1])
    return f"{lacking[0]} could not be evaluated once written" if lacking else ""
