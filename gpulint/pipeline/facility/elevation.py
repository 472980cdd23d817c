"""Elevations: what a report says of a facility, rack by rack: what stands where, and how much of each limit is taken."""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterable, Iterator, Sequence

from gpulint import units
from gpulint.facility.model import PartFacts
from gpulint.facts.glossary import glossary
from gpulint.pipeline.facility import utilization as gauges
from gpulint.policy.rules.facility import Said
from gpulint.report.model import AreaSummary, FacilitySummary, FeedSummary, Lacking, RackSummary, Slot, Worlds

TWICE = 2
"""Sides of a 2N rack; of more, what is left after a loss is not what is asked for: half of all."""
HIGHEST = 100
"""Units of a machine that is drawn."""
DRAWN_MAX = 200
"""Machines of a rack that are drawn; the tallest racks have some sixty units."""


YEAR = (
    "idle_load_w",
    "busy_load_w",
    "average_load_w",
    "energy_year_j",
    "energy_year_usd",
    "overhead_year_usd",
    "co2_year_kg",
)
"""What is said of a facility's year."""


def of(root: PartFacts, said: Iterable[Said]) -> FacilitySummary:
    """What a report says of a facility."""
    return FacilitySummary(
        root.role.name,
        root.role.anchor.location(),
        _areas(root),
        _racks(root),
        tuple(_lacking(said)),
        tuple(fact for name in YEAR if (fact := root.facts.shown(name)) is not None),
    )


def under(known: FacilitySummary, loaded: PartFacts) -> FacilitySummary:
    """A facility as reports show it, with the load of what a run places in it."""
    return known._replace(areas=_areas(loaded), racks=_racks(loaded))


def _areas(root: PartFacts) -> tuple[AreaSummary, ...]:
    return tuple(_area(one) for one in root.all() if one.kind in gauges.GAUGES and one.kind != "rack")


def _racks(root: PartFacts) -> tuple[RackSummary, ...]:
    return tuple(_rack(one) for one in root.all() if one.kind == "rack")


def _area(known: PartFacts) -> AreaSummary:
    return AreaSummary(known.kind, known.role.name, known.role.anchor.location(), tuple(gauges.meters(known)))


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
    height = known.number("rack_units")
    servers = [one for one in known.below if one.kind == "server"]
    slots, undrawn = _slots(servers, math.floor(height or 0))
    return RackSummary(
        known.role.name,
        "/".join(known.path()[:-1]),
        known.role.anchor.location(),
        units=None if height is None else math.floor(height),
        servers=sum(map(_count, servers)),
        slots=tuple(slots),
        stacked=any(_position(one) is None for one in servers) and bool(slots),
        undrawn=tuple(undrawn),
        meters=tuple(gauges.meters(known)),
        feeds=tuple(_feed(one) for one in known.below if one.kind == "feed"),
    )


def _count(server: PartFacts) -> int:
    return math.floor(server.number("servers") or 0)


def _position(server: PartFacts) -> int | None:
    position = server.number("position_u")
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
        high, number, first = server.number("server_units"), _count(server), _position(server)
        if high is None or high > HIGHEST or number > DRAWN_MAX - len(slots) - sum(count for _, count in waiting):
            why = "whose units are not known" if high is None else "which are too many or too high to draw"
            undrawn.append(f"{number:,} × {server.role.name}, {why}")
            continue
        name, kind = _called(server)
        one = Slot(name, first or 1, max(math.ceil(high), 1), server.number("server_w"), kind)
        slots += [one] if first is not None and number else []
        waiting.append((one, number - 1 if first is not None else number))
    for one, number in waiting:
        for _ in range(number):
            slots.append(one._replace(lowest=_free(slots, one, height)))
    return sorted(slots, key=lambda slot: (slot.lowest, slot.name)), undrawn


def _called(server: PartFacts) -> tuple[str, str]:
    """The name and the type of a machine; several alike have no names of their own."""
    stated = server.role.value("server_type")
    kind = stated if isinstance(stated, str) else ""
    return (kind if kind and _count(server) > 1 else server.role.name), kind


def _free(slots: Iterable[Slot], one: Slot, height: int) -> int:
    """The lowest unit of room for a machine: from that of a slot on, else below it, else from there on beyond the rack."""
    taken: set[int] = {unit for slot in slots for unit in range(slot.lowest, slot.lowest + slot.units)}
    within = itertools.chain(range(one.lowest, height - one.units + 2), range(1, one.lowest))
    candidates = itertools.chain(within, itertools.count(one.lowest))
    return next(lowest for lowest in candidates if taken.isdisjoint(range(lowest, lowest + one.units)))


