"""Panels: what floor units, busways and UPS carry for their feeds, in normal operation and after
the loss of a side.
"""

from __future__ import annotations

import math
from collections.abc import Mapping

from gpulint.sizing.power import _feed_loads
from gpulint.sizing.power._feed_loads import Draws

PHASES = 3
NOW = ""
"""The key of what is carried while every side is up."""


def feed_when_lost(
    feed_name: str,
    feed_names: tuple[str, ...],
    failing_sides: tuple[str, ...],
    known_feed_draws: Draws,
    is_redundant: bool,
) -> Mapping[str, float]:
    """Power that a feed carries in normal operation, and when each other side of its rack fails.

    feed_when_lost[s] = Σ draws without s, 0 where it is its own side; feed_when_lost[""] = Σ draws

    Component: feed
    Args:
        feed_name: of the feed. feed_names, failing_sides: of all feeds of the rack, in the same order.
        known_feed_draws: of the groups of servers that are known. is_redundant: the rack must survive the loss of a side.
    Returns:
        [W] by the side that fails
    Validity: what the servers of a rack without redundancy do when a side fails is not counted.

    >>> half = ((_feed_loads.Draw("A", 5.0, 3.0), _feed_loads.Draw("B", 5.0, 3.0)),)
    >>> feed_when_lost("A", ("A", "B"), ("A", "B"), half, True)
    {'': 5.0, 'A': 0.0, 'B': 10.0}

    Source: definition.
    """
    now = {NOW: _feed_loads.sum_load_w(feed_name, known_feed_draws)}
    if not is_redundant:
        return now
    lost = _feed_loads.redistribute_losses(feed_name, feed_names, failing_sides, known_feed_draws)
    own = dict(zip(feed_names, failing_sides, strict=True))[feed_name]
    return now | {own: 0.0} | {side: _feed_loads.sum_load_w(feed_name, each) for side, each in lost.items()}


def panel_when_lost(
    each_feed_when_lost: tuple[Mapping[str, float], ...],
    each_panel_when_lost: tuple[Mapping[str, float], ...],
    load_diversity: float,
) -> Mapping[str, float]:
    """Power that a panel carries in normal operation, and when each side of its racks fails.

    panel_when_lost[s] = load_diversity · Σ over feeds and panels of what each carries without s, or as it is

    Component: panel
    Args:
        each_feed_when_lost: of every feed connected to it [W by side]. each_panel_when_lost: of every panel [W by side].
        load_diversity: largest load of all at once against the sum of their largest (ratio).
    Returns:
        [W] by the side that fails
    Validity: sides of one name fail together, so that a room calls its sides alike in every rack.

    >>> panel_when_lost(({"": 5.0, "A": 10.0}, {"": 5.0, "A": 10.0}), (), 1.0)
    {'': 10.0, 'A': 20.0}

    Source: definition; IEC 60050 691-10-04 (coincidence factor).
    """
    loads = (*each_feed_when_lost, *each_panel_when_lost)
    sides = dict.fromkeys([NOW, *(side for load in loads for side in load)])
    return {side: load_diversity * sum(load.get(side, load[NOW]) for load in loads) for side in sides}


def panel_load_w(
    each_panel_feed_w: tuple[float, ...], each_subpanel_w: tuple[float, ...], load_diversity: float
) -> float:
    """Power that a panel carries for all feeds and panels connected to it.

    panel_load_w = load_diversity · (Σ feed_load_w + Σ panel_load_w)

    Component: panel
    Args:
        each_panel_feed_w: of every feed [W]. each_subpanel_w: of every panel [W].
        load_diversity: largest load of all at once against the sum of their largest (ratio).
    Returns:
        [W]
    Validity: losses of transformers and of the UPS are not in it.

    >>> panel_load_w((5100.0, 5100.0), (), 1.0)
    10200.0

    Source: definition; IEC 60050 691-10-04 (coincidence factor).
    """
    return load_diversity * (sum(each_panel_feed_w) + sum(each_subpanel_w))


def least_panel_load_w(panel_when_lost: Mapping[str, float]) -> float:
    """Power that a panel carries for the servers whose power is known: a lower bound.

    least_panel_load_w = panel_when_lost[""]

    Component: panel
    Args:
        panel_when_lost: of the panel [W by side].
    Returns:
        [W]

    >>> least_panel_load_w({"": 10.0, "A": 20.0})
    10.0

    Source: definition.
    """
    return panel_when_lost[NOW]


def panel_failover_w(panel_when_lost: Mapping[str, float]) -> float:
    """Power that a panel carries after the loss of the side that loads it most.

    panel_failover_w = max over sides of panel_when_lost

    Component: panel
    Args:
        panel_when_lost: of the panel [W by side].
    Returns:
        [W]

    >>> panel_failover_w({"": 10.0, "A": 20.0})
    20.0

    Source: definition.
    """
    return max(panel_when_lost.values())


