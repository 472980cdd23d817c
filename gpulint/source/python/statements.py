"""Statements: what a block of the program assigns. A branch whose condition is open leaves several values."""

from __future__ import annotations

import ast
from collections.abc import Callable, Sequence
from typing import Any

from gpulint.source.python import defaults, expressions, library, operations, points
from gpulint.source.python.interfaces import Evaluator
from gpulint.source.python.values import (
    ABSENT,
    Class,
    Constant,
    Function,
    Items,
    Mapping,
    Name,
    Open,
    Scope,
    Value,
    choose,
    is_true,
)

RETURNED = "return"
"""The name under which a function's scope keeps what it returns; no program can have a variable of that name."""
LEFT = "break"
"""The name under which a scope keeps that a round of a loop has ended, and whether the loop is left."""
BRANCHES_MAX = 16
"""The most conditions of one chain of `elif` that are read one by one."""
LOOPED_MAX = 40
"""The most items of a literal list over which a loop runs in turn."""
ENDS = "SystemExit"


def run(program: Evaluator, statements: Sequence[ast.stmt], scope: Scope) -> bool:
    """Run a block; return True if the statements after it are not reached."""
    for statement in statements:
        execute = _RUNNERS.get(type(statement))
        if execute is not None and execute(program, statement, scope):
            return True
    return False


def _run_assignment(program: Evaluator, node: ast.Assign, scope: Scope) -> None:
    value = program.evaluate(node.value, scope)
    for target in node.targets:
        expressions.bind(program, target, value, scope)


def _run_annotated(program: Evaluator, node: ast.AnnAssign, scope: Scope) -> None:
    if node.value is not None:
        expressions.bind(program, node.target, program.evaluate(node.value, scope), scope)


def _run_augmented(program: Evaluator, node: ast.AugAssign, scope: Scope) -> None:
    old = program.evaluate(node.target, scope)
    new = program.evaluate(node.value, scope)
    if isinstance(node.op, ast.Add) and isinstance(old, Items) and isinstance(new, Items):
        old.extend(new)
        if isinstance(node.target, ast.Attribute):
            expressions.bind(program, node.target, old, scope)
        return
    value = operations.calculate(node.op, old, new, program.place(node, scope))
    expressions.bind(program, node.target, value, scope)


def _run_expression(program: Evaluator, node: ast.Expr, scope: Scope) -> bool:
    value = program.evaluate(node.value, scope)
    return isinstance(value, Open) and value.name == "exit"


def _run_import(program: Evaluator, node: ast.Import, scope: Scope) -> None:
    for alias in node.names:
        module = program.import_module(alias.name, scope, 0)
        first, dot, rest = alias.name.partition(".")
        if alias.asname or not dot:
            scope.names[alias.asname or first] = module
            continue
        package = program.import_module(first, scope, 0)
        scope.names[first] = package
        if isinstance(package, Scope) and isinstance(module, Scope) and "." not in rest:
            package.names[rest] = module


def _run_import_from(program: Evaluator, node: ast.ImportFrom, scope: Scope) -> None:
    module = program.import_module(node.module or "", scope, node.level)
    for alias in node.names:
        if alias.name != "*":
            value = program.read_attribute(module, alias.name, program.place(node, scope))
            if (isinstance(module, Scope) and isinstance(value, Open)) or isinstance(module, Name):
                inner = program.import_module(f"{node.module or ''}.{alias.name}".lstrip("."), scope, node.level)
                value = inner if isinstance(inner, Scope) else value
            scope.names[alias.asname or alias.name] = value
        elif isinstance(module, Scope):
            scope.names.update({name: value for name, value in module.names.items() if not name.startswith("_")})
        elif isinstance(module, Name):
            scope.star.append(module.name)


def _run_function(program: Evaluator, node: ast.FunctionDef | ast.AsyncFunctionDef, scope: Scope) -> None:
    decorators = tuple(program.evaluate(decorator, scope) for decorator in node.decorator_list)
    scope.names[node.name] = Function(node, scope, node.name, decorators)


def _run_class(program: Evaluator, node: ast.ClassDef, scope: Scope) -> None:
    bases = tuple(program.evaluate(base, scope) for base in node.bases)
    keywords = {
        keyword.arg: program.evaluate(keyword.value, scope) for keyword in node.keywords if keyword.arg is not None
    }
    decorators = tuple(program.evaluate(decorator, scope) for decorator in node.decorator_list)
    body = Scope({}, scope.document, scope.module, scope)
    made = Class(node, scope, node.name, bases, body.names, decorators, keywords)
    program.run(node.body, body)
    for name, value in body.names.items():
        if isinstance(value, Function) and value.owner is None:
            body.names[name] = Function(value.node, scope, f"{node.name}.{name}", value.decorators, None, made)
    scope.names[node.name] = made


