"""Vocabulary: the facts that a rule may compare, searched by their words, and what each is worth for one workload."""

from __future__ import annotations

import json
import textwrap
from collections import Counter
from collections.abc import Iterator, Sequence
from typing import NamedTuple

from gpulint import units
from gpulint.facts.glossary import Quantity, glossary
from gpulint.facts.model import Known, Missing
from gpulint.pipeline.check import Judged
from gpulint.pipeline.rule_tests.runner import literal
from gpulint.policy.rules.evaluate import shown
from gpulint.report.model import Worlds
from gpulint.workload import Value

FORMAT = "gpulint-facts/1"
OF_PARTS = "facility"
LISTED = ("name", "of", "type", "unit", "meaning", "ask")
OF_A_PART = frozenset({"part", "key", "words", "inherits"})
UNSTATED = "nothing states it"
HOW_MAX = 100
NEEDS_MAX = 8
"""So many quantities are named that most of the unknown facts lack."""


class Worth(NamedTuple):
    """A fact of one role: its value in each world, as a message prints it, and where it comes from; `needs` what it lacks."""

    quantity: Quantity
    worlds: Worlds[Value] | None = None
    printed: str = ""
    how: str = ""
    needs: tuple[str, ...] = ()


class Held(NamedTuple):
    """A role of a workload with its facts."""

    workload: str
    role: str
    place: str
    facts: tuple[Worth, ...]


def found(words: Sequence[str]) -> list[Quantity]:
    """The facts whose name, unit or meaning holds every one of these words."""
    wanted = [word.lower() for word in words]
    return [one for one in glossary().values() if all(word in _said(one) for word in wanted)]


def _said(one: Quantity) -> str:
    return f"{one.name} {one.name.replace('_', ' ')} {one.unit} {one.meaning} {one.ask}".lower()


def held(one: Judged, wanted: Sequence[Quantity]) -> Held:
    """What each of these facts is worth for a role, or for a part of a facility."""
    where = one.known.role.anchor.location()
    values = tuple(_worth(one, quantity) for quantity in wanted if _is_of(one, quantity))
    return Held(*one.owner, f"{where.path}:{where.line}", values)


def _is_of(one: Judged, quantity: Quantity) -> bool:
    """Whether such things have a quantity at all."""
    if one.part or one.workload.adapter == OF_PARTS:
        return one.workload.kind in quantity.part
    return quantity.of != "document" and (not quantity.part or quantity.of == "pod")


def _worth(one: Judged, quantity: Quantity) -> Worth:
    value = one.known.find(quantity.name)
    if isinstance(value, Missing):
        return Worth(quantity, needs=tuple(sorted(value.names)))
    return Worth(quantity, value.worlds, shown(quantity.name, one.known), _how(one, quantity.name, value))


def _how(one: Judged, name: str, value: Known) -> str:
    """Where a value comes from: the line that states it, else in words."""
    field = one.known.role.fields.get(name)
    if field is None or not field.origins:
        return value.how
    place = field.origins[0].location()
    return f"{place.path}:{place.line}"


# ---- as text


def list_text(wanted: Sequence[Quantity]) -> str:
    """A line for each fact: name, unit or type, meaning, and what silence means."""
    rows = [(one.name, one.unit or one.type, one.meaning + _absence(one)) for one in wanted]
    return _columns([("fact", "unit", "meaning"), *rows])


def _absence(one: Quantity) -> str:
    return f" ({literal(one.absent[0])} where nothing states it)" if one.absent else ""


def values_text(roles: Sequence[Held], every: bool) -> str:
    """The known facts of each role as a condition compares them, and what the unknown ones lack."""
    return "\n".join(block for role in roles for block in _role(role, every))


def _role(role: Held, every: bool) -> Iterator[str]:
    yield f"{role.workload}/{role.role}  {role.place}"
    known = [one for one in role.facts if one.worlds is not None and (every or one.how != UNSTATED)]
    rows = [(one.quantity.name, _compared(one), _printed(one), textwrap.shorten(one.how, HOW_MAX)) for one in known]
    yield _columns([("fact", "in a condition", "printed", "where from"), *rows])
    silent = sum(one.worlds is not None for one in role.facts) - len(known)
    if silent:
        yield f"unstated: {silent} more facts, each at what silence means; a WORD shows those that speak of it"
    unknown = [one for one in role.facts if one.worlds is None]
    if every:
        yield from (f"unknown: {one.quantity.name} (lacks {', '.join(one.needs)})" for one in unknown)
    elif unknown:
        lacking = Counter(need for one in unknown for need in one.needs).most_common(NEEDS_MAX)
        told = ", ".join(f"{name} ({count})" for name, count in lacking)
        yield f"unknown: {len(unknown)} more facts; lacking {told}"
    yield ""


def _compared(one: Worth) -> str:
    """The values as a condition would write them; three where the worlds differ."""
    return " / ".join(dict.fromkeys(literal(value) for value in one.worlds or ()))


def _printed(one: Worth) -> str:
    plain = _compared(one).strip("'")
    return "" if one.printed.replace(",", "") == plain or one.printed == units.human(None, "") else one.printed


def _columns(rows: Sequence[tuple[str, ...]]) -> str:
    widths = [max(len(row[at]) for row in rows) for at in range(len(rows[0]) - 1)]
    return "\n".join(
        "  ".join([*(f"{cell:<{width}}" for cell, width in zip(row, widths, strict=False)), row[-1]]).rstrip()
        for row in rows
    )


# ---- as JSON


def list_json(wanted: Sequence[Quantity]) -> str:
    """The same facts for a program."""
    return _json({"facts": [_row(one) for one in wanted]})


def _row(one: Quantity) -> dict[str, object]:
    row: dict[str, object] = {name: getattr(one, name) for name in LISTED}
    row |= {name: value for name, value in one._asdict().items() if name in OF_A_PART and value}
    return {**row, "absent": one.absent[0]} if one.absent else row


def values_json(roles: Sequence[Held]) -> str:
    """The same values for a program: three worlds each, in base units."""
    return _json({"roles": [_role_data(role) for role in roles]})


def _role_data(role: Held) -> dict[str, object]:
    known = {
        one.quantity.name: {"unit": one.quantity.unit, **one.worlds._asdict(), "from": one.how}
        for one in role.facts
        if one.worlds is not None
    }
    unknown = {one.quantity.name: list(one.needs) for one in role.facts if one.worlds is None}
    return {"workload": role.workload, "role": role.role, "place": role.place, "facts": known, "unknown": unknown}


def _json(data: dict[str, object]) -> str:
    return json.dumps({"format": FORMAT, **data}, indent=2, ensure_ascii=False) + "\n"
