"""Baseline update: create, prune and update a baseline from the findings of a run."""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple

from gpulint.pipeline import acceptance
from gpulint.pipeline.acceptance import Scope
from gpulint.pipeline.session import Run
from gpulint.policy.waivers import baseline
from gpulint.policy.waivers.baseline import ALWAYS_SAID, Baseline, Entry
from gpulint.report.model import Finding, Report


class Change(NamedTuple):
    """A changed baseline: its entries, the stale ones with their number, and the findings that it
    lacks.
    """

    entries: tuple[Entry, ...]
    gone: tuple[tuple[Entry, int], ...] = ()
    new: tuple[Finding, ...] = ()


def made(report: Report, scope: Scope) -> Change:
    """Return a first baseline of all findings that no waiver accepts."""
    return Change(baseline.of(report.open, scope.place))


def updated(report: Report, before: Baseline, run: Run, scope: Scope, accept_new: bool) -> Change:
    """Return a baseline after a run: stale entries removed, locations updated, new findings added
    if accepted.
    """
    matched = acceptance.against(report, before, scope, run.tree)
    gone = tuple(acceptance.stale_entries(report, matched, scope, run.tree, run.given))
    stood = [finding for index, finding in enumerate(report.findings) if index in matched.accepted]
    new = tuple(
        finding
        for index, finding in enumerate(report.findings)
        if index not in matched.accepted and finding.suppressed is None and finding.family != ALWAYS_SAID
    )
    unseen = [entry._replace(number=number) for entry, number in matched.left.items() if entry not in dict(gone)]
    found = baseline.of([*stood, *(new if accept_new else ())], scope.place)
    return Change(_merge([*found, *unseen]), gone, new)


def pruned(report: Report, before: Baseline, run: Run, scope: Scope) -> Change:
    """Return a baseline without its stale entries and otherwise unchanged."""
    matched = acceptance.against(report, before, scope, run.tree)
    gone = dict(acceptance.stale_entries(report, matched, scope, run.tree, run.given))
    kept = (entry._replace(number=entry.number - gone.get(entry, 0)) for entry in before.entries)
    return Change(tuple(entry for entry in kept if entry.number), tuple(gone.items()))


def _merge(entries: Iterable[Entry]) -> tuple[Entry, ...]:
    """Merge entries of the same debt in the same file."""
    numbers: dict[Entry, int] = {}
    for entry in entries:
        alike = entry._replace(number=1, line=1)
        numbers[alike] = numbers.get(alike, 0) + entry.number
    return tuple(entry._replace(number=number) for entry, number in numbers.items())
