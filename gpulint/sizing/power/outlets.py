"""Outlets: whether power supplies find an outlet, what current each cord carries, and whether the
voltage suits.
"""

from __future__ import annotations

import math
from collections.abc import Mapping

from gpulint import units
from gpulint.catalog.errors import MissingInput
from gpulint.catalog.hardware import outlets
from gpulint.sizing.power import _feed_loads
from gpulint.sizing.power.circuits import PHASES

CONTINUOUS = 0.8
MOST_V = 240
"""The highest nominal voltage of supplies with an inlet of IEC 60320, which end at 250 V."""
TOLERANCE = 0.1
COUPLER_MOST_V = 250
"""Rated voltage of the appliance couplers of IEC 60320."""


def outlet_needs(servers: int, plugged_supplies: float, psu_inlet: str) -> Mapping[str, float]:
    """Cords of a group of servers, by the inlet type of their supplies.

    outlet_needs = {psu_inlet: servers · plugged_supplies}

    Component: server
    Args:
        servers: of the group. plugged_supplies: of one server. psu_inlet: of a supply, as C20.
    Returns:
        count by inlet
    Validity: a server on a busbar needs no outlet.

    >>> outlet_needs(4, 6, "C20"), outlet_needs(18, 0, "busbar")
    ({'C20': 24}, {})

    Source: definition.
    """
    inlet = outlets.parse_inlet(psu_inlet)
    return {inlet: servers * plugged_supplies} if inlet in outlets.list_inlets() else {}


def outlets_needed(each_outlet_needs: tuple[Mapping[str, float], ...]) -> float:
    """Outlets that the supplies of a rack need, for servers whose supplies are known.

    outlets_needed = Σ outlet_needs

    Component: rack
    Args:
        each_outlet_needs: of every group of servers that is known.
    Returns:
        count

    >>> outlets_needed(({"C20": 24}, {"C14": 2}))
    26

    Source: definition.
    """
    return sum(count for needs in each_outlet_needs for count in needs.values())


def outlets_there(each_feed_outlets: tuple[Mapping[str, str], ...]) -> float | None:
    """Outlets of all feeds of a rack. It is None if the rack has no feed.

    outlets_there = Σ outlets

    Component: rack
    Args:
        each_feed_outlets: of every feed, by kind.
    Returns:
        count

    >>> outlets_there(({"C19": "6", "C13": "24"}, {"C19": "6", "C13": "24"}))
    60.0

    Source: definition.
    """
    return (
        sum(sum(_feed_loads.parse_counts(feed, "outlets").values()) for feed in each_feed_outlets)
        if each_feed_outlets
        else None
    )


def inlet_without_outlet(
    each_outlet_needs: tuple[Mapping[str, float], ...], each_feed_outlets: tuple[Mapping[str, str], ...]
) -> str | None:
    """Inlet type for which a rack has too few outlets; none if there are enough.

    inlets with the fewest kinds of outlet choose first, the outlets that serve the fewest inlets go first

    Component: rack
    Args:
        each_outlet_needs: of every group of servers that is known. each_feed_outlets: of every feed, by kind.
    Returns:
        inlet
    Validity: over all feeds of the rack together; a socket that is not in the catalog is taken to serve every inlet.

    >>> inlet_without_outlet(({"C20": 12},), ({"C19": "6", "C13": "24"}, {"C19": "6"}))
    >>> inlet_without_outlet(({"C20": 12},), ({"C19": "4", "C13": "24"}, {"C19": "4"}))
    'C20'

    Source: IEC 60320-3:2014 (which connector fits which inlet).
    """
    left: dict[frozenset[str], float] = {}
    for word, count in (
        (word, count) for feed in each_feed_outlets for word, count in _feed_loads.parse_counts(feed, "outlets").items()
    ):
        left[outlets.find_inlets(word)] = left.get(outlets.find_inlets(word), 0) + count
    needs: dict[str, float] = {}
    for inlet, count in ((inlet, count) for group in each_outlet_needs for inlet, count in group.items()):
        needs[inlet] = needs.get(inlet, 0) + count
    for inlet in sorted(needs, key=lambda inlet: (sum(inlet in served for served in left), inlet)):
        for served in sorted((served for served in left if inlet in served), key=len):
            taken = min(needs[inlet], left[served])
            needs[inlet], left[served] = needs[inlet] - taken, left[served] - taken
    return next((inlet for inlet, count in needs.items() if count > 0), None) if each_feed_outlets else None


