"""The regular expressions of the package, and texts that make a pattern which backtracks take long."""

from __future__ import annotations

import ast
import importlib
import itertools
import re
import re._constants as codes  # type: ignore[import-not-found]
import re._parser as parser  # type: ignore[import-not-found]
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from types import ModuleType
from typing import NamedTuple

ROOT = Path(__file__).parents[2]
FUNCTIONS = frozenset({"compile", "search", "match", "fullmatch", "finditer", "findall", "sub", "subn", "split"})
ANCHORED = frozenset({"match", "fullmatch"})
MANY = 32
"""A repetition of fewer characters is no loop."""
CHARACTERS = " \t\n\ra0Z_-#\"'.,:;=/\\(){}[]<>$&|%@*+!~^?`é\x00"
ENDS = ("", "\x00", "\n\x00", "!", " !", "\n")


class Pattern(NamedTuple):
    """A pattern, where it is written, its flags, and whether it is only matched at a place that the caller names."""

    place: str
    text: str
    flags: int
    anchored: bool


def collect() -> Iterator[Pattern]:
    """Yield every pattern that a call of `re` in the package names."""
    trees = {path: ast.parse(path.read_text()) for path in sorted((ROOT / "gpulint").rglob("*.py"))}
    uses = _Uses(trees)
    for path, tree in trees.items():
        name = ".".join(path.relative_to(ROOT).with_suffix("").parts).removesuffix(".__init__")
        module: ModuleType | None = None
        for call, assigned in _list_calls(tree):
            module = module or importlib.import_module(name)
            text = _evaluate(call.args[0], module)
            flags = sum(int(_flag(argument)) for argument in (*call.args[1:], *(key.value for key in call.keywords)))
            function = call.func.attr if isinstance(call.func, ast.Attribute) else ""
            methods = uses.list_methods(path, assigned) if function == "compile" else {function}
            if isinstance(text, str):
                yield Pattern(f"{path.relative_to(ROOT)}:{call.lineno}", text, flags, methods <= ANCHORED)


def _list_calls(tree: ast.Module) -> Iterator[tuple[ast.Call, str]]:
    """Yield the calls of `re`, each with the name that its result is assigned to."""
    names = {
        id(node.value): target.id
        for node in ast.walk(tree)
        if isinstance(node, ast.Assign)
        for target in node.targets
        if isinstance(target, ast.Name)
    }
    for node in ast.walk(tree):
        if (
            isinstance(node, ast.Call)
            and isinstance(node.func, ast.Attribute)
            and isinstance(node.func.value, ast.Name)
            and node.func.value.id == "re"
            and node.func.attr in FUNCTIONS
            and node.args
        ):
            yield node, names.get(id(node), "")


class _Uses:
    """The methods that are called on names which may be patterns: in the module of the name, and in those that import it."""

    def __init__(self, trees: Mapping[Path, ast.Module]) -> None:
        self._inside: dict[tuple[Path, str], set[str]] = {}
        self._outside: dict[str, set[str]] = {}
        self._qualified: dict[str, list[tuple[str, str]]] = {}
        for path, tree in trees.items():
            imported = {
                alias.name for node in ast.walk(tree) if isinstance(node, ast.ImportFrom) for alias in node.names
            }
            for node in ast.walk(tree):
                if not isinstance(node, ast.Attribute) or node.attr not in FUNCTIONS:
                    continue
                if isinstance(node.value, ast.Name):
                    self._inside.setdefault((path, node.value.id), set()).add(node.attr)
                    if node.value.id in imported:
                        self._outside.setdefault(node.value.id, set()).add(node.attr)
                elif isinstance(node.value, ast.Attribute):
                    module = node.value.value.id if isinstance(node.value.value, ast.Name) else ""
                    self._qualified.setdefault(node.value.attr, []).append((module, node.attr))

    def list_methods(self, path: Path, name: str) -> set[str]:
        """Return the methods that are called on a name; a search if it is not known which."""
        module = path.parent.name if path.stem == "__init__" else path.stem
        qualified = {method for alias, method in self._qualified.get(name, ()) if alias.endswith(module)}
        return self._inside.get((path, name), set()) | self._outside.get(name, set()) | qualified or {"search"}


