"""Cooling: where the heat of servers goes, and how much of it the air and the liquid take."""

from __future__ import annotations

from gpulint.catalog.errors import MissingInput

_IN_AIR = ("room", "contained", "in-row", "rear-door")
"""Ways of cooling a rack that leave all heat of its servers to air."""


def captured_share(
    cooling: str | None,
    cdu: str | None,
    server_cooling: str | None = None,
    server_liquid_share: float | None = None,
    liquid_capture: float | None = None,
    usual_residual_share: float | None = None,
) -> float:
    """Share of a server's heat that goes into liquid; the rest goes into air.

    captured_share = 1 in a bath, 0 of a server that is cooled by air, else the share that is measured, published or usual

    Component: server
    Args:
        cooling: of the rack. cdu: that feeds it, None where nothing names one. server_cooling: air, liquid or hybrid.
        server_liquid_share: published for the server (ratio). liquid_capture: measured in the rack (ratio).
        usual_residual_share: that cold plates leave to air in general (ratio, fitted).
    Returns:
        [ratio]
    Validity: a server of which nothing is known gives all its heat to the air of a rack that has nothing else; unknown of cold
    plates that no liquid reaches.

    >>> captured_share("direct-liquid", "cdu-1", "hybrid", 0.87), captured_share("contained", None)
    (0.87, 0.0)

    Source: HPE, NVIDIA GB200 NVL72 by HPE, QuickSpecs: 115 kW of 132 kW go into liquid, 17 kW into air.
    """
    if cooling == "immersion":
        return 1.0
    if server_cooling is None:
        if cooling == "rear-door" or (cooling in _IN_AIR and cdu is None):
            return 0.0
        raise MissingInput("server_cooling")
    if server_cooling == "air":
        return 0.0
    if cooling in _IN_AIR and cdu is None:
        raise MissingInput("cdu")
    share = server_liquid_share if liquid_capture is None else liquid_capture
    if share is not None:
        return share
    if usual_residual_share is None:
        raise MissingInput("server_liquid_share")
    return 1 - usual_residual_share


def server_group_liquid_heat_w(server_group_heat_w: float, captured_share: float) -> float:
    """Heat of the servers of one kind that goes into liquid.

    server_group_liquid_heat_w = server_group_heat_w · captured_share

    Component: server
    Args:
        server_group_heat_w: of these servers [W]. captured_share: that goes into liquid (ratio).
    Returns:
        [W]

    >>> server_group_liquid_heat_w(132000, 0.75)
    99000.0

    Source: conservation of energy.
    """
    return server_group_heat_w * captured_share


def server_group_air_heat_w(server_group_heat_w: float, captured_share: float) -> float:
    """Heat of the servers of one kind that goes into air.

    server_group_air_heat_w = server_group_heat_w · (1 − captured_share)

    Component: server
    Args:
        server_group_heat_w: of these servers [W]. captured_share: that goes into liquid (ratio).
    Returns:
        [W]

    >>> server_group_air_heat_w(132000, 0.75)
    33000.0

    Source: conservation of energy.
    """
    return server_group_heat_w * (1 - captured_share)


def server_group_room_heat_w(server_group_air_heat_w: float, cooling: str | None) -> float:
    """Heat of the servers of one kind that goes into the air of the room.

    server_group_room_heat_w = server_group_air_heat_w, and 0 behind a rear door that takes it

    Component: server
    Args:
        server_group_air_heat_w: that leaves the servers in air [W]. cooling: of the rack.
    Returns:
        [W]
    Validity: a door whose capacity is exceeded lets the rest through, which the rules about racks find.

    >>> server_group_room_heat_w(45000, "rear-door"), server_group_room_heat_w(45000, "contained")
    (0, 45000)

    Source: definition.
    """
    return 0 if cooling == "rear-door" else server_group_air_heat_w


def server_group_loop_heat_w(
    server_group_liquid_heat_w: float, server_group_air_heat_w: float, cooling: str | None
) -> float:
    """Heat that the servers of one kind send to the coolant distribution unit of their rack.

    server_group_loop_heat_w = server_group_liquid_heat_w, and the heat of their air where a rear door takes it

    Component: server
    Args:
        server_group_liquid_heat_w: from cold plates [W]. server_group_air_heat_w: in air [W]. cooling: of the rack.
    Returns:
        [W]

    >>> server_group_loop_heat_w(115000, 17000, "direct-liquid"), server_group_loop_heat_w(0, 45000, "rear-door")
    (115000, 45000)

    Source: definition.
    """
    return server_group_liquid_heat_w + (server_group_air_heat_w if cooling == "rear-door" else 0)


