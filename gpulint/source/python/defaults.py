"""Defaults: what a program takes itself where a variable or an argument has no value, and nothing states one."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterable, Iterator, Sequence
from typing import NamedTuple

from gpulint.source.python.interfaces import Evaluator
from gpulint.source.python.values import CALLER, ENVIRONMENT, Constant, Open, Scope, Value

NODES_MAX = 400
"""The most parts of a branch in which the use of a variable is looked for."""


LAUNCHED = re.compile(r"(?:SLURM|OMPI|PMI)_\w+|(?:LOCAL_|GROUP_|NODE_)?RANK|(?:LOCAL_)?WORLD_SIZE|MASTER_(?:ADDR|PORT)")
"""Variables that a launcher sets: docs.pytorch.org/docs/stable/elastic/run.html, slurm.schedmd.com/srun.html."""


class Presence(NamedTuple):
    """A condition that asks whether a variable or an argument has a value: its name, and what holds without one."""

    name: str
    asked: ast.expr
    holds: bool


def is_unset(value: Value) -> bool:
    """Return whether nothing states a value that an argument or a variable may have."""
    if not isinstance(value, Open) or value.place is not None or value.decider not in (CALLER, ENVIRONMENT):
        return False
    return bool(value.name) and LAUNCHED.fullmatch(value.name) is None


def mark(value: Value, name: str) -> Value:
    """Return a constant with the name of what could have stated another one."""
    if not isinstance(value, Constant) or value.name:
        return value
    return Constant(value.value, value.place, name, value.computed)


def take_last(values: Sequence[Value]) -> Value | None:
    """Return the last of the values between which `a or b` chooses, if nothing states those before it."""
    *others, last = values
    names = [other.name for other in others if isinstance(other, Open) and is_unset(other)]
    return mark(last, names[0]) if names and len(names) == len(others) and not isinstance(last, Open) else None


def find_presence(program: Evaluator, test: ast.expr, scope: Scope) -> Presence | None:
    """Return what a condition such as `x`, `not x` or `x is None` asks for, if nothing states that."""
    holds = False
    while isinstance(test, ast.UnaryOp) and isinstance(test.op, ast.Not):
        test, holds = test.operand, not holds
    if isinstance(test, ast.Compare) and len(test.ops) == 1:
        other, kind = test.comparators[0], test.ops[0]
        if not (isinstance(other, ast.Constant) and other.value is None):
            return None
        holds ^= isinstance(kind, ast.Is | ast.Eq)
        test = test.left
    if not isinstance(test, ast.Name | ast.Attribute | ast.Subscript | ast.Call):
        return None
    value = program.evaluate(test, scope)
    return Presence(value.name, test, holds) if isinstance(value, Open) and is_unset(value) else None


def uses(nodes: Iterable[ast.AST], asked: ast.expr) -> bool:
    """Return whether a part of the program reads or sets what a condition asks for."""
    sought, left = ast.unparse(asked), NODES_MAX
    for node in nodes:
        for part in ast.walk(node):
            left -= 1
            if left < 0:
                return False
            if isinstance(part, type(asked)) and ast.unparse(part) == sought:
                return True
    return False


def list_assigned(statements: Iterable[ast.stmt]) -> Iterator[str]:
    """Yield the names that statements assign."""
    for statement in statements:
        for target in statement.targets if isinstance(statement, ast.Assign) else ():
            if isinstance(target, ast.Name):
                yield target.id
