"""Circuits: the continuous load that a breaker allows, and the load of a rack's servers and
switches.
"""

from __future__ import annotations

import math

from gpulint.catalog.errors import MissingInput

AMERICAN_VOLTS = (120, 208, 277, 347, 480, 600)
"""Nominal voltages of systems that the National Electrical Code and its Canadian and Mexican kin govern, and no other."""
IEC_VOLTS = (220, 230, 380, 400)
"""Nominal voltages of IEC 60038 that no American system has."""
PER_LEG_VOLTS = (120, 127, 220, 230, 240, 277)
"""Voltages to neutral of the usual three-phase systems; between lines they are rare (230 V in Norway, 240 V delta)."""
WYE_V = 220
"""Between lines of 127/220 V, which Brazil and its neighbours have."""
LINE_TO_LINE_MOST_V = 250
"""Up to this voltage between lines single-phase supplies of a three-phase feed hang between two lines, above it on a neutral."""
DERATED = {12: 15, 16: 20, 24: 30, 48: 60}
"""Four fifths of a standard rating that are no standard ratings themselves (NEC 240.6(A)), by the rating."""
LEAST_SHARE = 0.5
"""A smaller share of a breaker is what somebody takes off it."""
PHASES = 3


def governing_code(feed_voltage_v: float, electrical_code: str | None) -> str:
    """Electrical code that applies to a circuit: as declared, or inferred from its nominal voltage.

    governing_code = electrical_code; NEC at 120, 208, 277, 347, 480, 600 V; IEC at 220, 230, 380, 400 V

    Component: feed panel
    Args:
        feed_voltage_v: nominal, between lines where there are three phases [V]. electrical_code: NEC or IEC as stated.
    Returns:
        NEC or IEC
    Validity: 240 and 415 V are in use under both, and tell nothing; the code is then to be stated.

    >>> governing_code(208, None), governing_code(400, None), governing_code(415, "NEC")
    ('NEC', 'IEC', 'NEC')

    Source: ANSI C84.1-2020, table 1; IEC 60038:2009, table 1.
    """
    if electrical_code is not None:
        return electrical_code
    if feed_voltage_v in AMERICAN_VOLTS:
        return "NEC"
    if feed_voltage_v in IEC_VOLTS:
        return "IEC"
    raise LookupError(f"{feed_voltage_v:g} V is used under more than one electrical code")


def line_voltage_v(feed_voltage_v: float, feed_phases: int, feed_wiring: str | None) -> float:
    """Voltage between the lines of a feed, or between its two wires if it has one phase.

    line_voltage_v = feed_voltage_v

    Component: feed panel
    Args:
        feed_voltage_v: as stated [V]. feed_phases: 1 or 3. feed_wiring: delta where that is stated.
    Returns:
        [V]
    Validity: it is unknown whether 120, 127, 220, 230, 240 or 277 V of a three-phase feed is the voltage between
        lines or that to neutral, unless the feed is declared as wired in delta.

    >>> line_voltage_v(208, 3, None), line_voltage_v(230, 1, None), line_voltage_v(240, 3, "delta")
    (208, 230, 240)

    Source: IEC 60038:2009, table 1: 230/400 V is the voltage to neutral and between lines.
    """
    if not feed_voltage_v:
        raise MissingInput("feed_voltage_v")
    if is_voltage_per_leg(feed_voltage_v, feed_phases, feed_wiring):
        raise LookupError(f"{feed_voltage_v:g} V may be the voltage to neutral of a three-phase feed")
    return feed_voltage_v


def is_voltage_per_leg(feed_voltage_v: float, feed_phases: int, feed_wiring: str | None) -> bool:
    """Whether a three-phase feed declares what is usually the line-to-neutral voltage.

    is_voltage_per_leg = feed_phases is 3; 120, 127, 220, 230, 240 or 277 V; not wired in delta, nor in wye at 220 V

    Component: feed panel
    Args:
        feed_voltage_v: as stated [V]. feed_phases: 1 or 3. feed_wiring: delta where that is stated.
    Returns:
        flag

    >>> is_voltage_per_leg(230, 3, None), is_voltage_per_leg(400, 3, None), is_voltage_per_leg(230, 1, None)
    (True, False, False)

    Source: IEC 60038:2009, table 1; ANSI C84.1-2020, table 1.
    """
    between_lines = feed_wiring == "delta" or (feed_wiring == "wye" and feed_voltage_v == WYE_V)
    return feed_phases == PHASES and feed_voltage_v in PER_LEG_VOLTS and not between_lines


