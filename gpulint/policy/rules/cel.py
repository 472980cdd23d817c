"""CEL, the expression language of conditions: the only module that knows the engine behind it."""

from __future__ import annotations

import functools
import re
from collections.abc import Mapping

from cel_expr_python import cel

from gpulint.facts.glossary import glossary

NAME = re.compile(r"\"(?:\\.|[^\"\\])*\"|'(?:\\.|[^'\\])*'|(?<![\w.])([A-Za-z_]\w*)")
UNDECLARED = re.compile(r"(?:undeclared reference to '|reserved identifier: )(\w+)")
TEXT = re.compile(r"\"(?:\\.|[^\"\\])*\"|'(?:\\.|[^'\\])*'")
GROUP = re.compile(r"\w*(\.\w+)?\([^()]*\)")
KEY = re.compile(r'Key not found in map : "?(.+?)"?$', re.DOTALL)
EXPONENT = re.compile(r"(?<=\d)[eE][+-]?\d+")
OPERATION = re.compile(r"[\w)\]]\s*[+*/]|[\w)\]]\s*-")
WORD = re.compile(
    r"\"(?:\\.|[^\"\\])*\"|'(?:\\.|[^'\\])*'|[\w.)\]]+\[\d+\]|[\d.]+[eE][+-]\d+|(?P<whole>(?<![\w.])\d+(?![\w.]))|[\w.]+"
)
WHOLE_MAX = 2**63
PLAIN = frozenset({bool, int, float, str, type(None)})


class ConditionError(ValueError):
    """A condition that does not compile, or whose value is not a truth value."""


class KeyAbsent(ConditionError):
    """A map lacks the key that a condition reads without asking first whether it is there."""


@functools.cache
def names(expression: str) -> tuple[str, ...]:
    """The facts an expression uses, in order of appearance."""
    found = (match.group(1) for match in NAME.finditer(expression))
    return tuple(dict.fromkeys(name for name in found if name in glossary()))


@functools.cache
def guards(expression: str) -> Mapping[str, bool | None]:
    """The facts without which a condition cannot hold, each with the value that rules it out.

    They are the `name != null` (null) and bare `name` (false) that `&&` joins to all the rest. With such a value the condition
    is false whatever else is known, as CEL's own `&&` says: it need not be compiled, nor any other fact resolved.
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
def compiled(expression: str) -> cel.Expression:
    """The checked expression; ConditionError names the place and the nearest fact when it does not compile."""
    try:
        return _environment().compile(_with_floats(expression) if arithmetic(expression) else expression)
    except RuntimeError as error:
        raise ConditionError(_explained(_as_written(expression) or str(error))) from None


def _as_written(expression: str) -> str:
    """The error of an expression whose places are those of the file; empty where there is none."""
    try:
        _environment().compile(expression)
    except RuntimeError as error:
        return str(error)
    return ""


def evaluate(expression: str, values: Mapping[str, object]) -> bool | None:
    """Whether a condition holds; None when a value it needs is not among `values`.

    Raises KeyAbsent where a map lacks a key that is read, ConditionError for any other error: that is a defect of the rule.
    """
    if all(type(value) in PLAIN for value in values.values()):
        return _of_plain(expression, tuple(values), *values.values())
    return _evaluated(expression, values)


@functools.lru_cache(maxsize=2**14, typed=True)
def _of_plain(expression: str, named: tuple[str, ...], *values: object) -> bool | None:
    """Whether a condition holds, asked once of the same values: of a hall's racks most are alike."""
    return _evaluated(expression, dict(zip(named, values, strict=True)))


def _evaluated(expression: str, values: Mapping[str, object]) -> bool | None:
    floats = arithmetic(expression)
    read = {name: _floated(value) if floats else _narrowed(value) for name, value in values.items()}
    result = compiled(expression).eval(data=read)
    if result.type() == cel.Type.BOOL:
        return bool(result.value())
    if set(names(expression)) - set(values):
        return None
    if absent := KEY.search(str(result.value())):
        raise KeyAbsent(absent[1])
    raise ConditionError(f"{result.value()}")


@functools.cache
def arithmetic(expression: str) -> bool:
    """Whether a condition computes with facts: CEL does not mix whole numbers and fractions, so that then all are fractions."""
    outside = EXPONENT.sub("", TEXT.sub("''", expression))
    return "object" not in names(expression) and "%" not in outside and bool(OPERATION.search(outside))


@functools.cache
def _with_floats(expression: str) -> str:
    """A condition whose numbers are fractions, 2.0 * gpus > 8.0 for 2 * gpus > 8; those that count into a list stay whole."""
    return WORD.sub(lambda match: f"{match[0]}.0" if match["whole"] else match[0], expression)


def _floated(value: object) -> object:
    return float(value) if isinstance(value, int) and not isinstance(value, bool) else _narrowed(value)


def _narrowed(value: object) -> object:
    """A value as CEL takes it: lists as lists, and a whole number beyond its 64 bits as a float."""
    if isinstance(value, tuple):
        return list(value)
    return float(value) if isinstance(value, int) and abs(value) >= WHOLE_MAX else value


@functools.cache
def _environment() -> cel.Env:
    declared = dict.fromkeys(glossary(), cel.Type.DYN)
    return cel.NewEnv(variables=declared)


def _explained(message: str) -> str:
    unknown = UNDECLARED.search(message)
    if unknown is None:
        return message
    import difflib

    near = [f"object_{unknown[1]}"] if f"object_{unknown[1]}" in glossary() else []
    near = near or difflib.get_close_matches(unknown.group(1), glossary(), n=1)
    return message + (f"\ndid you mean {near[0]}?" if near else "")
