"""The last lines of a report: what the workloads take, how many of them fit, and the findings."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

from gpulint.report import comparison, verdicts
from gpulint.report.formats import amounts, summary_line
from gpulint.report.model import Report, WorkloadSummary

NAMES = {
    verdicts.FIT: ("fits", "fit"),
    verdicts.DEPEND: ("depends", "depend"),
    verdicts.FAIL: ("fails", "fail"),
    verdicts.UNKNOWN: ("unknown", "unknown"),
}
STYLES = {verdicts.FIT: "32", verdicts.DEPEND: "33", verdicts.FAIL: "31;1", verdicts.UNKNOWN: "2"}


def list_totals(report: Report) -> Iterator[str]:
    """Yield the outcomes of the workloads with what they take, then the numbers of files, workloads and findings."""
    workloads = summary_line.select_workloads(report)
    counts = verdicts.count_outcomes(workloads)
    parts = [
        f"{number:,} {NAMES[outcome][number != 1]}"
        for outcome, number in zip(counts._fields, counts, strict=True)
        if number
    ]
    if parts:
        yield "; ".join(("workloads: " + ", ".join(parts), *_list_figures(workloads)))
    yield summary_line.render_line(report)


def _list_figures(workloads: Sequence[WorkloadSummary]) -> Iterator[str]:
    """Yield the GPUs, the cost and the power of the workloads for which they are known."""
    figures = [role.figures for workload in workloads for role in workload.roles if role.figures is not None]
    gpus, usd, power = (
        [quantity(entry) for entry in figures]
        for quantity in (comparison.gpus, comparison.usd_per_month, comparison.power_w)
    )
    number = amounts.number(_sum(gpus))
    parts = [
        f"{number} GPU{'' if number == '1' else 's'}" if _sum(gpus) else "",
        f"${amounts.money(_sum(usd))} a month" if _sum(usd) else "",
        f"{amounts.kilowatts(_sum(power))} kW" if _sum(power) else "",
    ]
    if any(parts):
        is_least = any(None in values for values in (gpus, usd, power) if _sum(values))
        yield ("at least " if is_least else "") + ", ".join(filter(None, parts))


def _sum(values: Iterable[float | None]) -> float:
    return sum(value for value in values if value is not None)
