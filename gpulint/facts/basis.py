"""The basis of facts: how each value behind a fact is known."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import NamedTuple

from gpulint.facts import assumed_shape, providers
from gpulint.facts.formulas import find_formulas
from gpulint.facts.glossary import glossary
from gpulint.facts.model import Facts, Missing, Provider
from gpulint.workload import Basis, Field, Role, Unknown, Value

WEAK: frozenset[Basis] = frozenset({"assumed", "open"})
"""The bases on which no error may rest."""
ABOUT_NETWORK = frozenset({"architecture", "checkpoint"})
OF_NETWORK = ("checkpoint", "network")
"""Fields that decide the architecture of a role, which is resolved before its facts."""
COMPUTING = (
    providers.provide_draft,
    providers.provide_capacity,
    providers.provide_number_format,
    providers.provide_absence,
)
"""Providers of what follows from other facts, or of what is absent."""


class Known(NamedTuple):
    """A value behind a fact: its name, how it is known, its source, and its field if the role has one."""

    fact: str
    basis: Basis
    source: str
    field: Field | None = None


def find_field_basis(name: str, role: Role, declared: Role | None = None) -> Basis:
    """Return how a field of a role is known; `declared` is the role before open values were chosen."""
    field = role.fields[name]
    before = (declared or role).fields.get(name)
    if (
        before is not field
        and (before is None or isinstance(before.value, Unknown))
        and not isinstance(field.value, Unknown)
    ):
        return field.basis or ("assumed" if field.assumption else "bounded")
    if field.basis is not None:
        return field.basis
    if isinstance(field.value, Unknown):
        return "bounded" if field.value.decision or field.value.choices else "open"
    if field.assumption:
        return "assumed"
    if not field.origins or field.source.startswith("default"):
        return "open" if role.open_ended and glossary()[name].of == "engine" else "default"
    return "stated" if field.origins[0].document.path == role.anchor.document.path else "joined"


def list_known(facts: Facts, names: Iterable[str], declared: Role | None = None) -> Iterator[Known]:
    """Yield the values that facts rest on, each once, the nearest first; nothing for what is absent.

    The facts are resolved again under a trace, so that every field that a provider reads counts. The engine decides which
    formulas and rules apply.
    """
    traced = facts.start_trace()
    seen = dict.fromkeys(name for name in (*names, "engine") if name in glossary())
    level = [*seen]
    while level:
        further: dict[str, None] = {}
        for name in level:
            known = _find_known(name, traced, declared)
            if known is not None:
                yield known
            if known is None or known.field is None:
                reads = (
                    *sorted(traced.list_reads(name)),
                    *(OF_NETWORK if glossary()[name].of in ABOUT_NETWORK else ()),
                )
                further |= dict.fromkeys(other for other in reads if other in glossary() and other not in seen)
        seen |= further
        level = [*further]


def find_weak(facts: Facts, names: Iterable[str], declared: Role) -> Known | None:
    """Return the first value behind facts on which no error may rest: an assumed one, or the default of an open file."""
    if not _has_weak(facts, declared):
        return None
    return next((known for known in list_known(facts, names, declared) if known.basis in WEAK), None)


def _has_weak(facts: Facts, declared: Role) -> bool:
    """Return whether any value of a role is assumed, or the default of an open file; else its facts need no walk."""
    resolved = facts.resolved
    if resolved is not None and (
        resolved.assumption or resolved.architecture is None or not resolved.architecture.is_known
    ):
        return True
    return any(find_field_basis(name, facts.role, declared) in WEAK for name in facts.role.fields if name in glossary())


def _find_known(name: str, facts: Facts, declared: Role | None) -> Known | None:
    """Return a value as it is known; None for one that is computed, absent or missing."""
    found = facts.find(name)
    if isinstance(found, Missing):
        return None
    if (field := facts.role.fields.get(name)) is not None:
        is_absent = found.scenarios.expected is None and not field.origins
        basis = find_field_basis(name, facts.role, declared)
        return None if is_absent else Known(name, basis, field.assumption or found.how, field)
    quantity = glossary()[name]
    for provider in facts.list_providers(name):
        formulas = _find_formulas(provider, facts)
        if formulas is not None and name in formulas:
            return None
        if formulas is None and provider(quantity, facts) is not None:
            given = _find_provider_basis(provider, facts)
            return Known(name, given, found.how) if given else None
    return None


def _find_formulas(provider: Provider, facts: Facts) -> Mapping[str, Callable[..., Value]] | None:
    """Return the formulas that a provider computes; None for a provider of another kind."""
    if provider is providers.provide_engine_formula:
        return find_formulas(facts.engine) if facts.engine else {}
    return find_formulas(None) if provider is providers.provide_general_formula else None


def _find_provider_basis(provider: Provider, facts: Facts) -> Basis | None:
    """Return how the values of a provider are known; None for what follows from other facts."""
    if provider in COMPUTING:
        return None
    if provider is assumed_shape.provide_assumed_shape:
        return "assumed"
    if provider is providers.provide_checkpoint:
        return "assumed" if facts.resolved is not None and facts.resolved.assumption else "catalog"
    return "default" if provider is providers.provide_engine_default else "catalog"
