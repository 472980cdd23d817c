"""Facilities of a run: evaluate those that it reads, and the one that its workloads are allocated
to.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import NamedTuple

from gpulint.facility.model import Component, ComponentFacts
from gpulint.facts.model import Facts
from gpulint.pipeline import suppression
from gpulint.pipeline.enrichment import facility_pools
from gpulint.pipeline.facility import elevation, workload_load
from gpulint.pipeline.facility.workload_load import Allocation
from gpulint.policy.resolved import ResolvedPolicy
from gpulint.policy.rules import facility
from gpulint.policy.rules.facility import Evaluation
from gpulint.report.model import FacilitySummary, Finding, Report, Skip
from gpulint.source.repository import Repository


class EvaluatedFacility(NamedTuple):
    """The findings about a facility with their facts, and the facility's summary for reports."""

    findings: Sequence[tuple[Finding, Facts]]
    summary: FacilitySummary


Evaluations = dict[tuple[str, int], tuple[Evaluation, ...]]
"""The verdicts on the components of each facility, by file and document number."""


def reevaluate(
    stated: Component, given: ResolvedPolicy, before: tuple[Evaluation, ...] | None = None
) -> tuple[Evaluation, ...]:
    """Evaluate the rules on every component of a facility, reusing earlier verdicts where nothing
    changed.
    """
    root = facility.resolve_facts(stated, given.governance.thresholds)
    return (
        facility.evaluate_component(root, given.rules)
        if before is None
        else facility.reevaluate(before, root, given.rules)
    )


def evaluate(stated: Component, evaluations: tuple[Evaluation, ...], given: ResolvedPolicy) -> EvaluatedFacility:
    """Return the findings and the summary of an evaluated facility, with suggestions if requested."""
    root = evaluations[0].known.root() if evaluations else facility.resolve_facts(stated, given.governance.thresholds)
    spoken = facility.find_findings(evaluations)
    summary = elevation.draw(root, evaluations)
    if not given.alternatives or not spoken:
        return EvaluatedFacility(facility.attach_suggestions(spoken, {}), summary)
    from gpulint.suggestions.facility import alternatives

    offered = alternatives.suggest_for_worst(evaluations, spoken, given.rules)
    return EvaluatedFacility(facility.attach_suggestions(spoken, offered), summary)


def evaluate_allocation(
    path: str,
    placed: Sequence[Allocation],
    unread: int,
    read: Iterable[FacilitySummary],
    repository: Repository,
    given: ResolvedPolicy,
) -> Report:
    """Return the report on a facility under the allocation of a run.

    A facility that the run read is shown with that load.
    """
    found = facility_pools.load(path, repository)
    if isinstance(found, facility_pools.Unreadable):
        return Report(skipped=(Skip(*found, "unreadable"),))
    judged_so = workload_load.evaluate_pools(found.root, placed, given.rules, given.governance.thresholds)
    findings = tuple(
        kept for finding, known in judged_so for kept in suppression.suppress_budget(finding, known, given)
    )
    taken = tuple(workload_load.measure(found.root, placed, given.whole, unread))
    return Report(findings, budgets=taken, facilities=_find_loaded(read, found.root, placed, given))


def _find_loaded(
    read: Iterable[FacilitySummary], root: ComponentFacts, placed: Sequence[Allocation], given: ResolvedPolicy
) -> tuple[FacilitySummary, ...]:
    """Return a facility that the run read as reports show it under the allocation."""
    summaries = [summary for summary in read if summary.location == root.role.anchor.location()]
    if not placed or not summaries:
        return ()
    loaded = facility.resolve_facts(workload_load.load_facility(root, placed), given.governance.thresholds)
    return tuple(elevation.draw_allocation(summary, loaded) for summary in summaries)
