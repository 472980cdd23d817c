"""Delta: what a change adds and saves, in one sentence, in sums, and by workload."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from typing import NamedTuple

from gpulint import units
from gpulint.report.model import Change, Comparison, Figures, Report

TITLES = ("workload", "GPUs", "USD a month", "kW", "headroom")
NOUNS = ("GPUs", "cost", "power")
UNKNOWN, ABSENT = "?", "–"
SERVER = "inference"
LEAST = 1e-6
"""Sums of floats that should be nothing stay below this."""
Quantity = Callable[[Figures], float | None]


class Total(NamedTuple):
    """What a change adds of a quantity, and of how many changed workloads that cannot be told."""

    amount: float
    untold: int

    def is_some(self) -> bool:
        """Whether what can be told of it is anything."""
        return abs(self.amount) > LEAST

    def is_over(self, least: float) -> bool:
        """Whether it adds or saves as much as that; what cannot be told is over everything."""
        return bool(self.untold) or abs(self.amount) > max(LEAST, least - LEAST)


class Totals(NamedTuple):
    """What a change adds in sum."""

    gpus: Total
    usd_per_month: Total
    power_w: Total


def totals(comparison: Comparison) -> Totals:
    """What a change adds to all workloads together."""
    return Totals(*(_total(comparison.changes, of) for of in (_gpus, _usd_per_month, _power_w)))


def sentence(comparison: Comparison) -> str:
    """What a change adds, as "+8 GPUs, +$5,760 a month, +5.6 kW", and what cannot be told of how many workloads."""
    found = totals(comparison)
    number = _rounded(abs(found.gpus.amount))
    parts = [
        _said(found.gpus, number, f"GPU{'' if number == '1' else 's'}"),
        _said(found.usd_per_month, f"${_money(abs(found.usd_per_month.amount))}", _month(comparison.changes)),
        _said(found.power_w, _kilowatts(abs(found.power_w.amount)), "kW"),
    ]
    added = ", ".join(filter(None, parts))
    return "; ".join(filter(None, (added, *_untold(found)))) or "no change in GPUs, cost or power"


def _month(changes: Iterable[Change]) -> str:
    """For what its cost is stated; only servers are known to run all the time."""
    costly = (one for one in changes if _added(one, _usd_per_month))
    return "a month" if all(one.kind == SERVER for one in costly) else "a month of running"


def _untold(found: Totals) -> Iterator[str]:
    """What cannot be told at all, those quantities together that as many workloads lack."""
    lacking: dict[int, list[str]] = {}
    for total, noun in zip(found, NOUNS, strict=True):
        if total.untold and not total.is_some():
            lacking.setdefault(total.untold, []).append(noun)
    for number, nouns in lacking.items():
        together = " and ".join(filter(None, (", ".join(nouns[:-1]), nouns[-1])))
        yield f"the {together} of {_workloads(number)} cannot be told"


def _workloads(number: int) -> str:
    return f"{number} workload{'' if number == 1 else 's'}"


def rows(changes: Iterable[Change]) -> list[tuple[str, ...]]:
    """The cells of each changed workload under TITLES, those first that change the cost or the GPUs most."""
    every = sorted(changes, key=_weight)
    places: dict[str, set[str]] = {}
    for one in every:
        places.setdefault(one.workload, set()).add(one.path)
    return [_row(one, _named(one, places[one.workload])) for one in every]


def _named(one: Change, places: Collection[str]) -> str:
    """A workload by its name, and by as much of its path as tells it from others of that name."""
    if len(places) == 1:
        return one.workload
    parts = one.path.split("/")
    tails = ("/".join(parts[-length:]) for length in range(1, len(parts)))
    alone = (tail for tail in tails if sum(f"/{path}".endswith(f"/{tail}") for path in places) == 1)
    return f"{one.workload} ({next(alone, one.path)})"


def is_quiet(report: Report) -> bool:
    """Whether there is nothing worth a comment: nothing open, no fault, and no change over the threshold."""
    if report.open or report.failures:
        return False
    comparison = report.comparison
    if comparison is None:
        return True
    if comparison.untold:
        return False
    found, least = totals(comparison), report.comment
    if least.usd_per_month is None and least.gpus is None:
        return not comparison.gone and not any(total.is_over(0) for total in found)
    stated = ((found.usd_per_month, least.usd_per_month), (found.gpus, least.gpus))
    return not any(total.is_over(amount) for total, amount in stated if amount is not None)


def _gpus(one: Figures) -> float | None:
    return one.gpus


def _usd_per_month(one: Figures) -> float | None:
    return None if one.cost_usd_per_hour is None else one.cost_usd_per_hour * units.MONTH_HOURS


def _power_w(one: Figures) -> float | None:
    return one.power_w


def _headroom(one: Figures) -> float | None:
    return one.headroom


def _total(changes: Sequence[Change], of: Quantity) -> Total:
    told = [_added(one, of) for one in changes]
    return Total(sum(one for one in told if one is not None), sum(one is None for one in told))


def _added(change: Change, of: Quantity) -> float | None:
    """What a workload takes more; one that is not there takes nothing, of one that is there it may be unknown."""
    before, after = (0.0 if one is None else of(one) for one in (change.before, change.after))
    return None if before is None or after is None else after - before


def _said(total: Total, amount: str, unit: str) -> str:
    if not total.is_some():
        return ""
    sign = "+" if total.amount > 0 else "-"
    return f"{sign}{amount} {unit}" + (f" ({_workloads(total.untold)} cannot be told)" if total.untold else "")


def _weight(one: Change) -> tuple[float, float, str, str]:
    cost, gpus = (_added(one, of) for of in (_usd_per_month, _gpus))
    return -abs(cost or 0), -abs(gpus or 0), one.path, one.workload


def _row(one: Change, name: str) -> tuple[str, ...]:
    shown = ((_gpus, _rounded), (_usd_per_month, _money), (_power_w, _kilowatts), (_headroom, _percent))
    return (name, *(_cell(one, of, word) for of, word in shown))


def _cell(change: Change, of: Quantity, word: Callable[[float], str]) -> str:
    before, after = (ABSENT if one is None else _word(of(one), word) for one in (change.before, change.after))
    return before if before == after else f"{before} → {after}"


def _word(value: float | None, word: Callable[[float], str]) -> str:
    return UNKNOWN if value is None else word(value)


def _rounded(value: float) -> str:
    return f"{value:,.2f}".rstrip("0").rstrip(".")


def _money(value: float) -> str:
    return f"{value:,.0f}" if abs(value) >= 10 else f"{value:,.2f}"


def _kilowatts(power_w: float) -> str:
    value = power_w / units.THOUSAND
    return f"{value:,.1f}" if abs(value) >= 1 else f"{value:,.2f}"


def _percent(value: float) -> str:
    return f"{value * 100:.0f} %"
