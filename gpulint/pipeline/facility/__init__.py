"""Facilities of a run: evaluate those that it reads, and the one that its workloads are allocated
to.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import NamedTuple

from gpulint.facility.model import Part, PartFacts
from gpulint.facts.resolver import Facts
from gpulint.pipeline import suppression as waived
from gpulint.pipeline.facility import elevation as elevations
from gpulint.pipeline.facility import pools as premises
from gpulint.pipeline.facility import workload_load as loads
from gpulint.pipeline.facility.workload_load import Placed
from gpulint.policy.resolved import Given
from gpulint.policy.rules import facility as facilities
from gpulint.policy.rules.facility import Said
from gpulint.report.model import FacilitySummary, Finding, Report, Skip
from gpulint.source.repository import Repository


class Described(NamedTuple):
    """The findings about a facility with their facts, and the facility's summary for reports."""

    findings: Sequence[tuple[Finding, Facts]]
    summary: FacilitySummary


Told = dict[tuple[str, int], tuple[Said, ...]]
"""The verdicts on the components of each facility, by file and document number."""


def judged(stated: Part, given: Given, before: tuple[Said, ...] | None = None) -> tuple[Said, ...]:
    """Evaluate the rules on every component of a facility, reusing earlier verdicts where nothing
    changed.
    """
    root = facilities.facts_of(stated, given.governance.thresholds)
    return facilities.judged(root, given.rules) if before is None else facilities.again(before, root, given.rules)


def described(stated: Part, evaluations: tuple[Said, ...], given: Given) -> Described:
    """Return the findings and the summary of an evaluated facility, with suggestions if requested."""
    root = evaluations[0].known.root() if evaluations else facilities.facts_of(stated, given.governance.thresholds)
    spoken = facilities.spoken(evaluations)
    summary = elevations.of(root, evaluations)
    if not given.alternatives or not spoken:
        return Described(facilities.findings(spoken, {}), summary)
    from gpulint.suggestions.facility import alternatives as room_alternatives

    offered = room_alternatives.offered(evaluations, spoken, given.rules)
    return Described(facilities.findings(spoken, offered), summary)


def under(
    path: str,
    placed: Sequence[Placed],
    unread: int,
    read: Iterable[FacilitySummary],
    repository: Repository,
    given: Given,
) -> Report:
    """Return the report on a facility under the allocation of a run.

    A facility that the run read is shown with that load.
    """
    found = premises.of(path, repository)
    if isinstance(found, premises.Unreadable):
        return Report(skipped=(Skip(*found),))
    judged_so = loads.judged(found.root, placed, given.rules, given.governance.thresholds)
    findings = tuple(kept for finding, known in judged_so for kept in waived.of_budget(finding, known, given))
    taken = tuple(loads.spent(found.root, placed, given.whole, unread))
    return Report(findings, budgets=taken, facilities=_find_loaded(read, found.root, placed, given))


def _find_loaded(
    read: Iterable[FacilitySummary], root: PartFacts, placed: Sequence[Placed], given: Given
) -> tuple[FacilitySummary, ...]:
    """Return a facility that the run read as reports show it under the allocation."""
    summaries = [summary for summary in read if summary.location == root.role.anchor.location()]
    if not placed or not summaries:
        return ()
    loaded = facilities.facts_of(loads.under(root, placed), given.governance.thresholds)
    return tuple(elevations.under(summary, loaded) for summary in summaries)
