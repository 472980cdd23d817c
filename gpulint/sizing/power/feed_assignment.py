"""Cords: which feeds power the servers and switches of a rack, and what each feed carries."""

from __future__ import annotations

from collections.abc import Mapping

from gpulint.catalog.errors import MissingInput
from gpulint.catalog.hardware import outlets
from gpulint.sizing.power import _feed_loads
from gpulint.sizing.power._feed_loads import Draw, Draws

WHOLE = frozenset({"busbar", "three-phase"})
"""Inlets that load the three phases of a feed alike."""
ONE_PHASE_MOST_W = 4000
"""Up to here a supply of any make has one phase: 16 A at 240 V."""


def cords_stated(each_cords: tuple[Mapping[str, str] | None, ...]) -> bool:
    """Whether the cords of every server group of a rack are declared.

    cords_stated = cords of every group ≠ None

    Component: rack
    Args:
        each_cords: of every group of servers.
    Returns:
        flag

    >>> cords_stated(({"A": "3", "B": "3"},)), cords_stated((None,)), cords_stated(())
    (True, False, False)

    Source: definition.
    """
    return bool(each_cords) and None not in each_cords


def cord_shares(cords: Mapping[str, str] | None, feed_names: tuple[str, ...]) -> Mapping[str, float]:
    """Share of a server's power that each feed of its rack carries while all feeds are up.

    share = cords on the feed / cords; 1 / feeds where no cords are stated

    Component: server
    Args:
        cords: of one server by feed, None where they are not stated. feed_names: of the rack.
    Returns:
        [ratio] by feed
    Validity: supplies share a load evenly; one that sleeps while others carry it is not in it.

    >>> cord_shares(None, ("A", "B")), cord_shares({"A": 4, "B": 2}, ("A", "B"))["A"]
    ({'A': 0.5, 'B': 0.5}, 0.6666666666666666)

    Source: NVIDIA DGX H100/H200 User Guide, section 1.1.3: the load is balanced over the supplies.
    """
    if not feed_names:
        return {}
    if len({*feed_names}) < len(feed_names):
        raise MissingInput("feed_name")
    if cords is None:
        return dict.fromkeys(feed_names, 1 / len(feed_names))
    plugged = _feed_loads.parse_counts(cords, "cords")
    total = sum(plugged.values())
    if not total:
        raise MissingInput("cords")
    return {feed: count / total for feed, count in plugged.items()}


def feed_draws(
    server_group_w: float,
    cord_shares: Mapping[str, float],
    servers: int,
    psus: int | None = None,
    psu_inlet: str | None = None,
    cords: Mapping[str, str] | None = None,
) -> tuple[Draw, ...]:
    """Power that a group of servers draws from each feed, and its single-phase supplies there.

    draw_w = server_group_w · share; supplies = servers · psus · share

    Component: server
    Args:
        server_group_w: of all servers of the group [W]. cord_shares: ratio by feed. servers: count.
        psus: of one server. psu_inlet: of a supply; a busbar feeds all three phases equally and has no inlet.
        cords: of one server by feed; if none are stated, a single supply uses some feed and moves to no other.
    Returns:
        by feed
    Validity: supplies of one server whose inlet is not known are counted where each gives so little that it has one phase;
        shelves of tens of kilowatts have three.

    >>> feed_draws(10200, {"A": 0.5, "B": 0.5}, 1, 6)[0]
    Draw(feed='A', draw_w=5100.0, supplies=3.0, moves=True)
    >>> feed_draws(132000, {"A": 1.0}, 1, 8)[0]
    Draw(feed='A', draw_w=132000.0, supplies=None, moves=True)

    Source: definition; IEC 60320-1:2021: no inlet beyond 16 A (20 A in North America), all of a single phase.
    """
    count = _single_phase(server_group_w, servers, psus, psu_inlet)
    moves = psus != 1 or cords is not None
    return tuple(
        Draw(feed, server_group_w * share, None if count is None else count * share, moves)
        for feed, share in cord_shares.items()
    )


def _single_phase(group_w: float, servers: int, psus: int | None, inlet: str | None) -> float | None:
    """Return the supplies of a group that use one phase each; None if this is unknown."""
    if inlet in WHOLE or not servers:
        return 0
    if psus is None or (not psus and group_w):
        return None
    small = group_w / servers / psus <= ONE_PHASE_MOST_W
    return servers * psus if small or outlets.find_rating(inlet or "") else None


def switch_draws(switch_w: float, feed_names: tuple[str, ...]) -> tuple[Draw, ...]:
    """Power that a switch draws from each feed of its rack.

    draw_w = switch_w / feeds

    Component: switch
    Args:
        switch_w: of the switch, 0 where it is not stated [W]. feed_names: of the rack.
    Returns:
        by feed
    Validity: spread over the feeds and their phases evenly.

    >>> switch_draws(1700.0, ("A", "B"))[1]
    Draw(feed='B', draw_w=850.0, supplies=0, moves=True)

    Source: definition.
    """
    return tuple(Draw(feed, switch_w / len(feed_names), 0) for feed in feed_names) if switch_w else ()


def each_feed_draws(each_server_draws: Draws, each_switch_draws: Draws) -> Draws:
    """Power that each server group and each switch of a rack draws from each feed.

    each_feed_draws = each_server_draws, each_switch_draws

    Component: rack
    Args:
        each_server_draws: of every group of servers. each_switch_draws: of every switch.
    Returns:
        by group

    >>> each_feed_draws(((Draw("A", 5.0, 1),),), ()) == ((Draw("A", 5.0, 1),),)
    True

    Source: definition.
    """
    return (*each_server_draws, *each_switch_draws)


