"""The formulas of `sizing`, by the name of the fact that each computes."""

from __future__ import annotations

import functools
import importlib
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path

from gpulint import engines, sizing
from gpulint.catalog import package_data
from gpulint.facts.on_demand import OnDemand
from gpulint.workload import Value

ENGINE_TOPIC = "engines."
"""Prefix of the topics that belong to one engine."""


@functools.cache
def find_formulas(engine: str | None) -> Mapping[str, Callable[..., Value]]:
    """Return the formulas by fact name: the general ones, or those of one engine's own module."""
    topics = _list_topics()
    if engine is not None:
        own = ENGINE_TOPIC + engines.module_name(engine)
        return _import_functions(f"gpulint.sizing.{own}") if own in topics else {}
    homes = {name: topic for topic, names in topics.items() if not topic.startswith(ENGINE_TOPIC) for name in names}
    return OnDemand(homes, lambda name: getattr(importlib.import_module(f"gpulint.sizing.{homes[name]}"), name))


def _list_topics() -> Mapping[str, Iterable[str]]:
    """Return the names of the formulas of each topic and of each engine's own module."""
    return package_data.list_functions(Path(sizing.__path__[0]))


def _import_functions(module: str) -> Mapping[str, Callable[..., Value]]:
    members = vars(importlib.import_module(module))
    return {
        name: member
        for name, member in members.items()
        if callable(member) and not name.startswith("_") and getattr(member, "__module__", "") == module
    }


def is_used(engine: str, name: str) -> bool:
    """Whether an engine's own formulas take a fact into account."""
    return any(name in list_parameters(formula) for formula in find_formulas(engine or None).values())


@functools.cache
def list_parameters(formula: Callable[..., Value]) -> tuple[str, ...]:
    """Return the facts that a formula takes."""
    code = formula.__code__
    return code.co_varnames[: code.co_argcount]


@functools.cache
def optional_parameters(formula: Callable[..., Value]) -> frozenset[str]:
    """Return the facts that a formula can do without."""
    names = list_parameters(formula)
    return frozenset(names[len(names) - len(formula.__defaults__ or ()) :])


@functools.cache
def title(formula: Callable[..., Value]) -> str:
    """Return a formula's topic and name, as in a report."""
    return f"{formula.__module__.rsplit('.', 1)[-1]}.{formula.__name__}"
