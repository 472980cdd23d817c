"""Facility candidates: proposed changes of a facility, by the quantity that a rule lets change,
smallest first.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from fractions import Fraction
from typing import NamedTuple

from gpulint import units
from gpulint.catalog.hardware import servers
from gpulint.facility.model import Component, ComponentFacts
from gpulint.facts.glossary import glossary
from gpulint.facts.model import Missing
from gpulint.suggestions import generators
from gpulint.suggestions.generators import generates
from gpulint.workload import Field, Value

BREAKERS_A: Mapping[str, tuple[int, ...]] = {"NEC": (20, 30, 50, 60, 100), "IEC": (16, 32, 63, 125)}
"""Sizes of rack power plugs: NEMA L6 and IEC 60309 (CS8365 for 50 A)."""
HIGHER_V = {"NEC": 415, "IEC": 400}
"""Line-to-line voltage of three phases whose 240 V or 230 V to neutral fit ordinary power supplies.
"""
SERVER_V = {"NEC": 208, "IEC": 230}
"""Voltage of a server circuit with as many phases as one of 100 to 127 V."""
HOUSEHOLD_MOST_V = 127
CAPS = (0.95, 0.9, 0.85, 0.7, 0.5)
"""Shares of a board's power to try; drivers accept limits down to about half of it or less."""
FEEDS_MORE = 2
COOLED: Mapping[str, tuple[str, ...]] = {
    "room": ("contained", "in-row", "rear-door"),
    "contained": ("rear-door",),
    "in-row": ("rear-door",),
}
"""The next ways to cool a rack of air-cooled machines."""
LIQUID = "direct-liquid"
BRINGS: Mapping[str, str] = {
    "contained": "doors and a roof for the aisle",
    "in-row": "cooling units in the row, and chilled water to them",
    "rear-door": "a rear-door exchanger, and chilled water to the rack",
    LIQUID: "a coolant loop to the rack, and a distribution unit",
}
"""What a way of cooling requires of the site."""
UNITS_MORE = (1, 2, 4)


class Change(NamedTuple):
    """A quantity of a component, and its new value."""

    part: ComponentFacts
    quantity: str
    value: Value


class Candidate(NamedTuple):
    """A candidate: its title, changes, trade-off, and added components."""

    title: str
    changes: tuple[Change, ...]
    trade_off: str
    added: tuple[tuple[ComponentFacts, Component], ...] = ()


def propose(quantity: str, facts: ComponentFacts) -> Iterator[Candidate]:
    """Yield the candidates that change a quantity of a component."""
    for generate in generators.find_generators(quantity, generators.FACILITY):
        yield from generate(facts)


def _find_rack(facts: ComponentFacts) -> ComponentFacts | None:
    return facts if facts.kind == "rack" else facts.nearest(("rack",))


# ---- servers


@generates("servers")
def _propose_fewer_servers(facts: ComponentFacts) -> Iterator[Candidate]:
    """Yield smaller server counts, largest first, with the rest in racks that have space."""
    for group in _find_groups(facts):
        count, alike = int(group.number("servers") or 0), _count_alike_racks(group)
        for left in range(count - 1, 0, -1):
            yield from _propose_spread(group, left, count - left) if alike == 1 else ()
            where = _find_name(group) if alike == 1 else f"each of {alike} racks"
            away = f"{(count - left) * alike} in other racks"
            title = f"{left} × {group.role.name} in {where}, {away}"
            yield Candidate(title, (Change(group, "servers", left),), f"space for {away}")


def _find_groups(facts: ComponentFacts) -> tuple[ComponentFacts, ...]:
    """Return the groups of servers at hand, largest first."""
    groups = (facts,) if facts.kind == "server" else (_find_rack(facts) or facts).list_components("server")
    return tuple(sorted(groups, key=lambda group: -(group.number("servers") or 0)))


def _count_alike_racks(group: ComponentFacts) -> int:
    """Return the number of racks that the same entry of the file describes through a range."""
    rack = _find_rack(group)
    beside = rack.above.below if rack and rack.above else ()
    return max(1, sum(neighbour.role.anchor == rack.role.anchor for neighbour in beside if rack))