def supply_v(feed_voltage_v: float, feed_phases: int, feed_wiring: str | None) -> float:
    """Voltage that a single-phase power supply gets at an outlet of a feed.

    supply_v = line_voltage_v up to 250 V, line_voltage_v / √3 above it

    Component: feed panel
    Args:
        feed_voltage_v: as stated [V]. feed_phases: 1 or 3. feed_wiring: delta where that is stated.
    Returns:
        [V]
    Validity: outlets of 208 V three-phase units are wired between two lines, those of 400, 415 and 480 V to neutral; a voltage
        that is stated per leg is that of the outlet already.

    >>> supply_v(208, 3, None), round(supply_v(415, 3, None)), round(supply_v(480, 3, None)), supply_v(230, 1, None)
    (208, 240, 277, 230)

    Source: Hsu, How to Calculate Current on a 3-phase, 208V Rack PDU, Raritan 2011; ANSI C84.1-2020, table 1.
    """
    if not feed_voltage_v:
        raise MissingInput("feed_voltage_v")
    if feed_phases != PHASES or feed_voltage_v <= LINE_TO_LINE_MOST_V or feed_wiring == "delta":
        return feed_voltage_v
    return feed_voltage_v / math.sqrt(PHASES)


def continuous_share(
    breaker_continuous_share: float | None, continuous_load_ratio: float, governing_code: str | None = None
) -> float:
    """Share of a breaker's rating that may be drawn for three hours or longer.

    continuous_share = breaker_continuous_share; 1 / 1.25 under the NEC, 1 under IEC; else 1 / continuous_load_ratio

    Component: feed panel
    Args:
        breaker_continuous_share: as stated (ratio). continuous_load_ratio: where the code is not known (ratio, assumed).
        governing_code: NEC or IEC.
    Returns:
        [ratio]
    Validity: a breaker that is listed for continuous use at 100 % of its rating says so with `derating: 1`. IEC asks that the
        load stay within the rating; what a crowded panel takes off is its maker's to say, and is stated as `derating`.

    >>> continuous_share(None, 1.25, "NEC"), continuous_share(None, 1.25, "IEC"), continuous_share(1.0, 1.25, "NEC")
    (0.8, 1.0, 1.0)

    Source: NFPA 70 (NEC) 2023, 210.20(A) and 215.3: 125 % of the continuous load; exception for 100 % rated assemblies;
        article 100: continuous is three hours or more. IEC 60364-4-43:2008, 433.1: design current ≤ rated current.
    """
    if breaker_continuous_share is not None and not LEAST_SHARE <= breaker_continuous_share <= 1:
        raise LookupError("derating is the share of the rating that may be drawn all day, such as 0.8 or 80 %")
    if breaker_continuous_share is not None:
        return breaker_continuous_share
    return {"NEC": 0.8, "IEC": 1.0}.get(governing_code or "", 1 / continuous_load_ratio)


def is_breaker_derated(breaker_a: float, governing_code: str | None = None) -> bool:
    """Whether the declared breaker rating is 80 % of a standard rating, so already derated.

    is_breaker_derated = breaker_a is 12, 16, 24 or 48 A under the NEC

    Component: feed panel
    Args:
        breaker_a: as stated [A]. governing_code: NEC or IEC.
    Returns:
        flag
    Validity: 40 and 80 A are standard ratings as well as four fifths of one, and are taken at their word.

    >>> is_breaker_derated(48, "NEC"), is_breaker_derated(60, "NEC"), is_breaker_derated(16, "IEC")
    (True, False, False)

    Source: NFPA 70 (NEC) 2023, table 240.6(A).
    """
    return governing_code == "NEC" and breaker_a in DERATED


def breaker_usable_a(breaker_a: float, continuous_share: float, governing_code: str | None = None) -> float:
    """Continuous current that a breaker allows.

    breaker_usable_a = breaker_a · continuous_share

    Component: feed panel
    Args:
        breaker_a: rating of the breaker [A]. continuous_share: ratio. governing_code: NEC or IEC.
    Returns:
        [A]
    Validity: if 80 % of a standard rating is declared under the NEC, the meaning is unknown.

    >>> breaker_usable_a(60, 0.8), breaker_usable_a(32, 1.0)
    (48.0, 32.0)

    Source: NFPA 70 (NEC) 2023, 210.20(A), 215.3; IEC 60364-4-43:2008, 433.1.
    """
    if is_breaker_derated(breaker_a, governing_code) and continuous_share < 1:
        raise LookupError(f"{breaker_a:g} A is not a standard breaker rating, but 80 % of one")
    return breaker_a * continuous_share


def feed_usable_a(breaker_usable_a: float, pdu_a: float | None) -> float:
    """Continuous current that each line of a feed may carry.

    feed_usable_a = min(breaker_usable_a, pdu_a)

    Component: feed panel
    Args:
        breaker_usable_a: of the breaker [A]. pdu_a: of the rack's distribution unit per line, as its plate says [A].
    Returns:
        [A]
    Validity: the plate of a distribution unit for North America states the current after the 80 % already, so that it is not
        lowered again.

    >>> feed_usable_a(48.0, None), feed_usable_a(48.0, 24)
    (48.0, 24)

    Source: definition; plates of rack units state a "regulatory derated input current" for North America.
    """
    return breaker_usable_a if pdu_a is None else min(breaker_usable_a, pdu_a)


