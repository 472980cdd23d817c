"""OmegaConf: the values of a configuration whose texts refer to other keys and compute with them.

References (`${model.layers}`, `${.layers}`), arithmetic resolvers and defaults are evaluated where every part is known;
whatever else an application registers stays unknown. Nothing is executed: arithmetic is read, not run.
"""

from __future__ import annotations

import ast
import math
import operator
import re
from collections.abc import Callable, Iterator, Mapping

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
"""Resolvers that launchers register for arithmetic (NVIDIA/NeMo-Framework-Launcher launcher_scripts/main.py and others)."""
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
    """The value at a path with its references resolved; Unknown where a part is not known, None where nothing stands."""
    return _at(document, path, root, DEPTH_MAX)


def _at(document: Document, path: Path, root: Path, left: int) -> object:
    found = document.get(path)
    if not isinstance(found, str):
        return found
    if found == MISSING:
        return Unknown(f"{path[-1]} has to be given when it is started", "caller's variable")
    if OPENING not in found:
        return found
    if left == 0 or len(found) > CHARACTERS_MAX:
        return Unknown(f"{path[-1]} refers to more than is followed")
    return _text(found, document, path, root, left - 1)


def _text(text: str, document: Document, path: Path, root: Path, left: int) -> object:
    """A text with what stands in `${...}` filled in; a text that is nothing else keeps the type of that."""
    parts: list[object] = []
    for piece, refers in _pieces(text):
        one = _reference(piece, document, path, root, left) if refers else piece
        if isinstance(one, Unknown):
            return one
        parts.append(one)
    if len(parts) == 1:
        return parts[0]
    if any(isinstance(part, dict | list) for part in parts):
        return Unknown(f"{text} is no single value")
    return "".join("" if part is None else str(part) for part in parts)


def _pieces(text: str) -> Iterator[tuple[str, bool]]:
    """The parts of a text, and whether each stood in `${...}`; braces within one another belong together."""
    at = 0
    while (start := text.find(OPENING, at)) >= 0:
        if start > at:
            yield text[at:start], False
        end = _closing(text, start + len(OPENING))
        yield text[start + len(OPENING) : end], True
        at = end + 1
    if at < len(text):
        yield text[at:], False


def _closing(text: str, at: int) -> int:
    depth = 1
    for index in range(at, len(text)):
        depth += (text[index] == "{") - (text[index] == "}")
        if depth == 0:
            return index
    return len(text)


def _reference(inner: str, document: Document, path: Path, root: Path, left: int) -> object:
    resolver = RESOLVER.fullmatch(inner)
    if resolver is None:
        return _key(inner.strip(), document, path, root, left)
    name, rest = resolver["name"], resolver["rest"]
    given = [_argument(part, document, path, root, left) for part in _split(rest)]
    if name == "oc.env":
        return given[1] if len(given) > 1 else Unknown(f"{given[0]} is set by whoever starts it", "caller's variable")
    if name == "oc.select" and given:
        found = _key(str(given[0]), document, path, root, left)
        return given[1] if len(given) > 1 and (found is None or isinstance(found, Unknown)) else found
    if unknown := next((one for one in given if isinstance(one, Unknown)), None):
        return unknown
    if name in COMPUTED:
        return _computed(",".join(map(str, given)))
    return _called(name, given)


def _key(name: str, document: Document, path: Path, root: Path, left: int) -> object:
    """The value that a reference names: from the top, or with dots in front from the mapping it stands in upwards."""
    dots = len(match[0]) if (match := PER_FIELD.match(name)) else 0
    base = path[: len(path) - dots] if dots else root
    if dots > len(path) or (dots and len(base) < len(root)):
        return Unknown(f"{name} refers to nothing")
    parts = re.sub(r"\[([^\[\]]+)\]", r".\1", name[dots:]).split(".")
    steps = tuple(int(part) if part.isdecimal() else part for part in parts if part)
    if not steps or left <= 0:
        return Unknown(f"{name} refers to more than is followed")
    target = (*base, *steps)
    if document.node(target) is None and not dots and len(steps) > 1:
        target = (*base, *steps[1:])  # the whole file stands under that name where it is composed
    found = _at(document, target, root, left)
    return Unknown(f"{name} is stated elsewhere", "another object") if found is None else found


def _argument(text: str, document: Document, path: Path, root: Path, left: int) -> object:
    text = text.strip()
    if len(text) > 1 and text[0] == text[-1] and text[0] in "'\"":
        text = text[1:-1]
    filled = _text(text, document, path, root, left) if OPENING in text and left else text
    return _number(filled) if isinstance(filled, str) and filled and NUMBER.fullmatch(filled) else filled


def _number(text: str) -> int | float:
    return int(text) if re.fullmatch(r"[-+]?[\d_]+", text) else float(text)


def _split(text: str) -> list[str]:
    """The arguments of a resolver: separated by commas that stand in no braces, brackets or quotes."""
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


def _called(name: str, given: list[object]) -> object:
    call = CALLS.get(name.rpartition(".")[2])
    numbers = [one for one in given if isinstance(one, int | float) and not isinstance(one, bool)]
    if call is None or not numbers or len(numbers) != len(given):
        return Unknown(f"{name} is the application's own", OWN)
    try:
        return _bounded(call(*numbers))
    except (ArithmeticError, TypeError):
        return Unknown(f"{name} cannot be computed")


def _computed(text: str) -> object:
    """Arithmetic on numbers as Python would compute it; anything else is not read."""
    try:
        return _bounded(_arithmetic(ast.parse(text.strip(), mode="eval").body))
    except (ArithmeticError, SyntaxError, ValueError, TypeError, RecursionError, MemoryError):
        return Unknown(f"{text.strip()} is more than arithmetic", OWN)


def _arithmetic(node: ast.expr) -> float:
    if isinstance(node, ast.Constant) and type(node.value) in (int, float):
        return node.value  # type: ignore[return-value]
    if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.USub):
        return -_arithmetic(node.operand)
    if isinstance(node, ast.BinOp) and type(node.op) in OPERATORS:
        return _limited(OPERATORS[type(node.op)](_arithmetic(node.left), _arithmetic(node.right)))
    if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id in ("int", "round"):
        (argument,) = node.args
        return int(_arithmetic(argument)) if node.func.id == "int" else round(_arithmetic(argument))
    raise ValueError(ast.dump(node))


def _limited(number: float) -> float:
    if abs(number) > LARGEST:
        raise OverflowError
    return number


def _bounded(number: float) -> object:
    return _limited(number) if math.isfinite(number) else Unknown("it is no finite number")
