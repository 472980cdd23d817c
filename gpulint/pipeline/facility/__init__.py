"""Rooms: what a run says of facilities: of those that it reads, and of those that it places workloads in."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import NamedTuple

from gpulint.facility.model import Part, PartFacts
from gpulint.facts.model import Facts
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
    """The findings about a facility with the facts behind each, and the facility as reports show it."""

    findings: Sequence[tuple[Finding, Facts]]
    summary: FacilitySummary
    said: tuple[Said, ...]


Told = dict[tuple[str, int], tuple[Said, ...]]
"""What was said of the parts of each facility, by the file and the number of its document."""


def judged(stated: Part, given: Given, before: tuple[Said, ...] | None = None) -> tuple[Said, ...]:
    """What the rules say of every part of a facility, taken over where nothing changed since they spoke before."""
    root = facilities.facts_of(stated, given.governance.thresholds)
    return facilities.judged(root, given.rules) if before is None else facilities.again(before, root, given.rules)


def described(stated: Part, given: Given) -> Described:
    """What is said of a facility that a file describes, with alternatives where they are asked for."""
    root = facilities.facts_of(stated, given.governance.thresholds)
    said = facilities.judged(root, given.rules)
    spoken = facilities.spoken(said)
    summary = elevations.of(root, said)
    if not given.alternatives or not spoken:
        return Described(facilities.findings(spoken, {}), summary, said)
    from gpulint.suggestions.facility import alternatives as room_alternatives

    offered = room_alternatives.offered(said, spoken, given.rules)
    return Described(facilities.findings(spoken, offered), summary, said)


def under(
    path: str,
    placed: Sequence[Placed],
    unread: int,
    read: Iterable[FacilitySummary],
    repository: Repository,
    given: Given,
) -> Report:
    """What is said of the facility of a file under what a run places in it, and of those that it read the same one so loaded."""
    found = premises.of(path, repository)
    if isinstance(found, premises.Unreadable):
        return Report(skipped=(Skip(*found),))
    judged_so = loads.judged(found.root, placed, given.rules, given.governance.thresholds)
    findings = tuple(said for one, known in judged_so for said in waived.of_budget(one, known, given))
    taken = tuple(loads.spent(found.root, placed, given.whole, unread))
    return Report(findings, budgets=taken, facilities=_loaded(read, found.root, placed, given))


def _loaded(
    read: Iterable[FacilitySummary], root: PartFacts, placed: Sequence[Placed], given: Given
) -> tuple[FacilitySummary, ...]:
    """A facility whose own file is read, as reports show it under what is placed in it."""
    known = [one for one in read if one.location == root.role.anchor.location()]
    if not placed or not known:
        return ()
    loaded = facilities.facts_of(loads.under(root, placed), given.governance.thresholds)
    return tuple(elevations.under(one, loaded) for one in known)
