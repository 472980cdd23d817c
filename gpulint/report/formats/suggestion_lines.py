"""Suggestions, their changes, and hardware that fits, each on one line."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from gpulint.report.escaping import safe
from gpulint.report.model import Edit, Fit, Location, Suggestion


def render_suggestion(suggestion: Suggestion) -> str:
    """Return a suggestion with its change of cost and its trade-off, if any."""
    cost = _render_cost(suggestion)
    return (
        f"try {safe(suggestion.title)}{cost}{f' ({suggestion.prices})' if cost else ''}{_render_trade_off(suggestion)}"
    )


def render_brief(suggestion: Suggestion, place: Location) -> str:
    """Return a suggestion with its first change."""
    edits = [f"; {render_edit(edit, place)}" for edit in suggestion.edits[:1]]
    return f"try {safe(suggestion.title)}{_render_cost(suggestion)}{_render_trade_off(suggestion)}{''.join(edits)}"


def _render_cost(suggestion: Suggestion) -> str:
    """Return the change of cost; empty if it is none or unknown."""
    before, after = suggestion.cost_before_usd_per_hour, suggestion.cost_after_usd_per_hour
    return "" if before is None or after is None or before == after else f", ${before:,.2f}/h to ${after:,.2f}/h"


def _render_trade_off(suggestion: Suggestion) -> str:
    return f" (trade-off: {safe(suggestion.trade_off)})" if suggestion.trade_off else ""


def render_edit(edit: Edit, place: Location) -> str:
    """Return a change with its location on one line."""
    where = ""
    if edit.location is not None:
        path = "" if edit.location.path == place.path else f"{safe(edit.location.path)}:"
        where = f"{path}{edit.location.line}:{edit.location.column}  "
    if not edit.old:
        return f"{where}add {safe(edit.new)}"
    if edit.how == "remove":
        return f"{where}remove the entry of {safe(edit.old)}"
    return f"{where}{safe(edit.old)} → {safe(edit.new)}"


def render_hardware(
    fits_on: Sequence[str], borderline: Sequence[str], too_small: Sequence[str], smallest: Sequence[Fit]
) -> Iterator[str]:
    """Yield the accelerators that fit a role that names none, those that do not, and the smallest option."""
    if fits_on or borderline or too_small:
        parts = [f"fits on {_summarise_sizes(fits_on)}"]
        parts += [f"borderline on {', '.join(borderline)}"] if borderline else []
        parts += [f"too small: {', '.join(too_small[-3:])}"] if too_small else []
        yield "; ".join(parts)
    if smallest:
        yield f"smallest that fits: {'; '.join(render_fits(smallest))}"


def render_fits(fits: Sequence[Fit]) -> Iterator[str]:
    """Yield the recommended hardware, then that of other GPU counts, each with its price."""
    for index, fit in enumerate(fits):
        ranks = f", tensor parallel {fit.tensor_parallel}" if fit.tensor_parallel > 1 else ""
        where = f" of {safe(fit.pool)}" if fit.pool else ""
        listed = f" (list, {fit.prices})" if fit.prices else ""
        cost = "" if fit.cost_usd_per_hour is None else f", ${fit.cost_usd_per_hour:,.2f}/h{listed}"
        count = f"with {fit.gpus}: " if index else ""
        yield f"{count}{fit.hardware}{where}{ranks}{cost}"


def _summarise_sizes(names: Sequence[str]) -> str:
    return f"{names[0]} and {len(names) - 1} larger" if len(names) > 1 else "".join(names) or "no listed accelerator"
