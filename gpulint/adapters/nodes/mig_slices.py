"""MIG slices: whether a GPU has the profile that a workload or a node pool requests."""

from __future__ import annotations

import re

from gpulint.catalog import hardware

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
