"""Operations on constants: arithmetic, comparison, and what the methods of str, list and dict return."""

from __future__ import annotations

import ast
import operator
import posixpath
import re
from collections.abc import Callable, Sequence
from typing import Any

from gpulint.source.python.values import (
    ITEMS_MAX,
    Constant,
    Items,
    Mapping,
    Object,
    Open,
    Plain,
    Value,
    choose,
    list_members,
)

CHARACTERS_MAX = 20_000
BITS_MAX = 256
EXPONENT_MAX = 64
COMBINATIONS_MAX = 16
SECTIONS_MAX = 12
_FIELD = re.compile(r"(?<!\{)\{(?P<name>\w*)\}(?!\})")

_ARITHMETIC: dict[type[ast.operator], Callable[..., Any]] = {
    ast.Add: operator.add,
    ast.Sub: operator.sub,
    ast.Mult: operator.mul,
    ast.Div: operator.truediv,
    ast.FloorDiv: operator.floordiv,
    ast.Mod: operator.mod,
    ast.BitOr: operator.or_,
    ast.BitAnd: operator.and_,
}
_COMPARED: dict[type[ast.cmpop], Callable[..., Any]] = {
    ast.Eq: operator.eq,
    ast.NotEq: operator.ne,
    ast.Lt: operator.lt,
    ast.LtE: operator.le,
    ast.Gt: operator.gt,
    ast.GtE: operator.ge,
    ast.Is: operator.eq,
    ast.IsNot: operator.ne,
    ast.In: lambda left, right: left in right,
    ast.NotIn: lambda left, right: left not in right,
}
_OF_TEXT = frozenset(
    {
        *("lower", "upper", "strip", "lstrip", "rstrip", "title", "capitalize", "casefold"),
        *("startswith", "endswith", "removeprefix", "removesuffix", "replace", "isdigit", "isdecimal", "find"),
    }
)
_FAILURES = (TypeError, ValueError, ZeroDivisionError, OverflowError, IndexError, KeyError, AttributeError)
NOT_COMPUTED = Open("it is computed at run time")


def apply(compute: Callable[..., Plain], *operands: Value, place: object) -> Value:
    """Return what a computation makes of constants, of each combination where branches choose between several."""
    combinations: list[tuple[Value, ...]] = [()]
    for operand in operands:
        combinations = [(*one, member) for one in combinations for member in list_members(operand)]
        if len(combinations) > COMBINATIONS_MAX:
            return NOT_COMPUTED
    return choose(_compute(compute, one, place) for one in combinations)


def _compute(compute: Callable[..., Plain], operands: Sequence[Value], place: object) -> Value:
    for operand in operands:
        if isinstance(operand, Open):
            return operand
        if not isinstance(operand, Constant) or not _is_small(operand.value):
            return NOT_COMPUTED
    try:
        result = compute(*(operand.value for operand in operands if isinstance(operand, Constant)))
    except _FAILURES:
        return NOT_COMPUTED
    if not isinstance(result, str | int | float | bool | bytes | None) or not _is_small(result):
        return NOT_COMPUTED
    name = next((operand.name for operand in operands if isinstance(operand, Constant) and operand.name), "")
    return Constant(result, place, name, computed=True)


def _is_small(value: Plain) -> bool:
    if isinstance(value, str | bytes):
        return len(value) <= CHARACTERS_MAX
    return not isinstance(value, int) or value.bit_length() <= BITS_MAX


def calculate(kind: ast.operator, left: Value, right: Value, place: object) -> Value:
    """Return the result of an operator."""
    if isinstance(left, Items) and isinstance(right, Items) and isinstance(kind, ast.Add):
        found = Items(list(left.items), place, left.open_ended)
        found.extend(right)
        return found
    if isinstance(left, Mapping) and isinstance(right, Mapping) and isinstance(kind, ast.BitOr):
        return merge(left, right, place)
    if isinstance(kind, ast.Pow):
        return apply(_power, left, right, place=place)
    if isinstance(kind, ast.Mult):
        return apply(_multiply, left, right, place=place)
    if isinstance(kind, ast.Mod) and isinstance(left, Constant) and isinstance(left.value, str):
        return NOT_COMPUTED
    compute = _ARITHMETIC.get(type(kind))
    return apply(compute, left, right, place=place) if compute else NOT_COMPUTED


