"""Plans: what the roles of a file, or those of one of its lines, could run on instead."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

from gpulint.pipeline import check as lint
from gpulint.pipeline.check import Judged
from gpulint.policy.resolved import Given
from gpulint.policy.rules import evaluate as check
from gpulint.report.model import Finding, Location, Plan
from gpulint.source.repository import Repository, Source
from gpulint.suggestions import ranking as planner
from gpulint.suggestions import search
from gpulint.suggestions import verification as proof
from gpulint.suggestions import verified_text as written

OF_PARTS = "facility"
"""Who reads parts of a facility, which run on nothing."""


def of(source: Source, line: int | None, repository: Repository, given: Given) -> list[Plan]:
    """The plan of each role; of a line, only those that a finding there is about, or whose workload it belongs to."""
    judged = list(lint.judged(source, repository, given))
    roles = [one for one in judged if one.workload.adapter != OF_PARTS and not one.known.role.text("part_of")]
    named = [(one, names) for one in roles if line is not None and (names := frozenset(_at(line, one)))]
    chosen = named or [(one, frozenset()) for one in (roles if line is None else _around(line, roles))]

    proven = proof.Proof(source, lint.judge(repository, given))
    plans = (_plan(one, names, proven) for one, names in chosen)
    return [
        one._replace(options=written.placed(one.options, source.path, source.content, repository.read)) for one in plans
    ]


def _plan(one: Judged, names: frozenset[str], proven: proof.Proof) -> Plan:
    before = search.Before(one.workload, one.known, one.rules, one.outcome, planner.targets(one.outcome, names))
    return planner.plan(before, lambda option, cures: proven.objection(option, cures, one.owner))


def _at(line: int, one: Judged) -> Iterator[str]:
    """The rules whose finding has a span on a line."""
    for verdict in one.outcome.verdicts:
        finding = check.finding(verdict, one.workload, one.known)
        if any(place.line <= line <= place.end_line for place in _places(finding)):
            yield verdict.rule.name


def _places(finding: Finding) -> Iterator[Location]:
    yield finding.location
    yield from (related.location for related in finding.related if related.location.path == finding.location.path)


def _around(line: int, roles: Sequence[Judged]) -> Iterable[Judged]:
    """The roles of the last workload that starts at or before a line."""
    starts = sorted({one.workload.location().line for one in roles})
    if not starts:
        return ()
    start = max((first for first in starts if first <= line), default=starts[0])
    return [one for one in roles if one.workload.location().line == start]
