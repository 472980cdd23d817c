"""Site energy: what a rack, a room or a whole facility takes from the grid in a year, its cost and
its emissions.
"""

from __future__ import annotations

from collections.abc import Sequence

from gpulint import units
from gpulint.catalog.errors import MissingInput


def busy_share(utilization: float | None, busy_time_share: float) -> float:
    """Share of the time in which GPUs compute.

    busy_share = utilization where it is stated, else busy_time_share

    Component: server
    Args:
        utilization: as stated (ratio). busy_time_share: of clusters that publish it (fitted).
    Returns:
        [ratio]

    >>> busy_share(0.8, 0.54), busy_share(None, 0.54)
    (0.8, 0.54)

    Source: Weng et al., Beware of Fragmentation, USENIX ATC 2023, trace of 6,212 GPUs: 54 % are taken at a time.
    """
    if utilization is not None and utilization > 1:
        raise LookupError("utilization is at most 100 %")
    return busy_time_share if utilization is None else utilization


def group_average_w(group_idle_w: float, group_busy_w: float, busy_share: float) -> float:
    """Average power of the servers of one kind over a year.

    group_average_w = group_idle_w + (group_busy_w − group_idle_w) · busy_share

    Component: server
    Args:
        group_idle_w: without work [W]. group_busy_w: while all compute [W].
        busy_share: share of the time in which they compute (ratio).
    Returns:
        [W]

    >>> group_average_w(6000.0, 30_000.0, 0.5)
    18000.0

    Source: definition.
    """
    return group_idle_w + (group_busy_w - group_idle_w) * busy_share


def average_load_w(each_group_average_w: Sequence[float]) -> float:
    """Average power of the servers of a rack, a room or a pool over a year.

    average_load_w = Σ group_average_w

    Component: rack row room site facility pool
    Args:
        each_group_average_w: of each kind of server [W].
    Returns:
        [W]

    >>> average_load_w((18_000.0, 900.0))
    18900.0

    Source: definition.
    """
    return sum(each_group_average_w)


def energy_year_j(average_load_w: float, site_pue: float | None) -> float:
    """Energy that the site takes for these servers in a year, with cooling and losses.

    energy_year_j = average_load_w · site_pue · 8760 h

    Component: rack row room site facility pool
    Args:
        average_load_w: of the servers [W]. site_pue: power of the whole site against that of its machines (ratio).
    Returns:
        [J]

    >>> round(energy_year_j(10_200, 1.3) / 3.6e6)
    116158

    Source: ISO/IEC 30134-2: power usage effectiveness is annual energy of the site over that of its machines.
    """
    if site_pue is None:
        raise MissingInput("site_pue")
    return average_load_w * site_pue * units.YEAR_HOURS * units.HOUR_S


def energy_year_usd(energy_year_j: float, site_usd_per_kwh: float | None) -> float:
    """Cost of a year's electricity.

    energy_year_usd = energy_year_j / 3.6e6 · site_usd_per_kwh

    Component: rack row room site facility pool
    Args:
        energy_year_j: of the site [J]. site_usd_per_kwh: price of electricity [USD/kWh].
    Returns:
        [USD]

    >>> round(energy_year_usd(3.6e6 * 116_158, 0.1), 2)
    11615.8

    Source: definition.
    """
    if site_usd_per_kwh is None:
        raise MissingInput("site_usd_per_kwh")
    return energy_year_j / units.KWH * site_usd_per_kwh


def co2_year_kg(energy_year_j: float, site_co2_kg_per_kwh: float | None) -> float:
    """CO₂ that the grid emits for these servers in a year.

    co2_year_kg = energy_year_j / 3.6e6 · site_co2_kg_per_kwh

    Component: rack row room site facility pool
    Args:
        energy_year_j: of the site [J]. site_co2_kg_per_kwh: of the grid [kg/kWh].
    Returns:
        [kg]
    Validity: location-based average of a year; making the machines is not in it.

    >>> round(co2_year_kg(3.6e6 * 1000, 0.4))
    400

    Source: GHG Protocol scope 2, location-based.
    """
    if site_co2_kg_per_kwh is None:
        raise MissingInput("site_co2_kg_per_kwh")
    return energy_year_j / units.KWH * site_co2_kg_per_kwh


def overhead_year_usd(energy_year_usd: float, site_pue: float | None) -> float:
    """Cost of cooling and losses in a year, without the servers' own electricity.

    overhead_year_usd = energy_year_usd · (1 − 1 / site_pue)

    Component: rack row room site facility pool
    Args:
        energy_year_usd: of the site [USD]. site_pue: power of the whole site against that of its machines (ratio).
    Returns:
        [USD]

    >>> round(overhead_year_usd(15_600.0, 1.56))
    5600

    Source: ISO/IEC 30134-2: power usage effectiveness.
    """
    if site_pue is None:
        raise MissingInput("site_pue")
    return energy_year_usd * (1 - 1 / site_pue)
