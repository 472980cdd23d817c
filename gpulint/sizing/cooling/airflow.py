"""Airflow: how much air servers need, and how warm it may be at their inlets."""

from __future__ import annotations

from gpulint.catalog.hardware import air_classes

_AIR_J_PER_M3_K = 1.2 * 1005
"""Heat that a cubic metre of air at 20 °C and sea level takes for a kelvin: density times specific heat."""


def air_density_share(altitude_m: float) -> float:
    """Density of air at the site relative to that at sea level.

    air_density_share = (1 − 2.25577·10⁻⁵ · altitude_m) ^ 5.25588

    Component: rack
    Args:
        altitude_m: of the site [m].
    Returns:
        [ratio]
    Validity: at equal temperature, as rooms are kept; up to 11 km.

    >>> round(air_density_share(0), 3), round(air_density_share(1600), 3)
    (1.0, 0.824)

    Source: ISO 2533, Standard Atmosphere, 1975: pressure by altitude.
    """
    return float((1 - 2.25577e-5 * altitude_m) ** 5.25588)


def server_group_airflow_m3_per_s(
    servers: float,
    server_group_air_heat_w: float,
    cooling: str | None,
    air_rise_k: float | None,
    usual_air_m3_per_j: float,
    air_density_share: float,
    server_airflow_m3_per_s: float | None = None,
) -> float:
    """Airflow that the servers of one kind take from the room.

    server_group_airflow_m3_per_s = server_group_air_heat_w / (ρ · cp · air_rise_k), else what the vendor publishes, else
    server_group_air_heat_w · usual_air_m3_per_j / air_density_share

    Component: server
    Args:
        servers: of this kind. server_group_air_heat_w: that they leave to air [W]. cooling: of the rack.
        air_rise_k: measured between inlet and outlet, None where it is not [K].
        usual_air_m3_per_j: that servers move for their heat (fitted) [m³/J].
        air_density_share: of the site against sea level (ratio). server_airflow_m3_per_s: published for one [m³/s].
    Returns:
        [m³/s]
    Validity: behind a rear door air comes back as cool as it went in, and a bath takes none.

    >>> one_kw = server_group_airflow_m3_per_s(1, 1000, "contained", 20 / 1.8, 6e-5, 1)
    >>> round(one_kw / 0.3048**3 * 60)  # CFM for 1 kW at 20 F
    158
    >>> round(server_group_airflow_m3_per_s(4, 45200, "contained", None, 6e-5, 1, 0.5215), 3)
    2.086

    Source: ASHRAE Handbook, Fundamentals, 2017, chapter 1: ρ cp of standard air; 158 CFM/kW at 20 F.
    """
    if cooling in ("rear-door", "immersion"):
        return 0
    if air_rise_k is not None:
        return server_group_air_heat_w / (_AIR_J_PER_M3_K * air_density_share * air_rise_k)
    if server_airflow_m3_per_s is not None:
        return servers * server_airflow_m3_per_s
    return server_group_air_heat_w * usual_air_m3_per_j / air_density_share


def needed_airflow_m3_per_s(each_server_group_airflow_m3_per_s: tuple[float, ...]) -> float:
    """Airflow that all servers take from the room.

    needed_airflow_m3_per_s = Σ server_group_airflow_m3_per_s

    Component: rack row room
    Args:
        each_server_group_airflow_m3_per_s: of every kind of server [m³/s].
    Returns:
        [m³/s]

    >>> needed_airflow_m3_per_s((2, 1))
    3

    Source: conservation of mass.
    """
    return sum(each_server_group_airflow_m3_per_s)


def least_airflow_m3_per_s(known_server_group_airflow_m3_per_s: tuple[float, ...]) -> float:
    """Airflow of the servers whose heat or airflow is known: a lower bound for the room.

    least_airflow_m3_per_s = Σ server_group_airflow_m3_per_s

    Component: rack row room
    Args:
        known_server_group_airflow_m3_per_s: of the kinds of server that are known [m³/s].
    Returns:
        [m³/s]

    >>> least_airflow_m3_per_s((2,))
    2

    Source: conservation of mass.
    """
    return sum(known_server_group_airflow_m3_per_s)


