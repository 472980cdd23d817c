"""Elevations: what a report says of a facility, rack by rack: what stands where, and how much of each limit is taken."""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import NamedTuple

from gpulint import units
from gpulint.facilities import Said
from gpulint.facts import Missing, glossary
from gpulint.findings import (
    AreaSummary,
    FacilitySummary,
    FeedSummary,
    Lacking,
    Meter,
    RackSummary,
    Slot,
    Worlds,
)
from gpulint.parts import PartFacts

PROMISED = frozenset({"N+1", "2N"})
"""What is said of feeds one of which may fail."""
DRAWN_MAX = 200
"""Machines of a rack that are drawn; the tallest racks have some sixty units."""


class Gauge(NamedTuple):
    """The facts of a meter: what is taken, at least, and of how much; `each` server has a fact without which not all is known."""

    taken: str
    least: str
    limit: str
    each: str = ""
    usual: bool = False


_PLANNED = (Gauge("planned_load_w", "least_planned_load_w", "power_limit_w"),)
_ROOM = {"power": _PLANNED, "cooling": (Gauge("room_heat_w", "least_room_heat_w", "cooling_installed_w"),)}
_SITE = {"power": _PLANNED, "cooling": (Gauge("heat_w", "least_heat_w", "cooling_installed_w"),)}
GAUGES: Mapping[str, Mapping[str, tuple[Gauge, ...]]] = {
    "rack": {
        "power": (
            Gauge("load_w", "least_load_w", "power_limit_w"),
            Gauge("load_va", "least_load_va", "survivors_va"),
            Gauge("load_va", "least_load_va", "rack_usable_va"),
        ),
        "cooling": (
            Gauge("cooled_heat_w", "least_cooled_heat_w", "cooling_installed_w"),
            Gauge("heat_w", "least_heat_w", "density_most_w", usual=True),
        ),
        "weight": (Gauge("weight_kg", "least_weight_kg", "rack_load_limit_kg"),),
        "space": (Gauge("units_used", "units_used", "rack_units", each="server_group_units"),),
    },
    "panel": {
        "power": (
            Gauge("panel_load_w", "least_panel_load_w", "panel_capacity_w"),
            Gauge("panel_load_w", "least_panel_load_w", "power_limit_w"),
        ),
    },
    "cdu": {"cooling": (Gauge("loop_heat_w", "least_loop_heat_w", "cooling_installed_w"),)},
    "row": _ROOM,
    "room": _ROOM,
    "site": _SITE,
    "facility": _SITE,
}
"""The meters of each kind of part; of several gauges the one that comes nearest to its limit is shown."""


def of(root: PartFacts, said: Iterable[Said]) -> FacilitySummary:
    """What a report says of a facility."""
    parts = list(root.all())
    return FacilitySummary(
        root.role.name,
        root.role.anchor.location(),
        tuple(_area(one) for one in parts if one.kind in GAUGES and one.kind != "rack"),
        tuple(_rack(one) for one in parts if one.kind == "rack"),
        tuple(_lacking(said)),
    )


def _area(known: PartFacts) -> AreaSummary:
    return AreaSummary(known.kind, known.role.name, known.role.anchor.location(), tuple(_meters(known)))


def _lacking(said: Iterable[Said]) -> Iterator[Lacking]:
    """The rules that lacked facts, each with the parts of which it lacked the same."""
    parts: dict[tuple[str, tuple[str, ...]], list[str]] = {}
    for one in said:
        for lack in one.outcome.not_evaluated:
            name = "/".join(one.known.path()) or one.known.role.name
            parts.setdefault((lack.rule, lack.needs), []).append(name)
    return (Lacking(rule, needs, tuple(names)) for (rule, needs), names in parts.items())


# ---- racks


