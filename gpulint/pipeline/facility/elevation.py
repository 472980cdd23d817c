"""Rack diagrams: what a report shows of a facility, rack by rack, and how much of each limit is
taken.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterable, Iterator, Sequence

from gpulint import units
from gpulint.facility.model import ComponentFacts
from gpulint.facts.glossary import glossary
from gpulint.pipeline.facility import utilization
from gpulint.policy.rules.facility import Evaluation
from gpulint.report.model import AreaSummary, FacilitySummary, FeedSummary, Lacking, RackSummary, Scenarios, Slot
from gpulint.report.verdicts import NOT_EVALUATED

TWICE = 2
"""Sides of a 2N rack. With more sides, a loss leaves more than half."""
HIGHEST = 100
"""Maximum height in rack units of a machine that is drawn."""
DRAWN_MAX = 200
"""Maximum machines of a rack that are drawn; the tallest racks have about sixty units."""


YEAR = (
    "idle_load_w",
    "busy_load_w",
    "average_load_w",
    "energy_year_j",
    "energy_year_usd",
    "overhead_year_usd",
    "co2_year_kg",
)
"""The facts of a facility's year that reports show."""


def draw(root: ComponentFacts, evaluations: Iterable[Evaluation]) -> FacilitySummary:
    """Return the summary of a facility for reports."""
    return FacilitySummary(
        root.role.name,
        root.role.anchor.location(),
        _draw_areas(root),
        _draw_racks(root),
        tuple(_collect_missing(evaluations)),
        tuple(fact for name in YEAR if (fact := root.facts.report(name)) is not None),
    )


def draw_allocation(summary: FacilitySummary, loaded: ComponentFacts) -> FacilitySummary:
    """Return the summary of a facility with the load of the workloads that a run places in it."""
    return summary._replace(areas=_draw_areas(loaded), racks=_draw_racks(loaded))


def _draw_areas(root: ComponentFacts) -> tuple[AreaSummary, ...]:
    return tuple(
        _draw_area(component)
        for component in root.all()
        if component.kind in utilization.GAUGES and component.kind != "rack"
    )


def _draw_racks(root: ComponentFacts) -> tuple[RackSummary, ...]:
    return tuple(_draw_rack(component) for component in root.all() if component.kind == "rack")


def _draw_area(facts: ComponentFacts) -> AreaSummary:
    return AreaSummary(facts.kind, facts.role.name, facts.role.anchor.location(), tuple(utilization.measure(facts)))


def _collect_missing(evaluations: Iterable[Evaluation]) -> Iterator[Lacking]:
    """Return the rules that lacked facts, each with the components for which it lacked the same
    facts.
    """
    parts: dict[tuple[str, tuple[str, ...]], list[str]] = {}
    for evaluation in evaluations:
        for lack in evaluation.outcome.not_evaluated:
            name = "/".join(evaluation.known.path()) or evaluation.known.role.name
            parts.setdefault((lack.rule, lack.needs), []).append(name)
    return (Lacking(rule, needs, tuple(names)) for (rule, needs), names in parts.items())


# ---- racks


def _draw_rack(facts: ComponentFacts) -> RackSummary:
    height = facts.number("rack_units")
    servers = [component for component in facts.below if component.kind == "server"]
    slots, undrawn = _place_slots(servers, math.floor(height or 0))
    return RackSummary(
        facts.role.name,
        "/".join(facts.path()[:-1]),
        facts.role.anchor.location(),
        units=None if height is None else math.floor(height),
        servers=sum(map(_count_servers, servers)),
        slots=tuple(slots),
        stacked=any(_find_position(server) is None for server in servers) and bool(slots),
        undrawn=tuple(undrawn),
        meters=tuple(utilization.measure(facts)),
        feeds=tuple(_draw_feed(component) for component in facts.below if component.kind == "feed"),
    )


def _count_servers(server: ComponentFacts) -> int:
    return math.floor(server.number("servers") or 0)


def _find_position(server: ComponentFacts) -> int | None:
    position = server.number("position_u")
    return None if position is None else math.floor(position)


def _place_slots(servers: Sequence[ComponentFacts], height: int) -> tuple[list[Slot], list[str]]:
    """Return the machines with their rack units, and in words those that cannot be drawn.

    A position is that of the first machine of its kind. The others, and those without a position,
    are drawn in the next free units above it, or above the bottom.
    """
    slots: list[Slot] = []
    undrawn: list[str] = []
    waiting: list[tuple[Slot, int]] = []
    for server in servers:
        high, number, first = server.number("server_units"), _count_servers(server), _find_position(server)
        if high is None or high > HIGHEST or number > DRAWN_MAX - len(slots) - sum(count for _, count in waiting):
            why = "whose units are not known" if high is None else "which are too many or too high to draw"
            undrawn.append(f"{number:,} × {server.role.name}, {why}")
            continue
        name, kind = _find_names(server)
        slot_wanted = Slot(name, first or 1, max(math.ceil(high), 1), server.number("server_w"), kind)
        slots += [slot_wanted] if first is not None and number else []
        waiting.append((slot_wanted, number - 1 if first is not None else number))
    for slot_wanted, number in waiting:
        for _ in range(number):
            slots.append(slot_wanted._replace(lowest=_find_free_unit(slots, slot_wanted, height)))
    return sorted(slots, key=lambda slot: (slot.lowest, slot.name)), undrawn


