"""Companions: the second edit that a change needs, because without it the change would make another rule fire."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from gpulint.facts.model import Facts
from gpulint.policy.rules.evaluate import Verdict
from gpulint.suggestions import changed_role, generators
from gpulint.suggestions.generators import Candidate
from gpulint.workload import Role, Value

COMPANIONS = frozenset({"shared_memory_default"})
"""Quantities that a change may take with it: they cost nothing and change nothing else."""


def is_companion(verdict: Verdict) -> bool:
    """Return whether a companion is all that a rule asks for."""
    return bool(verdict.rule.change) and COMPANIONS.issuperset(verdict.rule.change)


def add(candidate: Candidate, firing: Iterable[Verdict], role: Role, changed: Facts) -> Candidate | None:
    """Return a candidate with what clears the companions' rules that fire after it; None if there is nothing to add, or
    the file has no place for it.
    """
    names = {name for verdict in firing if is_companion(verdict) for name in verdict.rule.change}
    proposed = (next(generators.propose(name, changed), None) for name in sorted(names - candidate.values.keys()))
    more: Mapping[str, Value] = {name: value for found in proposed if found for name, value in found.values.items()}
    both = candidate._replace(values={**candidate.values, **more})
    return both if more and changed_role.is_expressible(role, both) else None
