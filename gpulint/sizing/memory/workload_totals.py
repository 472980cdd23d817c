"""Governance: what an organisation counts and requires: GPUs, GPU-hours, objectives, labels and
annotations.
"""

from __future__ import annotations

from collections.abc import Mapping

from gpulint import units


def has_objective(stated_objectives: tuple[str, ...]) -> bool:
    """Whether the workload declares an objective.

    has_objective = stated_objectives ≠ ∅

    Args:
        stated_objectives: words of the objectives that are stated.
    Returns:
        flag
    Validity: of the workload: in a prefill and decode split an objective of one role counts for all.

    >>> has_objective(("tpot",)), has_objective(())
    (True, False)

    Source: definition.
    """
    return bool(stated_objectives)


def workload_gpus(
    gpus_per_replica: float,
    replicas: int,
    mig_profile: str | None,
    sharing: str | None,
    slice_share: float | None = None,
) -> float:
    """GPUs of all replicas of the role.

    workload_gpus = gpus_per_replica · replicas · slice_share

    Args:
        gpus_per_replica: GPUs or slices. replicas: instances. mig_profile: of a slice, None of a whole GPU.
        sharing: how a GPU is shared (time-slicing, MPS). slice_share: of a GPU that each is, where it is not a whole one (ratio).
    Returns:
        GPUs
    Validity: the fixed number of instances; unknown if GPUs are shared and their clients are not stated.

    >>> workload_gpus(4, 3, None, None), workload_gpus(1, 2, "3g.40gb", None, 0.5)
    (12, 1.0)

    Source: definition.
    """
    if mig_profile is None and sharing is None:
        return gpus_per_replica * replicas
    if slice_share is None:
        raise LookupError("the GPU is shared and its number of clients is not stated")
    return gpus_per_replica * replicas * slice_share


def gpu_hours_limit(workload_gpus: float, time_limit_s: float | None) -> float:
    """GPU-hours of a batch job that runs until its time limit.

    gpu_hours_limit = workload_gpus · time_limit_s / 3600

    Args:
        workload_gpus: GPUs of all instances. time_limit_s: after which the batch system ends the job [s].
    Returns:
        [GPU-hours]
    Validity: an upper bound of one job; unknown where no time limit is stated.

    >>> gpu_hours_limit(16, 172800)
    768.0

    Source: definition.
    """
    if time_limit_s is None:
        raise LookupError("no time limit is stated")
    return workload_gpus * time_limit_s / units.HOUR_S


def training_gpu_hours(workload_gpus: float, training_run_s: float) -> float:
    """GPU-hours of the whole training run.

    training_gpu_hours = workload_gpus · training_run_s / 3600

    Args:
        workload_gpus: GPUs of all instances. training_run_s: of the whole run [s].
    Returns:
        [GPU-hours]
    Validity: without checkpoints, evaluations and failures, as the time of the run.

    >>> training_gpu_hours(8, 36000)
    80.0

    Source: definition.
    """
    return workload_gpus * training_run_s / units.HOUR_S


def missing_labels(
    required_labels: tuple[str, ...] | None, labels: Mapping[str, str], kustomization: str | None
) -> tuple[str, ...]:
    """Labels required by gpulint.yaml that neither the object nor a comment declares.

    missing_labels = required_labels − labels

    Args:
        required_labels: names that are demanded. labels: what is stated.
        kustomization: that lists the file, whose overlays may add more.
    Returns:
        names
    Validity: a label without a value counts as missing; unknown where overlays may add what is missing.

    >>> missing_labels(("team", "tier"), {"team": "search", "tier": ""}, None)
    ('tier',)

    Source: definition.
    """
    missing = tuple(name for name in required_labels or () if not labels.get(name))
    if missing and kustomization:
        raise LookupError(f"overlays of {kustomization} may add {', '.join(missing)}")
    return missing


def missing_annotations(
    required_annotations: tuple[str, ...] | None, annotations: Mapping[str, str], kustomization: str | None
) -> tuple[str, ...]:
    """Annotations required by gpulint.yaml that neither the object nor a comment declares.

    missing_annotations = required_annotations − annotations

    Args:
        required_annotations: names that are demanded. annotations: what is stated.
        kustomization: that lists the file, whose overlays may add more.
    Returns:
        names
    Validity: an annotation without a value counts as missing; unknown where overlays may add what is missing.

    >>> missing_annotations(("owner",), {}, None)
    ('owner',)

    Source: definition.
    """
    missing = tuple(name for name in required_annotations or () if not annotations.get(name))
    if missing and kustomization:
        raise LookupError(f"overlays of {kustomization} may add {', '.join(missing)}")
    return missing
