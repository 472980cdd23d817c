"""Docstrings and literals of modules of this package, read without importing them."""

from __future__ import annotations

import ast
import functools
import re
from collections.abc import Iterator
from pathlib import Path


def summarise(docstring: str) -> tuple[str, tuple[str, ...]]:
    """Return the first paragraph of a docstring and the further ones, each on one line."""
    first, *others = (" ".join(part.split()) for part in re.split(r"\n\s*\n", docstring.strip()))
    return first, tuple(others)


@functools.cache
def read_texts(file: Path) -> frozenset[str]:
    """Return every string literal of a module."""
    nodes = ast.walk(_tree(file))
    return frozenset(node.value for node in nodes if isinstance(node, ast.Constant) and isinstance(node.value, str))


@functools.cache
def read_passed_keys(file: Path, function: str) -> frozenset[str]:
    """Return the string literals that a module passes to a function of another module."""
    calls = (node for node in ast.walk(_tree(file)) if isinstance(node, ast.Call))
    named = (call for call in calls if isinstance(call.func, ast.Attribute) and call.func.attr == function)
    nodes = (node for call in named for argument in call.args for node in ast.walk(argument))
    return frozenset(node.value for node in nodes if isinstance(node, ast.Constant) and isinstance(node.value, str))


@functools.cache
def read_docstring(file: Path) -> str:
    """Return the docstring of a module."""
    return ast.get_docstring(_tree(file)) or ""


@functools.cache
def read_keys(file: Path) -> tuple[str, ...]:
    """Return the names under which a module stores values: mapping keys, item keys, and fields of a role."""
    return tuple(dict.fromkeys(_keys(_tree(file))))


@functools.cache
def list_imported(file: Path, package: str) -> tuple[str, ...]:
    """Return the modules of a package that a module of it imports."""
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