def panel_capacity_w(
    power_limit_w: float | None,
    supply_power_factor: float,
    breaker_a: float | None = None,
    feed_usable_va: float | None = None,
) -> float | None:
    """Continuous power limit of a panel, from its breaker and its declared limit.
    It is None if neither is declared.

    panel_capacity_w = min(feed_usable_va · supply_power_factor, power_limit_w)

    Component: panel
    Args:
        power_limit_w: as stated [W]. supply_power_factor: ratio. breaker_a: its rating [A]. feed_usable_va: by that [VA].
    Returns:
        [W]
    Validity: unknown where a breaker is stated and its voltage or its phases are not.

    >>> panel_capacity_w(80000, 1.0, 100, 69000.0), panel_capacity_w(None, 1.0)
    (69000.0, None)

    Source: definition.
    """
    if breaker_a is not None and feed_usable_va is None:
        raise LookupError("the capacity of the panel's breaker is not known: state its voltage and phases")
    by_breaker = None if feed_usable_va is None else feed_usable_va * supply_power_factor
    return min((limit_w for limit_w in (by_breaker, power_limit_w) if limit_w is not None), default=None)


def planned_load_w(load_w: float, load_diversity: float) -> float:
    """Power that a component of the facility is planned to draw at once.

    planned_load_w = load_w · load_diversity

    Component: rack row room site facility
    Args:
        load_w: of all servers [W]. load_diversity: largest load of all at once against the sum of their largest (ratio).
    Returns:
        [W]

    >>> planned_load_w(100000, 0.8)
    80000.0

    Source: IEC 60050 691-10-04 (coincidence factor).
    """
    return load_w * load_diversity


def least_planned_load_w(least_load_w: float, load_diversity: float) -> float:
    """Planned simultaneous power of the servers whose power is known: a lower bound.

    least_planned_load_w = least_load_w · load_diversity

    Component: rack row room site facility
    Args:
        least_load_w: of the servers that are known [W].
        load_diversity: largest load of all at once against the sum of their largest (ratio).
    Returns:
        [W]

    >>> least_planned_load_w(100000, 0.8)
    80000.0

    Source: IEC 60050 691-10-04 (coincidence factor).
    """
    return least_load_w * load_diversity


def shared_panel(feed_panels: tuple[str | None, ...], failing_sides: tuple[str, ...]) -> str | None:
    """Panel that feeds more than one side of a rack; none if there is none.

    shared_panel = the first panel with feeds of two sides

    Component: rack
    Args:
        feed_panels, failing_sides: of all feeds of the rack, in the same order.
    Returns:
        name

    >>> shared_panel(("p1", "p1"), ("A", "B")), shared_panel(("p1", "p2"), ("A", "B"))
    ('p1', None)

    Source: definition.
    """
    of: dict[str, str] = {}
    for panel, side in zip(feed_panels, failing_sides, strict=True):
        if panel is not None and of.setdefault(panel, side) != side:
            return panel
    return None


def feed_rating(feed_voltage_v: float, breaker_a: float) -> tuple[float, float]:
    """Voltage of a feed in volts and rating of its breaker in amperes.

    feed_rating = feed_voltage_v, breaker_a

    Component: feed
    Args:
        feed_voltage_v: as stated [V]. breaker_a: its rating [A].
    Returns:
        volts and amperes

    >>> feed_rating(208, 60)
    (208, 60)

    Source: definition.
    """
    return feed_voltage_v, breaker_a


def largest_feed_breaker_a(
    each_feed_rating: tuple[tuple[float, float], ...], feed_voltage_v: float | None = None
) -> float | None:
    """Largest breaker among a panel's feeds at the panel's own voltage, if it is known.

    largest_feed_breaker_a = max(breaker_a) of feeds at feed_voltage_v, between lines or to neutral

    Component: panel
    Args:
        each_feed_rating: voltage and breaker of every feed of which both are known [V, A].
        feed_voltage_v: of the panel, as stated [V].
    Returns:
        [A]
    Validity: amperes before and behind a transformer do not compare; a panel whose voltage is not stated is taken to have none.

    >>> largest_feed_breaker_a(((208, 60), (208, 30)), 208), largest_feed_breaker_a(((208, 60),), 480)
    (60, None)
    >>> largest_feed_breaker_a(((240, 32),), 415), largest_feed_breaker_a(())
    (32, None)

    Source: definition.
    """
    return max((amperes for volts, amperes in each_feed_rating if _is_same_system(volts, feed_voltage_v)), default=None)


def _is_same_system(volts: float, panel_v: float | None) -> bool:
    panel_voltages = () if panel_v is None else (panel_v, panel_v / math.sqrt(PHASES))
    return panel_v is None or any(math.isclose(volts, panel_voltage, rel_tol=0.02) for panel_voltage in panel_voltages)
