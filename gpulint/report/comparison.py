"""Comparison: what a change makes of a repository."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable
from typing import Annotated, NamedTuple

from gpulint import units
from gpulint.report.finding import Finding
from gpulint.report.json_keys import DERIVED
from gpulint.report.node_pools import PoolChange
from gpulint.report.workload_summary import Figures, HintUse

LEAST = 1e-6
"""Sums of floats that should be zero stay below this."""
Quantity = Callable[[Figures], float | None]


class Change(NamedTuple):
    """A workload before and after a change; null: it does not exist."""

    workload: str
    kind: str
    path: str
    before: Figures | None
    after: Figures | None


class Total(NamedTuple):
    """What a change adds of a quantity."""

    amount: float
    """The sum over the changed workloads for which it is known."""
    untold: int
    """The number of changed workloads for which it is not known."""

    def is_some(self) -> bool:
        """True if the known amount is not zero."""
        return abs(self.amount) > LEAST

    def is_over(self, threshold: float) -> bool:
        """True if the change reaches the threshold, up or down. An unknown amount always does."""
        return bool(self.untold) or abs(self.amount) > max(LEAST, threshold - LEAST)


class Totals(NamedTuple):
    """What a change adds in sum; a month has 730 hours."""

    gpus: Total
    usd_per_month: Total
    power_w: Total


class Comparison(NamedTuple):
    """What a change makes of a repository."""

    base: str
    head: str
    changes: tuple[Change, ...] = ()
    gone: tuple[Finding, ...] = ()
    """The findings that the change ends."""
    untold: tuple[Finding, ...] = ()
    """The findings of the base that can no longer be evaluated."""
    hints: tuple[HintUse, ...] = ()
    """The hints that the change adds or changes."""
    unchecked: int = 0
    """The number of changed files that may set GPUs and were not checked; the totals do not include them."""
    pools: tuple[PoolChange, ...] = ()
    """The changed node pools. Workloads run on them, so their totals are not added to those of workloads."""

    @property
    def total(self) -> Annotated[Totals, DERIVED]:
        """Return what the change adds to all workloads together."""
        return _sum_changes(self.changes)

    @property
    def pool_total(self) -> Annotated[Totals, DERIVED]:
        """Return what the change adds to all node pools together if each grows as far as it may."""
        return sum_levels(self.pools)[0]


def gpus(figures: Figures) -> float | None:
    """Return the GPUs of a workload."""
    return figures.gpus


def usd_per_month(figures: Figures) -> float | None:
    """Return the cost of a workload for a month of running."""
    return None if figures.cost_usd_per_hour is None else figures.cost_usd_per_hour * units.MONTH_HOURS


def power_w(figures: Figures) -> float | None:
    """Return the power of a workload."""
    return figures.power_w


def subtract(change: Change, quantity: Quantity) -> float | None:
    """Return the change of a quantity. A missing workload uses nothing; that of an existing one may be unknown."""
    before, after = (0.0 if figures is None else quantity(figures) for figures in (change.before, change.after))
    return None if before is None or after is None else after - before


def sum_levels(pools: Iterable[PoolChange]) -> tuple[Totals, Totals, Totals]:
    """Return what a change adds to all node pools at most, at the start and at least."""
    listed = list(pools)
    most, start, least = (
        _sum_changes([_select(pool, level) for pool in listed]) for level in ("most", "start", "least")
    )
    return most, start, least


def _select(pool: PoolChange, level: str) -> Change:
    before, after = (None if side is None else side.select(level) for side in (pool.before, pool.after))
    return Change(pool.pool, "", pool.path, before, after)


def _sum_changes(changes: Collection[Change]) -> Totals:
    return Totals(*(_sum(changes, quantity) for quantity in (gpus, usd_per_month, power_w)))


def _sum(changes: Iterable[Change], quantity: Quantity) -> Total:
    amounts = [subtract(change, quantity) for change in changes]
    known = [amount for amount in amounts if amount is not None]
    return Total(sum(known), len(amounts) - len(known))
