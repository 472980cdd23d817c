"""Amounts in the tables and sentences of a comparison."""

from __future__ import annotations

from collections.abc import Iterator

from gpulint import units
from gpulint.report.comparison import Total, Totals
from gpulint.report.escaping import count

UNKNOWN, ABSENT = "?", "–"
QUANTITIES = ("GPUs", "cost", "power")


def render_total(total: Total, noun: str, amount: str, unit: str) -> str:
    """Return a change with its sign, and of how many workloads or node pools it is unknown; empty if it is zero."""
    if not total.is_some():
        return ""
    sign = "+" if total.amount > 0 else "-"
    return f"{sign}{amount} {unit}" + (f" ({count(total.untold, noun)} unknown)" if total.untold else "")


def list_unknown(sums: Totals, noun: str) -> Iterator[str]:
    """Yield which totals are unknown, grouped by the number of workloads or node pools."""
    unknown: dict[int, list[str]] = {}
    for total, quantity in zip(sums, QUANTITIES, strict=True):
        if total.untold and not total.is_some():
            unknown.setdefault(total.untold, []).append(quantity)
    for number_of, nouns in unknown.items():
        together = " and ".join(filter(None, (", ".join(nouns[:-1]), nouns[-1])))
        are = "are" if len(nouns) > 1 or nouns == ["GPUs"] else "is"
        yield f"the {together} of {count(number_of, noun)} {are} unknown"


def number(value: float) -> str:
    """Return a number with at most two decimals."""
    return f"{value:,.2f}".rstrip("0").rstrip(".")


def money(value: float) -> str:
    """Return an amount of dollars; cents only of small ones."""
    return f"{value:,.0f}" if abs(value) >= 10 else f"{value:,.2f}"


def kilowatts(power_w: float) -> str:
    """Return a power in kilowatts."""
    value = power_w / units.THOUSAND
    return f"{value:,.1f}" if abs(value) >= 1 else f"{value:,.2f}"
