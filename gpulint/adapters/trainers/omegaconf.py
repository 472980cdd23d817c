"""OmegaConf: configuration values that refer to other keys and compute with them.

References (`${model.layers}`, `${.layers}`), arithmetic resolvers and defaults are evaluated if every
part is known. Other resolvers of an application stay unknown. Nothing is executed: arithmetic is parsed,
not run.
"""

from __future__ import annotations

import ast
import math
import operator
import re
from collections.abc import Callable, Iterator, Mapping

from gpulint.source import excess
from gpulint.source.documents import Document, Path
from gpulint.workload import Unknown

DEPTH_MAX = 12
CHARACTERS_MAX = 2_000
LARGEST = 2**53
MISSING = "???"
OPENING = "${"
OWN = "own program"
RESOLVER = re.compile(r"\s*(?P<name>[A-Za-z_][\w.]*)\s*:(?P<rest>.*)", re.DOTALL)
NUMBER = re.compile(r"[-+]?\d+(?:_\d+)*|[-+]?(?:\d+\.\d*|\.\d+|\d+(?=[eE]))(?:[eE][-+]?\d+)?")
PER_FIELD = re.compile(r"\.+")
CALLS: Mapping[str, Callable[..., float]] = {
    "multiply": lambda *parts: math.prod(parts),
    "mul": lambda *parts: math.prod(parts),
    "add": lambda *parts: sum(parts),
    "sum": lambda *parts: sum(parts),
    "subtract": operator.sub,
    "sub": operator.sub,
    "divide": operator.truediv,
    "div": operator.truediv,
    "divide_ceil": lambda part, by: math.ceil(part / by),
    "divide_floor": lambda part, by: math.floor(part / by),
    "int_div": operator.floordiv,
    "max": lambda *parts: max(parts),
    "min": lambda *parts: min(parts),
}
"""Resolvers that launchers register for arithmetic (NVIDIA/NeMo-Framework-Launcher
launcher_scripts/main.py and others).
"""
COMPUTED = frozenset({"eval", "oc.eval", "math", "calc"})
OPERATORS: Mapping[type[ast.operator], Callable[[float, float], float]] = {
    ast.Add: operator.add,
    ast.Sub: operator.sub,
    ast.Mult: operator.mul,
    ast.Div: operator.truediv,
    ast.FloorDiv: operator.floordiv,
    ast.Mod: operator.mod,
}


def value(document: Document, path: Path, root: Path = ()) -> object:
    """Return the value at a path with its references resolved: Unknown if a part is, None if it is
    absent.
    """
    return _resolve(document, path, root, DEPTH_MAX)


def _resolve(document: Document, path: Path, root: Path, left: int) -> object:
    stated = document.get(path)
    if not isinstance(stated, str):
        return stated
    if stated == MISSING:
        return Unknown(f"{path[-1]} must be given at launch", "caller's variable")
    if OPENING not in stated:
        return stated
    too_deep = excess.is_over(DEPTH_MAX + 1 - left, DEPTH_MAX, "references of a setting nest deeper than {} levels")
    if too_deep or excess.is_over(len(stated), CHARACTERS_MAX, "a setting with references has more than {} characters"):
        return Unknown(f"{path[-1]} has too many nested references")
    return _resolve_text(stated, document, path, root, left - 1)


def _resolve_text(text: str, document: Document, path: Path, root: Path, left: int) -> object:
    """Return a text with its `${...}` parts filled in.

    A single reference keeps the type of its value.
    """
    parts: list[object] = []
    for piece, refers in _split_text(text):
        resolved = _resolve_reference(piece, document, path, root, left) if refers else piece
        if isinstance(resolved, Unknown):
            return resolved
        parts.append(resolved)
    if len(parts) == 1:
        return parts[0]
    if any(isinstance(part, dict | list) for part in parts):
        return Unknown(f"{text} is not a single value")
    return "".join("" if part is None else str(part) for part in parts)


def _split_text(text: str) -> Iterator[tuple[str, bool]]:
    """Yield the parts of a text, and whether each was in `${...}`.

    Nested braces belong together.
    """
    at = 0
    while (start := text.find(OPENING, at)) >= 0:
        if start > at:
            yield text[at:start], False
        end = _find_closing(text, start + len(OPENING))
        yield text[start + len(OPENING) : end], True
        at = end + 1
    if at < len(text):
        yield text[at:], False


def _find_closing(text: str, at: int) -> int:
    depth = 1
    for index in range(at, len(text)):
        depth += (text[index] == "{") - (text[index] == "}")
        if depth == 0:
            return index
    return len(text)


