"""Cost of a workload: the machines that it pays for, per hour, per token and per run."""

from __future__ import annotations

from gpulint import units
from gpulint.catalog import gpu_sharing, hardware


def slice_share(accelerator: str, mig_profile: str | None, sharing: str | None) -> float:
    """Share of a whole GPU that one requested GPU or slice represents.

    slice_share = 1 / (clients · slices), where the GPU is cut into so many slices at most, each for so many clients

    Args:
        accelerator: id. mig_profile: of the slice, None of a whole GPU. sharing: how a GPU is shared (time-slicing, MPS).
    Returns:
        [ratio]
    Validity: unknown if GPUs are shared and their clients are not stated; it assumes that all shares are taken.

    >>> slice_share("h100-sxm-80gb", None, None), slice_share("h100-sxm-80gb", "3g.40gb", None)
    (1.0, 0.5)
    >>> slice_share("l4", None, "time-sharing by 4 clients")
    0.25

    Source: NVIDIA MIG User Guide, supported profiles: instances available; GKE, time-sharing GPUs: clients per GPU.
    """
    clients = gpu_sharing.parse_clients(sharing) if sharing else 1
    if not clients:
        raise LookupError("the GPU is shared and its number of clients is not stated")
    slices = hardware.slices_per_card(mig_profile, accelerator) if mig_profile else 1
    if not slices:
        raise LookupError(f"{accelerator} has no slices {mig_profile}")
    return 1 / (slices * clients)


def machines_paid(
    gpus_per_pod: float,
    gpus_per_replica: float,
    pods_per_replica: int,
    replicas: int,
    machine_gpus: int,
    slice_share: float,
    whole_node: bool,
    whole_machine: bool,
) -> float:
    """Machines that all replicas pay for.
    A fraction of a machine counts as such, unless no other workload can use the rest of it.

    machines_paid = replicas · GPUs of a replica · share of a GPU / GPUs of a machine; replicas · pods where they are whole

    Args:
        gpus_per_pod, gpus_per_replica: GPUs or slices. pods_per_replica: pods or nodes of one instance. replicas: instances.
        machine_gpus: GPUs of a machine. slice_share: of a GPU that each is (ratio).
        whole_node: the job takes its nodes whole. whole_machine: each pod has a machine of its own.
    Returns:
        machines
    Validity: GPUs decide the share; processors and memory that the others on a machine cannot use any more are not counted.

    >>> machines_paid(4, 4, 1, 3, 8, 1.0, False, False), machines_paid(4, 4, 1, 3, 8, 1.0, True, False)
    (1.5, 3)

    Source: definition.
    """
    if gpus_per_pod * slice_share > machine_gpus:
        raise LookupError("a pod asks for more GPUs than the machine has")
    if whole_node or whole_machine:
        return replicas * pods_per_replica
    return replicas * gpus_per_replica * slice_share / machine_gpus


def cost_usd_per_hour(machines_paid: float, machine_usd_per_hour: float) -> float:
    """On-demand cost of the workload while all its replicas run.

    cost_usd_per_hour = machines_paid · machine_usd_per_hour

    Args:
        machines_paid: machines. machine_usd_per_hour: price of one on demand [USD/h].
    Returns:
        [USD/h]
    Validity: machines only; disks, traffic, control planes and licences are not in it.

    >>> cost_usd_per_hour(1.5, 55.04)
    82.56

    Source: definition.
    """
    return machines_paid * machine_usd_per_hour


def spot_usd_per_hour(machines_paid: float, machine_spot_usd_per_hour: float) -> float:
    """Cost of the workload on spot machines, which the cloud may reclaim at any time.

    spot_usd_per_hour = machines_paid · machine_spot_usd_per_hour

    Args:
        machines_paid: machines. machine_spot_usd_per_hour: price of one [USD/h].
    Returns:
        [USD/h]
    Validity: the price of one day; spot prices move, and what an interruption costs is not in it.

    >>> spot_usd_per_hour(2, 0.25)
    0.5

    Source: definition.
    """
    return machines_paid * machine_spot_usd_per_hour


def delivered_tokens_per_s(
    target_concurrency: float | None,
    wanted_tokens_per_s: float,
    output_tokens_per_s: float,
    service_replicas: float,
    service_tokens_per_s: float,
) -> float:
    """Output tokens per second of all replicas at the declared load, or at full load if none is.

    delivered_tokens_per_s = min(wanted, all that replicas carry), else replicas · tokens of each at the stated concurrency

    Args:
        target_concurrency: requests at once, where stated. wanted_tokens_per_s: that objectives want, 0 for none [tokens/s].
        output_tokens_per_s: of one replica at the stated concurrency [tokens/s]. service_replicas: instances.
        service_tokens_per_s: of all replicas when each has as many requests as it admits [tokens/s].
    Returns:
        [tokens/s]

    >>> delivered_tokens_per_s(64, 0, 700, 3, 4000), delivered_tokens_per_s(None, 1500, 700, 3, 4000)
    (2100, 1500)

    Source: definition.
    """
    if wanted_tokens_per_s:
        return min(wanted_tokens_per_s, service_tokens_per_s)
    return output_tokens_per_s * service_replicas if target_concurrency else service_tokens_per_s


def cost_usd_per_million_tokens(cost_usd_per_hour: float, delivered_tokens_per_s: float) -> float:
    """Cost of a million output tokens, prompts included, at the declared load or at full load.

    cost_usd_per_million_tokens = cost_usd_per_hour / (3600 · delivered_tokens_per_s) · 1e6

    Args:
        cost_usd_per_hour: of all replicas [USD/h]. delivered_tokens_per_s: output tokens of all replicas [tokens/s].
    Returns:
        [USD per million tokens]
    Validity: while the load lasts; hours without requests are paid as well.

    >>> cost_usd_per_million_tokens(3.6, 1000)
    1.0

    Source: definition.
    """
    return cost_usd_per_hour / units.HOUR_S / delivered_tokens_per_s * units.MILLION


def training_cost_usd(cost_usd_per_hour: float, training_run_s: float) -> float:
    """Cost of the whole training run.

    training_cost_usd = cost_usd_per_hour · training_run_s / 3600

    Args:
        cost_usd_per_hour: of all machines [USD/h]. training_run_s: time of the run [s].
    Returns:
        [USD]
    Validity: without checkpoints, evaluations, failures and what is run again.

    >>> training_cost_usd(16.0, 360000)
    1600.0

    Source: definition; DeepSeek-V3 technical report, 2024, table 1.
    """
    return cost_usd_per_hour * training_run_s / units.HOUR_S


def training_cost_usd_per_billion_tokens(
    cost_usd_per_hour: float, training_tokens_per_s_per_gpu: float, world_size: int
) -> float:
    """Cost of training on a billion tokens, independent of the length of the run.

    training_cost_usd_per_billion_tokens = cost_usd_per_hour / (3600 · tokens per second of a GPU · world_size) · 1e9

    Args:
        cost_usd_per_hour: of all machines [USD/h]. training_tokens_per_s_per_gpu: [tokens/s]. world_size: ranks.
    Returns:
        [USD per billion tokens]

    >>> round(training_cost_usd_per_billion_tokens(16.0, 500, 8), 2)
    1111.11

    Source: definition; DeepSeek-V3 technical report, 2024, section 1: GPU-hours for each trillion tokens.
    """
    return cost_usd_per_hour / units.HOUR_S / (training_tokens_per_s_per_gpu * world_size) * units.BILLION
