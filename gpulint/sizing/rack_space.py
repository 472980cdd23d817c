"""Rack space: units that servers take."""

from __future__ import annotations


def server_group_units(server_units: float, servers: float) -> float:
    """Rack units that the servers of one kind take.

    server_group_units = server_units · servers

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
    """Rack units that the servers of known height take.

    units_used = Σ server_group_units

    Args:
        each_server_group_units: of each kind of server.
    Returns:
        rack units

    >>> units_used((32, 2))
    34

    Source: EIA-310-E.
    """
    return sum(each_server_group_units)