def _resolve_reference(inner: str, document: Document, path: Path, root: Path, left: int) -> object:
    resolver = RESOLVER.fullmatch(inner)
    if resolver is None:
        return _resolve_key(inner.strip(), document, path, root, left)
    name, rest = resolver["name"], resolver["rest"]
    given = [_read_argument(part, document, path, root, left) for part in _split_arguments(rest)]
    if name == "oc.env":
        return given[1] if len(given) > 1 else Unknown(f"{given[0]} is set at launch", "caller's variable")
    if name == "oc.select" and given:
        selected = _resolve_key(str(given[0]), document, path, root, left)
        return given[1] if len(given) > 1 and (selected is None or isinstance(selected, Unknown)) else selected
    if unknown := next((argument for argument in given if isinstance(argument, Unknown)), None):
        return unknown
    if name in COMPUTED:
        return _compute(",".join(map(str, given)))
    return _call(name, given)


def _resolve_key(name: str, document: Document, path: Path, root: Path, left: int) -> object:
    """Return the value that a reference names, from the root or, with leading dots, upwards from its
    mapping.
    """
    dots = len(match[0]) if (match := PER_FIELD.match(name)) else 0
    base = path[: len(path) - dots] if dots else root
    if dots > len(path) or (dots and len(base) < len(root)):
        return Unknown(f"{name} refers to a key that does not exist")
    parts = re.sub(r"\[([^\[\]]+)\]", r".\1", name[dots:]).split(".")
    steps = tuple(int(part) if part.isdecimal() else part for part in parts if part)
    if not steps or left <= 0:
        return Unknown(f"{name} has too many nested references")
    target = (*base, *steps)
    if document.node(target) is None and not dots and len(steps) > 1:
        target = (*base, *steps[1:])  # the whole file stands under that name where it is composed
    resolved = _resolve(document, target, root, left)
    return Unknown(f"{name} is defined elsewhere", "another object") if resolved is None else resolved


def _read_argument(text: str, document: Document, path: Path, root: Path, left: int) -> object:
    text = text.strip()
    if len(text) > 1 and text[0] == text[-1] and text[0] in "'\"":
        text = text[1:-1]
    filled = _resolve_text(text, document, path, root, left) if OPENING in text and left else text
    return _parse_number(filled) if isinstance(filled, str) and filled and NUMBER.fullmatch(filled) else filled


def _parse_number(text: str) -> int | float:
    return int(text) if re.fullmatch(r"[-+]?[\d_]+", text) else float(text)


def _split_arguments(text: str) -> list[str]:
    """Return the arguments of a resolver, split at commas outside braces, brackets and quotes."""
    parts, depth, quote, start = [], 0, "", 0
    for index, character in enumerate(text):
        if quote:
            quote = "" if character == quote else quote
        elif character in "'\"":
            quote = character
        elif character in "{[(":
            depth += 1
        elif character in "}])":
            depth -= 1
        elif character == "," and depth == 0:
            parts.append(text[start:index])
            start = index + 1
    return [*parts, text[start:]]


def _call(name: str, given: list[object]) -> object:
    call = CALLS.get(name.rpartition(".")[2])
    numbers = [number for number in given if isinstance(number, int | float) and not isinstance(number, bool)]
    if call is None or not numbers or len(numbers) != len(given):
        return Unknown(f"{name} is a resolver of the application", OWN)
    try:
        return _check_finite(call(*numbers))
    except (ArithmeticError, TypeError):
        return Unknown(f"{name} cannot be computed")


def _compute(text: str) -> object:
    """Return the result of arithmetic on numbers as Python would compute it.

    Anything else is unknown.
    """
    try:
        return _check_finite(_evaluate(ast.parse(text.strip(), mode="eval").body))
    except (ArithmeticError, SyntaxError, ValueError, TypeError, RecursionError, MemoryError):
        return Unknown(f"{text.strip()} is not plain arithmetic", OWN)


def _evaluate(node: ast.expr) -> float:
    if isinstance(node, ast.Constant) and type(node.value) in (int, float):
        return node.value  # type: ignore[return-value]
    if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.USub):
        return -_evaluate(node.operand)
    if isinstance(node, ast.BinOp) and type(node.op) in OPERATORS:
        return _check_size(OPERATORS[type(node.op)](_evaluate(node.left), _evaluate(node.right)))
    if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id in ("int", "round"):
        (argument,) = node.args
        return int(_evaluate(argument)) if node.func.id == "int" else round(_evaluate(argument))
    raise ValueError(ast.dump(node))


def _check_size(number: float) -> float:
    if abs(number) > LARGEST:
        raise OverflowError
    return number


def _check_finite(number: float) -> object:
    return _check_size(number) if math.isfinite(number) else Unknown("the result is not a finite number")
