"""Plans for a person at a terminal, and as JSON: a table of options, what each changes, and why others were left out."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from gpulint import units
from gpulint.report.formats import json, text
from gpulint.report.formats.escaping import safe
from gpulint.report.model import Fact, Plan, Suggestion
from gpulint.version import __version__

FORMAT = "gpulint-plan/1"
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
"""The facts of an option that are columns, and what each is called."""


def as_text(plans: Sequence[Plan]) -> str:
    """One block a role."""
    return "\n\n".join("\n".join(_lines(one)) for one in plans) + "\n"


def as_json(plans: Sequence[Plan], catalog_date: str) -> str:
    """One JSON object, ending in a newline."""
    data = {
        "format": FORMAT,
        "tool": {"name": "gpulint", "version": __version__},
        "catalog": {"date": catalog_date},
        "plans": [_data(one) for one in plans],
    }
    return json.encoded(data)


def _data(plan: Plan) -> dict[str, object]:
    return {
        "workload": plan.workload,
        "role": plan.role,
        **json.place(plan.location),
        "now": plan.now,
        "cures": list(plan.cures),
        "leaves": list(plan.leaves),
        "facts": json.facts(plan.facts),
        "options": [json.suggestion(one) for one in plan.options],
        "refused": dict(plan.refused),
        "needs": list(plan.needs),
        "smallest": [json.fit(one) for one in plan.smallest],
        "too_small": list(plan.too_small),
    }


# ---- text


def _lines(plan: Plan) -> Iterator[str]:
    owner = "/".join(dict.fromkeys(filter(None, (plan.workload, plan.role))))
    yield f"{safe(owner)}  {safe(plan.location.path)}:{plan.location.line}"
    yield f"now: {safe(plan.now)}"
    if plan.cures:
        yield f"answers {', '.join(plan.cures)}" + (f"; {', '.join(plan.leaves)} stays" if plan.leaves else "")
    if plan.smallest:
        yield f"smallest that fits: {'; '.join(text.fits(plan.smallest))}"
    if plan.too_small:
        yield f"too small: {', '.join(plan.too_small)}"
    if plan.options:
        yield ""
        yield from _table(plan)
    elif not plan.smallest:
        yield from _none(plan)
    if plan.refused:
        yield "left out: " + "; ".join(f"{reason} ({number})" for reason, number in plan.refused.items())


def _none(plan: Plan) -> Iterator[str]:
    if plan.needs:
        yield f"cannot tell without {', '.join(plan.needs)}"
    elif plan.cures:
        yield "no option that passes the same rules was found"
    else:
        yield "nothing smaller or cheaper passes the same rules"


def _table(plan: Plan) -> Iterator[str]:
    shown = [name for name in COLUMNS if any(_cell(one.facts, name) for one in plan.options)]
    titles = ["", "option", "USD/h", *(COLUMNS[name] for name in shown), "best as"]
    rows = [
        [f"{at}", one.title, _price(one), *(_cell(one.facts, name) for name in shown), ", ".join(one.answers)]
        for at, one in enumerate(plan.options, 1)
    ]
    today = ["", "today", _today(plan), *(_cell(plan.facts, name) for name in shown), ""]
    widths = [max(len(row[at]) for row in (titles, today, *rows)) for at in range(len(titles))]
    yield text.padded(titles, widths)
    yield text.padded(today, widths)
    for row, one in zip(rows, plan.options, strict=True):
        yield text.padded([safe(cell) for cell in row], widths)
        if one.gives_up:
            yield f"   gives up {safe(one.gives_up)}"
        for edit in one.edits:
            yield f"   {text.edit(edit, plan.location)}"
    if prices := ", ".join(dict.fromkeys(one.prices for one in plan.options if one.prices)):
        yield f"prices: {safe(prices)}"


def _price(one: Suggestion) -> str:
    return "?" if one.cost_after_usd_per_hour is None else f"{one.cost_after_usd_per_hour:,.2f}"


def _today(plan: Plan) -> str:
    """Today's cost; where options are priced in several clouds, from the least to the most."""
    costs = sorted({one.cost_before_usd_per_hour for one in plan.options if one.cost_before_usd_per_hour is not None})
    return " to ".join(f"{cost:,.2f}" for cost in dict.fromkeys((*costs[:1], *costs[-1:]))) or "?"


def _cell(facts: Sequence[Fact], name: str) -> str:
    found = next((fact for fact in facts if fact.name == name), None)
    return "" if found is None else units.human(found.values.likely, found.unit).removesuffix(" per million tokens")