def heat_w(each_server_group_heat_w: tuple[float, ...]) -> float:
    """Heat of all servers.

    heat_w = Σ server_group_heat_w

    Component: rack row room site facility
    Args:
        each_server_group_heat_w: of every kind of server [W].
    Returns:
        [W]

    >>> heat_w((45200, 1200))
    46400

    Source: conservation of energy: what a server draws leaves it as heat.
    """
    return sum(each_server_group_heat_w)


def least_heat_w(known_server_group_heat_w: tuple[float, ...]) -> float:
    """Heat of the servers whose heat is known: a lower bound.

    least_heat_w = Σ server_group_heat_w

    Component: rack row room site facility
    Args:
        known_server_group_heat_w: of the kinds of server that are known [W].
    Returns:
        [W]

    >>> least_heat_w((45200,))
    45200

    Source: conservation of energy.
    """
    return sum(known_server_group_heat_w)


def air_heat_w(each_server_group_air_heat_w: tuple[float, ...]) -> float:
    """Heat of all servers that goes into air.

    air_heat_w = Σ server_group_air_heat_w

    Component: rack row room site facility
    Args:
        each_server_group_air_heat_w: of every kind of server [W].
    Returns:
        [W]

    >>> air_heat_w((17000, 1200))
    18200

    Source: conservation of energy.
    """
    return sum(each_server_group_air_heat_w)


def least_air_heat_w(known_server_group_air_heat_w: tuple[float, ...]) -> float:
    """Heat of the servers of known heat that goes into air: a lower bound.

    least_air_heat_w = Σ server_group_air_heat_w

    Component: rack row room site facility
    Args:
        known_server_group_air_heat_w: of the kinds of server that are known [W].
    Returns:
        [W]

    >>> least_air_heat_w((17000,))
    17000

    Source: conservation of energy.
    """
    return sum(known_server_group_air_heat_w)


def row_taken_w(least_room_heat_w: float, cooling_installed_w: float | None) -> float:
    """Heat that the cooling units of a row remove before it reaches those of the room.

    row_taken_w = min(least_room_heat_w, cooling_installed_w), 0 where the row states none

    Component: row
    Args:
        least_room_heat_w: that servers of known heat leave to the air of the row [W].
        cooling_installed_w: that the units of the row take away, None where none are stated [W].
    Returns:
        [W]

    >>> row_taken_w(135600, 200000), row_taken_w(135600, None)
    (135600, 0.0)

    Source: conservation of energy.
    """
    return 0.0 if cooling_installed_w is None else min(least_room_heat_w, cooling_installed_w)


def room_heat_w(each_server_group_room_heat_w: tuple[float, ...], known_row_taken_w: tuple[float, ...]) -> float:
    """Heat of all servers that goes into the air of the room.
    What the cooling units in its rows remove is subtracted.

    room_heat_w = Σ server_group_room_heat_w − Σ row_taken_w

    Component: row room
    Args:
        each_server_group_room_heat_w: of every kind of server [W]. known_row_taken_w: by the units of each row [W].
    Returns:
        [W]

    >>> room_heat_w((17000, 0), ()), room_heat_w((135600, 26000), (135600,))
    (17000, 26000)

    Source: conservation of energy.
    """
    return sum(each_server_group_room_heat_w) - sum(known_row_taken_w)


def least_room_heat_w(known_server_group_room_heat_w: tuple[float, ...], known_row_taken_w: tuple[float, ...]) -> float:
    """Heat of the servers of known heat that goes into the air of the room: a lower bound.
    What the cooling units in its rows remove is subtracted.

    least_room_heat_w = Σ server_group_room_heat_w − Σ row_taken_w

    Component: row room
    Args:
        known_server_group_room_heat_w: of the kinds of server that are known [W].
        known_row_taken_w: by the units of each row [W].
    Returns:
        [W]

    >>> least_room_heat_w((17000,), ())
    17000

    Source: conservation of energy.
    """
    return sum(known_server_group_room_heat_w) - sum(known_row_taken_w)