# ---- feeds


def _feed(known: PartFacts) -> FeedSummary:
    """A feed by its whole power and by its most loaded line, whichever is nearer to what it carries."""
    load = gauges.worlds(known, "feed_load_va")
    whole = _share(known, "feed_load_va" if load else "least_feed_load_va", "feed_usable_va")
    today = _greater(whole, _share(known, "feed_line_a", "feed_usable_a"))
    lost = _greater(
        _share(known, "feed_failover_va", "feed_usable_va"), _share(known, "feed_failover_line_a", "feed_usable_a")
    )
    if gauges.word(known, "redundancy") == "2N" and (known.number("sides_count") or 0) > TWICE:
        lost = _greater(lost, _share(known, "least_surviving_va", "survivors_va"))
    verdict = _holds(known, today, lost, by_line=whole is not None and max(whole) <= 1)
    if load is None and verdict in ("holds", "likely holds", "not redundant"):
        verdict = "cannot tell"
    return FeedSummary(
        known.role.name,
        gauges.word(known, "feed_side") or known.role.name,
        ", ".join(_supply(known)),
        known.number("feed_usable_va"),
        load,
        today if load else None,
        lost if load else None,
        verdict,
        tuple(sorted(known.facts.missing(("feed_load_va", "feed_usable_va")))) if verdict == "cannot tell" else (),
    )


def _supply(known: PartFacts) -> Iterator[str]:
    """Voltage, phases and breaker, as far as they are stated."""
    for name in ("feed_voltage_v", "feed_phases", "breaker_a"):
        value = known.number(name)
        if value is not None:
            phases = "phase" if value == 1 else "phases"
            yield f"{value:g} {phases}" if name == "feed_phases" else units.human(value, glossary()[name].unit)


def _holds(known: PartFacts, today: Worlds[float] | None, lost: Worlds[float] | None, by_line: bool) -> str:
    """Whether a feed carries its load, also after the loss of another side, as far as that load is known.

    Where no cords are stated, that its rack spreads its load evenly is an assumption: sure is what all feeds together lack,
    and that a line is over its breaker where the feed as a whole is not.
    """
    if today is not None and min(today) > 1 and (by_line or _is_sure(known)):
        return "overloaded"
    promised, is_alone = gauges.is_so(known, "is_redundant"), known.number("sides_count") == 1
    if promised and (is_alone or (lost is not None and min(lost) > 1 and _is_sure_after_loss(known))):
        return "no spare"
    if today is None:
        return "cannot tell"
    if today.likely > 1:
        return "likely overloaded"
    if is_alone:
        return "not redundant"
    if lost is None:
        return "cannot tell"
    if lost.likely > 1:
        return "likely no spare" if promised else "not redundant"
    return "likely holds" if max(*today, *lost) > 1 else "holds"


def _is_sure(known: PartFacts) -> bool:
    """Whether the load of a feed is known by its cords, or beyond what carries it however the rack spreads it."""
    shares = _share(known, "corded_feed_va", "feed_usable_va"), _share(known, "least_load_va", "rack_usable_va")
    return gauges.is_so(known, "cords_stated") or any(share is not None and min(share) > 1 for share in shares)


def _is_sure_after_loss(known: PartFacts) -> bool:
    """Whether what a feed carries after a loss is known by its cords, or more than what is left carries in any way."""
    share = _share(known, "least_surviving_va", "survivors_va")
    return gauges.is_so(known, "cords_stated") or (share is not None and min(share) > 1)


def _share(known: PartFacts, part: str, whole: str) -> Worlds[float] | None:
    """The share that one fact has of another, world by world."""
    taken, most = gauges.worlds(known, part), gauges.worlds(known, whole)
    return Worlds(*map(_ratio, taken, most)) if taken and most else None


def _greater(one: Worlds[float] | None, other: Worlds[float] | None) -> Worlds[float] | None:
    """The greater of two shares in each world; of one that is not known, the other."""
    return Worlds(*map(max, one, other)) if one and other else one or other


def _ratio(part: float, whole: float) -> float:
    return part / whole if whole else (math.inf if part else 0.0)
