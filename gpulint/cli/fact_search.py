"""Facts for rules: search them by words, and show their values for one workload."""

from __future__ import annotations

import textwrap
from collections import Counter
from collections.abc import Iterator, Sequence
from typing import NamedTuple

from gpulint import units
from gpulint.facts.glossary import Quantity, glossary
from gpulint.facts.model import Missing, ResolvedFact
from gpulint.pipeline.rule_tests.runner import render_literal
from gpulint.policy.rules.evaluate import render_fact
from gpulint.policy.rules.evaluated_role import EvaluatedRole
from gpulint.report import json_text
from gpulint.report.model import Scenarios
from gpulint.workload import Value

FORMAT = "gpulint-facts/1"
OF_PARTS = "facility"
LISTED = ("name", "of", "type", "unit", "meaning", "ask")
OF_A_PART = frozenset({"part", "key", "words", "inherits"})
UNSTATED = "nothing states it"
HOW_MAX = 100
NEEDS_MAX = 8
"""Maximum number of missing inputs that are named, most frequent first."""


class FactValue(NamedTuple):
    """A fact of one role: its value in each scenario, as printed, and its source;

    `needs` are missing inputs.
    """

    quantity: Quantity
    scenarios: Scenarios[Value] | None = None
    printed: str = ""
    how: str = ""
    needs: tuple[str, ...] = ()


class RoleFacts(NamedTuple):
    """A role of a workload with its facts."""

    workload: str
    role: str
    place: str
    facts: tuple[FactValue, ...]


def find_facts(words: Sequence[str]) -> list[Quantity]:
    """Return the facts whose name, unit or meaning contains every one of these words."""
    wanted = [word.lower() for word in words]
    return [quantity for quantity in glossary().values() if all(word in _join_words(quantity) for word in wanted)]


def _join_words(quantity: Quantity) -> str:
    return (
        f"{quantity.name} {quantity.name.replace('_', ' ')} {quantity.unit} {quantity.meaning} {quantity.ask}".lower()
    )


def find_values(role: EvaluatedRole, wanted: Sequence[Quantity]) -> RoleFacts:
    """Return the values of these facts for a role or a component of a facility."""
    where = role.facts.role.anchor.location()
    values = tuple(_find_value(role, quantity) for quantity in wanted if _has_quantity(role, quantity))
    return RoleFacts(*role.owner, f"{where.path}:{where.line}", values)


def _has_quantity(role: EvaluatedRole, quantity: Quantity) -> bool:
    """Return whether such an object has the quantity at all."""
    if role.component or role.workload.adapter == OF_PARTS:
        return role.workload.kind in quantity.part
    return quantity.of != "document" and (not quantity.part or quantity.of == "pod")


def _find_value(role: EvaluatedRole, quantity: Quantity) -> FactValue:
    value = role.facts.find(quantity.name)
    if isinstance(value, Missing):
        return FactValue(quantity, needs=tuple(sorted(value.names)))
    return FactValue(
        quantity, value.scenarios, render_fact(quantity.name, role.facts), _describe_source(role, quantity.name, value)
    )


def _describe_source(role: EvaluatedRole, name: str, value: ResolvedFact) -> str:
    """Return the source of a value: the line that declares it, else a description."""
    field = role.facts.role.fields.get(name)
    if field is None or not field.origins:
        return value.how
    place = field.origins[0].location()
    return f"{place.path}:{place.line}"


# ---- as text


def render_list_text(wanted: Sequence[Quantity]) -> str:
    """Return a line for each fact: name, unit or type, meaning, and default."""
    rows = [
        (quantity.name, quantity.unit or quantity.type, quantity.meaning + _describe_default(quantity))
        for quantity in wanted
    ]
    return _align([("fact", "unit", "meaning"), *rows])


def _describe_default(quantity: Quantity) -> str:
    return f" ({render_literal(quantity.absent[0])} if not declared)" if quantity.absent else ""


def render_values_text(roles: Sequence[RoleFacts], every: bool) -> str:
    """Return the known facts of each role as a condition compares them, and the missing inputs of
    the others.
    """
    return "\n".join(block for role in roles for block in _render_role(role, every))


def _render_role(role: RoleFacts, every: bool) -> Iterator[str]:
    yield f"{role.workload}/{role.role}  {role.place}"
    shown_facts = [fact for fact in role.facts if fact.scenarios is not None and (every or fact.how != UNSTATED)]
    rows = [
        (fact.quantity.name, _render_compared(fact), _render_printed(fact), textwrap.shorten(fact.how, HOW_MAX))
        for fact in shown_facts
    ]
    yield _align([("fact", "in a condition", "printed", "source"), *rows])
    silent = sum(fact.scenarios is not None for fact in role.facts) - len(shown_facts)
    if silent:
        yield f"not declared: {silent} more facts, each at its default; add a WORD to show the facts that mention it"
    unknown = [fact for fact in role.facts if fact.scenarios is None]
    if every:
        yield from (f"unknown: {fact.quantity.name} (missing: {', '.join(fact.needs)})" for fact in unknown)
    elif unknown:
        lacking = Counter(need for fact in unknown for need in fact.needs).most_common(NEEDS_MAX)
        needs = ", ".join(f"{name} ({count})" for name, count in lacking)
        yield f"unknown: {len(unknown)} more facts; missing inputs: {needs}"
    yield ""


def _render_compared(fact: FactValue) -> str:
    """Return the values as a condition would write them; three if the scenarios differ."""
    return " / ".join(dict.fromkeys(render_literal(value) for value in fact.scenarios or ()))


def _render_printed(fact: FactValue) -> str:
    plain = _render_compared(fact).strip("'")
    return "" if fact.printed.replace(",", "") == plain or fact.printed == units.human(None, "") else fact.printed


def _align(rows: Sequence[tuple[str, ...]]) -> str:
    widths = [max(len(row[at]) for row in rows) for at in range(len(rows[0]) - 1)]
    return "\n".join(
        "  ".join([*(f"{cell:<{width}}" for cell, width in zip(row, widths, strict=False)), row[-1]]).rstrip()
        for row in rows
    )


# ---- as JSON


def render_list_json(wanted: Sequence[Quantity]) -> str:
    """Return the same facts as JSON."""
    return _render_json({"facts": [_build_row(quantity) for quantity in wanted]})


def _build_row(quantity: Quantity) -> dict[str, object]:
    row: dict[str, object] = {name: getattr(quantity, name) for name in LISTED}
    row |= {name: value for name, value in quantity._asdict().items() if name in OF_A_PART and value}
    return {**row, "absent": quantity.absent[0]} if quantity.absent else row


def render_values_json(roles: Sequence[RoleFacts]) -> str:
    """Return the same values as JSON: three scenarios each, in base units."""
    return _render_json({"roles": [_build_role(role) for role in roles]})


def _build_role(role: RoleFacts) -> dict[str, object]:
    values_known = {
        fact.quantity.name: {"unit": fact.quantity.unit, **fact.scenarios._asdict(), "from": fact.how}
        for fact in role.facts
        if fact.scenarios is not None
    }
    unknown = {fact.quantity.name: list(fact.needs) for fact in role.facts if fact.scenarios is None}
    return {
        "workload": role.workload,
        "role": role.role,
        "place": role.place,
        "facts": values_known,
        "unknown": unknown,
    }


def _render_json(data: dict[str, object]) -> str:
    return json_text.encode({"format": FORMAT, **data})