def lowest_inlet_max_c(known_server_inlet_max_c: tuple[float, ...]) -> float | None:
    """Warmest inlet air that every server with a known limit tolerates.

    lowest_inlet_max_c = min server_inlet_max_c

    Component: rack
    Args:
        known_server_inlet_max_c: published for the kinds of server that are known [°C].
    Returns:
        [°C], None where no limit is known

    >>> lowest_inlet_max_c((35, 30)), lowest_inlet_max_c(())
    (30, None)

    Source: definition.
    """
    return min(known_server_inlet_max_c, default=None)


def highest_inlet_min_c(known_server_inlet_min_c: tuple[float, ...]) -> float | None:
    """Coldest inlet air that every server with a known limit tolerates.

    highest_inlet_min_c = max server_inlet_min_c

    Component: rack
    Args:
        known_server_inlet_min_c: published for the kinds of server that are known [°C].
    Returns:
        [°C], None where no limit is known

    >>> highest_inlet_min_c((5, 10)), highest_inlet_min_c(())
    (10, None)

    Source: definition.
    """
    return max(known_server_inlet_min_c, default=None)


def class_inlet_max_c(inlet_class: str | None, altitude_m: float) -> float | None:
    """Warmest inlet air that an equipment class allows at the site's elevation.

    class_inlet_max_c = allowable maximum − max(0, altitude_m − 900) / metres for a kelvin

    Component: rack
    Args:
        inlet_class: A1 to A4 or H1, None where it is not stated. altitude_m: of the site [m].
    Returns:
        [°C], None where no class is stated
    Validity: a vendor's own range goes before the class; editions before 2015 derate above 950 m.

    >>> class_inlet_max_c("A2", 0), class_inlet_max_c("A2", 1500), class_inlet_max_c("H1", 0)
    (35.0, 33.0, 25.0)

    Source: ASHRAE TC 9.9, Thermal Guidelines for Data Processing Environments, 5th edition, 2021, tables 2.1 and 2.2.
    """
    if inlet_class is None:
        return None
    row = air_classes.inlet_class(inlet_class)
    return row.allowable_max_c - max(0, altitude_m - row.derated_above_m) / row.metres_per_kelvin


def class_inlet_min_c(inlet_class: str | None) -> float | None:
    """Coldest inlet air that an equipment class allows.

    class_inlet_min_c = allowable minimum

    Component: rack
    Args:
        inlet_class: A1 to A4 or H1, None where it is not stated.
    Returns:
        [°C], None where no class is stated

    >>> class_inlet_min_c("A1"), class_inlet_min_c("A3")
    (15.0, 5.0)

    Source: as of class_inlet_max_c.
    """
    return None if inlet_class is None else air_classes.inlet_class(inlet_class).allowable_min_c


def least_inlet_c(highest_inlet_min_c: float | None, class_inlet_min_c: float | None) -> float | None:
    """Coldest inlet air that the servers of a rack tolerate.
    The limit comes from their vendors, or else from their equipment class.

    least_inlet_c = highest_inlet_min_c, else class_inlet_min_c

    Component: rack
    Args:
        highest_inlet_min_c: that vendors state, None where none does [°C].
        class_inlet_min_c: of the class, None where none is stated [°C].
    Returns:
        [°C], None where neither is known

    >>> least_inlet_c(5, 15.0), least_inlet_c(None, 15.0)
    (5, 15.0)

    Source: definition: a vendor's own range goes before the class.
    """
    return class_inlet_min_c if highest_inlet_min_c is None else highest_inlet_min_c


def recommended_inlet_max_c(inlet_class: str | None) -> float:
    """Warmest inlet air recommended for an equipment class; 27 °C if no class is declared.

    recommended_inlet_max_c = recommended maximum

    Component: rack
    Args:
        inlet_class: A1 to A4 or H1, None where it is not stated.
    Returns:
        [°C]

    >>> recommended_inlet_max_c(None), recommended_inlet_max_c("H1")
    (27.0, 22.0)

    Source: as of class_inlet_max_c.
    """
    return air_classes.inlet_class(inlet_class or "A1").recommended_max_c