def _flag(node: ast.expr) -> int:
    if isinstance(node, ast.BinOp) and isinstance(node.op, ast.BitOr):
        return _flag(node.left) | _flag(node.right)
    is_flag = isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name) and node.value.id == "re"
    return int(getattr(re, node.attr)) if is_flag and isinstance(node, ast.Attribute) else 0


def _evaluate(node: ast.expr, module: ModuleType) -> object:
    """Return the value of an expression of constants; what only a call knows is a letter of an f-string."""
    if isinstance(node, ast.JoinedStr):
        parts = (part.value if isinstance(part, ast.FormattedValue) else part for part in node.values)
        return "".join(value if isinstance(value := _evaluate(part, module), str) else "x" for part in parts)
    try:
        return eval(compile(ast.Expression(node), "<pattern>", "eval"), vars(module))
    except Exception:
        return None


# ---- texts


def pump(pattern: Pattern, length: int) -> Iterator[str]:
    """Yield texts of about a length in which one repetition of a pattern, or two that follow each other, go on for long."""
    tree = parser.parse(pattern.text, pattern.flags)
    for before, bodies in _list_loops(list(tree), ""):
        for body in dict.fromkeys(bodies):
            for end in ENDS:
                yield before + body * (length // len(body)) + end


def _list_loops(nodes: Sequence[object], before: str) -> Iterator[tuple[str, Sequence[str]]]:
    """Yield each repetition: a text that leads to it, and texts that it repeats."""
    for node in nodes:
        code, argument = node  # type: ignore[misc]
        if code in (codes.MAX_REPEAT, codes.MIN_REPEAT, codes.POSSESSIVE_REPEAT):
            _, most, body = argument
            if most > MANY:
                texts = [text for text in _examples(list(body)) if text]
                yield before, texts
            yield from _list_loops(list(body), before)
        elif code is codes.SUBPATTERN:
            yield from _list_loops(list(argument[-1]), before)
        elif code is codes.ATOMIC_GROUP:
            yield from _list_loops(list(argument), before)
        elif code is codes.BRANCH:
            for branch in argument[1]:
                yield from _list_loops(list(branch), before)
        elif code in (codes.ASSERT, codes.ASSERT_NOT):
            yield from _list_loops(list(argument[1]), before)
        before += next(iter(_examples([node])), "")


def _examples(nodes: Sequence[object]) -> list[str]:
    """Return some texts that nodes match, the shortest kind of each."""
    found = [""]
    for node in nodes:
        following = _examples_of(node) or [""]
        found = [first + second for first, second in itertools.islice(itertools.product(found, following), 24)]
    return found


def _examples_of(node: object) -> list[str]:
    code, argument = node  # type: ignore[misc]
    if code is codes.LITERAL:
        return [chr(argument)]
    if code in (codes.NOT_LITERAL, codes.ANY, codes.IN):
        return [character for character in CHARACTERS if _matches([node], character)]
    if code is codes.SUBPATTERN:
        return _examples(list(argument[-1]))
    if code is codes.ATOMIC_GROUP:
        return _examples(list(argument))
    if code is codes.BRANCH:
        return [text for branch in argument[1] for text in _examples(list(branch))[:8]]
    if code in (codes.MAX_REPEAT, codes.MIN_REPEAT, codes.POSSESSIVE_REPEAT):
        least, most, body = argument
        return [text * max(1, least) for text in _examples(list(body))] if most else [""]
    return [""]


def _matches(nodes: list[object], character: str) -> bool:
    """Whether a node of one character matches it."""
    state = parser.State()
    return re._compiler.compile(parser.SubPattern(state, nodes), 0).fullmatch(character) is not None  # type: ignore[attr-defined]
