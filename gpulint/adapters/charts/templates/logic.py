"""Functions that compare, choose and ask what a value is."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable

from gpulint.adapters.charts.templates import value
from gpulint.adapters.charts.templates.value import UNKNOWN, Value

RELEASE = re.compile(r"v?(\d{1,6})(?:\.(\d{1,6}))?(?:\.(\d{1,6}))?(?:[-+].*)?")
BOUND = re.compile(r"\s*+(>=|<=|!=|=|>|<|\^|~)?\s*+(v?[\d.]+)(?:-0)?\s*+")


def has_open_text(arguments: Iterable[Value]) -> bool:
    """Return whether the text of an argument is open in part."""
    return any(isinstance(argument.data, str) and value.is_open(argument) for argument in arguments)


def default(otherwise: Value, argument: Value | None = None) -> Value:
    """Return a value, or another one if it is empty."""
    if argument is None:
        return otherwise
    holds = value.truth(argument)
    return UNKNOWN if holds is None else argument if holds else otherwise


def coalesce(*arguments: Value) -> Value:
    """Return the first value that is not empty."""
    for argument in arguments:
        holds = value.truth(argument)
        if holds is None:
            return UNKNOWN
        if holds:
            return argument
    return Value()


def ternary(left: Value, right: Value, condition: Value) -> Value:
    """Return the first value if a condition holds, else the second."""
    holds = value.truth(condition)
    return UNKNOWN if holds is None else left if holds else right


def required(message: Value, argument: Value) -> Value:
    """Return a value; one that is missing is set when the chart is installed."""
    return UNKNOWN if argument.is_open or argument.data in (None, "") else argument


def negate(argument: Value) -> Value:
    """Return whether a value is empty."""
    holds = value.truth(argument)
    return UNKNOWN if holds is None else Value(not holds)


def _is_equal(left: Value, right: Value) -> bool:
    """Return whether two scalars are equal; text/template compares no others and no different kinds."""
    if left.data is None or right.data is None:
        return left.data is None and right.data is None
    kinds = {_classify(left), _classify(right)}
    if len(kinds) > 1 or kinds & {"map", "slice"}:
        raise TypeError("incompatible types for comparison")
    return left.data == right.data


def equal(first: Value, *others: Value) -> Value:
    """Return whether the first value equals one of the others."""
    return Value(any(_is_equal(first, other) for other in others))


def _order(function: Callable[[float, float], bool]) -> Callable[[Value, Value], Value]:
    def ordered(left: Value, right: Value) -> Value:
        if _classify(left) != _classify(right) or not isinstance(left.data, int | float | str):
            return UNKNOWN
        return Value(function(left.data, right.data))  # type: ignore[arg-type]

    return ordered


def _classify(argument: Value) -> str:
    """Return the kind of a value as Go names it; numbers are alike here."""
    data = argument.data
    names = {dict: "map", list: "slice", str: "string", bool: "bool", int: "number", float: "number"}
    return names.get(type(data), "invalid")


def _is_kind(wanted: Value, argument: Value) -> Value:
    """Return whether a value is of a kind. Whether a number is an int or a float64 depends on Helm's release."""
    kind, asked = _classify(argument), value.word(wanted)
    if kind == "number":
        return UNKNOWN if asked in ("int", "int64", "float64", "float32") else Value(False)
    types = {"map[string]interface {}": "map", "[]interface {}": "slice", "[]interface{}": "slice"}
    return Value(types.get(asked, asked) == kind)


def _name_kind(argument: Value) -> Value:
    kind = _classify(argument)
    return UNKNOWN if kind == "number" else Value(kind)


def _compare_releases(constraint: Value, release: Value) -> Value:
    found = RELEASE.fullmatch(value.word(release))
    bounds = [BOUND.fullmatch(part) for part in re.split(r",|\s(?=[<>=!^~])", value.word(constraint)) if part.strip()]
    if found is None or not all(bounds):
        return UNKNOWN
    number = tuple(int(part or 0) for part in found.groups())
    return Value(all(_satisfies(bound[1] or "=", bound[2], number) for bound in bounds if bound))


def _satisfies(sign: str, text: str, number: tuple[int, ...]) -> bool:
    stated = [int(part) for part in text.lstrip("v").split(".") if part]
    bound = tuple([*stated, 0, 0, 0][:3])
    if sign in ("^", "~"):
        kept = 1 if sign == "^" else 2
        return number >= bound and number[:kept] == bound[:kept]
    return {
        ">=": number >= bound,
        "<=": number <= bound,
        ">": number > bound,
        "<": number < bound,
        "=": number == bound,
        "!=": number != bound,
    }[sign]


LENIENT: dict[str, Callable[..., Value]] = {
    "default": default,
    "coalesce": coalesce,
    "ternary": ternary,
    "required": required,
    "not": negate,
    "empty": negate,
}
STRICT: dict[str, Callable[..., Value]] = {
    "eq": equal,
    "ne": lambda left, right: Value(not _is_equal(left, right)),
    "lt": _order(lambda left, right: left < right),
    "le": _order(lambda left, right: left <= right),
    "gt": _order(lambda left, right: left > right),
    "ge": _order(lambda left, right: left >= right),
    "kindIs": _is_kind,
    "typeIs": _is_kind,
    "kindOf": _name_kind,
    "semverCompare": _compare_releases,
}
