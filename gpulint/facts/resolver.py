"""The resolver: which providers are asked for a fact, and in which order."""

from __future__ import annotations

import functools
from collections.abc import Callable

from gpulint.catalog.architecture import Resolution
from gpulint.facts import assumed_shape, intervals, providers
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
    (any_quantity, providers.provide_field),
    (origin("engine"), providers.provide_open_arguments),
    (name("task"), providers.provide_engine_purpose),
    (name(*assumed_shape.ASSUMED), assumed_shape.provide_assumed_shape),
    (any_quantity, providers.provide_engine_formula),
    (origin("architecture", "checkpoint"), providers.provide_checkpoint),
    (origin("accelerator"), providers.provide_accelerator),
    (origin("node"), providers.provide_node),
    (origin("offer"), providers.provide_offer),
    (name("bytes_per_weight"), providers.provide_number_format),
    (name("accelerator_permitted", "missing_facts", "missing_facts_ask"), providers.provide_policy),
    (name(*providers.DRAFT_FACTS), providers.provide_draft),
    (name(*providers.AT_CAPACITY), providers.provide_capacity),
    (any_quantity, providers.provide_general_formula),
    (origin("fitted"), providers.provide_fitted_value),
    (origin("measured"), providers.provide_measurement),
    (origin("engine"), providers.provide_engine_default),
    (lambda quantity: bool(quantity.absent), providers.provide_absence),
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
