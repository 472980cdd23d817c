"""MIG: the slices that an accelerator is cut into."""

from __future__ import annotations

from gpulint import units
from gpulint.catalog import tables
from gpulint.catalog.hardware.accelerators import Accelerator


def slice_memory_bytes(profile: str, accelerator_id: str | None) -> tuple[int, ...]:
    """Return the memory of a MIG profile on an accelerator, or on all that have it, ascending."""
    found = {
        units.scale_to_bytes(row["memory_gib"], units.GIB)
        for row in tables.rows("mig_profiles")
        if row["profile"] == profile and accelerator_id in (None, row["accelerator"])
    }
    return tuple(sorted(memory for memory in found if memory is not None))


def slice_share_of(quantity: str, profile: str, card: Accelerator) -> float | None:
    """Return a MIG slice's share of an accelerator's bandwidth or peak; None of another quantity.

    Bandwidth is divided like memory, and arithmetic by compute slices.
    Source: NVIDIA, Multi-Instance GPU user guide, partitioning.
    """
    found = [row for row in tables.rows("mig_profiles") if (row["accelerator"], row["profile"]) == (card.id, profile)]
    if not found:
        return None
    if quantity == "memory_bytes_per_s" and card.cuda_memory_bytes:
        return min(1.0, (units.scale_to_bytes(found[0]["memory_gib"], units.GIB) or 0) / card.cuda_memory_bytes)
    if quantity.endswith("_flop_per_s"):
        return int(found[0]["compute_slices"]) / int(found[0]["compute_slices_total"])
    return None


def slices(accelerator_id: str) -> tuple[tuple[str, int], ...]:
    """Return the MIG profiles of an accelerator with their memory, smallest first."""
    found = [
        (row["profile"], units.scale_to_bytes(row["memory_gib"], units.GIB) or 0)
        for row in tables.rows("mig_profiles")
        if row["accelerator"] == accelerator_id
    ]
    return tuple(sorted(found, key=lambda pair: (pair[1], pair[0])))


def slices_per_card(profile: str, accelerator_id: str) -> int | None:
    """Return the most slices of a MIG profile on one accelerator; None if it has no such profile."""
    for row in tables.rows("mig_profiles"):
        if (row["accelerator"], row["profile"]) == (accelerator_id, profile):
            return units.count(row["max_instances"])
    return None
