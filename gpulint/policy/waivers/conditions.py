"""Bound: the condition under which a waiver holds, in CEL over facts whose numbers are all fractions."""

from __future__ import annotations

import functools
import re
from typing import NamedTuple

from gpulint import units
from gpulint.facts.glossary import glossary
from gpulint.facts.model import Facts, Missing
from gpulint.policy.rules import cel

COMPARES = re.compile(r"[<>!=]=|[<>!]|\bin\b|\.\w+\(")
WHOLE = re.compile(r"\"(?:\\.|[^\"\\])*\"|'(?:\\.|[^'\\])*'|(?<![\w.])(\d+)(?![\w.])")
LONGEST = 300
OVER_LISTS = re.compile(r"\.\s*(?:all|exists|exists_one|map|filter)\s*\(")
"""Conditions that nest these take time exponential in their length, and a bound may be a stranger's."""


class Told(NamedTuple):
    """Whether a bound holds, None where that cannot be told; what it is now, and what would have to be stated."""

    holds: bool | None
    now: str = ""
    needs: tuple[str, ...] = ()


def wrong(bound: str) -> str:
    """What is wrong with a bound; empty when nothing is."""
    if len(bound) > LONGEST:
        return f"a condition of {len(bound):,} characters; {LONGEST} are read"
    if OVER_LISTS.search(bound):
        return f"`{bound}` goes over a list; compare facts with one another and with numbers"
    if not COMPARES.search(bound):
        return f'`{bound}` compares nothing; write the whole of it in quotes: while="gpus_per_replica <= 8"'
    try:
        cel.compiled(_in_fractions(bound))
    except cel.ConditionError:
        return f"`{bound}` cannot be read: {_mistake(bound)}"
    return "" if cel.names(bound) else f"`{bound}` names no fact; `gpulint facts` lists them"


def told(bound: str, facts: Facts) -> Told:
    """Whether a bound holds of a role in the likely world."""
    likely = {name: facts.likely(name) for name in cel.names(bound)}
    known = {name: _fraction(value) for name, value in likely.items() if not isinstance(value, Missing)}
    try:
        holds = cel.evaluate(_in_fractions(bound), known)
    except cel.ConditionError:
        absent = [name for name, value in known.items() if value is None]
        return Told(None, needs=tuple(absent or known))
    if holds is None:
        return Told(None, needs=tuple(sorted(facts.missing(likely.keys() - known.keys()))))
    return Told(holds, ", ".join(f"{name} {_shown(name, facts)}" for name in known))


@functools.cache
def _in_fractions(bound: str) -> str:
    """A condition whose numbers are all fractions, so that they can be multiplied with facts."""
    return WHOLE.sub(lambda match: f"{match[1]}.0" if match[1] else match[0], bound)


def _fraction(value: object) -> object:
    return float(value) if isinstance(value, int) and not isinstance(value, bool) else value


def _shown(name: str, facts: Facts) -> str:
    value = facts.likely(name)
    return units.human(value, glossary()[name].unit)


def _mistake(bound: str) -> str:
    """What keeps a bound from being compiled, in the words that rule files are told it in."""
    from gpulint.policy.rules import condition_diagnostics as condition

    for mistake in (*condition.mistakes(bound, False), *condition.mistakes(_in_fractions(bound), False)):
        return mistake.message
    return "it mixes kinds of values"