def _rack(known: PartFacts) -> RackSummary:
    height = _number(known, "rack_units")
    servers = [one for one in known.below if one.kind == "server"]
    slots, undrawn = _slots(servers, math.floor(height or 0))
    return RackSummary(
        known.role.name,
        "/".join(known.path()[:-1]),
        known.role.anchor.location(),
        units=None if height is None else math.floor(height),
        servers=sum(map(_count, servers)),
        slots=tuple(slots),
        stacked=any(_position(one) is None or _count(one) > 1 for one in servers) and bool(slots),
        undrawn=tuple(undrawn),
        meters=tuple(_meters(known)),
        feeds=tuple(_feed(one) for one in known.below if one.kind == "feed"),
    )


def _count(server: PartFacts) -> int:
    return math.floor(_number(server, "servers") or 0)


def _position(server: PartFacts) -> int | None:
    position = _number(server, "server_position_u")
    return None if position is None else math.floor(position)


def _slots(servers: Sequence[PartFacts], height: int) -> tuple[list[Slot], list[str]]:
    """The machines with their units, and in words those that cannot be drawn.

    A position is that of the first machine of its kind: the others, and those without one, stand where there is room above it,
    or above the bottom.
    """
    slots: list[Slot] = []
    undrawn: list[str] = []
    waiting: list[tuple[Slot, int]] = []
    for server in servers:
        high, number, first = _number(server, "server_units"), _count(server), _position(server)
        if high is None or number > DRAWN_MAX - len(slots):
            why = "whose units are not known" if high is None else "which are too many to draw"
            undrawn.append(f"{number:,} × {_label(server)}, {why}")
            continue
        one = Slot(_label(server), first or 1, max(math.ceil(high), 1), _number(server, "server_w"))
        slots += [one] if first is not None and number else []
        waiting.append((one, number - 1 if first is not None else number))
    for one, number in waiting:
        for _ in range(number):
            slots.append(one._replace(lowest=_free(slots, one, height)))
    return sorted(slots, key=lambda slot: (slot.lowest, slot.name)), undrawn


def _label(server: PartFacts) -> str:
    """The name, and the type where that says more."""
    stated = server.role.value("server_type")
    return " ".join(dict.fromkeys((server.role.name, str(stated) if isinstance(stated, str) else server.role.name)))


def _free(slots: Iterable[Slot], one: Slot, height: int) -> int:
    """The lowest unit from that of a slot on from which its machine has room; where there is none, above all others."""
    taken: set[int] = {unit for slot in slots for unit in range(slot.lowest, slot.lowest + slot.units)}
    for lowest in itertools.chain(range(one.lowest, height - one.units + 2), range(1, one.lowest)):
        if taken.isdisjoint(range(lowest, lowest + one.units)):
            return lowest
    return max((height, *taken)) + 1


# ---- meters


def _meters(known: PartFacts) -> Iterator[Meter]:
    for name, gauges in GAUGES[known.kind].items():
        made = [_meter(known, name, gauge) for gauge in gauges]
        yield max(made, key=_nearness)


def _nearness(meter: Meter) -> tuple[bool, bool, float]:
    """How much a meter tells: a stated limit before a usual one, then the share that is taken of it."""
    likely = meter.taken.likely if meter.taken else meter.least
    share = likely / meter.limit if likely is not None and meter.limit else -1.0
    return meter.limit is not None and not meter.usual, meter.limit is not None, share


def _meter(known: PartFacts, name: str, gauge: Gauge) -> Meter:
    taken, limit = _worlds(known, gauge.taken), _worlds(known, gauge.limit)
    if gauge.each and not all(_worlds(one, gauge.each) for one in known.of_kind("server")):
        taken = None
    least = _worlds(known, gauge.least)
    verdict = _verdict(taken, least, limit)
    return Meter(
        name,
        _unit(gauge),
        taken,
        limit and limit.likely,
        None if taken or not least or not least.favourable else least.favourable,
        gauge.usual,
        verdict,
        tuple(_needs(known, gauge)) if verdict == "cannot tell" else (),
    )


def _unit(gauge: Gauge) -> str:
    """The unit of a meter; rack units are a count."""
    return (glossary()[gauge.limit].unit if gauge.limit in glossary() else "") or "u"


