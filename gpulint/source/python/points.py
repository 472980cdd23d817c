"""Points: where somebody else decides how a program goes on, and which way is taken there."""

from __future__ import annotations

import ast
from collections.abc import Iterable, Mapping, Sequence

from gpulint.source.python.interfaces import Evaluator
from gpulint.source.python.values import (
    CALLER,
    CHOICES_MAX,
    RUN_TIME,
    Choice,
    Constant,
    Items,
    Object,
    Open,
    Point,
    Scope,
    Value,
)
from gpulint.source.python.values import Mapping as Entries

LABEL_MAX = 60
OF_LOOP = "loop"


def decide_branch(
    program: Evaluator,
    node: ast.If,
    blocks: Mapping[int, Sequence[ast.stmt]],
    tests: Sequence[tuple[ast.expr, Value]],
    scope: Scope,
) -> int | None:
    """Return the number of the block that is taken; None if all that may run are open."""
    decider, name = _find_party(value for _, value in tests)
    labels = [_read_label(test) for test, _ in tests]
    labels += [""] * (len(blocks) - len(labels))
    return program.decide(
        Point(_key(node, scope), tuple(blocks), tuple(labels), decider, name, program.place(node.test, scope))
    )


def decide_value(program: Evaluator, node: ast.expr, value: Value, ways: Iterable[int], scope: Scope) -> int | None:
    """Return which value an expression takes; None if that is open."""
    decider, name = _find_party((value,))
    return program.decide(Point(_key(node, scope), tuple(ways), (), decider, name, program.place(node, scope)))


def decide_item(program: Evaluator, node: ast.For | ast.AsyncFor, items: Items, scope: Scope) -> int | None:
    """Return the item of a loop whose round is read alone; None if all rounds are read in turn."""
    if not 1 < len(items.items) <= CHOICES_MAX:
        return None
    labels = tuple(_show(item) for item in items.items)
    place = program.place(node.iter, scope)
    return program.decide(Point(_key(node, scope), tuple(range(len(labels))), labels, OF_LOOP, "", place))


def withdraw_item(program: Evaluator, node: ast.For | ast.AsyncFor, scope: Scope) -> None:
    """Leave out a loop: all its rounds count."""
    program.points.pop(_key(node, scope), None)


def decide_key(program: Evaluator, node: ast.AST | None, value: Value, key: Value, scope: Scope | None) -> Value:
    """Return the key with which an entry is taken out of a dict of the program: one of those that it has, if it is open.

    Without a node only a key that an argument or a variable names is decided.
    """
    if not isinstance(key, Open) or not isinstance(value, Entries) or value.open_ended:
        return key
    known = list(value.entries)
    if not 1 < len(known) <= CHOICES_MAX:
        return key
    decider, name = _find_party((key,))
    place = program.place(node, scope) if node is not None and scope is not None else None
    at = _key(node, scope) if node is not None and scope is not None else ()
    named = (decider, name, *known) if name else at
    if not named:
        return key
    taken = program.decide(Point(named, tuple(range(len(known))), tuple(map(_clip, known)), decider, name, place))
    return Choice(tuple(Constant(one) for one in known)) if taken is None else Constant(known[taken])


def decide_argument(program: Evaluator, flag: str, choices: Value | None, place: object) -> Value | None:
    """Return the value of an argument that the command leaves open: one of those that its parser accepts."""
    known = choices.items if isinstance(choices, Items) and not choices.open_ended else []
    if not 1 < len(known) <= CHOICES_MAX or not all(isinstance(one, Constant) for one in known):
        return None
    labels = tuple(_show(one) for one in known)
    taken = program.decide(Point((CALLER, flag), tuple(range(len(known))), labels, CALLER, flag, place))
    return Choice(tuple(known)) if taken is None else known[taken]


def _key(node: ast.AST, scope: Scope) -> tuple[object, ...]:
    return scope.document.path, getattr(node, "lineno", 0), getattr(node, "col_offset", 0), type(node).__name__


def _find_party(values: Iterable[Value]) -> tuple[str, str]:
    """Return who decides an open value, and the name of the argument or variable by which it is decided."""
    for value in values:
        if isinstance(value, Open) and value.name and value.decider != RUN_TIME:
            return value.decider, value.name
    return RUN_TIME, ""


def _read_label(test: ast.expr) -> str:
    """Return the value with which a condition compares: what an argument is then."""
    if isinstance(test, ast.Compare) and len(test.ops) == 1 and isinstance(test.ops[0], ast.Eq):
        other = test.comparators[0]
        return _clip(other.value) if isinstance(other, ast.Constant) else ""
    return ""


def _show(value: Value) -> str:
    """Return a value in short: a text or number, or the first one of a list, a dict or the arguments of a call."""
    if isinstance(value, Constant):
        return _clip(value.value)
    inner: Iterable[Value] = ()
    if isinstance(value, Items):
        inner = value.items
    elif isinstance(value, Entries):
        inner = value.entries.values()
    elif isinstance(value, Object):
        inner = (*value.arguments, *value.keywords.values())
    return next((_clip(one.value) for one in inner if isinstance(one, Constant)), "")


def _clip(value: object) -> str:
    return str(value)[:LABEL_MAX]
