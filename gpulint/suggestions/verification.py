"""Proof: the edits of an alternative carried out in the text, which is read and judged anew: it may not say more than before."""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import NamedTuple

from gpulint.policy.rules.evaluate import Outcome
from gpulint.report.model import Suggestion
from gpulint.source.repository import Source
from gpulint.suggestions.edits import apply as fix
from gpulint.suggestions.edits.splices import Inexact

Owner = tuple[str, str]
"""A workload and its role, by name."""
Judge = Callable[[Source, str], Sequence[tuple[Owner, Outcome]]]
"""Reads a text and says what the rules make of each role of one of its workloads."""


class Said(NamedTuple):
    """The severity of each rule that speaks of a role, and of those that it absorbs; and the rules that lacked a fact."""

    speaking: Mapping[tuple[Owner, str], int]
    absorbed: Mapping[tuple[Owner, str], int]
    lacking: frozenset[tuple[Owner, str]]


class Proof:
    """What the rules say of a workload of a text, and of it after alternatives, each text judged once."""

    def __init__(self, source: Source, judge: Judge) -> None:
        self._source = source
        self._said = functools.cache(lambda content, workload: _said(judge(Source(source.path, content), workload)))

    def objection(self, one: Suggestion, cures: Iterable[str], owner: Owner) -> str:
        """What the text would newly say, or still say of an owner, after an alternative; empty where it keeps its promise.

        One without an exact place for every edit, or with places in other files, was judged by its values alone.
        """
        if any(edit.location is None or edit.location.path != self._source.path for edit in one.edits):
            return ""
        try:
            written = fix.written(one, {self._source.path: self._source.content})[self._source.path]
        except Inexact:
            return ""
        stayed = {(owner, rule) for rule in cures}
        return _difference(stayed, self._said(self._source.content, owner[0]), self._said(written, owner[0]))


def _said(roles: Iterable[tuple[Owner, Outcome]]) -> Said:
    speaking: dict[tuple[Owner, str], int] = {}
    absorbed: dict[tuple[Owner, str], int] = {}
    lacking: set[tuple[Owner, str]] = set()
    for owner, outcome in roles:
        lacking |= {(owner, one.rule) for one in outcome.not_evaluated}
        for verdict in outcome.verdicts:
            said = owner, verdict.rule.name
            absorbed |= {(owner, name): verdict.severity for name in verdict.rule.absorbs}
            if not verdict.rule.only_with:
                speaking[said] = max(verdict.severity, speaking.get(said, 0))
            elif said not in speaking:
                speaking[said] = 0  # it speaks where a better one is found, which the values were held against
    return Said(speaking, absorbed, frozenset(lacking))


def _difference(stayed: set[tuple[Owner, str]], before: Said, after: Said) -> str:
    if stays := sorted(rule for _, rule in stayed & after.speaking.keys()):
        return f"{stays[0]} would stay once written"
    known = {**before.absorbed, **before.speaking}
    worse = (rule for (owner, rule), severity in after.speaking.items() if severity > known.get((owner, rule), 0))
    if new := sorted(worse):
        return f"{new[0]} would speak once written"
    lacking = sorted(rule for _, rule in after.lacking - before.lacking)
    return f"{lacking[0]} could not be evaluated once written" if lacking else ""