def _power(base: Plain, exponent: Plain) -> Plain:
    if not isinstance(exponent, int | float) or abs(exponent) > EXPONENT_MAX or isinstance(base, str | bytes | None):
        raise ValueError
    result: Plain = base**exponent
    return result


def _multiply(left: Plain, right: Plain) -> Plain:
    if isinstance(left, str | bytes) or isinstance(right, str | bytes):
        length = len(left) if isinstance(left, str | bytes) else len(right)  # type: ignore[arg-type]
        times = right if isinstance(left, str | bytes) else left
        if not isinstance(times, int) or length * times > CHARACTERS_MAX:
            raise ValueError
    result: Plain = left * right  # type: ignore[operator]
    return result


def negate(kind: ast.unaryop, operand: Value, place: object) -> Value:
    """Return the result of an operator with one operand."""
    signs: dict[type[ast.unaryop], Callable[..., Plain]] = {
        ast.USub: operator.neg,
        ast.UAdd: operator.pos,
        ast.Invert: operator.invert,
    }
    return apply(signs[type(kind)], operand, place=place) if type(kind) in signs else NOT_COMPUTED


def compare(kind: ast.cmpop, left: Value, right: Value, place: object) -> Value:
    """Return whether a comparison holds."""
    if isinstance(kind, ast.In | ast.NotIn) and isinstance(right, Mapping | Items):
        return _is_contained(kind, left, right, place)
    none = isinstance(right, Constant) and right.value is None
    if none and isinstance(kind, ast.Is | ast.IsNot) and not isinstance(left, Constant | Open):
        members = list_members(left)
        if not any(isinstance(member, Constant | Open) for member in members):
            return Constant(isinstance(kind, ast.IsNot), place, computed=True)
    return apply(_COMPARED[type(kind)], left, right, place=place)


def _is_contained(kind: ast.cmpop, left: Value, right: Mapping | Items, place: object) -> Value:
    if not isinstance(left, Constant):
        return left if isinstance(left, Open) else NOT_COMPUTED
    if isinstance(right, Mapping):
        held = left.value in right.entries
        unsure = bool(right.open_ended)
    else:
        held = any(isinstance(item, Constant) and item.value == left.value for item in right.items)
        unsure = right.open_ended or any(not isinstance(item, Constant) for item in right.items)
    if not held and unsure:
        return NOT_COMPUTED
    return Constant(held is isinstance(kind, ast.In), place, computed=True)


def merge(left: Mapping, right: Mapping, place: object) -> Mapping:
    """Return two dicts as one, in which the second takes precedence."""
    return Mapping(
        {**left.entries, **right.entries}, place, left.open_ended or right.open_ended, {**left.keys, **right.keys}
    )


def merge_deep(left: Mapping, right: Mapping, place: object, depth: int = 0) -> Mapping:
    """Return two dicts as one, section by section."""
    found = merge(left, right, place)
    for key, entry in right.entries.items():
        own = left.entries.get(key)
        if isinstance(own, Mapping) and isinstance(entry, Mapping) and depth < SECTIONS_MAX:
            found.entries[key] = merge_deep(own, entry, place, depth + 1)
    return found


def set_deep(found: Mapping, keys: Sequence[str], value: Value) -> None:
    """Set an entry of a dict by the keys of its sections, which are made if they are missing."""
    for key in keys[:-1]:
        inner = found.entries.setdefault(key, Mapping({}))
        if not isinstance(inner, Mapping):
            return
        found = inner
    found.entries[keys[-1]] = value


def convert(kind: str, operand: Value, place: object) -> Value:
    """Return `int(x)`, `float(x)`, `str(x)` or `bool(x)`; a text that is converted keeps its place."""
    if isinstance(operand, Constant) and not operand.computed:
        place = operand.place
    converted = apply(_CONVERSIONS[kind], operand, place=place)
    if isinstance(converted, Constant) and isinstance(operand, Constant):
        return Constant(converted.value, place, operand.name, operand.computed)
    return converted


def _to_int(value: Plain) -> Plain:
    if isinstance(value, str) and len(value) > 40:
        raise ValueError
    return int(value)  # type: ignore[arg-type]


_CONVERSIONS: dict[str, Callable[..., Plain]] = {"int": _to_int, "float": float, "str": str, "bool": bool}