def _find_name(group: ComponentFacts) -> str:
    rack = _find_rack(group)
    return rack.role.name if rack else "the rack"


def _propose_spread(group: ComponentFacts, left: int, moved: int) -> Iterator[Candidate]:
    """Yield the removed servers in one of the other racks of the room, emptiest first."""
    rack = _find_rack(group)
    room = rack.nearest(("room", "site", "facility")) if rack else None
    if rack is None or room is None:
        return
    fed = bool(rack.list_components("feed"))
    others = [
        other_rack
        for other_rack in room.list_components("rack")
        if other_rack.role.anchor != rack.role.anchor and bool(other_rack.list_components("feed")) >= fed
    ]
    for other in sorted(others, key=lambda other_rack: other_rack.number("units_used") or 0)[:2]:
        here = group.role.having(servers=Field(moved, source="suggested"))
        without = {name: field for name, field in here.fields.items() if name not in ("position_u", "cords")}
        added = ((other, Component("server", type(here)(here.name, here.anchor, without))),)
        title = f"{left} × {group.role.name} in {rack.role.name}, {moved} in {other.role.name}"
        yield Candidate(title, (Change(group, "servers", left),), f"{_name_servers(moved)} must be moved", added)


def _name_servers(count: int) -> str:
    return f"{count} server{'s' if count > 1 else ''}"


@generates("server_type")
def _propose_other_types(facts: ComponentFacts) -> Iterator[Candidate]:
    """Yield other machines with the same number of the same accelerator."""
    for group in _find_groups(facts):
        card, gpus = group.expected("accelerator"), group.number("server_gpus")
        if not isinstance(card, str) or gpus is None or group.role.fields.get("server_type") is None:
            continue
        for row in servers.list_servers():
            if row.accelerator == card and row.server_gpus == gpus and row.id != group.role.text("server_type"):
                yield Candidate(f"{row.name} instead", (Change(group, "server_type", row.id),), "different servers")


@generates("power_cap_w")
def _propose_caps(facts: ComponentFacts) -> Iterator[Candidate]:
    """Yield power limits on the GPUs of every server of the rack."""
    for share in CAPS:
        capped = [(group, board) for group in _find_groups(facts) if (board := group.number("board_w"))]
        changes = tuple(Change(server, "power_cap_w", round(board * share)) for server, board in capped)
        if changes:
            limit = units.human(changes[0].value, "w")
            yield Candidate(f"GPUs limited to {limit} (nvidia-smi -pl)", changes, _describe_slowdown(changes[0]))


def _describe_slowdown(cap: Change) -> str:
    """Return the slowdown by a power limit in the worst scenario."""
    role = cap.part.part.role.having(power_cap_w=Field(cap.value, source="suggested"))
    capped = ComponentFacts(Component(cap.part.kind, role), cap.part.above)
    costs = ((name, capped.scenarios(f"{name}_cost_of_cap")) for name in ("training", "serving"))
    slowdowns = [
        f"{name} up to {units.human(cost.worst, 'ratio')} slower"
        for name, cost in costs
        if not isinstance(cost, Missing)
    ]
    return ", ".join(slowdowns) or "lower speed"


# ---- feeds


def _find_feeds(facts: ComponentFacts) -> tuple[ComponentFacts, ...]:
    """Return the feeds of a rack that match its largest one.

    Smaller circuits serve something else.
    """
    rack = _find_rack(facts)
    every = rack.list_components("feed") if rack else ()
    largest = max(every, key=lambda feed: feed.number("feed_usable_va") or 0, default=None)
    return tuple(feed for feed in every if largest and _find_kind(feed) == _find_kind(largest))


def _find_kind(feed: ComponentFacts) -> tuple[float | None, ...]:
    return tuple(feed.number(name) for name in ("feed_voltage_v", "feed_phases"))


