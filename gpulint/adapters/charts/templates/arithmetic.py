"""Functions of numbers."""

from __future__ import annotations

import math
import re
from collections.abc import Callable

from gpulint.adapters.charts.templates import value
from gpulint.adapters.charts.templates.value import Value

LISTED_MAX = 1000
DIGITS_MAX = 18


def _read_whole(argument: Value) -> int:
    """Return a number as Sprig's `int` reads it; a text that is none is 0."""
    data = argument.data
    if isinstance(data, bool) or data is None:
        return int(bool(data))
    if isinstance(data, int | float):
        return int(data)
    text = str(data).strip()
    return int(text) if re.fullmatch(rf"[-+]?\d{{1,{DIGITS_MAX}}}", text) else 0


def _read_number(argument: Value) -> float:
    data = argument.data
    return float(data) if isinstance(data, int | float | str) else 0.0


def to_int(argument: Value) -> Value:
    """Return a whole number; a number that is written alike keeps its location."""
    number = _read_whole(argument)
    same = str(number) == value.format_scalar(argument.data)
    return Value(number, argument.origin if same else None)


def to_float(argument: Value) -> Value:
    """Return a fraction."""
    number = _read_number(argument)
    same = value.format_scalar(number) == value.format_scalar(argument.data)
    return Value(number, argument.origin if same else None)


def _fold(function: Callable[[int, int], int]) -> Callable[..., Value]:
    def folded(*arguments: Value) -> Value:
        numbers = [_read_whole(argument) for argument in arguments]
        result = numbers[0]
        for number in numbers[1:]:
            result = function(result, number)
        if abs(result) > 10**DIGITS_MAX:
            raise ValueError("too large")
        return Value(result)

    return folded


def _choose(function: Callable[..., int]) -> Callable[..., Value]:
    def chosen(*arguments: Value) -> Value:
        result = function(_read_whole(argument) for argument in arguments)
        return next(
            (Value(result, argument.origin) for argument in arguments if argument.data == result), Value(result)
        )

    return chosen


def _list_until(count: int) -> Value:
    return _list_steps(0, count, 1 if count >= 0 else -1)


def _list_steps(start: int, stop: int, step: int) -> Value:
    numbers = range(start, stop, step)
    if len(numbers) > LISTED_MAX:
        raise ValueError("too many")
    return Value([Value(number) for number in numbers])


def _write_sequence(*arguments: Value) -> Value:
    numbers = [_read_whole(argument) for argument in arguments]
    start, step, end = {1: (1, 1, numbers[0]), 2: (numbers[0], 1, numbers[-1])}.get(
        len(numbers), (numbers[0], numbers[1] if len(numbers) > 1 else 1, numbers[-1])
    )
    listed = _list_steps(start, end + (1 if step > 0 else -1), step)
    return Value(" ".join(str(item.data) for item in listed.items))


STRICT: dict[str, Callable[..., Value]] = {
    "int": to_int,
    "int64": to_int,
    "atoi": to_int,
    "float64": to_float,
    "add": _fold(lambda left, right: left + right),
    "add1": lambda argument: Value(_read_whole(argument) + 1),
    "sub": _fold(lambda left, right: left - right),
    "mul": _fold(lambda left, right: left * right),
    "div": _fold(lambda left, right: int(left / right) if abs(left) < 2**53 else left // right),
    "mod": _fold(lambda left, right: int(math.fmod(left, right))),
    "max": _choose(max),
    "min": _choose(min),
    "floor": lambda argument: Value(float(math.floor(_read_number(argument)))),
    "ceil": lambda argument: Value(float(math.ceil(_read_number(argument)))),
    "mulf": lambda *arguments: Value(math.prod(map(_read_number, arguments))),
    "divf": lambda left, right: Value(_read_number(left) / _read_number(right)),
    "addf": lambda *arguments: Value(math.fsum(map(_read_number, arguments))),
    "until": lambda count: _list_until(_read_whole(count)),
    "untilStep": lambda start, stop, step: _list_steps(*map(_read_whole, (start, stop, step))),
    "seq": _write_sequence,
}