def call_text(method: str, text: Value, arguments: Sequence[Value], place: object) -> Value:
    """Return what a method of str returns."""
    if method in ("split", "rsplit", "splitlines"):
        return _split(method, text, arguments, place)
    if method == "join" and arguments and isinstance(arguments[0], Items):
        return _join(text, arguments[0], place)
    if method == "replace" and not _is_bounded(text, arguments):
        return NOT_COMPUTED
    if method in _OF_TEXT:
        return apply(lambda own, *others: getattr(own, method)(*others), text, *arguments, place=place)
    return NOT_COMPUTED


def _join(text: Value, parts: Items, place: object) -> Value:
    if len(parts.items) > ITEMS_MAX or parts.open_ended or not _is_bounded(text, parts.items):
        return NOT_COMPUTED
    return apply(lambda by, *texts: by.join(texts), text, *parts.items, place=place)


def _is_bounded(text: Value, others: Sequence[Value]) -> bool:
    """Return whether no text that is put together from these can become too long."""
    lengths = [
        max((len(str(one.value)) for one in list_members(value) if isinstance(one, Constant)), default=0)
        for value in (text, *others)
    ]
    return (
        lengths[0] * len(others) + sum(lengths) <= CHARACTERS_MAX and lengths[0] * max(lengths) <= 100 * CHARACTERS_MAX
    )


def fill(template: str, arguments: Sequence[Value], keywords: dict[str, Value], place: object) -> Value:
    """Return `template.format(…)`, as far as its fields are plain names and numbers without a format."""
    parts: list[Value] = []
    at = number = 0
    for match in _FIELD.finditer(template):
        parts.append(Constant(template[at : match.start()].replace("{{", "{").replace("}}", "}")))
        at, named = match.end(), match["name"]
        if named.isdigit() or not named:
            index, number = (int(named[:4]), number) if named else (number, number + 1)
            parts.append(arguments[index] if index < len(arguments) else NOT_COMPUTED)
        else:
            parts.append(keywords.get(named, NOT_COMPUTED))
        if len(parts) > ITEMS_MAX:
            return NOT_COMPUTED
    parts.append(Constant(template[at:].replace("{{", "{").replace("}}", "}")))
    return concatenate(parts, place)


def concatenate(parts: Sequence[Value], place: object) -> Value:
    """Return constants put together as one text."""
    if not _is_bounded(Constant(""), parts):
        return NOT_COMPUTED
    return apply(lambda *values: "".join(map(str, values)), *parts, place=place)


def _split(method: str, text: Value, arguments: Sequence[Value], place: object) -> Value:
    constants = [argument.value for argument in arguments if isinstance(argument, Constant)]
    if not isinstance(text, Constant) or not isinstance(text.value, str) or len(constants) < len(arguments):
        return text if isinstance(text, Open) else NOT_COMPUTED
    if len(text.value) > CHARACTERS_MAX:
        return NOT_COMPUTED
    try:
        parts = getattr(text.value, method)(*constants)
    except _FAILURES:
        return NOT_COMPUTED
    return Items([Constant(part, place, text.name, computed=True) for part in parts])


def join_path(parts: Sequence[Value], place: object) -> Value:
    """Return `os.path.join(…)` of these parts, each a text or a path."""
    return apply(posixpath.join, *map(read_path, parts), place=place)


def read_path(part: Value) -> Value:
    """Return the text of `Path(text)`; any other value as it is."""
    if isinstance(part, Object) and part.name.endswith("Path") and part.arguments:
        return part.arguments[0]
    return part


def take(value: Value, key: Value) -> Value:
    """Return what a subscript of a value is."""
    if isinstance(key, Open):
        return key
    if not isinstance(key, Constant):
        if all(isinstance(member, Constant) for member in list_members(key)):
            return choose(take(value, member) for member in list_members(key))
        return NOT_COMPUTED
    found = NOT_COMPUTED if not isinstance(value, Open) else value
    if isinstance(value, Mapping):
        return value.entries.get(key.value, Open(value.open_ended) if value.open_ended else found)
    if isinstance(value, Items) and isinstance(key.value, int) and not isinstance(key.value, bool):
        inside = -len(value.items) <= key.value < len(value.items)
        return value.items[key.value] if inside and not value.open_ended else found
    if isinstance(value, Constant) and isinstance(value.value, str):
        return apply(lambda text, at: text[at], value, key, place=value.place)
    return found