def _verdict(taken: Worlds[float] | None, least: Worlds[float] | None, limit: Worlds[float] | None) -> str:
    if limit is None:
        return "cannot tell"
    if taken is not None:
        over = [one > most for one, most in zip(taken, limit, strict=True)]
        likely = over[1]
        return (
            ("exceeded" if all(over) else "likely exceeded") if likely else ("likely within" if any(over) else "within")
        )
    sure = least is not None and all(one > most for one, most in zip(least, limit, strict=True))
    return "exceeded" if sure else "cannot tell"


def _needs(known: PartFacts, gauge: Gauge) -> list[str]:
    """What would have to be stated for a meter: what its parts lack, and the limit where none is."""
    lacking = known.missing(filter(glossary().__contains__, (gauge.taken, gauge.limit)))
    return sorted(lacking | ({gauge.limit} if _worlds(known, gauge.limit) is None else set()))


# ---- feeds


def _feed(known: PartFacts) -> FeedSummary:
    load = _share(known, ("feed_load_va", "feed_usable_va"), ("feed_line_a", "feed_usable_a"))
    lost = _share(known, ("feed_failover_va", "feed_usable_va"), ("feed_failover_line_a", "feed_usable_a"))
    least = _share(known, ("least_feed_load_va", "feed_usable_va"))
    verdict = _holds(known, load, lost, least)
    return FeedSummary(
        known.role.name,
        _word(known, "feed_side") or known.role.name,
        ", ".join(_supply(known)),
        _number(known, "feed_usable_va"),
        _worlds(known, "feed_load_va"),
        load,
        lost,
        verdict,
        tuple(sorted(known.missing(filter(glossary().__contains__, ("feed_load_va", "feed_usable_va")))))
        if verdict == "cannot tell"
        else (),
    )


def _supply(known: PartFacts) -> Iterator[str]:
    """Voltage, phases and breaker, as far as they are stated."""
    for name in ("feed_voltage_v", "feed_phases", "breaker_a"):
        value = _number(known, name)
        if value is not None:
            phases = "phase" if value == 1 else "phases"
            yield f"{value:g} {phases}" if name == "feed_phases" else units.human(value, glossary()[name].unit)


def _holds(
    known: PartFacts, load: Worlds[float] | None, lost: Worlds[float] | None, least: Worlds[float] | None
) -> str:
    """Whether a feed carries its load, also after the loss of another side."""
    over = [one > 1 for one in load or least or ()]
    if over and (all(over) or (load and over[1])):
        return "overloaded" if all(over) else "likely overloaded"
    promised = _word(known, "redundancy") in PROMISED
    if _number(known, "sides_count") == 1:
        return "no spare" if promised else "not redundant"
    if lost is not None and lost.likely > 1:
        return ("no spare" if min(lost) > 1 else "likely no spare") if promised else "not redundant"
    if load is None or lost is None:
        return "cannot tell"
    return "likely holds" if any(over) or max(lost) > 1 else "holds"


def _share(known: PartFacts, *pairs: tuple[str, str]) -> Worlds[float] | None:
    """The greatest share that one fact has of another, world by world."""
    found = [(_worlds(known, part), _worlds(known, whole)) for part, whole in pairs]
    shares = [
        [_ratio(one, all_) for one, all_ in zip(part, whole, strict=True)] for part, whole in found if part and whole
    ]
    return Worlds(*(max(world) for world in zip(*shares, strict=True))) if shares else None


def _ratio(part: float, whole: float) -> float:
    return part / whole if whole else (math.inf if part else 0.0)


# ---- facts


def _worlds(known: PartFacts, name: str) -> Worlds[float] | None:
    """A fact in numbers; None where it is missing, or known to be absent."""
    if name not in glossary():
        return None
    found = known.worlds(name)
    if isinstance(found, Missing) or not all(_is_number(one) for one in found):
        return None
    return Worlds(*map(float, found))  # type: ignore[arg-type]


def _is_number(value: object) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)


def _number(known: PartFacts, name: str) -> float | None:
    found = _worlds(known, name)
    return None if found is None else found.likely


def _word(known: PartFacts, name: str) -> str:
    """A fact in words; empty where it is missing, or known to be absent."""
    found = known.likely(name) if name in glossary() else None
    return found if isinstance(found, str) else ""
