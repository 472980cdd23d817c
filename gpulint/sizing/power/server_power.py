"""Server power: the maximum draw of one machine, as measured, as published, or estimated from its
accelerators.
"""

from __future__ import annotations

from gpulint.catalog.errors import MissingInput


def server_estimated_w(
    server_gpus: int,
    board_w: float,
    board_overhead: float,
    host_w: float,
    psus: int | None = None,
    psu_w: float | None = None,
) -> float:
    """Maximum power of a server estimated from its accelerators, if its vendor publishes none.

    server_estimated_w = min(server_gpus · board_w · board_overhead + host_w, psus · psu_w)

    Component: server
    Args:
        server_gpus: accelerators in it. board_w: of one [W]. board_overhead: all that grows with the accelerators against
        their boards: fans, switches, network cards, loss of the supplies (ratio, fitted). host_w: processors, memory, drives
        where the ratio does not hold them (fitted) [W]. psus: supplies in it. psu_w: rating of one [W].
    Returns:
        [W]
    Validity: an estimate; machines that it was fitted on lie 10 % from it on average and 20 % at most, each left out in turn
        (bench/server_power.py). Installed supplies bound it and are not what a machine draws.

    >>> round(server_estimated_w(8, 1000, 1.83, 0))
    14640
    >>> server_estimated_w(8, 350, 1.2, 900, 4, 1000)
    4000

    Source: maxima that NVIDIA and Dell publish for machines of eight, rows of catalog/servers.csv.
    """
    found = server_gpus * board_w * board_overhead + host_w
    return min(found, psus * psu_w) if psus and psu_w else found


def boards_share(server_gpus: int, board_w: float, power_cap_w: float | None, server_max_w: float) -> float:
    """Power of the accelerator boards alone relative to the server's declared or published maximum.

    boards_share = server_gpus · min(board_w, power_cap_w) / server_max_w

    Component: server
    Args:
        server_gpus: accelerators in it. board_w: of one [W]. power_cap_w: limit that is set for each GPU, else None [W].
        server_max_w: maximum power of the server [W].
    Returns:
        [ratio]
    Validity: 0.45 to 0.61 of the maxima that are published for boards of eight, 0.65 to 0.76 for racks in liquid.

    >>> round(boards_share(8, 700, None, 10200), 2), boards_share(8, 700, None, 5600)
    (0.55, 1.0)

    Source: rows of catalog/servers.csv.
    """
    return server_gpus * min(board_w, power_cap_w or board_w) / server_max_w


def heat_share(server_heat_w: float, server_max_w: float, server_measured_w: float | None, capped_w: float) -> float:
    """Declared or published heat of a server relative to its power.

    heat_share = server_heat_w / (server_measured_w, else server_max_w − capped_w)

    Component: server
    Args:
        server_heat_w: heat of one [W]. server_max_w: maximum power of one [W].
        server_measured_w: highest that was measured, else None [W]. capped_w: that a limit of the GPUs saves [W].
    Returns:
        [ratio]
    Validity: 0.97 to 1.11 of the machines of catalog/servers.csv that publish both; physics says 1.

    >>> round(heat_share(11300, 10200, None, 0.0), 2), heat_share(8000, 10200, 8000, 0.0)
    (1.11, 1.0)

    Source: rows of catalog/servers.csv.
    """
    return server_heat_w / (server_max_w - capped_w if server_measured_w is None else server_measured_w)


def planned_share(server_max_w: float, published_max_w: float | None, capped_w: float) -> float | None:
    """Declared maximum power of a server relative to the published one.
    It is None if no maximum is declared.

    planned_share = server_max_w / (published_max_w − capped_w)

    Component: server
    Args:
        server_max_w: maximum power of one [W]. published_max_w: of a server that comes in one make only, else None [W].
        capped_w: that a limit of the GPUs saves [W].
    Returns:
        [ratio]
    Validity: sources of one vendor differ by up to a twentieth (DGX B300: 14.5, 15 and 15.1 kW), integrators of NVL72 racks
        by a tenth.

    >>> round(planned_share(8000, 10200, 0.0), 2), planned_share(8000, None, 0.0)
    (0.78, None)

    Source: definition.
    """
    return None if published_max_w is None else server_max_w / (published_max_w - capped_w)


def idle_share(server_idle_w: float, server_w: float) -> float:
    """Idle power of a server relative to the maximum used for planning.

    idle_share = server_idle_w / server_w

    Component: server
    Args:
        server_idle_w: power without work [W]. server_w: planned maximum [W].
    Returns:
        [ratio]

    >>> round(idle_share(1490, 6500), 2)
    0.23

    Source: rows of catalog/servers.csv; MLPerf Inference power logs before the load (bench/server_power.csv).
    """
    return server_idle_w / server_w


def measured_share(server_measured_w: float | None, server_max_w: float) -> float | None:
    """Highest measured power of a server relative to its maximum; none without a measurement.

    measured_share = server_measured_w / server_max_w

    Component: server
    Args:
        server_measured_w: highest that was measured, else None [W]. server_max_w: maximum power [W].
    Returns:
        [ratio]

    >>> round(measured_share(8400, 10200), 2), measured_share(None, 10200)
    (0.82, None)

    Source: definition.
    """
    return None if server_measured_w is None else server_measured_w / server_max_w


