"""Baseline update: create, prune and update a baseline from the findings of a run."""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple

from gpulint.pipeline import acceptance
from gpulint.pipeline.acceptance import Scope
from gpulint.pipeline.session import Session
from gpulint.policy.waivers import baseline
from gpulint.policy.waivers.baseline import NEVER_BASELINED, Baseline, Entry
from gpulint.report.model import Finding, Report


class Change(NamedTuple):
    """A changed baseline: its entries, the stale ones with their number, and the findings that it
    lacks.
    """

    entries: tuple[Entry, ...]
    gone: tuple[tuple[Entry, int], ...] = ()
    new: tuple[Finding, ...] = ()


def create(report: Report, scope: Scope) -> Change:
    """Return a first baseline of all findings that no waiver accepts."""
    return Change(baseline.make_entries(report.open, scope.place))


def update(report: Report, before: Baseline, run: Session, scope: Scope, accept_new: bool) -> Change:
    """Return a baseline after a run: stale entries removed, locations updated, new findings added
    if accepted.
    """
    matched = acceptance.match_baseline(report, before, scope, run.tree)
    gone = tuple(acceptance.find_stale_entries(report, matched, scope, run.tree, run.given))
    stood = [finding for index, finding in enumerate(report.findings) if index in matched.accepted]
    new = tuple(
        finding
        for index, finding in enumerate(report.findings)
        if index not in matched.accepted and finding.suppressed is None and finding.family != NEVER_BASELINED
    )
    unseen = [entry._replace(number=number) for entry, number in matched.left.items() if entry not in dict(gone)]
    found = baseline.make_entries([*stood, *(new if accept_new else ())], scope.place)
    return Change(_merge([*found, *unseen]), gone, new)


def prune(report: Report, before: Baseline, run: Session, scope: Scope) -> Change:
    """Return a baseline without its stale entries and otherwise unchanged."""
    matched = acceptance.match_baseline(report, before, scope, run.tree)
    gone = dict(acceptance.find_stale_entries(report, matched, scope, run.tree, run.given))
    kept = (entry._replace(number=entry.number - gone.get(entry, 0)) for entry in before.entries)
    return Change(tuple(entry for entry in kept if entry.number), tuple(gone.items()))


def _merge(entries: Iterable[Entry]) -> tuple[Entry, ...]:
    """Merge entries of the same debt in the same file."""
    numbers: dict[Entry, int] = {}
    for entry in entries:
        alike = entry._replace(number=1, line=1)
        numbers[alike] = numbers.get(alike, 0) + entry.number
    return tuple(entry._replace(number=number) for entry, number in numbers.items())
