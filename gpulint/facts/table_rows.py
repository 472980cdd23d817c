"""Table rows: which rows of the catalog hold for a role, by engine, release and condition."""

from __future__ import annotations

import functools
import operator
import re
from collections.abc import Callable, Iterable, Mapping

from gpulint import engines
from gpulint.catalog import tables
from gpulint.facts.model import Facts, Missing
from gpulint.workload import Value

CONDITION = re.compile(r"(\w+)\s*(==|=|!=|>=|<=|>|<)\s*([\w.-]+)")
"""A fact compared with a number, a word, or true and false; `and` joins several comparisons."""
COMPARE: Mapping[str, Callable[[float, float], bool]] = {
    "=": operator.eq,
    "==": operator.eq,
    "!=": operator.ne,
    ">": operator.gt,
    "<": operator.lt,
    ">=": operator.ge,
    "<=": operator.le,
}
NUMBER = re.compile(r"-?\d+(?:\.\d+)?")
DEVICE_CLASS = "device_class"
"""The fact that a condition without a comparison names a value of."""


def find_rows(table: str, column: str, name: str, facts: Facts) -> tuple[tables.Row, ...]:
    """Find the rows of a quantity for the role's engine and release."""
    return _find_rows(table, column, name, facts.role.text("engine"), facts.role.text("engine_version"))


@functools.cache
def _find_rows(table: str, column: str, name: str, engine: str, release: str) -> tuple[tables.Row, ...]:
    """Find the rows for a release of an engine; for an unknown release, those of any it may be."""
    version, oldest = tables.release(release), engines.oldest_release(engine)
    return tuple(
        row
        for row in tables.rows(table)
        if row[column] == name and row["engine"] in ("", engine) and _is_in_release(row, version, oldest)
    )


def _is_in_release(row: tables.Row, version: tuple[int, ...] | None, oldest: tuple[int, ...] | None) -> bool:
    if version is not None:
        return tables.is_in_version(row, version)
    until = tables.release(row["until"])
    return until is None or oldest is None or until > oldest


def missing_inputs(rows: Iterable[tables.Row], facts: Facts) -> Missing | None:
    """Return what is missing to evaluate the conditions of rows; None if nothing is."""
    compared = {name for row in rows for name in find_compared(row["condition"])}
    copied = (row["value"][1:] for row in rows if row.get("value", "").startswith("="))
    names = facts.missing({*compared, *copied})
    return None if not names or (names == {"accelerator"} and facts.possible()) else Missing(names)


def is_verified(condition: str, facts: Facts) -> bool:
    """Whether a row's condition holds, or holds on an accelerator that the role may have."""
    if facts.missing(find_compared(condition)) and facts.possible():
        return any(is_verified(condition, alternative) for alternative in facts.possible())
    return all(_comparison_holds(comparison, facts) for comparison in _split_condition(condition))


def _comparison_holds(condition: str, facts: Facts) -> bool:
    if (comparison := _parse_comparison(condition)) is None:
        return condition == facts.expected(DEVICE_CLASS)
    name, sign, operand = comparison
    value = facts.expected(name)
    if not isinstance(value, int | float) or isinstance(value, bool) or not NUMBER.fullmatch(operand):
        return (_write_word(value) == operand) is (sign != "!=")
    return COMPARE[sign](float(value), float(operand))


def read_cell(cell: str, kind: str, facts: Facts) -> Value:
    """Read a table's value of a type; `=name` is the value of that fact."""
    if cell.startswith("="):
        found = facts.expected(cell[1:])
        return None if isinstance(found, Missing) else found
    if kind == "flag":
        return cell == "true"
    if kind == "number":
        return float(cell) if "." in cell else int(cell)
    return cell


@functools.cache
def find_compared(condition: str) -> tuple[str, ...]:
    """Return the facts that a condition compares."""
    comparisons = [_parse_comparison(part) for part in _split_condition(condition)]
    return tuple(comparison[0] if comparison else DEVICE_CLASS for comparison in comparisons)


@functools.cache
def _parse_comparison(condition: str) -> tuple[str, str, str] | None:
    """Return the fact, sign and operand of a comparison; None if it names a class of accelerators."""
    found = CONDITION.fullmatch(condition)
    return (found[1], found[2], found[3]) if found else None


@functools.cache
def _split_condition(condition: str) -> tuple[str, ...]:
    """Return the single comparisons of a condition; none if it always holds."""
    return () if condition in ("", "any") else tuple(condition.split(" and "))


def _write_word(value: object) -> str:
    """Write a word or a flag as a table's condition does."""
    return str(value).lower() if isinstance(value, bool) else str(value or "")
