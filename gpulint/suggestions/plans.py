"""Plans: what the roles of a file, or those of one of its lines, can run on instead."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence

from gpulint.policy.rules import evaluate as rules_evaluate
from gpulint.policy.rules.evaluated_role import EvaluatedRole
from gpulint.report.model import Finding, Location, Plan
from gpulint.source.repository import Source
from gpulint.suggestions import ranking, search, verification
from gpulint.suggestions.verification import Evaluate, Verification

FACILITY = "facility"
"""The adapter of facilities, whose components run on nothing."""


def plan_workloads(
    source: Source, line: int | None, evaluate: Evaluate, read: Callable[[str], bytes | None]
) -> list[Plan]:
    """Return a plan for each role; with a line, only for the roles that a finding there is about,
    or that stand there.
    """
    evaluated = evaluate({source.path: source.content}).roles(source.path)
    roles = [role for role in evaluated if role.workload.adapter != FACILITY and not role.facts.role.text("part_of")]
    verify = Verification(source, evaluate)
    plans = (_plan_role(role, names, verify) for role, names in _select_roles(roles, line))
    return [plan._replace(options=verification.locate_edits(plan.options, source, read)) for plan in plans]


def _select_roles(roles: Sequence[EvaluatedRole], line: int | None) -> Sequence[tuple[EvaluatedRole, frozenset[str]]]:
    """Return the roles to plan for, each with the rules whose findings are on the line."""
    if line is None:
        return [(role, frozenset()) for role in roles]
    named = [(role, frozenset(_find_rules(line, role))) for role in roles]
    return [entry for entry in named if entry[1]] or [(role, frozenset()) for role in _find_nearest(line, roles)]


def _plan_role(role: EvaluatedRole, names: frozenset[str], verify: Verification) -> Plan:
    start = search.SearchStart(
        role.workload, role.facts, role.rules, role.outcome, ranking.find_targets(role.outcome, names)
    )
    return ranking.propose_plan(start, lambda option, cleared: verify.find_objection(option, cleared, role.owner))


def _find_rules(line: int, role: EvaluatedRole) -> Iterator[str]:
    """Yield the rules whose finding has a span on a line."""
    for verdict in role.outcome.verdicts:
        finding = rules_evaluate.make_finding(verdict, role.workload, role.facts)
        if any(location.line <= line <= location.end_line for location in _list_locations(finding)):
            yield verdict.rule.name


def _list_locations(finding: Finding) -> Iterator[Location]:
    yield finding.location
    yield from (related.location for related in finding.related if related.location.path == finding.location.path)


def _find_nearest(line: int, roles: Sequence[EvaluatedRole]) -> Iterable[EvaluatedRole]:
    """Return the roles of the last workload that starts at or before a line."""
    starts = sorted({role.workload.location().line for role in roles})
    if not starts:
        return ()
    start = max((first for first in starts if first <= line), default=starts[0])
    return [role for role in roles if role.workload.location().line == start]
