"""What a change makes of the node pools: one sentence apart from that on workloads, and a row for each pool."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence

from gpulint.report import comparison as report_comparison
from gpulint.report.comparison import Quantity, Total
from gpulint.report.escaping import count
from gpulint.report.formats import amounts
from gpulint.report.node_pools import PoolChange, PoolFigures
from gpulint.report.workload_summary import Figures

TITLES = ("node pool", "file", "accelerator", "GPUs", "USD a month", "kW of boards")
LEVELS = ("at most", "at the start", "at least")
NOUN = "node pool"


def render_sentence(pools: Sequence[PoolChange]) -> str:
    """Return what a change adds to the pools, such as "+96 GPUs (H100: 32 → 128)"; empty if no pool changes."""
    if not pools:
        return ""
    levels = report_comparison.sum_levels(pools)
    changed = (at for at, sums in enumerate(levels) if any(total.is_some() or total.untold for total in sums))
    level = next(changed, 0)
    sums = levels[level]
    fixed = all(side.is_fixed() for pool in pools for side in pool.sides())
    suffix = "" if fixed else f" {LEVELS[level]}"
    detail = _render_accelerators(pools)
    unknown = list(amounts.list_unknown(sums, NOUN))
    parts = [
        _render_gpus(sums.gpus, suffix, detail),
        amounts.render_total(sums.usd_per_month, NOUN, f"${amounts.money(abs(sums.usd_per_month.amount))}", "a month"),
        amounts.render_total(sums.power_w, NOUN, amounts.kilowatts(abs(sums.power_w.amount)), "kW of boards"),
    ]
    known = ", ".join(filter(None, parts))
    if not parts[0] and unknown:
        unknown[0] += f" ({detail})" if detail else ""
    return "; ".join(filter(None, (known, *unknown)))


def _render_gpus(total: Total, suffix: str, detail: str) -> str:
    """Return the change of the GPUs, also if it is zero; empty if it is unknown."""
    if total.untold and not total.is_some():
        return ""
    sign = "-" if total.amount < 0 else "+"
    number = amounts.number(abs(total.amount))
    unknown = f" ({count(total.untold, NOUN)} unknown)" if total.untold else ""
    return f"{sign}{number} GPU{'' if number == '1' else 's'}{suffix}{unknown}" + (f" ({detail})" if detail else "")


def _render_accelerators(pools: Iterable[PoolChange]) -> str:
    """Return the GPUs of each accelerator before and after, such as "H100: 32 → 128"."""
    sides: dict[str, tuple[list[PoolFigures], list[PoolFigures]]] = {}
    for pool in (pool for pool in pools if all(side.accelerator is not None for side in pool.sides())):
        for at, side in enumerate((pool.before, pool.after)):
            if side is not None and side.accelerator:
                sides.setdefault(side.accelerator, ([], []))[at].append(side)
    return ", ".join(
        f"{name}: {before} → {after}" if before != after else f"{name}: {before}"
        for name, found in sorted(sides.items())
        for before, after in [[_render_range(_merge(side), report_comparison.gpus, amounts.number) for side in found]]
    )


def _merge(pools: Sequence[PoolFigures]) -> PoolFigures:
    """Return the GPUs of several pools together."""
    if len(pools) == 1:
        return pools[0]
    starts = [pool.start if pool.start is not None else pool.least for pool in pools]
    most, least, start = (
        Figures(gpus=_add(figures.gpus for figures in level))
        for level in ([pool.most for pool in pools], [pool.least for pool in pools], starts)
    )
    return PoolFigures(most=most, least=least, start=start)


def _add(values: Iterable[float | None]) -> float | None:
    listed = list(values)
    known = [value for value in listed if value is not None]
    return sum(known) if len(known) == len(listed) else None


def make_rows(pools: Iterable[PoolChange]) -> list[tuple[str, ...]]:
    """Return the cells of each changed pool under TITLES, largest change of GPUs first."""
    return [_row(pool) for pool in sorted(pools, key=_weight)]


def _weight(pool: PoolChange) -> tuple[float, str, str]:
    before, after = (0 if side is None else side.most.gpus or 0 for side in (pool.before, pool.after))
    return -abs(after - before), pool.path, pool.pool


def _row(pool: PoolChange) -> tuple[str, ...]:
    accelerators = list(
        dict.fromkeys(amounts.UNKNOWN if side.accelerator is None else side.accelerator for side in pool.sides())
    )
    return pool.pool, pool.path, " → ".join(filter(None, accelerators)) or amounts.ABSENT, *_list_cells(pool)


def _list_cells(pool: PoolChange) -> Iterator[str]:
    columns: tuple[tuple[Quantity, Callable[[float], str]], ...] = (
        (report_comparison.gpus, amounts.number),
        (report_comparison.usd_per_month, amounts.money),
        (report_comparison.power_w, amounts.kilowatts),
    )
    for quantity, render in columns:
        before, after = (
            amounts.ABSENT if side is None else _render_range(side, quantity, render)
            for side in (pool.before, pool.after)
        )
        yield before if before == after else f"{before} → {after}"


def _render_range(figures: PoolFigures, quantity: Quantity, render: Callable[[float], str]) -> str:
    """Return a quantity from the least to the most, and with what the pool starts if it is between them."""

    def write(value: float) -> str:
        return render(value) if value else "0"

    least, most = quantity(figures.least), quantity(figures.most)
    start = None if figures.start is None else quantity(figures.start)
    if most is None:
        return f"at least {write(least)}" if least else amounts.UNKNOWN
    text = write(most) if least == most else f"{amounts.UNKNOWN if least is None else write(least)} to {write(most)}"
    return text if start in (None, least, most) or start is None else f"{text}, {write(start)} at the start"
