"""Utilization: how much of each limit a component takes, and which facts say so."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import NamedTuple

from gpulint.facility.model import ComponentFacts
from gpulint.facts.glossary import glossary
from gpulint.facts.model import Missing
from gpulint.report.model import Meter, Scenarios
from gpulint.report.verdicts import NOT_EVALUATED


class UtilizationFacts(NamedTuple):
    """The facts of a utilization: the amount taken, its minimum, and the limit.

    The amount taken counts as a minimum if it has no fact of its own, or if a server lacks the fact
    `each`.
    """

    taken: str
    least: str
    limit: str
    each: str = ""
    usual: bool = False


PLACED = "placed"
"""The utilization by workloads of the run; without any, it is left out."""
_PLANNED = (UtilizationFacts("planned_load_w", "least_planned_load_w", "power_limit_w"),)
_COOLED = ("cooling_installed_w", "cooling_reserved_w")
_PLACED = (UtilizationFacts("placed_load_w", "", "power_limit_w"),)
_ROOM = {
    "power": _PLANNED,
    PLACED: _PLACED,
    "cooling": tuple(UtilizationFacts("room_heat_w", "least_room_heat_w", limit) for limit in _COOLED),
}
_SITE = {
    "power": _PLANNED,
    PLACED: _PLACED,
    "cooling": tuple(UtilizationFacts("heat_w", "least_heat_w", limit) for limit in _COOLED),
}
GAUGES: Mapping[str, Mapping[str, tuple[UtilizationFacts, ...]]] = {
    "rack": {
        "power": (
            UtilizationFacts("planned_load_w", "least_planned_load_w", "power_limit_w"),
            UtilizationFacts("load_va", "least_load_va", "rack_usable_va"),
        ),
        PLACED: (
            UtilizationFacts("placed_load_w", "", "power_limit_w"),
            UtilizationFacts("placed_load_va", "", "rack_usable_va"),
        ),
        "cooling": (
            UtilizationFacts("cooled_heat_w", "least_cooled_heat_w", "cooling_installed_w"),
            UtilizationFacts("heat_w", "least_heat_w", ""),
            UtilizationFacts("air_heat_w", "least_air_heat_w", "density_most_w", usual=True),
        ),
        "weight": (
            UtilizationFacts("carried_kg", "least_carried_kg", "rack_load_limit_kg"),
            UtilizationFacts("floor_load_kg_per_m2", "", "floor_limit_kg_per_m2", each="server_weight_kg"),
        ),
        "space": (UtilizationFacts("units_used", "", "rack_units", each="server_group_units"),),
    },
    "panel": {
        "power": (UtilizationFacts("panel_load_w", "least_panel_load_w", "panel_capacity_w"),),
        "failover": (UtilizationFacts("panel_failover_w", "", "panel_capacity_w"),),
    },
    "cdu": {
        "cooling": tuple(UtilizationFacts("loop_heat_w", "least_loop_heat_w", limit) for limit in _COOLED),
        "flow": (UtilizationFacts("needed_flow_m3_per_s", "least_flow_m3_per_s", "liquid_flow_m3_per_s"),),
    },
    "row": _ROOM,
    "room": _ROOM,
    "site": _SITE,
    "facility": _SITE,
}
"""The utilizations of each kind of component. Of several, the one nearest to its limit is shown."""


def measure(facts: ComponentFacts) -> Iterator[Meter]:
    """Yield the utilizations of a component."""
    for name, gauges in GAUGES[facts.kind].items():
        nearest = max((_measure(facts, name, gauge) for gauge in gauges), key=_sort_key)
        if name != PLACED or nearest.taken is not None:
            yield nearest


def _sort_key(meter: Meter) -> tuple[bool, bool, bool, bool, float]:
    """Return the sort key of a utilization: declared limits first, then certain excess, then the
    share taken.
    """
    expected = meter.taken.expected if meter.taken else meter.least
    share = expected / meter.limit if expected is not None and meter.limit else -1.0
    has_limit, is_known = meter.limit is not None, expected is not None
    return has_limit and not meter.usual, has_limit and is_known, is_known, meter.verdict == "exceeded", share


def _measure(facts: ComponentFacts, name: str, gauge: UtilizationFacts) -> Meter:
    taken, limit = scenarios(facts, gauge.taken), scenarios(facts, gauge.limit) if gauge.limit else None
    least = scenarios(facts, gauge.least) if gauge.least else taken
    if gauge.each and not all(scenarios(server, gauge.each) for server in facts.list_components("server")):
        taken = None
    verdict = _find_verdict(taken, least, limit)
    if gauge.usual and verdict == "exceeded":
        verdict = "likely exceeded"
    return Meter(
        name,
        _find_unit(gauge),
        taken,
        limit and limit.expected,
        None if taken or not least or not least.best else least.best,
        gauge.usual,
        verdict,
        tuple(_find_missing(facts, gauge)) if verdict == NOT_EVALUATED else (),
    )


def _find_unit(gauge: UtilizationFacts) -> str:
    """Return the unit of a utilization; rack units are a count."""
    return glossary()[gauge.taken].unit or "u"


def _find_verdict(
    taken: Scenarios[float] | None, least: Scenarios[float] | None, limit: Scenarios[float] | None
) -> str:
    if limit is None:
        return NOT_EVALUATED
    if taken is not None:
        over = [amount > most for amount, most in zip(taken, limit, strict=True)]
        expected = over[1]
        return (
            ("exceeded" if all(over) else "likely exceeded")
            if expected
            else ("likely within" if any(over) else "within")
        )
    sure = least is not None and all(amount > most for amount, most in zip(least, limit, strict=True))
    return "exceeded" if sure else NOT_EVALUATED


def _find_missing(facts: ComponentFacts, gauge: UtilizationFacts) -> list[str]:
    """Return the missing inputs of a utilization, including its limit."""
    lacking = facts.facts.missing(filter(None, (gauge.taken, gauge.limit)))
    return sorted(lacking | ({gauge.limit} if gauge.limit and scenarios(facts, gauge.limit) is None else set()))


# ---- facts


def scenarios(facts: ComponentFacts, name: str) -> Scenarios[float] | None:
    """Return a fact as numbers in each scenario; None if it is unknown or absent."""
    found = facts.scenarios(name)
    if isinstance(found, Missing) or not all(_is_number(value) for value in found):
        return None
    return Scenarios(*map(float, found))  # type: ignore[arg-type]


def _is_number(value: object) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)


def is_set(facts: ComponentFacts, name: str) -> bool:
    """Return whether a flag is known to be set."""
    return facts.expected(name) is True


def find_text(facts: ComponentFacts, name: str) -> str:
    """Return a fact as text; empty if it is unknown or absent."""
    found = facts.expected(name)
    return found if isinstance(found, str) else ""
