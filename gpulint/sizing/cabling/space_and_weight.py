"""Rack space: the units and weight of servers, and their load on the floor."""

from __future__ import annotations


def server_group_units(server_units: float, servers: float) -> float:
    """Rack units that the servers of one kind take.

    server_group_units = server_units · servers

    Component: server
    Args:
        server_units: of one server. servers: of this kind.
    Returns:
        rack units

    >>> server_group_units(8, 4)
    32

    Source: EIA-310-E (1U is 44.45 mm).
    """
    return server_units * servers


def units_used(each_server_group_units: tuple[float, ...]) -> float:
    """Rack units taken by the servers whose height is known.

    units_used = Σ server_group_units

    Component: rack
    Args:
        each_server_group_units: of each kind of server.
    Returns:
        rack units

    >>> units_used((32, 2))
    34

    Source: EIA-310-E.
    """
    return sum(each_server_group_units)


def server_span_u(position_u: float | None, server_units: float) -> tuple[float, ...] | None:
    """Lowest and highest unit of the first server of one kind.

    server_span_u = position_u, position_u + server_units − 1

    Component: server
    Args:
        position_u: lowest unit that it takes, None where it is not stated. server_units: of one server.
    Returns:
        rack units from the floor, None where its position is not stated
    Validity: where a group holds several, only the first one's place is sure.

    >>> server_span_u(17, 8)
    (17, 24)

    Source: EIA-310-E.
    """
    return None if position_u is None else (position_u, position_u + server_units - 1)


def server_top_u(server_span_u: tuple[float, ...] | None) -> float | None:
    """Highest unit of the first server of one kind.

    server_top_u = end of server_span_u

    Component: server
    Args:
        server_span_u: its lowest and its highest unit, None where its position is not stated.
    Returns:
        rack unit from the floor, None where its position is not stated

    >>> server_top_u((41, 48))
    48

    Source: EIA-310-E.
    """
    return server_span_u[1] if server_span_u else None


def units_taken_twice(known_server_span_u: tuple[tuple[float, ...] | None, ...]) -> float:
    """Rack units in which two kinds of server overlap.

    units_taken_twice = units of the overlaps of neighbouring server_span_u

    Component: rack
    Args:
        known_server_span_u: lowest and highest unit of each kind of server, None where its position is not stated.
    Returns:
        rack units

    >>> units_taken_twice(((1, 8), (5, 12), (20, 21))), units_taken_twice(((1, 8), (9, 16)))
    (4, 0)

    Source: definition.
    """
    taken, reach = 0.0, 0.0
    for low, high in sorted(filter(None, known_server_span_u)):
        taken += max(0, min(high, reach) - low + 1) if reach else 0
        reach = max(reach, high)
    return round(taken)


def first_taken_twice_u(known_server_span_u: tuple[tuple[float, ...] | None, ...]) -> float | None:
    """Lowest rack unit in which two kinds of server overlap; none if there is none.

    first_taken_twice_u = least start of a server_span_u that lies within one below it

    Component: rack
    Args:
        known_server_span_u: lowest and highest unit of each kind of server, None where its position is not stated.
    Returns:
        rack unit from the floor

    >>> first_taken_twice_u(((1, 8), (5, 12), (20, 21))), first_taken_twice_u(((1, 8), (9, 16)))
    (5, None)

    Source: definition.
    """
    reach = 0.0
    for low, high in sorted(filter(None, known_server_span_u)):
        if low <= reach:
            return low
        reach = max(reach, high)
    return None


def server_group_weight_kg(server_weight_kg: float, servers: float) -> float:
    """Weight of the servers of one kind.

    server_group_weight_kg = server_weight_kg · servers

    Component: server
    Args:
        server_weight_kg: of one server [kg]. servers: of this kind.
    Returns:
        [kg]

    >>> round(server_group_weight_kg(130.45, 4), 1)
    521.8

    Source: definition.
    """
    return server_weight_kg * servers