def _find_names(server: ComponentFacts) -> tuple[str, str]:
    """Return the name and the type of a machine; several of one type share the type's name."""
    stated = server.role.value("server_type")
    kind = stated if isinstance(stated, str) else ""
    return (kind if kind and _count_servers(server) > 1 else server.role.name), kind


def _find_free_unit(slots: Iterable[Slot], slot: Slot, height: int) -> int:
    """Return the lowest free unit for a machine: above its slot, else below it, else above the
    rack.
    """
    taken: set[int] = {unit for slot in slots for unit in range(slot.lowest, slot.lowest + slot.units)}
    within = itertools.chain(range(slot.lowest, height - slot.units + 2), range(1, slot.lowest))
    candidates = itertools.chain(within, itertools.count(slot.lowest))
    return next(lowest for lowest in candidates if taken.isdisjoint(range(lowest, lowest + slot.units)))


# ---- feeds


def _draw_feed(facts: ComponentFacts) -> FeedSummary:
    """Return a feed with its total load or its most loaded line, whichever is nearer to its
    limit.
    """
    load = utilization.scenarios(facts, "feed_load_va")
    whole = _find_share(facts, "feed_load_va" if load else "least_feed_load_va", "feed_usable_va")
    today = _find_greater(whole, _find_share(facts, "feed_line_a", "feed_usable_a"))
    lost = _find_greater(
        _find_share(facts, "feed_failover_va", "feed_usable_va"),
        _find_share(facts, "feed_failover_line_a", "feed_usable_a"),
    )
    if utilization.find_text(facts, "redundancy") == "2N" and (facts.number("sides_count") or 0) > TWICE:
        lost = _find_greater(lost, _find_share(facts, "least_surviving_va", "survivors_va"))
    verdict = _find_verdict(facts, today, lost, by_line=whole is not None and max(whole) <= 1)
    if load is None and verdict in ("holds", "likely holds", "not redundant"):
        verdict = NOT_EVALUATED
    return FeedSummary(
        facts.role.name,
        utilization.find_text(facts, "feed_side") or facts.role.name,
        ", ".join(_describe_supply(facts)),
        facts.number("feed_usable_va"),
        load,
        today if load else None,
        lost if load else None,
        verdict,
        tuple(sorted(facts.facts.missing(("feed_load_va", "feed_usable_va")))) if verdict == NOT_EVALUATED else (),
    )


def _describe_supply(facts: ComponentFacts) -> Iterator[str]:
    """Yield voltage, phases and breaker, if declared."""
    for name in ("feed_voltage_v", "feed_phases", "breaker_a"):
        value = facts.number(name)
        if value is not None:
            phases = "phase" if value == 1 else "phases"
            yield f"{value:g} {phases}" if name == "feed_phases" else units.human(value, glossary()[name].unit)


def _find_verdict(
    facts: ComponentFacts, today: Scenarios[float] | None, lost: Scenarios[float] | None, by_line: bool
) -> str:
    """Return the verdict on a feed: whether it carries its load, also after the loss of another
    side.

    Without declared cords, it is an assumption that the rack spreads its load evenly. Then only two
    things are certain: what all feeds together cannot carry, and a line over its breaker if the
    whole feed is not.
    """
    if today is not None and min(today) > 1 and (by_line or _is_sure(facts)):
        return "overloaded"
    promised, is_alone = utilization.is_set(facts, "is_redundant"), facts.number("sides_count") == 1
    if promised and (is_alone or (lost is not None and min(lost) > 1 and _is_sure_after_loss(facts))):
        return "no spare"
    if today is None:
        return NOT_EVALUATED
    if today.expected > 1:
        return "likely overloaded"
    if is_alone:
        return "not redundant"
    if lost is None:
        return NOT_EVALUATED
    if lost.expected > 1:
        return "likely no spare" if promised else "not redundant"
    return "likely holds" if max(*today, *lost) > 1 else "holds"


def _is_sure(facts: ComponentFacts) -> bool:
    """Return whether the load of a feed follows from its cords, or exceeds the limit in every
    distribution.
    """
    shares = (
        _find_share(facts, "corded_feed_va", "feed_usable_va"),
        _find_share(facts, "least_load_va", "rack_usable_va"),
    )
    return utilization.is_set(facts, "cords_stated") or any(share is not None and min(share) > 1 for share in shares)


def _is_sure_after_loss(facts: ComponentFacts) -> bool:
    """Return whether the load after a loss follows from the cords, or exceeds what is left in any
    case.
    """
    share = _find_share(facts, "least_surviving_va", "survivors_va")
    return utilization.is_set(facts, "cords_stated") or (share is not None and min(share) > 1)


def _find_share(facts: ComponentFacts, part: str, whole: str) -> Scenarios[float] | None:
    """Return the ratio of two facts in each scenario."""
    taken, most = utilization.scenarios(facts, part), utilization.scenarios(facts, whole)
    return Scenarios(*map(_divide, taken, most)) if taken and most else None


def _find_greater(share: Scenarios[float] | None, other: Scenarios[float] | None) -> Scenarios[float] | None:
    """Return the greater of two ratios in each scenario; if one is unknown, the other."""
    return Scenarios(*map(max, share, other)) if share and other else share or other


def _divide(part: float, whole: float) -> float:
    return part / whole if whole else (math.inf if part else 0.0)
