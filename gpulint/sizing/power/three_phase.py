"""Phases: what the most loaded line of a three-phase feed carries when single-phase supplies are
spread over it.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence

from gpulint.sizing.power import _feed_loads
from gpulint.sizing.power._feed_loads import Draw, Draws
from gpulint.sizing.power.circuits import LINE_TO_LINE_MOST_V, PHASES

SUPPLIES_MAX = 1_000
"""More supplies than this are spread evenly over the phases, as one by one they would be."""


def feed_line_a(
    feed_name: str,
    feed_phases: int,
    line_voltage_v: float,
    supply_power_factor: float,
    known_feed_draws: Draws,
) -> float:
    """Minimum current of the most loaded line of a feed, over all ways to spread its supplies.

    feed_line_a = max(Σ W / √3, most of a group on its own) / (V · power factor); between lines √(a² + b² + ab) of two neighbours

    Component: feed
    Args:
        feed_name: of the feed. feed_phases: 1 or 3. line_voltage_v: between lines [V]. supply_power_factor: ratio.
        known_feed_draws: of the groups of servers of the rack that are known.
    Returns:
        [A]
    Validity: a lower bound: whole supplies of a group are spread as evenly as they go, and groups fill each other's gaps.

    >>> servers = ((Draw("A", 4000.0, 4.0),),)
    >>> round(feed_line_a("A", 3, 400, 1.0, servers), 2), round(feed_line_a("A", 3, 208, 1.0, servers), 2)
    (8.66, 12.72)
    >>> feed_line_a("A", 1, 200, 1.0, servers)
    20.0

    Source: Server Technology, How do I calculate power from 3-phase LED readings, 2010 (law of cosines); Hsu, How to Calculate
        Current on a 3-phase, 208V Rack PDU, Raritan 2011.
    """
    return _line_a(
        _feed_loads.find_draws(feed_name, known_feed_draws), feed_phases, line_voltage_v, supply_power_factor
    )


def feed_failover_line_a(
    feed_name: str,
    feed_names: tuple[str, ...],
    failing_sides: tuple[str, ...],
    feed_phases: int,
    line_voltage_v: float,
    supply_power_factor: float,
    known_feed_draws: Draws,
) -> float:
    """Minimum current of the most loaded line of a feed after the worst loss of another side.

    feed_failover_line_a = max over sides s of feed_line_a without s

    Component: feed
    Args:
        feed_name: of the feed. feed_names, failing_sides: of all feeds of the rack, in the same order. feed_phases: 1 or 3.
        line_voltage_v: between lines [V]. supply_power_factor: ratio.
        known_feed_draws: of the groups of servers of the rack that are known.
    Returns:
        [A]

    >>> servers = ((Draw("A", 2000.0, 4.0), Draw("B", 2000.0, 4.0)),)
    >>> round(feed_failover_line_a("A", ("A", "B"), ("A", "B"), 3, 400, 1.0, servers), 2)
    8.66

    Source: as feed_line_a.
    """
    lost = _feed_loads.redistribute_losses(feed_name, feed_names, failing_sides, known_feed_draws)
    cases = [_feed_loads.find_draws(feed_name, draws_of_case) for draws_of_case in (known_feed_draws, *lost.values())]
    return max(_line_a(draws_on_feed, feed_phases, line_voltage_v, supply_power_factor) for draws_on_feed in cases)


def _line_a(feed_draws: Sequence[Draw], phases: int, line_v: float, power_factor: float) -> float:
    total = sum(draw.draw_w for draw in feed_draws)
    if phases != PHASES:
        return total / line_v / power_factor
    alone = (_most_loaded_va(_spread([draw]), line_v) for draw in feed_draws if draw.supplies)
    return max([total / math.sqrt(PHASES), *alone]) / line_v / power_factor


def feed_line_share(feed_line_a: float, feed_usable_a: float) -> float:
    """Minimum load of the most loaded line as a share of its limit.

    feed_line_share = feed_line_a / feed_usable_a

    Component: feed
    Args:
        feed_line_a: of the most loaded line [A]. feed_usable_a: per line [A].
    Returns:
        [ratio]

    >>> feed_line_share(24.0, 48.0)
    0.5

    Source: definition.
    """
    return feed_line_a / feed_usable_a


def feed_lines_a(
    feed_name: str,
    feed_phases: int,
    line_voltage_v: float,
    supply_power_factor: float,
    each_feed_draws: Draws,
) -> tuple[float, ...]:
    """Current of each line of a feed, with its supplies spread over the phases as evenly as can be.

    feed_lines_a = W of a phase · √3 / V / power factor above 250 V; √(a² + b² + ab) of two neighbours / V / power factor

    Component: feed
    Args:
        feed_name: of the feed. feed_phases: 1 or 3. line_voltage_v: between lines [V]. supply_power_factor: ratio.
        each_feed_draws: of every group of servers of the rack.
    Returns:
        [A]
    Validity: the largest supplies are placed first, each on the phase that carries least.

    >>> four = ((Draw("A", 4000.0, 4.0),),)
    >>> [round(one, 2) for one in feed_lines_a("A", 3, 400, 1.0, four)], feed_lines_a("A", 1, 200, 1.0, four)
    ([8.66, 4.33, 4.33], (20.0,))

    Source: as feed_line_a.
    """
    feed_draws = _feed_loads.find_draws(feed_name, each_feed_draws)
    if feed_phases != PHASES:
        return (sum(draw.draw_w for draw in feed_draws) / line_voltage_v / supply_power_factor,)
    if any(draw.supplies is None or draw.supplies != int(draw.supplies) for draw in feed_draws):
        raise LookupError("the number of a server's supplies on this feed is not known")
    return tuple(line / line_voltage_v / supply_power_factor for line in _lines_va(_spread(feed_draws), line_voltage_v))


def phase_imbalance(feed_lines_a: tuple[float, ...]) -> float:
    """Largest deviation of a line of a feed from the average of its lines.

    phase_imbalance = max |I − average| / average

    Component: feed
    Args:
        feed_lines_a: of each line [A].
    Returns:
        [ratio]
    Validity: 0 of a single phase, and of a feed that carries nothing.

    >>> phase_imbalance((45.0, 38.0, 52.0)), phase_imbalance((20.0,))
    (0.15555555555555556, 0.0)

    Source: Raritan PX3/PXE online help, Unbalanced Current Calculation.
    """
    average = sum(feed_lines_a) / len(feed_lines_a)
    return max(abs(line - average) for line in feed_lines_a) / average if average else 0.0


def _spread(feed_draws: Iterable[Draw]) -> list[float]:
    """Return the watts on each of three phases. Supplies are placed one by one, the largest first,
    on the least loaded phase.
    """
    phases = [0.0] * PHASES
    for draw in sorted(feed_draws, key=lambda item: -item.draw_w / (item.supplies or math.inf)):
        if not draw.supplies or draw.supplies > SUPPLIES_MAX:
            phases = [watts + draw.draw_w / PHASES for watts in phases]
            continue
        for _ in range(int(draw.supplies)):
            phases[phases.index(min(phases))] += draw.draw_w / draw.supplies
    return phases


def _most_loaded_va(phases: Sequence[float], line_v: float) -> float:
    return max(_lines_va(phases, line_v))


def _lines_va(phases: Sequence[float], line_v: float) -> list[float]:
    """Return each line's volt-amperes over the line voltage, for watts on each phase."""
    if line_v > LINE_TO_LINE_MOST_V:
        return [phase_w * math.sqrt(PHASES) for phase_w in phases]
    neighbours = zip(phases, [*phases[1:], phases[0]], strict=True)
    return [math.sqrt(phase_w**2 + next_w**2 + phase_w * next_w) for phase_w, next_w in neighbours]