def feed_usable_va(line_voltage_v: float, feed_phases: int, feed_usable_a: float) -> float:
    """Continuous apparent power that a feed may carry if its lines are loaded equally.

    feed_usable_va = line_voltage_v · feed_usable_a · √3 with three phases, · 1 with one

    Component: feed panel
    Args:
        line_voltage_v: between lines [V]. feed_phases: 1 or 3. feed_usable_a: per line [A].
    Returns:
        [VA]

    >>> round(feed_usable_va(208, 1, 24)), round(feed_usable_va(208, 3, 48)), round(feed_usable_va(415, 3, 48))
    (4992, 17293, 34502)

    Source: definition; HP power basics note prints 17.3 kVA for 208 V, three phases and 60 A at 80 %.
    """
    return line_voltage_v * feed_usable_a * (math.sqrt(PHASES) if feed_phases == PHASES else 1)


def supply_power_factor(power_factor: float | None, va_per_w: float) -> float:
    """Power factor of a rack's power supplies under load.

    supply_power_factor = power_factor; 1 / va_per_w where it is not stated

    Component: panel rack row room site facility
    Args:
        power_factor: as stated (ratio). va_per_w: apparent power for each watt of a supply with correction (assumed) [VA/W].
    Returns:
        ratio

    >>> supply_power_factor(0.95, 1.02), supply_power_factor(None, 1.25)
    (0.95, 0.8)

    Source: definition; ENERGY STAR Computer Servers, table of power factors: at least 0.95 at full load.
    """
    if power_factor is not None and power_factor > 1:
        raise LookupError("a power factor is at most 1")
    return 1 / va_per_w if power_factor is None else power_factor


def load_w(each_server_group_w: tuple[float, ...], each_switch_w: tuple[float, ...]) -> float:
    """Planned maximum power of all servers and switches of a component of the facility.

    load_w = Σ server_group_w + Σ switch_w

    Component: rack row room site facility
    Args:
        each_server_group_w: of every group of servers [W]. each_switch_w: of every switch, 0 where it is not stated [W].
    Returns:
        [W]
    Validity: what is listed; a storage shelf counts where it is listed as a server with its power.

    >>> load_w((40800.0, 1200.0), (1700.0,))
    43700.0

    Source: definition.
    """
    return sum(each_server_group_w) + sum(each_switch_w)


def least_load_w(known_server_group_w: tuple[float, ...], each_switch_w: tuple[float, ...]) -> float:
    """Planned maximum power of those servers and switches whose power is known: a lower bound.

    least_load_w = Σ server_group_w + Σ switch_w

    Component: rack row room site facility
    Args:
        known_server_group_w: of the groups of servers that are known [W]. each_switch_w: of every switch, 0 where it is not
            stated [W].
    Returns:
        [W]

    >>> least_load_w((40800.0,), ())
    40800.0

    Source: definition.
    """
    return sum(known_server_group_w) + sum(each_switch_w)


def load_va(load_w: float, supply_power_factor: float) -> float:
    """Apparent power of all servers of a rack.

    load_va = load_w / supply_power_factor

    Component: rack row room site facility
    Args:
        load_w: of all servers [W]. supply_power_factor: under load (ratio).
    Returns:
        [VA]

    >>> load_va(10200, 1.0), round(load_va(10200, 0.95))
    (10200.0, 10737)

    Source: definition.
    """
    return load_w / supply_power_factor


def least_load_va(least_load_w: float, supply_power_factor: float) -> float:
    """Apparent power of those servers of a rack whose power is known: a lower bound.

    least_load_va = least_load_w / supply_power_factor

    Component: rack row room site facility
    Args:
        least_load_w: of the servers that are known [W]. supply_power_factor: under load (ratio).
    Returns:
        [VA]

    >>> least_load_va(10200, 1.0)
    10200.0

    Source: definition.
    """
    return least_load_w / supply_power_factor


def rack_usable_va(each_feed_usable_va: tuple[float, ...]) -> float | None:
    """Continuous apparent power of all feeds of a rack together.
    It is None if no feed is declared.

    rack_usable_va = Σ feed_usable_va

    Component: rack
    Args:
        each_feed_usable_va: of every feed [VA].
    Returns:
        [VA]
    Validity: an upper bound: supplies share a load by their number, not by the size of their feed.

    >>> rack_usable_va((17293.0, 17293.0)), rack_usable_va(())
    (34586.0, None)

    Source: definition.
    """
    return sum(each_feed_usable_va) if each_feed_usable_va else None