def known_feed_draws(known_server_draws: Draws, each_switch_draws: Draws) -> Draws:
    """Power that each server group of known power and each switch draws from each feed.

    known_feed_draws = known_server_draws, each_switch_draws

    Component: rack
    Args:
        known_server_draws: of the groups of servers that are known. each_switch_draws: of every switch.
    Returns:
        by group

    >>> known_feed_draws((), ((Draw("A", 5.0, 0),),)) == ((Draw("A", 5.0, 0),),)
    True

    Source: definition.
    """
    return (*known_server_draws, *each_switch_draws)


def feed_load_w(feed_name: str, each_feed_draws: Draws) -> float:
    """Power that a feed carries while all feeds of its rack are up.

    feed_load_w = Σ draw_w

    Component: feed
    Args:
        feed_name: of the feed. each_feed_draws: of every group of servers of the rack.
    Returns:
        [W]

    >>> feed_load_w("A", ((Draw("A", 5100.0, 3.0), Draw("B", 5100.0, 3.0)),))
    5100.0

    Source: definition.
    """
    return _feed_loads.sum_load_w(feed_name, each_feed_draws)


def feed_load_va(feed_load_w: float, supply_power_factor: float) -> float:
    """Apparent power that a feed carries while all feeds of its rack are up.

    feed_load_va = feed_load_w / supply_power_factor

    Component: feed
    Args:
        feed_load_w: of the feed [W]. supply_power_factor: ratio.
    Returns:
        [VA]

    >>> feed_load_va(5100.0, 1.0)
    5100.0

    Source: definition.
    """
    return feed_load_w / supply_power_factor


def least_feed_load_va(feed_name: str, known_feed_draws: Draws, supply_power_factor: float) -> float:
    """Apparent power that a feed carries for the servers of known power: a lower bound.

    least_feed_load_va = Σ draw_w / supply_power_factor

    Component: feed
    Args:
        feed_name: of the feed. known_feed_draws: of the groups of servers that are known. supply_power_factor: ratio.
    Returns:
        [VA]

    >>> least_feed_load_va("B", ((Draw("A", 5100.0, 3.0),),), 1.0)
    0.0

    Source: definition.
    """
    return _feed_loads.sum_load_w(feed_name, known_feed_draws) / supply_power_factor


def corded_draws(feed_draws: tuple[Draw, ...], cords: Mapping[str, str] | None) -> tuple[Draw, ...]:
    """Power that a group of servers draws from each feed, if its cords are declared.

    corded_draws = feed_draws; none where no cords are stated

    Component: server
    Args:
        feed_draws: of the group. cords: of one server by feed, None where they are not stated.
    Returns:
        by feed

    >>> corded_draws((Draw("A", 5.0, 1),), None)
    ()

    Source: definition.
    """
    return () if cords is None else feed_draws


def corded_feed_va(
    feed_name: str, known_corded_draws: Draws, each_switch_draws: Draws, supply_power_factor: float
) -> float:
    """Apparent power that a feed carries for switches, and servers of known power and cords.

    corded_feed_va = Σ draw_w / supply_power_factor

    Component: feed
    Args:
        feed_name: of the feed. known_corded_draws: of the groups of servers whose power and cords are known.
        each_switch_draws: of every switch. supply_power_factor: ratio.
    Returns:
        [VA]

    >>> corded_feed_va("A", ((Draw("A", 5100.0, 3.0),),), (), 1.0)
    5100.0

    Source: definition.
    """
    return _feed_loads.sum_load_w(feed_name, (*known_corded_draws, *each_switch_draws)) / supply_power_factor


def plugged_supplies(psus: int, cords: Mapping[str, str] | None) -> float:
    """Power supplies of one server that have a cord.

    plugged_supplies = Σ cords, at most psus

    Component: server
    Args:
        psus: of one server. cords: of one server by feed, None where they are not stated.
    Returns:
        count

    >>> plugged_supplies(6, None), plugged_supplies(6, {"A": 2, "B": 2})
    (6, 4.0)

    Source: definition.
    """
    return psus if cords is None else min(psus, corded_supplies(cords))


def corded_supplies(cords: Mapping[str, str] | None) -> float:
    """Declared cords of one server.

    corded_supplies = Σ cords

    Component: server
    Args:
        cords: of one server by feed, None where they are not stated.
    Returns:
        count

    >>> corded_supplies({"A": 4, "B": 3}), corded_supplies(None)
    (7.0, 0.0)

    Source: definition.
    """
    return sum(_feed_loads.parse_counts(cords, "cords").values(), 0.0)


def unknown_feeds(cords: Mapping[str, str] | None, feed_names: tuple[str, ...]) -> tuple[str, ...]:
    """Feeds that cords name but the rack does not have.

    unknown_feeds = cords − feed_names

    Component: server
    Args:
        cords: of one server by feed, None where they are not stated. feed_names: of the rack.
    Returns:
        names

    >>> unknown_feeds({"A": 3, "C": 3}, ("A", "B"))
    ('C',)

    Source: definition.
    """
    return tuple(feed for feed in cords or {} if feed not in feed_names)


def feeds(feed_names: tuple[str, ...]) -> int:
    """Feeds of a rack.

    feeds = |feed_names|

    Component: rack
    Args:
        feed_names: of the rack.
    Returns:
        count

    >>> feeds(("A", "B"))
    2

    Source: definition.
    """
    return len(feed_names)
