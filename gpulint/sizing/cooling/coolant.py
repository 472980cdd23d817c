"""Coolant: how much liquid servers need, and how much heat reaches the coolant distribution unit
(CDU).
"""

from __future__ import annotations

from collections.abc import Mapping

_J_PER_M3_K: Mapping[str, float] = {"water": 992.2 * 4179, "PG25": 1022.5 * 3920}
"""Heat that a cubic metre takes for a kelvin at 40 °C: density times specific heat."""


def server_group_flow_m3_per_s(
    servers: float,
    server_group_liquid_heat_w: float,
    coolant: str,
    coolant_rise_k: float | None,
    usual_coolant_m3_per_j: float,
    server_flow_m3_per_s: float | None = None,
) -> float:
    """Coolant flow that the servers of one kind need.

    server_group_flow_m3_per_s = what the vendor asks for, else server_group_liquid_heat_w / (ρ · cp · coolant_rise_k), else
    server_group_liquid_heat_w · usual_coolant_m3_per_j

    Component: server
    Args:
        servers: of this kind. server_group_liquid_heat_w: that liquid takes from them [W]. coolant: water or PG25.
        coolant_rise_k: that the loop is designed for, None where it is not stated [K].
        usual_coolant_m3_per_j: that loops bring for the heat (fitted) [m³/J].
        server_flow_m3_per_s: that the vendor asks for, of one [m³/s].
    Returns:
        [liquid m³/s]
    Validity: one phase; a server that liquid takes no heat from needs none.

    >>> of_100_kw = server_group_flow_m3_per_s(1, 100_000, "water", 10, 2.5e-8)
    >>> round(of_100_kw * 60_000)  # litres a minute: 1.45 a kW
    145

    Source: NIST Chemistry WebBook, SRD 69: water at 40 °C; Dow, DOWFROST LC 25 Engineering and Operating Guide,
    form 176-01641, 2023, table 2 (as quoted): PG25 at 40 °C; OCP, OAI System Liquid Cooling Guidelines 1.0, 2023, section 3.2:
    1.5 L/min a kW of PG25 at 10 K.
    """
    if server_group_liquid_heat_w == 0:
        return 0
    if server_flow_m3_per_s is not None:
        return servers * server_flow_m3_per_s
    if coolant_rise_k is not None:
        return server_group_liquid_heat_w / (_J_PER_M3_K[coolant] * coolant_rise_k)
    return server_group_liquid_heat_w * usual_coolant_m3_per_j


def needed_flow_m3_per_s(each_server_group_flow_m3_per_s: tuple[float, ...]) -> float:
    """Coolant flow that all servers need.

    needed_flow_m3_per_s = Σ server_group_flow_m3_per_s

    Component: rack cdu
    Args:
        each_server_group_flow_m3_per_s: of every kind of server [m³/s].
    Returns:
        [liquid m³/s]

    >>> needed_flow_m3_per_s((0.002, 0.001))
    0.003

    Source: conservation of mass.
    """
    return sum(each_server_group_flow_m3_per_s)


def least_flow_m3_per_s(known_server_group_flow_m3_per_s: tuple[float, ...]) -> float:
    """Coolant flow of the servers whose need is known: a lower bound.

    least_flow_m3_per_s = Σ server_group_flow_m3_per_s

    Component: rack cdu
    Args:
        known_server_group_flow_m3_per_s: of the kinds of server that are known [m³/s].
    Returns:
        [liquid m³/s]

    >>> least_flow_m3_per_s((0.002,))
    0.002

    Source: conservation of mass.
    """
    return sum(known_server_group_flow_m3_per_s)


def loop_heat_w(each_server_group_loop_heat_w: tuple[float, ...]) -> float:
    """Heat that all servers of a loop send to its coolant distribution unit.

    loop_heat_w = Σ server_group_loop_heat_w

    Component: cdu
    Args:
        each_server_group_loop_heat_w: of every kind of server whose rack names the unit [W].
    Returns:
        [W]

    >>> loop_heat_w((115000, 115000))
    230000

    Source: conservation of energy.
    """
    return sum(each_server_group_loop_heat_w)


def least_loop_heat_w(known_server_group_loop_heat_w: tuple[float, ...]) -> float:
    """Heat that the servers of known heat send to their loop's coolant distribution unit.

    least_loop_heat_w = Σ server_group_loop_heat_w

    Component: cdu
    Args:
        known_server_group_loop_heat_w: of the kinds of server that are known [W].
    Returns:
        [W]

    >>> least_loop_heat_w((115000,))
    115000

    Source: conservation of energy.
    """
    return sum(known_server_group_loop_heat_w)


def redundant_racks(known_racks_redundant: tuple[bool, ...]) -> float:
    """Racks on a coolant distribution unit that must survive the loss of one power side.

    redundant_racks = Σ is_redundant

    Component: cdu
    Args:
        known_racks_redundant: of each rack that names the unit.
    Returns:
        racks

    >>> redundant_racks((True, False, True))
    2

    Source: definition.
    """
    return sum(known_racks_redundant)
