"""MIG profiles that a workload requests and its GPU lacks."""

from __future__ import annotations

from dataclasses import replace

from gpulint.adapters.nodes import mig_slices
from gpulint.workload import Field, Role, Workload


def check_profiles(workload: Workload) -> Workload:
    """Return a workload whose roles name the requested profiles that their GPUs lack."""
    return replace(workload, roles=tuple(map(_check_role, workload.roles)))


def _check_role(role: Role) -> Role:
    profile, product = role.text("mig_profile"), role.text("accelerator")
    if not profile or not product or not mig_slices.lacks(product, profile):
        return role
    stated = role.fields["mig_profile"]
    return role.having(
        missing_profile=Field(profile, stated.origins, stated.source),
        known_profiles=Field(mig_slices.describe_profiles(product), source="catalog"),
    )