def _run_if(program: Evaluator, node: ast.If, scope: Scope) -> bool:
    blocks, tests = _list_blocks(program, node, scope)
    if len(blocks) > 1:
        default = _find_default(program, node, scope) if len(blocks) == 2 and len(tests) == 1 else None
        if default is not None:
            return _run_default(program, node, default, scope)
        taken = points.decide_branch(program, node, blocks, tests, scope)
        if taken is None:
            return _run_either(program, tuple(blocks.values()), scope)
        return program.run(blocks[taken], scope)
    return program.run(next(iter(blocks.values())), scope)


def _find_default(program: Evaluator, node: ast.If, scope: Scope) -> defaults.Presence | None:
    """Return the variable that a statement asks for, if it takes a default where nothing states the variable."""
    asked = defaults.find_presence(program, node.test, scope)
    without = node.body if asked is not None and asked.holds else node.orelse
    if asked is None or any(isinstance(one, ast.Raise | ast.Break | ast.Continue) for one in without):
        return None
    returned = next((one.value for one in without if isinstance(one, ast.Return)), ...)
    if returned is not ...:
        return asked if not isinstance(returned, ast.Constant | None) or _states_value(returned) else None
    ends = any(isinstance(one, ast.Expr) and ast.unparse(one).partition("(")[0] in library.EXITS for one in without)
    return asked if not ends and defaults.uses((*node.body, *node.orelse), asked.asked) else None


def _states_value(node: ast.Constant | None) -> bool:
    return node is not None and node.value is not None


def _run_default(program: Evaluator, node: ast.If, asked: defaults.Presence, scope: Scope) -> bool:
    """Run the block for a variable that has no value; what either block assigns could have been stated."""
    if program.run(node.body if asked.holds else node.orelse, scope):
        return True
    for name in defaults.list_assigned((*node.body, *node.orelse)):
        if name in scope.names:
            scope.names[name] = defaults.mark(scope.names[name], asked.name)
    return False


def _list_blocks(
    program: Evaluator, node: ast.If, scope: Scope
) -> tuple[dict[int, Sequence[ast.stmt]], list[tuple[ast.expr, Value]]]:
    """Return the blocks of `if`, `elif` and `else` that may run, by their number, and the conditions that are open."""
    blocks: dict[int, Sequence[ast.stmt]] = {}
    tests: list[tuple[ast.expr, Value]] = []
    for number in range(BRANCHES_MAX):
        value = program.evaluate(node.test, scope)
        truth = is_true(value)
        if truth is not False:
            blocks[number] = node.body
        if truth is True:
            return blocks, tests
        if truth is None:
            tests.append((node.test, value))
        following = node.orelse
        if not (len(following) == 1 and isinstance(following[0], ast.If)) or number == BRANCHES_MAX - 1:
            blocks[number + 1] = following
            break
        node = following[0]
    return blocks, tests


def _run_either(program: Evaluator, blocks: Sequence[Sequence[ast.stmt]], scope: Scope) -> bool:
    """Run blocks of which one runs, and give each name the values that it can have after them."""
    before = dict(scope.names)
    held = _list_held(before)
    lists = [(value, len(value.items)) for value in before.values() if isinstance(value, Items)]
    outcomes: list[dict[str, Value]] = []
    for block in blocks:
        scope.names.clear()
        scope.names.update(before)
        if not program.run(block, scope) or LEFT in scope.names:
            outcomes.append({name: value for name, value in scope.names.items() if name != LEFT})
        returned = scope.names.get(RETURNED)
        before = before if returned is None else {**before, RETURNED: returned}
    _settle_held(held)
    for value, length in lists:
        if len(value.items) > length:  # only some of the blocks add to it
            del value.items[length:]
            value.open_ended = True
    scope.names.clear()
    if not outcomes:
        scope.names.update(before)
        return True
    names = dict.fromkeys(name for outcome in outcomes for name in outcome)
    for name in names:
        if name != RETURNED:
            found = [outcome[name] for outcome in outcomes if name in outcome]
            scope.names[name] = found[0] if all(value is found[0] for value in found) else choose(found)
    if RETURNED in before:
        scope.names[RETURNED] = before[RETURNED]
    return False


def _list_held(names: dict[str, Value]) -> list[tuple[dict[Any, Value], dict[Any, Value]]]:
    """Return the entries of dicts and objects as they are before a branch."""
    held: list[tuple[dict[Any, Value], dict[Any, Value]]] = []
    for value in names.values():
        if isinstance(value, Mapping):
            held.append((value.entries, dict(value.entries)))
        elif hasattr(value, "attributes"):
            held.append((value.attributes, dict(value.attributes)))
    return held


def _settle_held(held: list[tuple[dict[Any, Value], dict[Any, Value]]]) -> None:
    """Give each entry that a branch set the value from before as well."""
    for entries, before in held:
        for key, value in entries.items():
            if before.get(key) is not value:
                entries[key] = choose((before.get(key, ABSENT), value))


