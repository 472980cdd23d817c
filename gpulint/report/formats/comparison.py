"""What a change adds and saves: as one sentence, as totals, and by workload."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable

from gpulint.report import comparison as report_comparison
from gpulint.report import headroom
from gpulint.report.comparison import Change, Comparison, Quantity, Totals
from gpulint.report.escaping import count
from gpulint.report.formats import amounts, node_pools
from gpulint.report.report import Comment, Report
from gpulint.report.workload_summary import Figures, HintUse

TITLES = ("workload", "GPUs", "USD a month", "kW", "headroom")
NOUN = "workload"
UNCHANGED = "no change in GPUs, cost or power"
SERVER = "inference"


def render_sentence(comparison: Comparison) -> str:
    """Return what a change adds, such as "+8 GPUs, +$5,760 a month, +5.6 kW", and what is unknown.

    Node pools have a part of their own, because the workloads run on the same machines.
    """
    own, pools = _render_workloads(comparison) or UNCHANGED, node_pools.render_sentence(comparison.pools)
    left = count(comparison.unchecked, "changed file")
    known = f"in the files that were checked: {own}; {left} not checked" if comparison.unchecked else own
    return f"workloads: {known}; node pools: {pools}" if pools else known


def _render_workloads(comparison: Comparison) -> str:
    sums = comparison.total
    number = amounts.number(abs(sums.gpus.amount))
    parts = [
        amounts.render_total(sums.gpus, NOUN, number, f"GPU{'' if number == '1' else 's'}"),
        amounts.render_total(
            sums.usd_per_month,
            NOUN,
            f"${amounts.money(abs(sums.usd_per_month.amount))}",
            _name_period(comparison.changes),
        ),
        amounts.render_total(sums.power_w, NOUN, amounts.kilowatts(abs(sums.power_w.amount)), "kW"),
    ]
    added = ", ".join(filter(None, parts))
    return "; ".join(filter(None, (added, *amounts.list_unknown(sums, NOUN))))


def _name_period(changes: Iterable[Change]) -> str:
    """Return the period of a cost. Only servers are known to run all the time."""
    costly = (change for change in changes if report_comparison.subtract(change, report_comparison.usd_per_month))
    return "a month" if all(change.kind == SERVER for change in costly) else "a month of running"


def make_rows(changes: Iterable[Change]) -> list[tuple[str, ...]]:
    """Return the cells of each changed workload under TITLES, largest change of cost or GPUs first."""
    every = sorted(changes, key=_weight)
    places: dict[str, set[str]] = {}
    for change in every:
        places.setdefault(change.workload, set()).add(change.path)
    return [_row(change, _name(change, places[change.workload])) for change in every]


def _name(change: Change, places: Collection[str]) -> str:
    """Return a workload's name, with as much of its path as makes it unique."""
    if len(places) == 1:
        return change.workload
    parts = change.path.split("/")
    tails = ("/".join(parts[-length:]) for length in range(1, len(parts)))
    unique = (tail for tail in tails if sum(f"/{path}".endswith(f"/{tail}") for path in places) == 1)
    return f"{change.workload} ({next(unique, change.path)})"


def render_hint(use: HintUse) -> str:
    """Return a hint with its workload, and what the file states instead if it states anything."""
    if not use.workload:
        return use.text
    instead = f"instead of {use.stated}" if use.stated else "which the file leaves open"
    return f"{use.text} for {use.workload}, {instead}"


def name_hints(number: int) -> str:
    """Return the title of the list of hints."""
    return f"{count(number, 'hint')} added or changed; all checks use {'it' if number == 1 else 'them'}"


def is_quiet(report: Report) -> bool:
    """True if nothing is worth a comment: no open finding, no internal error, no change over the threshold."""
    if report.open or report.failures:
        return False
    comparison = report.comparison
    if comparison is None:
        return True
    if comparison.untold or comparison.hints:
        return False
    sums, threshold = comparison.total, report.comment
    if threshold.usd_per_month is None and threshold.gpus is None:
        return not comparison.gone and not comparison.pools and not any(total.is_over(0) for total in sums)
    return not any(_is_over(each, threshold) for each in (sums, *report_comparison.sum_levels(comparison.pools)))


def _is_over(sums: Totals, threshold: Comment) -> bool:
    """Return whether a change reaches one of the thresholds."""
    limits = ((sums.usd_per_month, threshold.usd_per_month), (sums.gpus, threshold.gpus))
    return any(total.is_over(amount) for total, amount in limits if amount is not None)


def _headroom(figures: Figures) -> float | None:
    return figures.headroom


def _weight(change: Change) -> tuple[float, float, str, str]:
    cost, gpus = (
        report_comparison.subtract(change, quantity)
        for quantity in (report_comparison.usd_per_month, report_comparison.gpus)
    )
    return -abs(cost or 0), -abs(gpus or 0), change.path, change.workload


def _row(change: Change, name: str) -> tuple[str, ...]:
    columns = (
        (report_comparison.gpus, amounts.number),
        (report_comparison.usd_per_month, amounts.money),
        (report_comparison.power_w, amounts.kilowatts),
        (_headroom, _render_headroom),
    )
    return (name, *(_cell(change, quantity, render) for quantity, render in columns))


def _cell(change: Change, quantity: Quantity, render: Callable[[float], str]) -> str:
    before, after = (
        amounts.ABSENT if figures is None else _render(quantity(figures), render)
        for figures in (change.before, change.after)
    )
    return before if before == after else f"{before} → {after}"


def _render(value: float | None, render: Callable[[float], str]) -> str:
    return amounts.UNKNOWN if value is None else render(value)


def _render_headroom(value: float) -> str:
    return headroom.render(value, value)
