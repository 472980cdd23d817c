"""Room moves: the changes of a facility that are worth a try, by the quantity that a rule says may change, least first."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping
from fractions import Fraction
from typing import NamedTuple

from gpulint import units
from gpulint.catalog.hardware import servers
from gpulint.facility.model import Part, PartFacts
from gpulint.facts.glossary import glossary
from gpulint.facts.model import Missing
from gpulint.suggestions.facility import cabling_changes as cable_moves
from gpulint.workload import Field, Value

BREAKERS_A: Mapping[str, tuple[int, ...]] = {"NEC": (20, 30, 50, 60, 100), "IEC": (16, 32, 63, 125)}
"""Sizes of the plugs that racks hang on: NEMA L6 and IEC 60309 (CS8365 for 50 A)."""
HIGHER_V = {"NEC": 415, "IEC": 400}
"""Line to line of three phases whose 240 V or 230 V to neutral ordinary power supplies take."""
SERVER_V = {"NEC": 208, "IEC": 230}
"""Voltage of a circuit for servers that has as many phases as one of 100 to 127 V."""
HOUSEHOLD_MOST_V = 127
CAPS = (0.95, 0.9, 0.85, 0.7, 0.5)
"""Shares of a board's power that are tried; drivers take limits down to about half of it or less."""
FEEDS_MORE = 2
COOLED: Mapping[str, tuple[str, ...]] = {
    "room": ("contained", "in-row", "rear-door"),
    "contained": ("rear-door",),
    "in-row": ("rear-door",),
}
"""The next ways to cool a rack of machines that blow air."""
LIQUID = "direct-liquid"
BRINGS: Mapping[str, str] = {
    "contained": "doors and a roof for the aisle",
    "in-row": "cooling units in the row, and chilled water to them",
    "rear-door": "a rear-door exchanger, and chilled water to the rack",
    LIQUID: "a coolant loop to the rack, and a distribution unit",
}
"""What a way to cool asks of the place."""
UNITS_MORE = (1, 2, 4)


class Change(NamedTuple):
    """A quantity of a part, and its other value."""

    part: PartFacts
    quantity: str
    value: Value


class Move(NamedTuple):
    """Changes to try together, what to call them, what they ask of whoever runs the place, and parts that come in."""

    title: str
    changes: tuple[Change, ...]
    gives_up: str
    added: tuple[tuple[PartFacts, Part], ...] = ()


def moves(quantity: str, known: PartFacts) -> Iterator[Move]:
    """The changes of one quantity that are worth a try for a part."""
    by_quantity: Mapping[str, Callable[[PartFacts], Iterator[Move]]] = {
        "servers": _fewer_servers,
        "server_type": _other_type,
        "feed_voltage_v": _higher_voltage,
        "breaker_a": _larger_breaker,
        "feeds": _more_feeds,
        "power_cap_w": _capped,
        "cooling": _cooled,
        "air_cooling": _air_cooled,
        "cooling_units": _more_units,
        "inlet_c": _cooler_air,
        "airflow_m3_per_s": _more_air,
        "liquid_flow_m3_per_s": _more_coolant,
    }
    return by_quantity[quantity](known) if quantity in by_quantity else _rewritten(quantity, known)


def _rewritten(quantity: str, known: PartFacts) -> Iterator[Move]:
    """The changes of a cable or a switch."""
    for one in cable_moves.rewrites(quantity, known.facts):
        changes = tuple(Change(known, name, value) for name, value in one.values.items())
        yield Move(one.title, changes, one.gives_up)


def _rack(known: PartFacts) -> PartFacts | None:
    return known if known.kind == "rack" else known.nearest(("rack",))


# ---- servers


def _fewer_servers(known: PartFacts) -> Iterator[Move]:
    """The largest number that stays, with the others in racks that have the same machines, else wherever there is room."""
    for group in _groups(known):
        count, alike = int(group.number("servers") or 0), _alike_racks(group)
        for left in range(count - 1, 0, -1):
            yield from _spread(group, left, count - left) if alike == 1 else ()
            where = _name(group) if alike == 1 else f"each of {alike} racks"
            away = f"{(count - left) * alike} in other racks"
            title = f"{left} of {group.role.name} in {where}, {away}"
            yield Move(title, (Change(group, "servers", left),), f"place for {away}")


def _groups(known: PartFacts) -> tuple[PartFacts, ...]:
    """The kinds of server at hand, the most of one kind first."""
    held = (known,) if known.kind == "server" else (_rack(known) or known).of_kind("server")
    return tuple(sorted(held, key=lambda one: -(one.number("servers") or 0)))


def _alike_racks(group: PartFacts) -> int:
    """The racks that the same place of the file describes: a name with a range stands for several."""
    rack = _rack(group)
    beside = rack.above.below if rack and rack.above else ()
    return max(1, sum(one.role.anchor == rack.role.anchor for one in beside if rack))


def _name(group: PartFacts) -> str:
    rack = _rack(group)
    return rack.role.name if rack else "the rack"