def capped_w(power_cap_w: float | None, server_gpus: int | None = None, board_w: float | None = None) -> float:
    """Power that a GPU power limit keeps one server from drawing.

    capped_w = server_gpus · max(0, board_w − power_cap_w)

    Component: server
    Args:
        power_cap_w: limit that is set for each GPU, else None [W]. server_gpus: accelerators in it. board_w: of one [W].
    Returns:
        [W]
    Validity: fans and supplies save a little more, which is left out.

    >>> capped_w(500, 8, 700), capped_w(None, 8, 700)
    (1600, 0.0)

    Source: NVIDIA, nvidia-smi manual: the power limit holds for each board.
    """
    if power_cap_w is None:
        return 0.0
    if server_gpus is None or board_w is None:
        raise MissingInput("server_gpus" if server_gpus is None else "board_w")
    return server_gpus * max(0.0, board_w - power_cap_w)


def board_under_cap(power_cap_w: float | None, board_w: float) -> tuple[float | None, float]:
    """Power limit of a server's GPUs and the maximum power of their boards, in watts.

    board_under_cap = power_cap_w, board_w

    Component: server
    Args:
        power_cap_w: limit that is set for each GPU, else None [W]. board_w: of one [W].
    Returns:
        watts, twice

    >>> board_under_cap(500, 700)
    (500, 700)

    Source: definition.
    """
    return power_cap_w, board_w


def board_under_cap_most_w(
    power_cap_w: float | None, known_board_under_cap: tuple[tuple[float | None, float], ...]
) -> float | None:
    """Largest board power of all GPUs under the power limit of this server's GPUs.
    It is None if no limit is set.

    board_under_cap_most_w = max(board_w) where power_cap_w is alike

    Component: server
    Args:
        power_cap_w: limit that is set for each GPU, else None [W]. known_board_under_cap: limits and boards of all servers [W].
    Returns:
        [W]
    Validity: a limit that a room states is for its largest GPUs, and leaves smaller ones as they are.

    >>> board_under_cap_most_w(500, ((500, 700), (500, 350), (None, 1000)))
    700

    Source: definition.
    """
    return max((board for cap, board in known_board_under_cap if cap is not None and cap == power_cap_w), default=None)


def server_w(
    server_measured_w: float | None,
    capped_w: float,
    server_max_w: float | None = None,
    server_estimated_w: float | None = None,
    server_inlets_w: float | None = None,
    published_max_w: float | None = None,
) -> float:
    """Maximum power of one server used for planning.

    server_w = server_measured_w, or (server_max_w, or server_estimated_w, or server_inlets_w) − capped_w;
    server_max_w itself where it is below published_max_w by as much already

    Component: server
    Args:
        server_measured_w: highest that was measured, else None [W]. capped_w: that a limit of the GPUs saves [W].
        server_max_w: that its vendor publishes [W]. server_estimated_w: where none is published [W].
        server_inlets_w: by its inlets, where its accelerators are not known either [W].
        published_max_w: of a server that comes in one make only, else None [W].
    Returns:
        [W]
    Validity: the code asks for a year of records, and for 125 % of it, which the continuous share of a breaker holds.

    >>> server_w(None, 0.0, 10200, 10248), server_w(9100, 0.0, 10200), server_w(None, 1600.0, 10200)
    (10200, 9100, 8600.0)
    >>> server_w(None, 2400.0, 8000, published_max_w=10200)  # the cap is in the 8 kW
    7800.0

    Source: NFPA 70 (NEC) 220.87: a measured maximum demand may stand for the sum of nameplates.
    """
    if server_measured_w is not None:
        return server_measured_w
    known = (watts for watts in (server_max_w, server_estimated_w, server_inlets_w) if watts is not None)
    found = next(known, None)
    if found is None:
        raise MissingInput("server_max_w")
    return min(found, max(found, published_max_w or 0.0) - capped_w) if capped_w else found


def server_planned_heat_w(
    server_w: float,
    server_measured_w: float | None,
    heat_beyond_power: float,
    server_heat_w: float | None = None,
    server_max_w: float | None = None,
) -> float:
    """Heat of one server used for planning: its power, or more if its vendor says so.

    server_planned_heat_w = server_w · (1 + beyond · max(0, server_heat_w / server_max_w − 1)), and server_w of a measured one

    Component: server
    Args:
        server_w: planned maximum [W]. server_measured_w: highest that was measured, else None [W].
        heat_beyond_power: beyond, the share of the difference of the next two that counts (fitted).
        server_heat_w: that its vendor publishes [W]. server_max_w: that its vendor publishes [W].
    Returns:
        [W]
    Validity: all electricity becomes heat. NVIDIA prints 38,557 BTU/hr (11.3 kW) besides 10.2 kW for DGX H100: sources
        disagree, and cooling is planned for the larger, but only the smaller is certain.

    >>> [round(server_planned_heat_w(10200, None, share, 11300, 10200)) for share in (0, 1)]
    [10200, 11300]
    >>> server_planned_heat_w(9100, 9100, 1, 11300, 10200)
    9100

    Source: NVIDIA DGX H100/H200 System User Guide, Environmental Specifications.
    """
    if server_measured_w is not None or server_heat_w is None:
        return server_w
    if server_max_w is None:
        return max(server_w, server_heat_w)
    return server_w * (1 + heat_beyond_power * max(0.0, server_heat_w / server_max_w - 1))


def server_group_w(server_w: float, servers: int) -> float:
    """Maximum power of the servers of one kind.

    server_group_w = server_w · servers

    Component: server
    Args:
        server_w: of one [W]. servers: of this kind.
    Returns:
        [W]

    >>> server_group_w(10200, 4)
    40800

    Source: definition.
    """
    return server_w * servers


def server_group_heat_w(server_planned_heat_w: float, servers: int) -> float:
    """Heat of the servers of one kind.

    server_group_heat_w = server_planned_heat_w · servers

    Component: server
    Args:
        server_planned_heat_w: of one [W]. servers: of this kind.
    Returns:
        [W]

    >>> server_group_heat_w(11300, 4)
    45200

    Source: definition.
    """
    return server_planned_heat_w * servers
