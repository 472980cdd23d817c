"""Plans as text and as JSON: a table of suggestions, their changes, and why candidates were rejected."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from gpulint import units
from gpulint.report import headroom, json_text
from gpulint.report.escaping import safe
from gpulint.report.fact import Fact
from gpulint.report.formats import json, suggestion_lines, terminal_layout
from gpulint.report.plan import Plan, PlanFile
from gpulint.report.suggestion import Suggestion
from gpulint.report.tool import THIS, Catalog

COLUMNS = {
    "cost_usd_per_million_tokens": "USD/M tokens",
    "training_cost_usd": "USD/run",
    "tpot_s": "time/token",
    "ttft_s": "first token",
    "service_tokens_per_s": "tokens/s",
    "step_s": "step",
    "training_run_s": "run",
    "training_cost_usd_per_billion_tokens": "work",
    "power_w": "power",
    "headroom": "headroom",
    "training_room": "headroom",
}
"""The facts of a suggestion that are columns, with their titles."""


def render_text(plans: Sequence[Plan]) -> str:
    """Return one block per role."""
    return "\n\n".join("\n".join(_lines(plan)) for plan in plans) + "\n"


def render_json(plans: Sequence[Plan], catalog_date: str) -> str:
    """Return one JSON object that ends in a newline."""
    return json_text.encode(json.convert_record(PlanFile("gpulint-plan/1", THIS, Catalog(catalog_date), tuple(plans))))


# ---- text


def _lines(plan: Plan) -> Iterator[str]:
    owner = "/".join(dict.fromkeys(filter(None, (plan.workload, plan.role))))
    yield f"{safe(owner)}  {safe(plan.location.path)}:{plan.location.line}"
    yield f"now: {safe(plan.now)}"
    if plan.cures:
        yield f"fixes {', '.join(plan.cures)}" + (f"; {', '.join(plan.leaves)} remains" if plan.leaves else "")
    if plan.smallest:
        yield f"smallest that fits: {'; '.join(suggestion_lines.render_fits(plan.smallest))}"
    if plan.too_small:
        yield f"too small: {', '.join(plan.too_small)}"
    if plan.options:
        yield ""
        yield from _table(plan)
    elif not plan.smallest:
        yield from _explain_none(plan)
    if plan.refused:
        yield "rejected: " + "; ".join(f"{reason} ({number})" for reason, number in plan.refused.items())


def _explain_none(plan: Plan) -> Iterator[str]:
    if plan.needs:
        yield f"not evaluated: state {', '.join(plan.needs)}"
    elif plan.cures:
        yield "found no suggestion that passes the same rules"
    else:
        yield "nothing smaller or cheaper passes the same rules"


def _table(plan: Plan) -> Iterator[str]:
    columns = [name for name in COLUMNS if any(_cell(option.facts, name) for option in plan.options)]
    titles = ["", "option", "USD/h", *(COLUMNS[name] for name in columns), "best as"]
    rows = [
        [
            f"{at}",
            option.title,
            _price(option),
            *(_cell(option.facts, name) for name in columns),
            ", ".join(option.answers),
        ]
        for at, option in enumerate(plan.options, 1)
    ]
    today = ["", "today", _today(plan), *(_cell(plan.facts, name) for name in columns), ""]
    widths = [max(len(row[at]) for row in (titles, today, *rows)) for at in range(len(titles))]
    yield terminal_layout.pad(titles, widths)
    yield terminal_layout.pad(today, widths)
    for row, option in zip(rows, plan.options, strict=True):
        yield terminal_layout.pad([safe(cell) for cell in row], widths)
        if option.trade_off:
            yield f"   trade-off: {safe(option.trade_off)}"
        for edit in option.edits:
            yield f"   {suggestion_lines.render_edit(edit, plan.location)}"
    if prices := ", ".join(dict.fromkeys(option.prices for option in plan.options if option.prices)):
        yield f"prices: {safe(prices)}"


def _price(option: Suggestion) -> str:
    return "?" if option.cost_after_usd_per_hour is None else f"{option.cost_after_usd_per_hour:,.2f}"


def _today(plan: Plan) -> str:
    """Return today's cost, as a range if options are priced in several clouds."""
    costs = sorted(
        {option.cost_before_usd_per_hour for option in plan.options if option.cost_before_usd_per_hour is not None}
    )
    return " to ".join(f"{cost:,.2f}" for cost in dict.fromkeys((*costs[:1], *costs[-1:]))) or "?"


def _cell(facts: Sequence[Fact], name: str) -> str:
    found = next((fact for fact in facts if fact.name == name), None)
    if found is None:
        return ""
    if COLUMNS[name] == "headroom" and isinstance(found.values.expected, int | float):
        return headroom.render(found.values.expected, found.values.expected)
    return units.human(found.values.expected, found.unit).removesuffix(" per million tokens")
