"""Waiver conditions in CEL over facts. All numbers are treated as floats."""

from __future__ import annotations

import functools
import re
from typing import NamedTuple

from gpulint import units
from gpulint.facts.glossary import glossary
from gpulint.facts.model import Facts, Missing
from gpulint.policy.conditions import cel

COMPARES = re.compile(r"[<>!=]=|[<>!]|\bin\b|\.\w+\(")
WHOLE = re.compile(r"\"(?:\\.|[^\"\\])*\"|'(?:\\.|[^'\\])*'|(?<![\w.])(\d+)(?![\w.])")
LONGEST = 300
OVER_LISTS = re.compile(r"\.\s*(?:all|exists|exists_one|map|filter)\s*\(")
"""Macros that are rejected: nested ones take exponential time, and a condition may come from an untrusted author."""


class Evaluation(NamedTuple):
    """Whether a condition holds (None: unresolved), its current values, and the missing facts."""

    holds: bool | None
    now: str = ""
    needs: tuple[str, ...] = ()


def find_problem(bound: str) -> str:
    """Return what is wrong with a condition, or an empty string."""
    if len(bound) > LONGEST:
        return f"the condition has {len(bound):,} characters; the limit is {LONGEST}"
    if OVER_LISTS.search(bound):
        return f"`{bound}` iterates over a list; compare facts only with each other and with numbers"
    if not COMPARES.search(bound):
        return f'`{bound}` compares nothing; put the whole condition in quotes: while="gpus_per_replica <= 8"'
    try:
        cel.compile(_write_floats(bound))
    except cel.ConditionError:
        return f"cannot parse `{bound}`: {_explain(bound)}"
    return "" if cel.find_names(bound) else f"`{bound}` names no fact; `gpulint facts` lists them"


def evaluate(bound: str, facts: Facts) -> Evaluation:
    """Evaluate a condition for a role in the expected scenario."""
    values = {name: facts.expected(name) for name in cel.find_names(bound)}
    resolved = {name: _convert_to_float(value) for name, value in values.items() if not isinstance(value, Missing)}
    try:
        holds = cel.evaluate(_write_floats(bound), resolved)
    except cel.ConditionError:
        absent = [name for name, value in resolved.items() if value is None]
        return Evaluation(None, needs=tuple(absent or resolved))
    if holds is None:
        return Evaluation(None, needs=tuple(sorted(facts.missing(values.keys() - resolved.keys()))))
    return Evaluation(holds, ", ".join(f"{name} {_render(name, facts)}" for name in resolved))


@functools.cache
def _write_floats(bound: str) -> str:
    """Return a condition in which every number is a float, so that it can be multiplied with facts."""
    return WHOLE.sub(lambda match: f"{match[1]}.0" if match[1] else match[0], bound)


def _convert_to_float(value: object) -> object:
    return float(value) if isinstance(value, int) and not isinstance(value, bool) else value


def _render(name: str, facts: Facts) -> str:
    value = facts.expected(name)
    return units.human(value, glossary()[name].unit)


def _explain(bound: str) -> str:
    """Return why a condition does not compile, in the same words as for rule files."""
    from gpulint.policy.conditions import condition_diagnostics

    for mistake in (
        *condition_diagnostics.find_mistakes(bound, False),
        *condition_diagnostics.find_mistakes(_write_floats(bound), False),
    ):
        return mistake.message
    return "it mixes values of different types"
