"""CEL, the expression language of conditions. Only this module knows the engine behind it."""

from __future__ import annotations

import functools
import re
from collections.abc import Mapping

from cel_expr_python import cel

from gpulint.facts.glossary import glossary

NAME = re.compile(r"\"(?:\\.|[^\"\\])*\"|'(?:\\.|[^'\\])*'|(?<![\w.])([A-Za-z_]\w*)")
UNDECLARED = re.compile(r"(?:undeclared reference to '|reserved identifier: )(\w+)")
TEXT = re.compile(r"\"(?:\\.|[^\"\\])*\"|'(?:\\.|[^'\\])*'")
GROUP = re.compile(r"(?<!\w)\w*+(\.\w++)?\([^()]*\)")
KEY = re.compile(r'Key not found in map : "?(.+?)"?$', re.DOTALL)
EXPONENT = re.compile(r"(?<=\d)[eE][+-]?\d+")
OPERATION = re.compile(r"[\w)\]]\s*[+*/]|[\w)\]]\s*-")
WORD = re.compile(
    r"\"(?:\\.|[^\"\\])*\"|'(?:\\.|[^'\\])*'|(?<=[\w.)\]])\[\d+\]|[\d.]+[eE][+-]\d+|(?P<whole>(?<![\w.])\d+(?![\w.]))|[\w.]+"
)
WHOLE_MAX = 2**63
PLAIN = frozenset({bool, int, float, str, type(None)})


class ConditionError(ValueError):
    """A condition that does not compile or is not boolean."""


class WorkExceeded(Exception):
    """A condition takes more steps than the bound on its work allows."""


class KeyAbsent(ConditionError):
    """A map lacks a key that a condition reads without checking first."""


@functools.cache
def find_names(expression: str) -> tuple[str, ...]:
    """Return the facts that an expression uses, in order of appearance."""
    words = (match.group(1) for match in NAME.finditer(expression))
    return tuple(dict.fromkeys(name for name in words if name in glossary()))


@functools.cache
def find_guards(expression: str) -> Mapping[str, bool | None]:
    """Return the facts that a condition requires, each with the value that makes it false.

    They are the terms `name != null` (null) and `name` (false) of a conjunction. With such a value the condition is false
    regardless of the rest, so it need not be compiled and no other fact need be resolved.
    """
    outside = TEXT.sub("''", expression)
    while (inner := GROUP.sub(" ", outside)) != outside:
        outside = inner
    if "||" in outside or "?" in outside:
        return {}
    parts = [part.strip() for part in outside.split("&&")]
    ruled_out = {part.removesuffix(" != null"): None if part.endswith(" != null") else False for part in parts}
    return {name: value for name, value in ruled_out.items() if name in glossary()}


@functools.cache
def compile(expression: str) -> cel.Expression:
    """Return the checked expression; raise ConditionError with the location and the closest fact."""
    try:
        return _environment().compile(_write_floats(expression) if uses_arithmetic(expression) else expression)
    except RuntimeError as error:
        raise ConditionError(_explain(_compile_error(expression) or str(error))) from None


def _compile_error(expression: str) -> str:
    """Return the compile error of an unchanged expression, with the locations of the file; empty if none."""
    try:
        _environment().compile(expression)
    except RuntimeError as error:
        return str(error)
    return ""


def evaluate(expression: str, values: Mapping[str, object]) -> bool | None:
    """Return whether a condition holds, or None if a required value is not in `values`.

    Raise KeyAbsent if a map lacks a key that is read. Any other ConditionError is a defect of the rule.
    """
    if all(type(value) in PLAIN for value in values.values()):
        return _evaluate_cached(expression, tuple(values), *values.values())
    return _evaluate(expression, values)


@functools.lru_cache(maxsize=2**14, typed=True)
def _evaluate_cached(expression: str, names_: tuple[str, ...], *values: object) -> bool | None:
    """Evaluate a condition once per set of values: most racks of a hall are alike."""
    return _evaluate(expression, dict(zip(names_, values, strict=True)))


def _evaluate(expression: str, values: Mapping[str, object]) -> bool | None:
    uses_floats = uses_arithmetic(expression)
    converted = {
        name: _convert_to_float(value) if uses_floats else _convert_to_cel(value) for name, value in values.items()
    }
    try:
        result = compile(expression).eval(data=converted)
    except RuntimeError as error:
        raise WorkExceeded(f"its condition takes more steps than CEL allows ({error})") from None
    if result.type() == cel.Type.BOOL:
        return bool(result.value())
    if set(find_names(expression)) - set(values):
        return None
    if key := KEY.search(str(result.value())):
        raise KeyAbsent(key[1])
    raise ConditionError(f"{result.value()}")


@functools.cache
def uses_arithmetic(expression: str) -> bool:
    """True if a condition computes with facts. CEL does not mix integers and floats, so all become floats."""
    outside = EXPONENT.sub("", TEXT.sub("''", expression))
    return "object" not in find_names(expression) and "%" not in outside and bool(OPERATION.search(outside))


@functools.cache
def _write_floats(expression: str) -> str:
    """Return a condition with float literals: 2.0 * gpus > 8.0 for 2 * gpus > 8. List indices stay integers."""
    return WORD.sub(lambda match: f"{match[0]}.0" if match["whole"] else match[0], expression)


def _convert_to_float(value: object) -> object:
    return float(value) if isinstance(value, int) and not isinstance(value, bool) else _convert_to_cel(value)


def _convert_to_cel(value: object) -> object:
    """Return a value in CEL's types: a tuple as a list, an integer beyond 64 bits as a float."""
    if isinstance(value, tuple):
        return list(value)
    return float(value) if isinstance(value, int) and abs(value) >= WHOLE_MAX else value


@functools.cache
def _environment() -> cel.Env:
    variables = dict.fromkeys(glossary(), cel.Type.DYN)
    return cel.NewEnv(variables=variables)


def _explain(message: str) -> str:
    undeclared = UNDECLARED.search(message)
    if undeclared is None:
        return message
    import difflib

    similar = [f"object_{undeclared[1]}"] if f"object_{undeclared[1]}" in glossary() else []
    similar = similar or difflib.get_close_matches(undeclared.group(1), glossary(), n=1)
    return message + (f"\ndid you mean {similar[0]}?" if similar else "")
