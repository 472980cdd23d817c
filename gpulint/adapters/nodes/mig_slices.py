"""Slices of cards: whether a card can be cut as a workload or a pool of nodes wants it."""

from __future__ import annotations

import re
from dataclasses import replace

from gpulint.catalog import hardware
from gpulint.workload import Field, Role, Workload

WHOLE = re.compile(r"[47]g\.")
"""The profile that takes a whole card, which ends the tables of those that the catalog lists completely."""
PLAIN = re.compile(r"\d+g\.\d+gb")


def lacks(product: str, profile: str) -> bool:
    """Whether a card has no such profile: one without MIG, or one of which the catalog has the whole table."""
    card, known = hardware.accelerator(product), [one for one, _ in hardware.slices(product)]
    if card is None or profile in known or not PLAIN.fullmatch(profile):
        return False
    return not card.mig or any(WHOLE.match(one) for one in known)


def listed(product: str) -> str:
    """The profiles that a card has, for a message."""
    plain = [profile for profile, _ in hardware.slices(product) if "+" not in profile]
    return f"it has {', '.join(plain)}" if plain else "it cannot be cut"


def checked(workload: Workload) -> Workload:
    """A workload whose roles say which slice they ask for that the card which they name does not have."""
    return replace(workload, roles=tuple(map(_checked, workload.roles)))


def _checked(role: Role) -> Role:
    profile, product = role.text("mig_profile"), role.text("accelerator")
    if not profile or not product or not lacks(product, profile):
        return role
    stated = role.fields["mig_profile"]
    return role.having(
        missing_profile=Field(profile, stated.origins, stated.source),
        known_profiles=Field(listed(product), source="catalog"),
    )