def _spread(group: PartFacts, left: int, moved: int) -> Iterator[Move]:
    """The servers that do not stay, all in one of the racks beside this one, the emptiest first."""
    rack = _rack(group)
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
        title = f"{left} of {group.role.name} in {rack.role.name}, {moved} in {other.role.name}"
        yield Move(title, (Change(group, "servers", left),), f"{_servers(moved)} to move", added)


def _servers(count: int) -> str:
    return f"{count} server{'s' if count > 1 else ''}"


def _other_type(known: PartFacts) -> Iterator[Move]:
    """Machines with as many of the same accelerator that take less power or less room."""
    for group in _groups(known):
        card, gpus = group.likely("accelerator"), group.number("server_gpus")
        if not isinstance(card, str) or gpus is None or group.role.fields.get("server_type") is None:
            continue
        for row in servers.servers():
            if row.accelerator == card and row.server_gpus == gpus and row.id != group.role.text("server_type"):
                yield Move(f"{row.name} instead", (Change(group, "server_type", row.id),), "another machine")


def _capped(known: PartFacts) -> Iterator[Move]:
    """A power limit on the cards of every server of the rack."""
    for share in CAPS:
        capped = [(one, board) for one in _groups(known) if (board := one.number("board_w"))]
        changes = tuple(Change(one, "power_cap_w", round(board * share)) for one, board in capped)
        if changes:
            limit = units.human(changes[0].value, "w")
            yield Move(f"cards held to {limit} (nvidia-smi -pl)", changes, _slower(changes[0]))


def _slower(cap: Change) -> str:
    """What a power limit costs, in the worst of worlds."""
    role = cap.part.part.role.having(power_cap_w=Field(cap.value, source="suggested"))
    capped = PartFacts(Part(cap.part.kind, role), cap.part.above)
    costs = ((name, capped.worlds(f"{name}_cost_of_cap")) for name in ("training", "serving"))
    told = [
        f"{name} up to {units.human(cost.adverse, 'ratio')} slower"
        for name, cost in costs
        if not isinstance(cost, Missing)
    ]
    return ", ".join(told) or "speed"


# ---- feeds


def _feeds(known: PartFacts) -> tuple[PartFacts, ...]:
    """The feeds of a rack that are like its largest; a smaller circuit beside them is there for something else."""
    rack = _rack(known)
    every = rack.of_kind("feed") if rack else ()
    largest = max(every, key=lambda one: one.number("feed_usable_va") or 0, default=None)
    return tuple(one for one in every if largest and _kind(one) == _kind(largest))


def _kind(feed: PartFacts) -> tuple[float | None, ...]:
    return tuple(feed.number(name) for name in ("feed_voltage_v", "feed_phases"))


def _code(known: PartFacts) -> str:
    told = (known, "electrical_code"), *((one, "governing_code") for one in _feeds(known))
    found = (part.likely(name) for part, name in told)
    return next((str(one) for one in found if one in BREAKERS_A), "NEC")


def _higher_voltage(known: PartFacts) -> Iterator[Move]:
    """208 V or 230 V for what households have; three phases of 415 V or 400 V, for what is lower and for 480 V and more."""
    feeds = _feeds(known)
    volts, usual = HIGHER_V[_code(known)], SERVER_V[_code(known)]
    low = [one for one in feeds if (one.number("feed_voltage_v") or volts) <= HOUSEHOLD_MOST_V]
    if low:
        changes = tuple(Change(one, "feed_voltage_v", usual) for one in low)
        yield Move(f"feeds of {usual} V", changes, f"circuits and rack PDUs for {usual} V")
    stated = [(one, one.number("feed_voltage_v") or volts) for one in feeds]
    others = [one for one, now in stated if now < volts or now > max(HIGHER_V.values())]
    phases = [Change(one, "feed_phases", 3) for one in others if one.number("feed_phases") == 1]
    if others:
        raised = (*(Change(one, "feed_voltage_v", volts) for one in others), *phases)
        yield Move(f"feeds of {volts} V, three phases", raised, f"circuits and rack PDUs for {volts} V")


def _larger_breaker(known: PartFacts) -> Iterator[Move]:
    """The next sizes of breaker and cord."""
    feeds = _feeds(known)
    stated = [(one, amps) for one in feeds if (amps := one.number("breaker_a")) is not None]
    least = min((amps for _, amps in stated), default=None)
    for size in BREAKERS_A[_code(known)] if least is not None else ():
        if size > least:  # type: ignore[operator]
            smaller = [one for one, amps in stated if amps < size]
            changes = [Change(one, "breaker_a", size) for one in smaller]
            rated = [Change(one, "pdu_a", size) for one in smaller if (one.number("pdu_a") or size) < size]
            gives_up = f"circuits, cords and rack PDUs for {size} A"
            yield Move(f"breakers of {size} A", (*changes, *rated), gives_up)


