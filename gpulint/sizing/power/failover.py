"""Failover: which feeds fail together, and what circuits and supplies have left after the worst
loss.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence

from gpulint.catalog.errors import MissingInput
from gpulint.sizing.power import _feed_loads
from gpulint.sizing.power._feed_loads import Draws

REDUNDANT = ("N+1", "2N")


def failing_side(feed_side: str | None, feed_name: str) -> str:
    """Side that a feed fails with: the declared side, or the feed itself if none is declared.

    failing_side = feed_side, else feed_name

    Component: feed
    Args:
        feed_side: as stated. feed_name: of the feed.
    Returns:
        name

    >>> failing_side("A", "A2"), failing_side(None, "B")
    ('A', 'B')

    Source: definition.
    """
    return feed_name if feed_side is None else feed_side


def sides_count(failing_sides: tuple[str, ...]) -> int:
    """Number of power sides of a rack that fail independently.

    sides_count = |failing_sides|

    Component: rack
    Args:
        failing_sides: of every feed, what fails together.
    Returns:
        count

    >>> sides_count(("A", "A", "B"))
    2

    Source: definition.
    """
    return len({*failing_sides})


def is_redundant(redundancy: str | None) -> bool:
    """Whether a rack must survive the loss of a power side.

    is_redundant = redundancy is N+1 or 2N

    Component: rack
    Args:
        redundancy: N, N+1 or 2N, None where nothing is promised.
    Returns:
        flag

    >>> is_redundant("2N"), is_redundant("N")
    (True, False)

    Source: definition.
    """
    return redundancy in REDUNDANT


def survivors_va(
    known_feed_draws: Draws,
    feed_names: tuple[str, ...],
    failing_sides: tuple[str, ...],
    each_feed_usable_va: tuple[float, ...],
    redundancy: str | None,
) -> float | None:
    """Apparent power available to a rack after its worst loss of a side.
    It is None if the rack promises no redundancy.

    survivors_va = Σ feed_usable_va of the other sides; with 2N also half of Σ feed_usable_va, whatever fails

    Component: rack
    Args:
        known_feed_draws: of the groups of servers that are known. feed_names, failing_sides, each_feed_usable_va: of all feeds
        of the rack, in the same order [VA]. redundancy: N, N+1 or 2N.
    Returns:
        [VA]
    Validity: 80 % counts after a failure too, since repair takes longer than three hours; a rack that promises no redundancy,
        and one with a single side, has none to evaluate. The loss that it bears least is that after which the most of what is
        left is taken.

    >>> even = ((_feed_loads.Draw("A", 5.0, 3.0), _feed_loads.Draw("B", 5.0, 3.0)),)
    >>> survivors_va(even, ("A", "B"), ("A", "B"), (17293.0, 8646.0), "2N")
    8646.0

    Source: Uptime Institute, Tier Standard: Topology, 2018 (N+1, 2N); NFPA 70 (NEC) 2023, 215.3.
    """
    worst = _find_worst_loss(known_feed_draws, feed_names, failing_sides, each_feed_usable_va, redundancy)
    return worst[1] if worst else None


def least_surviving_va(
    known_feed_draws: Draws,
    feed_names: tuple[str, ...],
    failing_sides: tuple[str, ...],
    each_feed_usable_va: tuple[float, ...],
    redundancy: str | None,
    supply_power_factor: float,
) -> float:
    """Apparent power of the servers of known power that keep running after a rack's worst loss.
    It is 0 if the rack promises no redundancy.

    least_surviving_va = Σ draws without that side / supply_power_factor

    Component: rack
    Args:
        known_feed_draws: of the groups of servers that are known. feed_names, failing_sides, each_feed_usable_va: of all feeds
        of the rack, in the same order [VA]. redundancy: N, N+1 or 2N. supply_power_factor: ratio.
    Returns:
        [VA]
    Validity: servers with all cords on one side fail with it and load no other side; single supplies whose cords are not
        stated are left out, because their side is unknown.

    >>> one = ((_feed_loads.Draw("A", 5.0, 1.0),), (_feed_loads.Draw("A", 2.0, 1.0), _feed_loads.Draw("B", 2.0, 1.0)))
    >>> least_surviving_va(one, ("A", "B"), ("A", "B"), (10.0, 5.0), "2N", 1.0)
    9.0

    Source: definition.
    """
    worst = _find_worst_loss(known_feed_draws, feed_names, failing_sides, each_feed_usable_va, redundancy)
    return worst[0] / supply_power_factor if worst else 0.0


def surviving_va(
    each_feed_draws: Draws,
    feed_names: tuple[str, ...],
    failing_sides: tuple[str, ...],
    each_feed_usable_va: tuple[float, ...],
    redundancy: str | None,
    supply_power_factor: float,
) -> float:
    """Apparent power of the servers that keep running after a rack's worst loss.

    surviving_va = Σ draws without that side / supply_power_factor

    Component: rack
    Args:
        each_feed_draws: of every group of servers. feed_names, failing_sides, each_feed_usable_va: of all feeds of the rack, in
        the same order [VA]. redundancy: N, N+1 or 2N. supply_power_factor: ratio.
    Returns:
        [VA]
    Validity: as least_surviving_va.

    >>> surviving_va((), ("A", "B"), ("A", "B"), (10.0, 5.0), "2N", 1.0)
    0.0

    Source: definition.
    """
    return least_surviving_va(
        each_feed_draws, feed_names, failing_sides, each_feed_usable_va, redundancy, supply_power_factor
    )


def _find_worst_loss(
    group_draws: Draws, names: Sequence[str], failing: Sequence[str], usable: Sequence[float], redundancy: str | None
) -> tuple[float, float] | None:
    """Return the watts that keep running after a rack's worst loss, and the volt-amperes available
    for them.
    """
    sides = dict(zip(names, failing, strict=False))
    if redundancy not in REDUNDANT or len({*failing}) < 2:
        return None
    losses = [
        (_remaining_w(group_draws, sides, side), _remaining_va(side, usable, failing))
        for side in dict.fromkeys(failing)
    ]
    if redundancy == "2N":
        losses.append((_two_sided_w(group_draws, sides), sum(usable) / 2))
    return max(losses, key=lambda loss: (_divide_by_remaining(*loss), -loss[1]))


def _divide_by_remaining(load_w: float, left_va: float) -> float:
    """Return the used share of the remaining capacity; infinite if nothing remains."""
    if left_va:
        return load_w / left_va
    return math.inf if load_w else 0.0


def _remaining_w(group_draws: Draws, sides: Mapping[str, str], lost: str) -> float:
    """Return the watts on the remaining feeds of a rack after the loss of a side, for loads with
    known cords.
    """
    after = (draw for group in group_draws for draw in _feed_loads.redistribute(group, sides, lost))
    return sum(draw.draw_w for draw in after if draw.moves and draw.feed in sides)


def _two_sided_w(group_draws: Draws, sides: Mapping[str, str]) -> float:
    """Return the watts of the groups with cords on more than one side of a rack."""
    groups = ([draw for draw in group if draw.moves and draw.feed in sides and draw.draw_w] for group in group_draws)
    return sum(draw.draw_w for group in groups if len({sides[draw.feed] for draw in group}) > 1 for draw in group)


def _remaining_va(lost: str, usable: Sequence[float], failing: Sequence[str]) -> float:
    return sum(va for va, side in zip(usable, failing, strict=True) if side != lost)


def feed_failover_va(
    feed_name: str,
    feed_names: tuple[str, ...],
    failing_sides: tuple[str, ...],
    known_feed_draws: Draws,
    supply_power_factor: float,
) -> float:
    """Apparent power that a feed carries after the worst loss of another side.

    feed_failover_va = max over sides s of Σ draws without s / supply_power_factor

    Component: feed
    Args:
        feed_name: of the feed. feed_names, failing_sides: of all feeds of the rack, in the same order.
        known_feed_draws: of the groups of servers that are known. supply_power_factor: ratio.
    Returns:
        [VA]
    Validity: the supplies that are left take over the load of the others evenly; a server that has lost all of its supplies
        draws nothing.

    >>> half = ((_feed_loads.Draw("A", 5100.0, 3.0), _feed_loads.Draw("B", 5100.0, 3.0)),)
    >>> feed_failover_va("A", ("A", "B"), ("A", "B"), half, 1.0)
    10200.0

    Source: definition.
    """
    lost = _feed_loads.redistribute_losses(feed_name, feed_names, failing_sides, known_feed_draws)
    loads = [_feed_loads.sum_load_w(feed_name, draws_of_case) for draws_of_case in (known_feed_draws, *lost.values())]
    return max(loads) / supply_power_factor


def corded_sides(cords: Mapping[str, str] | None, feed_names: tuple[str, ...], failing_sides: tuple[str, ...]) -> int:
    """Power sides of a rack that the cords of a server reach; 0 if no cords are declared.

    corded_sides = |sides of the feeds with a cord|

    Component: server
    Args:
        cords: of one server by feed, None where they are not stated.
        feed_names, failing_sides: of all feeds of the rack, in the same order.
    Returns:
        count

    >>> corded_sides({"A": 1, "B": 1}, ("A", "B"), ("A", "B")), corded_sides(None, ("A", "B"), ("A", "B"))
    (2, 0)

    Source: definition.
    """
    plugged = _feed_loads.parse_counts(cords, "cords")
    return len({side for feed, side in zip(feed_names, failing_sides, strict=True) if plugged.get(feed)})


def behind_transfer_switch(psus: int, corded_supplies: float, corded_sides: int) -> bool:
    """Whether one supply has cords on several sides, so that a transfer switch selects one.

    behind_transfer_switch = psus is 1 and corded_supplies = corded_sides > 1

    Component: server
    Args:
        psus: of one server. corded_supplies: cords of one server. corded_sides: that they reach.
    Returns:
        flag

    >>> behind_transfer_switch(1, 2, 2), behind_transfer_switch(1, 12, 2), behind_transfer_switch(2, 2, 2)
    (True, False, False)

    Source: definition.
    """
    return psus == 1 and corded_supplies == corded_sides > 1


def supplies_left(
    psus: int, cords: Mapping[str, str] | None, feed_names: tuple[str, ...], failing_sides: tuple[str, ...]
) -> float | None:
    """Supplies of one server that still have power when its worst side fails.
    It is None if there is at most one side.

    supplies_left = plugged − the most on one side; ⌈psus / sides⌉ on one side where no cords are stated

    Component: server
    Args:
        psus: of one server. cords: of one server by feed, None where they are not stated.
        feed_names, failing_sides: of all feeds of the rack, in the same order.
    Returns:
        count
    Validity: without stated cords the best arrangement is taken, so that it is an upper bound.

    >>> supplies_left(6, None, ("A", "B"), ("A", "B")), supplies_left(6, None, ("A", "B", "C"), ("A", "B", "C"))
    (3, 4)
    >>> supplies_left(6, {"A": 4, "B": 2}, ("A", "B"), ("A", "B"))
    2.0

    Source: definition.
    """
    sides = dict(zip(feed_names, failing_sides, strict=True))
    if len({*failing_sides}) < 2:
        return None
    if cords is None:
        return psus - math.ceil(psus / len({*failing_sides}))
    plugged = _feed_loads.parse_counts(cords, "cords")
    on = [sum(count for feed, count in plugged.items() if sides.get(feed) == side) for side in {*failing_sides}]
    return min(psus, sum(plugged.values())) - max(on)


def supplies_needed(
    server_w: float,
    server_max_w: float | None = None,
    psus_needed: int | None = None,
    psu_w: float | None = None,
    supply_efficiency: float | None = None,
) -> float:
    """Supplies that one server needs for its planned power.

    supplies_needed = psus_needed at its maximum; below it at most ⌈server_w · supply_efficiency / psu_w⌉

    Component: server
    Args:
        server_w: planned maximum of one [W]. server_max_w: published maximum of one [W].
        psus_needed: for full load, as published. psu_w: what one supply gives [W]. supply_efficiency: ratio (assumed).
    Returns:
        count
    Validity: a server that is capped or was measured below its maximum needs fewer.

    >>> supplies_needed(10200, 10200, 4, 3300, 0.94), supplies_needed(8000, 10200, 4, 3300, 0.94)
    (4, 3)

    Source: NVIDIA DGX H100/H200 User Guide, section 1.1.3 (4 of 6 supplies); definition.
    """
    by_rating = math.ceil(server_w * supply_efficiency / psu_w) if psu_w and supply_efficiency else None
    if psus_needed is None and by_rating is None:
        raise MissingInput("psus_needed")
    if by_rating is None or (psus_needed is not None and server_max_w is not None and server_w >= server_max_w):
        return psus_needed or 0
    return by_rating if psus_needed is None else min(by_rating, psus_needed)
