"""The resolver: which providers are asked for a fact, and in which order."""

from __future__ import annotations

import functools
from collections.abc import Callable

from gpulint.catalog.architecture import Resolution
from gpulint.facts import intervals, providers
from gpulint.facts.glossary import Quantity, glossary
from gpulint.facts.model import Facts, Provider
from gpulint.workload import Role

Condition = Callable[[Quantity], bool]


def any_quantity(_: Quantity) -> bool:
    """Hold for every quantity."""
    return True


def origin(*origins: str) -> Condition:
    """Hold for the quantities of these origins."""
    return lambda quantity: quantity.of in origins


def name(*names: str) -> Condition:
    """Hold for the quantities with these names."""
    return lambda quantity: quantity.name in names


PROVIDERS: tuple[tuple[Condition, Provider], ...] = (
    (any_quantity, providers.stated),
    (origin("engine"), providers.open_arguments),
    (name("task"), providers.engine_purpose),
    (name(*providers.ASSUMED), providers.assumed_shape),
    (any_quantity, providers.engine_formula),
    (origin("architecture", "checkpoint"), providers.checkpoint),
    (origin("accelerator"), providers.accelerator),
    (origin("node"), providers.node),
    (origin("offer"), providers.offer),
    (name("bytes_per_weight"), providers.number_format),
    (name("accelerator_permitted", "missing_facts", "missing_facts_ask"), providers.policy),
    (name(*providers.DRAFT_FACTS), providers.draft),
    (name(*providers.AT_CAPACITY), providers.capacity),
    (any_quantity, providers.general_formula),
    (origin("fitted"), providers.fitted),
    (origin("measured"), providers.measured),
    (origin("engine"), providers.engine_default),
    (lambda quantity: bool(quantity.absent), providers.absent),
)
"""The providers in the order in which they are asked, each for the quantities that it may know."""


@functools.cache
def list_providers(fact: str) -> tuple[Provider, ...]:
    """Return the providers that are asked for a fact, in their order."""
    quantity = glossary()[fact]
    return tuple(provider for condition, provider in PROVIDERS if condition(quantity))


def resolve(role: Role, resolved: Resolution | None) -> Facts:
    """Return the facts of a role, whose checkpoint resolves to an architecture or to none."""
    return Facts(role, resolved, list_providers, intervals.combine_terms)