def _more_feeds(known: PartFacts) -> Iterator[Move]:
    """Further feeds like the last one, each a side of its own."""
    rack, feeds = _rack(known), _feeds(known)
    if rack is None or not feeds:
        return
    like, count = feeds[-1].part, len(rack.of_kind("feed"))
    for more in range(1, FEEDS_MORE + 1):
        added = tuple((rack, _alike(like, _next_name(like.role.name, count, at))) for at in range(more))
        title = f"{count + more} feeds of the same kind"
        yield Move(title, (), f"{more} further circuit{'s' if more > 1 else ''} to the rack", added)
        yield from (_with_feeds(other, added, count + more) for other in _higher_voltage(known))


def _with_feeds(other: Move, added: tuple[tuple[PartFacts, Part], ...], feeds: int) -> Move:
    """The same change of all feeds, with further ones like them."""
    values = {one.quantity: Field(one.value, source="suggested") for one in other.changes}
    raised = tuple((rack, Part(part.kind, part.role.having(**values))) for rack, part in added)
    return Move(f"{feeds} {other.title}", other.changes, other.gives_up, raised)


def _next_name(last: str, feeds: int, at: int) -> str:
    """A name for one more feed: the next letter, else its number."""
    further = chr(ord(last) + at + 1) if len(last) == 1 else ""
    return further if further.isalpha() and further.isascii() else str(feeds + at + 1)


def _alike(feed: Part, name: str) -> Part:
    role = feed.role.having(feed_name=Field(name, source="suggested"))
    own = {key: field for key, field in role.fields.items() if key not in ("feed_side", "panel")}
    return Part("feed", type(role)(name, role.anchor, own))


# ---- heat


def _cooled(known: PartFacts) -> Iterator[Move]:
    """The next way to cool the rack; liquid on the chips where every machine takes it."""
    rack = _rack(known)
    if rack is None:
        return
    now = rack.likely("cooling")
    kinds = COOLED.get(str(now), ())
    if all(one.likely("server_cooling") in ("liquid", "hybrid") for one in rack.of_kind("server")):
        kinds = (LIQUID,) if now != LIQUID else ()
    for kind in kinds:
        yield Move(f"{kind} cooling", (Change(rack, "cooling", kind),), BRINGS[kind])


def _air_cooled(known: PartFacts) -> Iterator[Move]:
    """The next way to take the heat that liquid leaves to air."""
    for kind in COOLED.get(str(known.likely("air_cooling")), ()):
        yield Move(
            f"{kind} cooling of its air", (Change(_stating(known, "air_cooling"), "air_cooling", kind),), BRINGS[kind]
        )


def _more_units(known: PartFacts) -> Iterator[Move]:
    """Further units of the kind that are there."""
    stated = known.number("cooling_units")
    for more in UNITS_MORE if stated is not None else ():
        count = int(stated or 0) + more
        title = f"{count} cooling units"
        yield Move(title, (Change(known, "cooling_units", count),), f"{more} further unit{'s' if more > 1 else ''}")


def _cooler_air(known: PartFacts) -> Iterator[Move]:
    """The warmest air that is recommended and that the servers and their class bear."""
    limits = (known.number(name) for name in ("recommended_inlet_max_c", "lowest_inlet_max_c", "class_inlet_max_c"))
    warmest = math.floor(min((one for one in limits if one is not None), default=0))
    stating = _stating(known, "inlet_c")
    yield Move(f"air of {warmest} °C", (Change(stating, "inlet_c", warmest),), "more cooling")


def _more_air(known: PartFacts) -> Iterator[Move]:
    """The air that the servers move, in full hundreds of CFM."""
    yield from _more_flow(known, "airflow_m3_per_s", "needed_airflow_m3_per_s", 100 * units.CFM, "tiles or fans for it")


def _more_coolant(known: PartFacts) -> Iterator[Move]:
    """The coolant that the servers need, in full tens of litres a minute."""
    yield from _more_flow(
        known, "liquid_flow_m3_per_s", "needed_flow_m3_per_s", 10 * units.L_PER_MIN, "pumps and pipes for it"
    )


def _more_flow(known: PartFacts, quantity: str, need: str, step: Fraction, gives_up: str) -> Iterator[Move]:
    ends = known.facts.ends(need)
    if ends is not None and isinstance(ends[1], int | float):
        flow = float(math.ceil(ends[1] / step) * step)
        yield Move(units.human(flow, glossary()[quantity].unit), (Change(known, quantity, flow),), gives_up)


def _stating(known: PartFacts, quantity: str) -> PartFacts:
    """The part that states a quantity which those below have from it; the part itself where none does."""
    above: PartFacts | None = known
    while above is not None and quantity not in above.role.fields:
        above = above.above
    return above or known


def is_stated(one: Change) -> bool:
    """Whether a place of the file states what changes."""
    field = one.part.role.fields.get(one.quantity)
    return field is not None and bool(field.origins)


def key(one: Change) -> str:
    """The word that states a quantity in a file."""
    return glossary()[one.quantity].key
