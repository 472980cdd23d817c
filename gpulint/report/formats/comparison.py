"""What a change adds and saves: as one sentence, as totals, and by workload."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator

from gpulint import units
from gpulint.report import comparison as report_comparison
from gpulint.report import headroom
from gpulint.report.comparison import Change, Comparison, Quantity, Total, Totals
from gpulint.report.report import Report
from gpulint.report.workload_summary import Figures, HintUse

TITLES = ("workload", "GPUs", "USD a month", "kW", "headroom")
NOUNS = ("GPUs", "cost", "power")
UNKNOWN, ABSENT = "?", "–"
SERVER = "inference"


def render_sentence(comparison: Comparison) -> str:
    """Return what a change adds, such as "+8 GPUs, +$5,760 a month, +5.6 kW", and what is unknown."""
    sums = comparison.total
    number = _round(abs(sums.gpus.amount))
    parts = [
        _render_total(sums.gpus, number, f"GPU{'' if number == '1' else 's'}"),
        _render_total(
            sums.usd_per_month, f"${_money(abs(sums.usd_per_month.amount))}", _name_period(comparison.changes)
        ),
        _render_total(sums.power_w, _kilowatts(abs(sums.power_w.amount)), "kW"),
    ]
    added = ", ".join(filter(None, parts))
    return "; ".join(filter(None, (added, *_list_unknown(sums)))) or "no change in GPUs, cost or power"


def _name_period(changes: Iterable[Change]) -> str:
    """Return the period of a cost. Only servers are known to run all the time."""
    costly = (change for change in changes if report_comparison.subtract(change, report_comparison.usd_per_month))
    return "a month" if all(change.kind == SERVER for change in costly) else "a month of running"


def _list_unknown(sums: Totals) -> Iterator[str]:
    """Yield which totals are unknown, grouped by the number of workloads."""
    unknown: dict[int, list[str]] = {}
    for total, noun in zip(sums, NOUNS, strict=True):
        if total.untold and not total.is_some():
            unknown.setdefault(total.untold, []).append(noun)
    for number, nouns in unknown.items():
        together = " and ".join(filter(None, (", ".join(nouns[:-1]), nouns[-1])))
        yield f"the {together} of {_workloads(number)} {'is' if len(nouns) == 1 else 'are'} unknown"


def _workloads(number: int) -> str:
    return f"{number} workload{'' if number == 1 else 's'}"


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
    return f"{number} hint{'' if number == 1 else 's'} added or changed, which all checks take as stated"


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
        return not comparison.gone and not any(total.is_over(0) for total in sums)
    limits = ((sums.usd_per_month, threshold.usd_per_month), (sums.gpus, threshold.gpus))
    return not any(total.is_over(amount) for total, amount in limits if amount is not None)


def _headroom(figures: Figures) -> float | None:
    return figures.headroom


def _render_total(total: Total, amount: str, unit: str) -> str:
    if not total.is_some():
        return ""
    sign = "+" if total.amount > 0 else "-"
    return f"{sign}{amount} {unit}" + (f" ({_workloads(total.untold)} unknown)" if total.untold else "")


def _weight(change: Change) -> tuple[float, float, str, str]:
    cost, gpus = (
        report_comparison.subtract(change, quantity)
        for quantity in (report_comparison.usd_per_month, report_comparison.gpus)
    )
    return -abs(cost or 0), -abs(gpus or 0), change.path, change.workload


def _row(change: Change, name: str) -> tuple[str, ...]:
    columns = (
        (report_comparison.gpus, _round),
        (report_comparison.usd_per_month, _money),
        (report_comparison.power_w, _kilowatts),
        (_headroom, _render_headroom),
    )
    return (name, *(_cell(change, quantity, render) for quantity, render in columns))


def _cell(change: Change, quantity: Quantity, render: Callable[[float], str]) -> str:
    before, after = (
        ABSENT if figures is None else _render(quantity(figures), render) for figures in (change.before, change.after)
    )
    return before if before == after else f"{before} → {after}"


def _render(value: float | None, render: Callable[[float], str]) -> str:
    return UNKNOWN if value is None else render(value)


def _round(value: float) -> str:
    return f"{value:,.2f}".rstrip("0").rstrip(".")


def _money(value: float) -> str:
    return f"{value:,.0f}" if abs(value) >= 10 else f"{value:,.2f}"


def _kilowatts(power_w: float) -> str:
    value = power_w / units.THOUSAND
    return f"{value:,.1f}" if abs(value) >= 1 else f"{value:,.2f}"


def _render_headroom(value: float) -> str:
    return headroom.render(value, value)
