"""Facility candidates: proposed changes of a facility, by the quantity that a rule lets change,
smallest first.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping
from fractions import Fraction
from typing import NamedTuple

from gpulint import cable_moves, servers, units
from gpulint.facts import Missing, glossary
from gpulint.parts import Part, PartFacts
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

    part: PartFacts
    quantity: str
    value: Value


class Move(NamedTuple):
    """A candidate: its title, changes, trade-off, and added components."""

    title: str
    changes: tuple[Change, ...]
    gives_up: str
    added: tuple[tuple[PartFacts, Part], ...] = ()


def moves(quantity: str, known: PartFacts) -> Iterator[Move]:
    """Return the proposed changes of one quantity of a component."""
    by_quantity: Mapping[str, Callable[[PartFacts], Iterator[Move]]] = {
        "servers": _propose_fewer_servers,
        "server_type": _propose_other_types,
        "feed_voltage_v": _propose_higher_voltage,
        "breaker_a": _propose_larger_breakers,
        "feeds": _propose_more_feeds,
        "power_cap_w": _propose_caps,
        "cooling": _propose_cooling,
        "air_cooling": _propose_air_cooling,
        "cooling_units": _propose_more_units,
        "inlet_c": _propose_cooler_air,
        "airflow_m3_per_s": _propose_more_air,
        "liquid_flow_m3_per_s": _propose_more_coolant,
    }
    return by_quantity[quantity](known) if quantity in by_quantity else _propose_cabling(quantity, known)


def _propose_cabling(quantity: str, known: PartFacts) -> Iterator[Move]:
    """Yield the changes of a cable or switch."""
    for one in cable_moves.rewrites(quantity, known):
        changes = tuple(Change(known, name, value) for name, value in one.values.items())
        yield Move(one.title, changes, one.gives_up)


def _find_rack(known: PartFacts) -> PartFacts | None:
    return known if known.kind == "rack" else known.nearest(("rack",))


# ---- servers


def _propose_fewer_servers(known: PartFacts) -> Iterator[Move]:
    """Yield smaller server counts, largest first, with the rest in racks that have space."""
    for group in _find_groups(known):
        count, alike = int(group.number("servers") or 0), _count_alike_racks(group)
        for left in range(count - 1, 0, -1):
            yield from _propose_spread(group, left, count - left) if alike == 1 else ()
            where = _find_name(group) if alike == 1 else f"each of {alike} racks"
            away = f"{(count - left) * alike} in other racks"
            title = f"{left} × {group.role.name} in {where}, {away}"
            yield Move(title, (Change(group, "servers", left),), f"space for {away}")


def _find_groups(known: PartFacts) -> tuple[PartFacts, ...]:
    """Return the groups of servers at hand, largest first."""
    held = (known,) if known.kind == "server" else (_find_rack(known) or known).of_kind("server")
    return tuple(sorted(held, key=lambda one: -(one.number("servers") or 0)))


def _count_alike_racks(group: PartFacts) -> int:
    """Return the number of racks that the same entry of the file describes through a range."""
    rack = _find_rack(group)
    beside = rack.above.below if rack and rack.above else ()
    return max(1, sum(one.role.anchor == rack.role.anchor for one in beside if rack))


def _find_name(group: PartFacts) -> str:
    rack = _find_rack(group)
    return rack.role.name if rack else "the rack"


def _propose_spread(group: PartFacts, left: int, moved: int) -> Iterator[Move]:
    """Yield the removed servers in one of the other racks of the room, emptiest first."""
    rack = _find_rack(group)
    room = rack.nearest(("room", "site", "facility")) if rack else None
    if rack is None or room is None:
        return
    fed = bool(rack.of_kind("feed"))
    others = [
        one for one in room.of_kind("rack") if one.role.anchor != rack.role.anchor and bool(one.of_kind("feed")) >= fed
    ]
    for other in sorted(others, key=lambda one: one.number("units_used") or 0)[:2]:
        here = group.role.having(servers=Field(moved, source="suggested"))
        without = {name: field for name, field in here.fields.items() if name not in ("position_u", "cords")}
        added = ((other, Part("server", type(here)(here.name, here.anchor, without))),)
        title = f"{left} × {group.role.name} in {rack.role.name}, {moved} in {other.role.name}"
        yield Move(title, (Change(group, "servers", left),), f"{_name_servers(moved)} must be moved", added)


def _name_servers(count: int) -> str:
    return f"{count} server{'s' if count > 1 else ''}"


def _propose_other_types(known: PartFacts) -> Iterator[Move]:
    """Yield other machines with the same number of the same accelerator."""
    for group in _find_groups(known):
        card, gpus = group.likely("accelerator"), group.number("server_gpus")
        if not isinstance(card, str) or gpus is None or group.role.fields.get("server_type") is None:
            continue
        for row in servers.servers():
            if row.accelerator == card and row.server_gpus == gpus and row.id != group.role.text("server_type"):
                yield Move(f"{row.name} instead", (Change(group, "server_type", row.id),), "different servers")


def _propose_caps(known: PartFacts) -> Iterator[Move]:
    """Yield power limits on the GPUs of every server of the rack."""
    for share in CAPS:
        capped = [(one, board) for one in _find_groups(known) if (board := one.number("board_w"))]
        changes = tuple(Change(one, "power_cap_w", round(board * share)) for one, board in capped)
        if changes:
            limit = units.human(changes[0].value, "w")
            yield Move(f"GPUs limited to {limit} (nvidia-smi -pl)", changes, _describe_slowdown(changes[0]))


def _describe_slowdown(cap: Change) -> str:
    """Return the slowdown by a power limit in the worst scenario."""
    role = cap.part.part.role.having(power_cap_w=Field(cap.value, source="suggested"))
    capped = PartFacts(Part(cap.part.kind, role), cap.part.above)
    costs = ((name, capped.worlds(f"{name}_cost_of_cap")) for name in ("training", "serving"))
    told = [
        f"{name} up to {units.human(cost.adverse, 'ratio')} slower"
        for name, cost in costs
        if not isinstance(cost, Missing)
    ]
    return ", ".join(told) or "lower speed"


# ---- feeds


def _find_feeds(known: PartFacts) -> tuple[PartFacts, ...]:
    """Return the feeds of a rack that match its largest one. Smaller circuits serve something else."""
    rack = _find_rack(known)
    every = rack.of_kind("feed") if rack else ()
    largest = max(every, key=lambda one: one.number("feed_usable_va") or 0, default=None)
    return tuple(one for one in every if largest and _find_kind(one) == _find_kind(largest))


def _find_kind(feed: PartFacts) -> tuple[float | None, ...]:
    return tuple(feed.number(name) for name in ("feed_voltage_v", "feed_phases"))


def _find_code(known: PartFacts) -> str:
    told = (known, "electrical_code"), *((one, "governing_code") for one in _find_feeds(known))
    found = (part.likely(name) for part, name in told)
    return next((str(one) for one in found if one in BREAKERS_A), "NEC")


def _propose_higher_voltage(known: PartFacts) -> Iterator[Move]:
    """Yield feeds of 208 V or 230 V instead of household voltage, and three phases of 415 V or 400
    V instead of others.
    """
    feeds = _find_feeds(known)
    volts, usual = HIGHER_V[_find_code(known)], SERVER_V[_find_code(known)]
    low = [one for one in feeds if (one.number("feed_voltage_v") or volts) <= HOUSEHOLD_MOST_V]
    if low:
        changes = tuple(Change(one, "feed_voltage_v", usual) for one in low)
        yield Move(f"{usual} V feeds", changes, f"circuits and rack PDUs for {usual} V")
    stated = [(one, one.number("feed_voltage_v") or volts) for one in feeds]
    others = [one for one, now in stated if now < volts or now > max(HIGHER_V.values())]
    phases = [Change(one, "feed_phases", 3) for one in others if one.number("feed_phases") == 1]
    if others:
        raised = (*(Change(one, "feed_voltage_v", volts) for one in others), *phases)
        yield Move(f"three-phase {volts} V feeds", raised, f"circuits and rack PDUs for {volts} V")


def _propose_larger_breakers(known: PartFacts) -> Iterator[Move]:
    """Yield the next sizes of breaker and cord."""
    feeds = _find_feeds(known)
    stated = [(one, amps) for one in feeds if (amps := one.number("breaker_a")) is not None]
    least = min((amps for _, amps in stated), default=None)
    for size in BREAKERS_A[_find_code(known)] if least is not None else ():
        if size > least:  # type: ignore[operator]
            smaller = [one for one, amps in stated if amps < size]
            changes = [Change(one, "breaker_a", size) for one in smaller]
            rated = [Change(one, "pdu_a", size) for one in smaller if (one.number("pdu_a") or size) < size]
            gives_up = f"circuits, cords and rack PDUs for {size} A"
            yield Move(f"{size} A breakers", (*changes, *rated), gives_up)


def _propose_more_feeds(known: PartFacts) -> Iterator[Move]:
    """Yield additional feeds like the last one, each on a side of its own."""
    rack, feeds = _find_rack(known), _find_feeds(known)
    if rack is None or not feeds:
        return
    like, count = feeds[-1].part, len(rack.of_kind("feed"))
    for more in range(1, FEEDS_MORE + 1):
        added = tuple((rack, _build_alike(like, _find_next_name(like.role.name, count, at))) for at in range(more))
        title = f"{count + more} feeds of the same kind"
        yield Move(title, (), f"{more} additional circuit{'s' if more > 1 else ''} to the rack", added)
        yield from (_add_feeds(other, added, count + more) for other in _propose_higher_voltage(known))


def _add_feeds(other: Move, added: tuple[tuple[PartFacts, Part], ...], feeds: int) -> Move:
    """Return the same change of all feeds, with additional ones like them."""
    values = {one.quantity: Field(one.value, source="suggested") for one in other.changes}
    raised = tuple((rack, Part(part.kind, part.role.having(**values))) for rack, part in added)
    return Move(f"{feeds} {other.title}", other.changes, other.gives_up, raised)


def _find_next_name(last: str, feeds: int, at: int) -> str:
    """Return a name for an additional feed: the next letter, else its number."""
    further = chr(ord(last) + at + 1) if len(last) == 1 else ""
    return further if further.isalpha() and further.isascii() else str(feeds + at + 1)


def _build_alike(feed: Part, name: str) -> Part:
    role = feed.role.having(feed_name=Field(name, source="suggested"))
    own = {key: field for key, field in role.fields.items() if key not in ("feed_side", "panel")}
    return Part("feed", type(role)(name, role.anchor, own))


# ---- heat


def _propose_cooling(known: PartFacts) -> Iterator[Move]:
    """Yield the next way to cool the rack, or direct liquid cooling if every machine supports it."""
    rack = _find_rack(known)
    if rack is None:
        return
    now = rack.likely("cooling")
    kinds = COOLED.get(str(now), ())
    if all(one.likely("server_cooling") in ("liquid", "hybrid") for one in rack.of_kind("server")):
        kinds = (LIQUID,) if now != LIQUID else ()
    for kind in kinds:
        yield Move(f"{kind} cooling", (Change(rack, "cooling", kind),), BRINGS[kind])


def _propose_air_cooling(known: PartFacts) -> Iterator[Move]:
    """Yield the next way to remove the heat that liquid cooling leaves to air."""
    for kind in COOLED.get(str(known.likely("air_cooling")), ()):
        change = Change(_find_declaring(known, "air_cooling"), "air_cooling", kind)
        yield Move(f"{kind} cooling for the air-cooled heat", (change,), BRINGS[kind])


def _propose_more_units(known: PartFacts) -> Iterator[Move]:
    """Yield additional cooling units of the same kind."""
    stated = known.number("cooling_units")
    for more in UNITS_MORE if stated is not None else ():
        count = int(stated or 0) + more
        title = f"{count} cooling units"
        yield Move(title, (Change(known, "cooling_units", count),), f"{more} additional unit{'s' if more > 1 else ''}")


def _propose_cooler_air(known: PartFacts) -> Iterator[Move]:
    """Yield the warmest air that is recommended and that the servers and their class tolerate."""
    limits = (known.number(name) for name in ("recommended_inlet_max_c", "lowest_inlet_max_c", "class_inlet_max_c"))
    warmest = math.floor(min((one for one in limits if one is not None), default=0))
    stating = _find_declaring(known, "inlet_c")
    yield Move(f"supply air at {warmest} °C", (Change(stating, "inlet_c", warmest),), "more cooling")


def _propose_more_air(known: PartFacts) -> Iterator[Move]:
    """Yield the airflow that the servers need, in full hundreds of CFM."""
    yield from _propose_more_flow(
        known, "airflow_m3_per_s", "needed_airflow_m3_per_s", 100 * units.CFM, "more tiles or fans"
    )


def _propose_more_coolant(known: PartFacts) -> Iterator[Move]:
    """Yield the coolant flow that the servers need, in full tens of litres per minute."""
    yield from _propose_more_flow(
        known, "liquid_flow_m3_per_s", "needed_flow_m3_per_s", 10 * units.L_PER_MIN, "more pumps and pipes"
    )


def _propose_more_flow(known: PartFacts, quantity: str, need: str, step: Fraction, gives_up: str) -> Iterator[Move]:
    ends = known.ends(need)
    if ends is not None and isinstance(ends[1], int | float):
        flow = float(math.ceil(ends[1] / step) * step)
        yield Move(units.human(flow, glossary()[quantity].unit), (Change(known, quantity, flow),), gives_up)


def _find_declaring(known: PartFacts, quantity: str) -> PartFacts:
    """Return the component that declares an inherited quantity; the component itself if none does."""
    above: PartFacts | None = known
    while above is not None and quantity not in above.role.fields:
        above = above.above
    return above or known


def is_stated(one: Change) -> bool:
    """Return whether the file declares the changed value."""
    field = one.part.role.fields.get(one.quantity)
    return field is not None and bool(field.origins)


def key(one: Change) -> str:
    """Return the key of a quantity in a file."""
    return glossary()[one.quantity].key