def carried_kg(each_server_group_weight_kg: tuple[float, ...]) -> float:
    """Weight that a rack carries: its servers, without the rack itself.

    carried_kg = Σ server_group_weight_kg

    Component: rack
    Args:
        each_server_group_weight_kg: of every kind of server [kg].
    Returns:
        [kg]

    >>> carried_kg((521.8, 20))
    541.8

    Source: definition; makers of racks state the static load beside the weight of the rack.
    """
    return sum(each_server_group_weight_kg)


def least_carried_kg(known_server_group_weight_kg: tuple[float, ...]) -> float:
    """Weight that a rack carries for the servers whose weight is known: a lower bound.

    least_carried_kg = Σ server_group_weight_kg

    Component: rack
    Args:
        known_server_group_weight_kg: of the kinds of server that are known [kg].
    Returns:
        [kg]

    >>> least_carried_kg((521.8,))
    521.8

    Source: as carried_kg.
    """
    return sum(known_server_group_weight_kg)


def least_weight_kg(rack_weight_kg: float, known_server_group_weight_kg: tuple[float, ...]) -> float:
    """Weight of a rack with the servers whose weight is known: a lower bound.

    least_weight_kg = rack_weight_kg + Σ server_group_weight_kg

    Component: rack
    Args:
        rack_weight_kg: of the empty rack, 0 where it is not stated [kg].
        known_server_group_weight_kg: of the kinds of server that are known [kg].
    Returns:
        [kg]
    Validity: without cables, rails, power strips and coolant, as far as the weight of the rack does not count them.

    >>> least_weight_kg(150, (521.8,))
    671.8

    Source: definition.
    """
    return rack_weight_kg + sum(known_server_group_weight_kg)


def floor_load_kg_per_m2(
    least_weight_kg: float,
    stated_floor_area_m2: float | None,
    rack_width_m: float | None,
    rack_depth_m: float | None,
    usual_racks_per_m2: float,
    footprint_share: float,
) -> float:
    """Weight per square metre of floor of a rack with its known servers.

    floor_load_kg_per_m2 = least_weight_kg / stated_floor_area_m2, else footprint_share · least_weight_kg / footprint

    Component: rack
    Args:
        least_weight_kg: of rack and servers [kg]. stated_floor_area_m2: that an engineer counts, None not stated [m²].
        rack_width_m: stated, else None [m]. rack_depth_m: stated, else None [m].
        usual_racks_per_m2: footprints that make a square metre (fitted).
        footprint_share: that the aisles do not carry (ratio, fitted).
    Returns:
        [kg/m²]
    Validity: a row of racks side by side; the worst scenario counts what the rack itself stands on.

    >>> round(floor_load_kg_per_m2(1360, None, 0.6, 1.068, 1.4, 1))
    2122
    >>> round(floor_load_kg_per_m2(1360, 1.6, None, None, 1.4, 0.5))
    850

    Source: IBM Documentation, Power Systems, Floor construction and floor loading: machine area and half of the service
    clearance, at most 760 mm on each side.
    """
    if stated_floor_area_m2 is not None:
        return least_weight_kg / stated_floor_area_m2
    if rack_width_m is None or rack_depth_m is None:
        return footprint_share * least_weight_kg * usual_racks_per_m2
    return footprint_share * least_weight_kg / (rack_width_m * rack_depth_m)


def foot_load_kg(least_weight_kg: float) -> float:
    """Minimum weight on the most loaded foot of a rack.

    foot_load_kg = least_weight_kg / 4

    Component: rack
    Args:
        least_weight_kg: of rack and servers [kg].
    Returns:
        [kg]
    Validity: of four feet that bear alike; on an uneven floor, or while it is rolled in, one bears up to half.

    >>> foot_load_kg(1360)
    340.0

    Source: Tate, Raised Access Floor Loading, Explained, 2018: a rack's weight stands on four points.
    """
    return least_weight_kg / 4
