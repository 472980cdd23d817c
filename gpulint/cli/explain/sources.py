"""Sources: what modules of this package say of themselves, in docstrings and in literals, without running them."""

from __future__ import annotations

import ast
import functools
import re
from collections.abc import Iterator
from pathlib import Path


def told(docstring: str) -> tuple[str, tuple[str, ...]]:
    """The first paragraph of a docstring, and those behind it, each in one line."""
    first, *others = (" ".join(part.split()) for part in re.split(r"\n\s*\n", docstring.strip()))
    return first, tuple(others)


@functools.cache
def texts(file: Path) -> frozenset[str]:
    """Every text that stands in a module as a literal."""
    nodes = ast.walk(_tree(file))
    return frozenset(node.value for node in nodes if isinstance(node, ast.Constant) and isinstance(node.value, str))


@functools.cache
def handed(file: Path, function: str) -> frozenset[str]:
    """The texts that a module hands, as literals, to a function of another module."""
    calls = (node for node in ast.walk(_tree(file)) if isinstance(node, ast.Call))
    named = (call for call in calls if isinstance(call.func, ast.Attribute) and call.func.attr == function)
    nodes = (node for call in named for argument in call.args for node in ast.walk(argument))
    return frozenset(node.value for node in nodes if isinstance(node, ast.Constant) and isinstance(node.value, str))


@functools.cache
def docstring(file: Path) -> str:
    """What a module says of itself."""
    return ast.get_docstring(_tree(file)) or ""


@functools.cache
def keys(file: Path) -> tuple[str, ...]:
    """Names under which a module puts values: keys of mappings and of items, and named fields of a role."""
    return tuple(dict.fromkeys(_keys(_tree(file))))


@functools.cache
def imported(file: Path, package: str) -> tuple[str, ...]:
    """The modules of a package and its folders that a module of it imports, by dotted name below the package."""
    nodes = (node for node in ast.walk(_tree(file)) if isinstance(node, ast.ImportFrom))
    within = (node for node in nodes if f"{node.module}.".startswith(f"{package}."))
    names = [f"{node.module}.{alias.name}".removeprefix(f"{package}.") for node in within for alias in node.names]
    return tuple(sorted(dict.fromkeys(names)))


def _keys(tree: ast.AST) -> Iterator[str]:
    for node in ast.walk(tree):
        if isinstance(node, ast.Dict):
            yield from (key.value for key in node.keys if isinstance(key, ast.Constant) and isinstance(key.value, str))
        elif isinstance(node, ast.Subscript) and isinstance(node.ctx, ast.Store):
            if isinstance(node.slice, ast.Constant) and isinstance(node.slice.value, str):
                yield node.slice.value
        elif isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr == "having":
            yield from (keyword.arg for keyword in node.keywords if keyword.arg)


@functools.cache
def _tree(file: Path) -> ast.Module:
    return ast.parse(file.read_text(encoding="utf-8"))
