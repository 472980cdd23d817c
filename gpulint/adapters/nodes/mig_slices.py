"""MIG slices: whether a GPU has the profile that a workload or a node pool requests."""

from __future__ import annotations

import re
from dataclasses import replace

from gpulint.catalog import hardware
from gpulint.workload import Field, Role, Workload

WHOLE = re.compile(r"[47]g\.")
"""The profile of a whole GPU, which ends the tables that the catalog lists completely."""
PLAIN = re.compile(r"\d+g\.\d+gb")


def lacks(product: str, profile: str) -> bool:
    """Return True if a GPU has no such profile: it has no MIG, or its whole table is known."""
    card, profiles = hardware.accelerator(product), [name for name, _ in hardware.slices(product)]
    if card is None or profile in profiles or not PLAIN.fullmatch(profile):
        return False
    return not card.mig or any(WHOLE.match(name) for name in profiles)


def describe_profiles(product: str) -> str:
    """Describe the profiles of a GPU for a message."""
    plain = [profile for profile, _ in hardware.slices(product) if "+" not in profile]
    return f"it has {', '.join(plain)}" if plain else "it does not support MIG"


def check_profiles(workload: Workload) -> Workload:
    """Return a workload whose roles name the requested profiles that their GPUs lack."""
    return replace(workload, roles=tuple(map(_check_role, workload.roles)))


def _check_role(role: Role) -> Role:
    profile, product = role.text("mig_profile"), role.text("accelerator")
    if not profile or not product or not lacks(product, profile):
        return role
    stated = role.fields["mig_profile"]
    return role.having(
        missing_profile=Field(profile, stated.origins, stated.source),
        known_profiles=Field(describe_profiles(product), source="catalog"),
    )
