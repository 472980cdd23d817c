"""Baseline update: create, prune and update a baseline from the findings of a run."""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple

from gpulint import acceptance
from gpulint.acceptance import Scope
from gpulint.findings import Finding, Report
from gpulint.policy import baseline
from gpulint.policy.baseline import ALWAYS_SAID, Baseline, Entry
from gpulint.preparation import Run


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


def updated(report: Report, known: Baseline, run: Run, scope: Scope, accept_new: bool) -> Change:
    """Return a baseline after a run: stale entries removed, locations updated, new findings added
    if accepted.
    """
    held = acceptance.against(report, known, scope, run.tree)
    gone = tuple(acceptance.stale_entries(report, held, scope, run.tree, run.given))
    stood = [one for index, one in enumerate(report.findings) if index in held.accepted]
    new = tuple(
        one
        for index, one in enumerate(report.findings)
        if index not in held.accepted and one.suppressed is None and one.family != ALWAYS_SAID
    )
    unseen = [one._replace(number=number) for one, number in held.left.items() if one not in dict(gone)]
    found = baseline.of([*stood, *(new if accept_new else ())], scope.place)
    return Change(_merge([*found, *unseen]), gone, new)


def pruned(report: Report, known: Baseline, run: Run, scope: Scope) -> Change:
    """Return a baseline without its stale entries and otherwise unchanged."""
    held = acceptance.against(report, known, scope, run.tree)
    gone = dict(acceptance.stale_entries(report, held, scope, run.tree, run.given))
    kept = (one._replace(number=one.number - gone.get(one, 0)) for one in known.entries)
    return Change(tuple(one for one in kept if one.number), tuple(gone.items()))


def _merge(entries: Iterable[Entry]) -> tuple[Entry, ...]:
    """Merge entries of the same debt in the same file."""
    numbers: dict[Entry, int] = {}
    for one in entries:
        alike = one._replace(number=1, line=1)
        numbers[alike] = numbers.get(alike, 0) + one.number
    return tuple(one._replace(number=number) for one, number in numbers.items())
