"""Intervals: the range that is printed for a fact with uncertain terms."""

from __future__ import annotations

import functools
import math

from gpulint.facts import assumed_shape, providers
from gpulint.facts.model import Facts, Missing, ResolvedFact, constant, is_constant
from gpulint.workload import Value

DEVIATING = ("best", "worst")


def combine_terms(name: str, found: ResolvedFact, facts: Facts) -> tuple[Value, Value]:
    """Combine independent terms by quadrature around the likely value, within the scenarios."""
    expected = found.scenarios.expected
    if is_constant(found.scenarios) or isinstance(expected, bool) or not isinstance(expected, int | float):
        return found.scenarios.best, found.scenarios.worst
    shifts = [_shift(name, term, expected, facts) for term in sorted(found.terms)]
    down, up = (math.sqrt(sum(shift[side] ** 2 for shift in shifts)) for side in (0, 1))
    extremes = [value for value in found.scenarios if isinstance(value, int | float)]
    low, high = max(expected - down, min(extremes)), min(expected + up, max(extremes))
    return (round(low), round(high)) if isinstance(expected, int) else (low, high)


def span_scenarios(name: str, found: ResolvedFact, facts: Facts) -> tuple[Value, Value]:
    """Span all scenarios, the smaller value first, for things that err together."""
    first, _, last = found.scenarios
    if isinstance(first, int | float) and isinstance(last, int | float) and first > last:
        return last, first
    return first, last


def _shift(name: str, term: str, expected: float, facts: Facts) -> tuple[float, float]:
    """Return how far one term alone moves a fact down and up."""
    shifts = [0.0]
    for scenario in DEVIATING:
        if not _deviates(term, scenario, facts):
            continue
        if (term, scenario) not in facts.deviations:
            facts.deviations[term, scenario] = _deviate(facts, term, scenario)
        value = facts.deviations[term, scenario].expected(name)
        shifts += [value - expected] if isinstance(value, int | float) else []
    return min(shifts), max(shifts)


def _deviates(term: str, scenario: str, facts: Facts) -> bool:
    scenarios = facts.scenarios(term)
    return not isinstance(scenarios, Missing) and getattr(scenarios, scenario) != scenarios.expected


def _deviate(parent: Facts, term: str, scenario: str) -> Facts:
    """Return the facts with one term in a scenario and all others likely."""
    override = functools.partial(_override, parent, term, scenario)
    return parent.add_layer(
        assumed_shape.provide_assumed_shape,
        providers.provide_engine_formula,
        providers.provide_general_formula,
        override=override,
    )


def _override(parent: Facts, term: str, scenario: str, name: str) -> ResolvedFact | Missing | None:
    """Return the parent's fact at its likely value, unless it depends on the term."""
    found = parent.find(name)
    if isinstance(found, Missing) or not found.terms:
        return found
    if term not in found.terms:
        return constant(found.scenarios.expected, found.how)
    if name == term:
        return constant(getattr(found.scenarios, scenario), found.how)
    return None