def inlets_short(inlet_without_outlet: str | None, each_outlet_needs: tuple[Mapping[str, float], ...]) -> float:
    """Cords of a rack that need the outlet type of which there are too few.

    inlets_short = Σ outlet_needs of inlet_without_outlet

    Component: rack
    Args:
        inlet_without_outlet: the kind of inlet, None where each finds an outlet. each_outlet_needs: of every group of servers.
    Returns:
        count

    >>> inlets_short("C20", ({"C20": 24}, {"C14": 2}))
    24

    Source: definition.
    """
    return sum(needs.get(inlet_without_outlet or "", 0) for needs in each_outlet_needs)


def outlets_that_take_them(inlet_without_outlet: str | None, each_feed_outlets: tuple[Mapping[str, str], ...]) -> float:
    """Outlets of a rack that fit the inlet type for which there are too few.

    outlets_that_take_them = Σ outlets that serve inlet_without_outlet

    Component: rack
    Args:
        inlet_without_outlet: the kind of inlet, None where each finds an outlet. each_feed_outlets: of every feed, by kind.
    Returns:
        count
    Validity: other inlets may take some of them.

    >>> outlets_that_take_them("C20", ({"C19": "6", "C13": "24"}, {"C19": "6"}))
    12.0

    Source: IEC 60320-3:2014 (which connector fits which inlet).
    """
    every = (
        (word, count) for feed in each_feed_outlets for word, count in _feed_loads.parse_counts(feed, "outlets").items()
    )
    return sum((count for word, count in every if inlet_without_outlet in outlets.find_inlets(word)), 0.0)


def supply_a(
    server_w: float,
    plugged_supplies: float,
    each_supply_v: tuple[float, ...],
    supply_power_factor: float,
    supplies_needed: float | None = None,
) -> float | None:
    """Current of one supply while all supplies of its server are up.
    It is None if the supplies are too few or no feed is declared.

    supply_a = server_w / plugged_supplies / V / power factor

    Component: server
    Args:
        server_w: of one server [W]. plugged_supplies: of one server. each_supply_v: at the outlets of every feed [V].
        supply_power_factor: ratio. supplies_needed: for what the server draws.
    Returns:
        [A]
    Validity: supplies share the load evenly; at the highest of the voltages, so that it is a lower bound. A server with fewer
        supplies than it needs draws less than it would.

    >>> round(supply_a(10200, 6, (208.0, 208.0), 1.0, 4), 2), supply_a(10200, 3, (208.0,), 1.0, 4)
    (8.17, None)

    Source: definition.
    """
    if (
        not each_supply_v
        or not plugged_supplies
        or (supplies_needed is not None and plugged_supplies < supplies_needed)
    ):
        return None
    return server_w / plugged_supplies / max(each_supply_v) / supply_power_factor


def supply_after_loss_a(
    server_w: float,
    supplies_left: float | None,
    supplies_needed: float,
    each_supply_v: tuple[float, ...],
    supply_power_factor: float,
) -> float | None:
    """Current of one supply after the worst loss of a side.
    It is None if too few supplies are left or no feed is declared.

    supply_after_loss_a = server_w / supplies_left / V / power factor

    Component: server
    Args:
        server_w: of one server [W]. supplies_left: after the loss. supplies_needed: for what the server draws.
        each_supply_v: at the outlets of every feed [V]. supply_power_factor: ratio.
    Returns:
        [A]

    >>> round(supply_after_loss_a(6500, 3, 3, (208.0, 208.0), 1.0), 2), supply_after_loss_a(10200, 3, 4, (208.0,), 1.0)
    (10.42, None)

    Source: definition.
    """
    if not each_supply_v or not supplies_left or supplies_left < supplies_needed:
        return None
    return server_w / supplies_left / max(each_supply_v) / supply_power_factor


def outlet_a(psu_inlet: str, known_governing_codes: tuple[str, ...], psu_w: float | None = None) -> float | None:
    """Continuous current limit of a supply's outlet and cord; none if it uses no outlet.

    outlet_a = 0.8 · rating in North America; the rating of IEC 60320 elsewhere

    Component: server
    Args:
        psu_inlet: of a supply, as C20. known_governing_codes: of the feeds of the rack. psu_w: what a supply gives [W].
    Returns:
        [A]
    Validity: the higher of both where no feed tells under which code it falls. A supply that gives more than its inlet takes
        at 240 V has another inlet than the one that is stated.

    >>> outlet_a("C20", ("NEC",)), outlet_a("C14", ("NEC",)), outlet_a("C14", ("IEC", "IEC")), outlet_a("busbar", ())
    (16.0, 12.0, 10, None)

    Source: IEC 60320-1:2021; UL 498 with NFPA 70 (NEC) 2023, 210.20(A): 80 % of 15 and 20 A.
    """
    rated = outlets.find_rating(psu_inlet)
    if rated is None:
        return None
    if psu_w is not None and psu_w > MOST_V * rated[1]:
        raise LookupError(f"a supply of {psu_w:g} W has a larger inlet than {psu_inlet}")
    return rated[0] if {*known_governing_codes} == {"IEC"} else rated[1] * CONTINUOUS


