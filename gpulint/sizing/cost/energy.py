"""Energy: the power of a workload's busy accelerators, its cost and its emissions."""

from __future__ import annotations

from gpulint import units


def busy_board_share(
    task: str, loaded_board_share: float | None = None, training_board_share: float | None = None
) -> float:
    """Average power of a busy accelerator relative to its board power.

    busy_board_share = training_board_share of a training run, loaded_board_share of a server

    Args:
        task: training or inference. loaded_board_share, training_board_share: of the board's power (fitted).
    Returns:
        [ratio]

    >>> busy_board_share("training", 0.6, 0.76)
    0.76

    Source: Patel et al., POLCA, 2024; Newkirk et al., Empirically-Calibrated H100 Node Power Models, 2025.
    """
    found = training_board_share if task == "training" else loaded_board_share
    if found is None:
        raise LookupError("no measured share of board power for this accelerator")
    return found


def power_w(
    board_w: float,
    power_cap_w: float | None,
    busy_board_share: float,
    gpus_per_replica: float,
    slice_share: float,
    replicas: int,
) -> float:
    """Average power of all accelerators of the workload while they are busy.

    power_w = min(board_w, power_cap_w) · busy_board_share · GPUs of a replica · share of a GPU · replicas

    Args:
        board_w: of one accelerator [W]. power_cap_w: limit that is set, else None [W]. busy_board_share: ratio.
        gpus_per_replica: GPUs or slices. slice_share: of a GPU that each is (ratio). replicas: instances.
    Returns:
        [W]
    Validity: boards only; processors, fans, switches and power supplies are not in it.

    >>> power_w(700, None, 0.6, 8, 1.0, 2)
    6720.0

    Source: Patel et al., POLCA: Power Oversubscription in LLM Cloud Providers, 2024.
    """
    return min(board_w, power_cap_w or board_w) * busy_board_share * gpus_per_replica * slice_share * replicas


def facility_w(power_w: float, pue: float) -> float:
    """Power of the site for the busy accelerators, with cooling and losses.

    facility_w = power_w · pue

    Args:
        power_w: of the accelerators [W]. pue: power of the whole site against that of its machines (ratio).
    Returns:
        [W]

    >>> round(facility_w(1000, 1.15))
    1150

    Source: ISO/IEC 30134-2: power usage effectiveness.
    """
    return power_w * pue


def energy_usd_per_hour(facility_w: float, usd_per_kwh: float) -> float:
    """Electricity cost of the busy accelerators, for a team that pays for it.

    energy_usd_per_hour = facility_w / 1000 · usd_per_kwh

    Args:
        facility_w: of the site [W]. usd_per_kwh: price of electricity [USD/kWh].
    Returns:
        [USD/h]

    >>> energy_usd_per_hour(5000, 0.2)
    1.0

    Source: definition.
    """
    return facility_w / units.THOUSAND * usd_per_kwh


def co2_kg_per_hour(power_w: float, pue: float, co2_kg_per_kwh: float) -> float:
    """CO₂ emitted by the grid for the busy accelerators, by their location.

    co2_kg_per_hour = power_w · pue / 1000 · co2_kg_per_kwh

    Args:
        power_w: of the accelerators [W]. pue: of the site (ratio). co2_kg_per_kwh: of the grid [kg/kWh].
    Returns:
        [kg/h]
    Validity: location-based average of a year; making the machines and what a provider buys to offset are not in it.

    >>> round(co2_kg_per_hour(6720, 1.1, 0.4), 3)
    2.957

    Source: Luccioni et al., Estimating the Carbon Footprint of BLOOM, 2022, section 4.2; GHG Protocol scope 2, location-based.
    """
    return power_w * pue / units.THOUSAND * co2_kg_per_kwh


def training_energy_j(power_w: float, pue: float, training_run_s: float) -> float:
    """Energy of the whole training run at the site's meter.

    training_energy_j = power_w · pue · training_run_s

    Args:
        power_w: of the accelerators [W]. pue: of the site (ratio). training_run_s: time of the run [s].
    Returns:
        [J]
    Validity: boards only, without hosts and network.

    >>> training_energy_j(5000, 1.2, 3600)
    21600000.0

    Source: Luccioni et al., Estimating the Carbon Footprint of BLOOM, 2022, section 4.2.
    """
    return power_w * pue * training_run_s
