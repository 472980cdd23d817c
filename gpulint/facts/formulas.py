"""The formulas of `sizing`, by the name of the fact that each computes."""

from __future__ import annotations

import functools
import importlib
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path

from gpulint import engines, sizing
from gpulint.catalog import package_data
from gpulint.facts import axes
from gpulint.facts.on_demand import OnDemand
from gpulint.sizing.engines import SHARED
from gpulint.workload import Value

ENGINE_TOPIC = "engines."
"""Prefix of the topics that belong to one engine."""


@functools.cache
def find_formulas(engine: str | None) -> Mapping[str, Callable[..., Value]]:
    """Return the formulas by fact name: the general ones, or those of one engine's own modules."""
    topics = _list_topics()
    if engine is not None:
        module = engines.module_name(engine)
        own = ENGINE_TOPIC + SHARED.get(module, module)
        return _import_functions(topic for topic in topics if topic == own or topic.startswith(f"{own}_"))
    homes = {name: topic for topic, names in topics.items() if not topic.startswith(ENGINE_TOPIC) for name in names}
    bound = axes.bind_formulas()

    def find(name: str) -> Callable[..., Value]:
        return bound.get(name) or getattr(importlib.import_module(f"gpulint.sizing.{homes[name]}"), name)

    return OnDemand((*homes, *bound), find)


def _list_topics() -> Mapping[str, Iterable[str]]:
    """Return the names of the formulas of each topic and of each engine's own module."""
    return package_data.list_functions(Path(sizing.__path__[0]))


def _import_functions(topics: Iterable[str]) -> Mapping[str, Callable[..., Value]]:
    modules = [importlib.import_module(f"gpulint.sizing.{topic}") for topic in topics]
    return {
        name: member
        for module in modules
        for name, member in vars(module).items()
        if callable(member) and not name.startswith("_") and getattr(member, "__module__", "") == module.__name__
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
    return f"{formula.__module__.rsplit('.', 1)[-1].lstrip('_')}.{formula.__name__}"
