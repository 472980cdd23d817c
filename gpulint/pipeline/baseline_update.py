"""Ledger: how a baseline is made, pruned, and brought up to date with what a run found."""

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
    """A baseline as it would be: its entries, what is gone from it with its number, and the findings that it lacks."""

    entries: tuple[Entry, ...]
    gone: tuple[tuple[Entry, int], ...] = ()
    new: tuple[Finding, ...] = ()


def made(report: Report, scope: Scope) -> Change:
    """A first baseline: all that a run found and no waiver accepts."""
    return Change(baseline.of(report.open, scope.place))


def updated(report: Report, known: Baseline, run: Run, scope: Scope, accept_new: bool) -> Change:
    """A baseline after a run: without what is gone, at its places of today, and with what is new if that is accepted."""
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
    return Change(_summed([*found, *unseen]), gone, new)


def pruned(report: Report, known: Baseline, run: Run, scope: Scope) -> Change:
    """A baseline without what is gone from it, and otherwise as it stands."""
    held = acceptance.against(report, known, scope, run.tree)
    gone = dict(acceptance.stale_entries(report, held, scope, run.tree, run.given))
    kept = (one._replace(number=one.number - gone.get(one, 0)) for one in known.entries)
    return Change(tuple(one for one in kept if one.number), tuple(gone.items()))


def _summed(entries: Iterable[Entry]) -> tuple[Entry, ...]:
    """Entries of the same debt in the same file as one."""
    numbers: dict[Entry, int] = {}
    for one in entries:
        alike = one._replace(number=1, line=1)
        numbers[alike] = numbers.get(alike, 0) + one.number
    return tuple(one._replace(number=number) for one, number in numbers.items())
