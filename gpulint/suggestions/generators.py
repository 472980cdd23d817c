"""Generators: the functions that propose candidates, registered by the quantity that each of them
changes.

A generator is a function in a module of `serving/`, `training/` or `facility/`. Its module is found
in its folder. Those of a facility are for components and yield candidates of their own kind.
"""

from __future__ import annotations

import functools
import importlib
import pkgutil
from collections.abc import Callable, Iterator, Mapping
from typing import Any, NamedTuple, TypeVar

from gpulint import engines
from gpulint.facts.model import Facts
from gpulint.workload import Value

FAMILIES = ("serving", "training")
"""The folders of generators for roles, each named for the roles that its generators are for."""
FACILITY = "facility"
"""The folder of generators for the components of a facility."""


class Candidate(NamedTuple):
    """A change to try: its title, the value of each quantity that it sets, and its trade-off."""

    title: str
    values: Mapping[str, Value]
    trade_off: str = ""


Generator = Callable[..., Iterator[Any]]
G = TypeVar("G", bound=Generator)


class Registration(NamedTuple):
    """A generator with the quantity that it changes, the families of roles that it is for, and its
    place in the order.
    """

    quantity: str
    families: tuple[str, ...]
    order: int
    generate: Generator


_REGISTRATIONS: dict[tuple[str, str, str], Registration] = {}


def generates(quantity: str, *, families: tuple[str, ...] = (), order: int = 0) -> Callable[[G], G]:
    """Register a generator of candidates that change `quantity`.

    It is for the roles or components of its own folder unless `families` names others. Of several generators of
    one quantity, those of the lowest `order` come first, then those of the role's own folder.
    """

    def register(generate: G) -> G:
        key = generate.__module__, generate.__qualname__, quantity
        _REGISTRATIONS[key] = Registration(quantity, families or (_folder(generate),), order, generate)
        return generate

    return register


def propose(quantity: str, facts: Facts) -> Iterator[Candidate]:
    """Yield the candidates that change a quantity of a role, the smallest or cheapest change first.

    A program that is not recognised counts as a server. It may train as well, so a quantity that
    only training runs have is changed as for them.
    """
    family = "training" if engines.is_training(facts.role) else "serving"
    found = find_generators(quantity, family)
    if not found and not engines.find_purpose(facts.engine or ""):
        found = find_generators(quantity, "training")
    for generate in found:
        yield from generate(facts)


@functools.cache
def find_generators(quantity: str, family: str) -> tuple[Generator, ...]:
    """Return the generators of a family that change a quantity, in their order."""
    for folder in (FACILITY,) if family == FACILITY else FAMILIES:
        _import_modules(folder)
    found = [entry for entry in _REGISTRATIONS.values() if entry.quantity == quantity and family in entry.families]
    found.sort(key=lambda entry: (entry.order, _folder(entry.generate) != family, entry.generate.__module__))
    return tuple(entry.generate for entry in found)


def _import_modules(folder: str) -> None:
    """Import every module of a folder of generators, so that each registers its own."""
    package = importlib.import_module(f"{__package__}.{folder}")
    for module in pkgutil.iter_modules(package.__path__):
        importlib.import_module(f"{package.__name__}.{module.name}")


def _folder(generate: Generator) -> str:
    return generate.__module__.split(".")[-2]