def _find_code(facts: ComponentFacts) -> str:
    sources = (facts, "electrical_code"), *((feed, "governing_code") for feed in _find_feeds(facts))
    found = (part.expected(name) for part, name in sources)
    return next((str(code) for code in found if code in BREAKERS_A), "NEC")


@generates("feed_voltage_v")
def _propose_higher_voltage(facts: ComponentFacts) -> Iterator[Candidate]:
    """Yield feeds of 208 V or 230 V instead of household voltage, and three phases of 415 V or 400
    V instead of others.
    """
    feeds = _find_feeds(facts)
    volts, usual = HIGHER_V[_find_code(facts)], SERVER_V[_find_code(facts)]
    low = [feed for feed in feeds if (feed.number("feed_voltage_v") or volts) <= HOUSEHOLD_MOST_V]
    if low:
        changes = tuple(Change(feed, "feed_voltage_v", usual) for feed in low)
        yield Candidate(f"{usual} V feeds", changes, f"circuits and rack PDUs for {usual} V")
    stated = [(feed, feed.number("feed_voltage_v") or volts) for feed in feeds]
    others = [feed for feed, now in stated if now < volts or now > max(HIGHER_V.values())]
    phases = [Change(feed, "feed_phases", 3) for feed in others if feed.number("feed_phases") == 1]
    if others:
        raised = (*(Change(feed, "feed_voltage_v", volts) for feed in others), *phases)
        yield Candidate(f"three-phase {volts} V feeds", raised, f"circuits and rack PDUs for {volts} V")


@generates("breaker_a")
def _propose_larger_breakers(facts: ComponentFacts) -> Iterator[Candidate]:
    """Yield the next sizes of breaker and cord."""
    feeds = _find_feeds(facts)
    stated = [(feed, amps) for feed in feeds if (amps := feed.number("breaker_a")) is not None]
    least = min((amps for _, amps in stated), default=None)
    for size in BREAKERS_A[_find_code(facts)] if least is not None else ():
        if size > least:  # type: ignore[operator]
            smaller = [feed for feed, amps in stated if amps < size]
            changes = [Change(feed, "breaker_a", size) for feed in smaller]
            rated = [Change(feed, "pdu_a", size) for feed in smaller if (feed.number("pdu_a") or size) < size]
            trade_off = f"circuits, cords and rack PDUs for {size} A"
            yield Candidate(f"{size} A breakers", (*changes, *rated), trade_off)


@generates("feeds")
def _propose_more_feeds(facts: ComponentFacts) -> Iterator[Candidate]:
    """Yield additional feeds like the last one, each on a side of its own."""
    rack, feeds = _find_rack(facts), _find_feeds(facts)
    if rack is None or not feeds:
        return
    like, count = feeds[-1].part, len(rack.list_components("feed"))
    for more in range(1, FEEDS_MORE + 1):
        added = tuple((rack, _build_alike(like, _find_next_name(like.role.name, count, at))) for at in range(more))
        title = f"{count + more} feeds of the same kind"
        yield Candidate(title, (), f"{more} additional circuit{'s' if more > 1 else ''} to the rack", added)
        yield from (_add_feeds(other, added, count + more) for other in _propose_higher_voltage(facts))


def _add_feeds(other: Candidate, added: tuple[tuple[ComponentFacts, Component], ...], feeds: int) -> Candidate:
    """Return the same change of all feeds, with additional ones like them."""
    values = {change.quantity: Field(change.value, source="suggested") for change in other.changes}
    raised = tuple((rack, Component(part.kind, part.role.having(**values))) for rack, part in added)
    return Candidate(f"{feeds} {other.title}", other.changes, other.trade_off, raised)


def _find_next_name(last: str, feeds: int, at: int) -> str:
    """Return a name for an additional feed: the next letter, else its number."""
    further = chr(ord(last) + at + 1) if len(last) == 1 else ""
    return further if further.isalpha() and further.isascii() else str(feeds + at + 1)


def _build_alike(feed: Component, name: str) -> Component:
    role = feed.role.having(feed_name=Field(name, source="suggested"))
    own = {key: field for key, field in role.fields.items() if key not in ("feed_side", "panel")}
    return Component("feed", type(role)(name, role.anchor, own))