def _run_for(program: Evaluator, node: ast.For | ast.AsyncFor, scope: Scope) -> bool:
    iterated = program.evaluate(node.iter, scope)
    if isinstance(iterated, Items) and not iterated.open_ended and 0 < len(iterated.items) <= LOOPED_MAX:
        before = len(program.calls)
        taken = points.decide_item(program, node, iterated, scope)
        returned = _run_rounds(program, node, iterated.items if taken is None else (iterated.items[taken],), scope)
        if taken is None and len(program.calls) == before:  # its rounds only put values together
            points.withdraw_item(program, node, scope)
        if returned or is_true(scope.names.pop(LEFT, None)):
            return returned
    else:
        expressions.bind(program, node.target, operations.NOT_COMPUTED, scope)
        _run_once(program, node.body, scope)
        scope.names.pop(LEFT, None)
    if node.orelse and any(isinstance(part, ast.Break) for one in node.body for part in ast.walk(one)):
        return _run_either(program, (node.orelse, []), scope)
    return program.run(node.orelse, scope)


def _run_rounds(program: Evaluator, node: ast.For | ast.AsyncFor, items: Sequence[Value], scope: Scope) -> bool:
    """Run the rounds of a loop up to one that certainly leaves it; return True if it returns from the function."""
    before = scope.names.get(RETURNED)
    for item in items:
        expressions.bind(program, node.target, item, scope)
        if not program.run(node.body, scope):
            continue
        if scope.names.get(RETURNED) is not before:
            return True
        if is_true(scope.names.get(LEFT)):
            break
        scope.names.pop(LEFT, None)
    return False


def _run_once(program: Evaluator, body: Sequence[ast.stmt], scope: Scope) -> None:
    """Run the body of a loop; where it ends its round early in a branch, its assignments still count."""
    program.run([statement for statement in body if not isinstance(statement, ast.Break | ast.Continue)], scope)


def _run_while(program: Evaluator, node: ast.While, scope: Scope) -> None:
    if is_true(program.evaluate(node.test, scope)) is not False:
        _run_once(program, node.body, scope)
        scope.names.pop(LEFT, None)


def _run_with(program: Evaluator, node: ast.With | ast.AsyncWith, scope: Scope) -> bool:
    for item in node.items:
        value = program.evaluate(item.context_expr, scope)
        if item.optional_vars is not None:
            expressions.bind(program, item.optional_vars, value, scope)
    return program.run(node.body, scope)


def _run_try(program: Evaluator, node: ast.Try, scope: Scope) -> bool:
    """Run what is tried. The handlers count only for names that nothing else assigns."""
    ended = program.run(node.body, scope)
    if not ended:
        ended = program.run(node.orelse, scope)
    for handler in node.handlers:
        missing = [statement for statement in handler.body if _assigns_missing(statement, scope)]
        program.run(missing, scope)
    return program.run(node.finalbody, scope) or ended


def _assigns_missing(statement: ast.stmt, scope: Scope) -> bool:
    """Return whether a statement of a handler imports or defines a name that is not defined yet."""
    if isinstance(statement, ast.Assign):
        return all(isinstance(target, ast.Name) and scope.find(target.id) is None for target in statement.targets)
    return False


def _run_return(program: Evaluator, node: ast.Return, scope: Scope) -> bool:
    value = program.evaluate(node.value, scope) if node.value else Constant(None)
    before = scope.names.get(RETURNED)
    scope.names[RETURNED] = value if before is None else choose((before, value))
    return True


def _run_raise(program: Evaluator, node: ast.Raise, scope: Scope) -> bool:
    """End the block. `raise SystemExit(main())` runs the program first."""
    if isinstance(node.exc, ast.Call) and isinstance(node.exc.func, ast.Name) and node.exc.func.id == ENDS:
        for argument in node.exc.args:
            program.evaluate(argument, scope)
    return True


def _leave(program: Evaluator, node: ast.Break | ast.Continue, scope: Scope) -> bool:
    """End a round of a loop, and note whether it is the last one."""
    scope.names[LEFT] = Constant(isinstance(node, ast.Break))
    return True


def _run_global(program: Evaluator, node: ast.Global, scope: Scope) -> None:
    scope.shared.update(node.names)


def _run_match(program: Evaluator, node: ast.Match, scope: Scope) -> bool:
    program.evaluate(node.subject, scope)
    return _run_either(program, [*(case.body for case in node.cases), []], scope)


_RUNNERS: dict[type[ast.stmt], Callable[[Evaluator, Any, Scope], bool | None]] = {
    ast.Assign: _run_assignment,
    ast.AnnAssign: _run_annotated,
    ast.AugAssign: _run_augmented,
    ast.Expr: _run_expression,
    ast.Import: _run_import,
    ast.ImportFrom: _run_import_from,
    **dict.fromkeys((ast.FunctionDef, ast.AsyncFunctionDef), _run_function),
    ast.ClassDef: _run_class,
    ast.If: _run_if,
    **dict.fromkeys((ast.For, ast.AsyncFor), _run_for),
    ast.While: _run_while,
    **dict.fromkeys((ast.With, ast.AsyncWith), _run_with),
    ast.Try: _run_try,
    ast.Return: _run_return,
    ast.Raise: _run_raise,
    **dict.fromkeys((ast.Break, ast.Continue), _leave),
    ast.Global: _run_global,
    ast.Match: _run_match,
}