def accepted_v(
    psu_volts_min: float | None = None, psu_volts_max: float | None = None, psu_inlet: str | None = None
) -> tuple[float, ...]:
    """Lowest and highest nominal voltage that the supplies of a server accept.

    accepted_v = psu_volts_min, psu_volts_max; 0 and 250 V of an unknown supply with an inlet of IEC 60320

    Component: server
    Args:
        psu_volts_min, psu_volts_max: nominal input of the supplies [V]. psu_inlet: of a supply, as C20.
    Returns:
        [V]

    >>> accepted_v(200, 240), accepted_v(None, None, "C20")
    ((200, 240), (0, 250))

    Source: IEC 60320-1:2021, clause 1: couplers for up to 250 V.
    """
    if psu_volts_max is None and outlets.find_rating(psu_inlet or "") is None:
        raise MissingInput("psu_volts_max")
    return psu_volts_min or 0, COUPLER_MOST_V if psu_volts_max is None else psu_volts_max


def supply_range(accepted_v: tuple[float, ...]) -> str:
    """Voltage range that the supplies of a server accept, as text.

    supply_range = lowest to highest

    Component: server
    Args:
        accepted_v: lowest and highest nominal voltage [V].
    Returns:
        text

    >>> supply_range((200, 240)), supply_range((0, 250))
    ('200 V to 240 V', 'at most 250 V')

    Source: definition.
    """
    low, high = (units.human(volts, "v") for volts in accepted_v)
    return f"{low} to {high}" if accepted_v[0] else f"at most {high}"


def unsuitable_v(
    accepted_v: tuple[float, ...],
    cords: Mapping[str, str] | None,
    feed_names: tuple[str, ...],
    each_supply_v: tuple[float, ...],
    each_feed_voltage_v: tuple[float, ...],
) -> float | None:
    """Voltage at an outlet that the supplies of a server do not accept; none if all are suitable.

    unsuitable_v = V at the outlet where neither it nor the voltage between lines lies from 0.9 · least to 1.1 · most

    Component: server
    Args:
        accepted_v: lowest and highest nominal voltage [V]. cords: of one server by feed, None where they are not stated.
        feed_names: of the rack.
        each_supply_v, each_feed_voltage_v: at the outlets and as stated, of every feed in the same order [V].
    Returns:
        [V]
    Validity: supplies take 10 % below and above their nominal range. Where no cords are stated a feed that does not suit may
        be there for another server, and nothing is said while one does.

    >>> unsuitable_v((200, 240), {"A": 1}, ("A",), (277.0,), (480.0,))
    277.0
    >>> unsuitable_v((200, 240), None, ("A", "B"), (240.0, 120.0), (415.0, 120.0))

    Source: IEC 60038:2009, clause 3.1 (230 V ± 10 %); ANSI C84.1-2020 (277/480 V).
    """
    low, high = accepted_v[0] * (1 - TOLERANCE), accepted_v[-1] * (1 + TOLERANCE)
    used = feed_names if cords is None else _feeds_with_cords(cords)
    unsuitable = []
    for name, at_outlet, stated in zip(feed_names, each_supply_v, each_feed_voltage_v, strict=True):
        seen = (at_outlet,) if low == 0 else (at_outlet, stated, stated / math.sqrt(PHASES))
        if name in used and not any(low <= volts <= high for volts in seen):
            unsuitable.append(at_outlet)
    every = cords is not None or len(unsuitable) == len(feed_names)
    return unsuitable[0] if unsuitable and every else None


def _feeds_with_cords(cords: Mapping[str, str]) -> tuple[str, ...]:
    return tuple(feed for feed, count in _feed_loads.parse_counts(cords, "cords").items() if count)


def least_supply_v(
    cords: Mapping[str, str] | None, feed_names: tuple[str, ...], each_supply_v: tuple[float, ...]
) -> float | None:
    """Lowest voltage that a supply of a server may get; none if its rack has no feed.

    least_supply_v = min(supply_v) of the feeds with a cord; max(supply_v) where no cords are stated

    Component: server
    Args:
        cords: of one server by feed, None where they are not stated. feed_names: of the rack.
        each_supply_v: at the outlets of every feed, in the same order [V].
    Returns:
        [V]
    Validity: without cords a feed of a lower voltage may be there for another server.

    >>> least_supply_v(None, ("A", "U"), (208.0, 120.0)), least_supply_v({"U": 1}, ("A", "U"), (208.0, 120.0))
    (208.0, 120.0)

    Source: definition.
    """
    if cords is None:
        return max(each_supply_v, default=None)
    used = _feeds_with_cords(cords)
    return min((v for name, v in zip(feed_names, each_supply_v, strict=True) if name in used), default=None)