# ---- heat


@generates("cooling")
def _propose_cooling(facts: ComponentFacts) -> Iterator[Candidate]:
    """Yield the next way to cool the rack, or direct liquid cooling if every machine supports
    it.
    """
    rack = _find_rack(facts)
    if rack is None:
        return
    now = rack.expected("cooling")
    kinds = COOLED.get(str(now), ())
    if all(server.expected("server_cooling") in ("liquid", "hybrid") for server in rack.list_components("server")):
        kinds = (LIQUID,) if now != LIQUID else ()
    for kind in kinds:
        yield Candidate(f"{kind} cooling", (Change(rack, "cooling", kind),), BRINGS[kind])


@generates("air_cooling")
def _propose_air_cooling(facts: ComponentFacts) -> Iterator[Candidate]:
    """Yield the next way to remove the heat that liquid cooling leaves to air."""
    for kind in COOLED.get(str(facts.expected("air_cooling")), ()):
        change = Change(_find_declaring(facts, "air_cooling"), "air_cooling", kind)
        yield Candidate(f"{kind} cooling for the air-cooled heat", (change,), BRINGS[kind])


@generates("cooling_units")
def _propose_more_units(facts: ComponentFacts) -> Iterator[Candidate]:
    """Yield additional cooling units of the same kind."""
    stated = facts.number("cooling_units")
    for more in UNITS_MORE if stated is not None else ():
        count = int(stated or 0) + more
        title = f"{count} cooling units"
        yield Candidate(
            title, (Change(facts, "cooling_units", count),), f"{more} additional unit{'s' if more > 1 else ''}"
        )


@generates("inlet_c")
def _propose_cooler_air(facts: ComponentFacts) -> Iterator[Candidate]:
    """Yield the warmest air that is recommended and that the servers and their class tolerate."""
    limits = (facts.number(name) for name in ("recommended_inlet_max_c", "lowest_inlet_max_c", "class_inlet_max_c"))
    warmest = math.floor(min((limit for limit in limits if limit is not None), default=0))
    stating = _find_declaring(facts, "inlet_c")
    yield Candidate(f"supply air at {warmest} °C", (Change(stating, "inlet_c", warmest),), "more cooling")


@generates("airflow_m3_per_s")
def _propose_more_air(facts: ComponentFacts) -> Iterator[Candidate]:
    """Yield the airflow that the servers need, in full hundreds of CFM."""
    yield from _propose_more_flow(
        facts, "airflow_m3_per_s", "needed_airflow_m3_per_s", 100 * units.CFM, "more tiles or fans"
    )


@generates("liquid_flow_m3_per_s")
def _propose_more_coolant(facts: ComponentFacts) -> Iterator[Candidate]:
    """Yield the coolant flow that the servers need, in full tens of litres per minute."""
    yield from _propose_more_flow(
        facts, "liquid_flow_m3_per_s", "needed_flow_m3_per_s", 10 * units.L_PER_MIN, "more pumps and pipes"
    )


def _propose_more_flow(
    facts: ComponentFacts, quantity: str, need: str, step: Fraction, trade_off: str
) -> Iterator[Candidate]:
    ends = facts.facts.ends(need)
    if ends is not None and isinstance(ends[1], int | float):
        flow = float(math.ceil(ends[1] / step) * step)
        yield Candidate(units.human(flow, glossary()[quantity].unit), (Change(facts, quantity, flow),), trade_off)


def _find_declaring(facts: ComponentFacts, quantity: str) -> ComponentFacts:
    """Return the component that declares an inherited quantity; the component itself if none
    does.
    """
    above: ComponentFacts | None = facts
    while above is not None and quantity not in above.role.fields:
        above = above.above
    return above or facts


def is_declared(change: Change) -> bool:
    """Return whether the file declares the changed value."""
    field = change.part.role.fields.get(change.quantity)
    return field is not None and bool(field.origins)


def find_key(change: Change) -> str:
    """Return the key of a quantity in a file."""
    return glossary()[change.quantity].key
