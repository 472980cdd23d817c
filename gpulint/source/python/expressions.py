"""Expressions: what an expression of the program is, evaluated from constants."""

from __future__ import annotations

import ast
import re
from collections.abc import Callable
from typing import Any

from gpulint.source.python import defaults, operations, points
from gpulint.source.python.interfaces import Evaluator
from gpulint.source.python.values import (
    CALLER,
    RUN_TIME,
    Choice,
    Constant,
    Function,
    Items,
    Mapping,
    Member,
    Name,
    Object,
    Open,
    Plain,
    Scope,
    Value,
    choose,
    is_true,
)

BUILTINS = frozenset(
    {
        *("int", "float", "str", "bool", "len", "dict", "list", "tuple", "set", "min", "max", "sum", "round", "abs"),
        *("getattr", "setattr", "hasattr", "vars", "open", "print", "super", "isinstance", "range", "sorted", "object"),
        *(
            "type",
            "Exception",
            "ValueError",
            "RuntimeError",
            "enumerate",
            "zip",
            "property",
            "staticmethod",
            "classmethod",
        ),
        *("any", "all", "map", "filter", "reversed", "input", "next", "iter", "callable", "id", "repr", "frozenset"),
    }
)
FORMAT = re.compile(r"[<>^]?[+,]?0?\d{0,2}(?:\.\d)?[dfsge%]?")
COMPREHENSION_MAX = 64
GRADIENT = "requires_grad"
"""The attribute of a weight that freezes it; PyTorch has a method with the same effect, under which it is kept."""


def evaluate(program: Evaluator, node: ast.expr, scope: Scope) -> Value:
    """Return the value of an expression."""
    read = _READERS.get(type(node))
    return read(program, node, scope) if read else Open("this kind of expression is not evaluated")


def _read_constant(program: Evaluator, node: ast.Constant, scope: Scope) -> Value:
    value = node.value
    if value is ...:
        return Open("it is left out", CALLER)
    return Constant(value if isinstance(value, Plain) else None, program.place(node, scope))


def _read_name(program: Evaluator, node: ast.Name, scope: Scope) -> Value:
    found = scope.find(node.id)
    if found is not None:
        return found
    if node.id == "__file__":
        return Constant(scope.document.path, None, computed=True)
    if star := scope.root().star:
        return Name(f"{star[-1]}.{node.id}", program.place(node, scope))
    if node.id in BUILTINS:
        return Name(node.id, program.place(node, scope))
    return Open(f"{node.id} is not defined in the files that were read", RUN_TIME, node.id)


def _read_attribute(program: Evaluator, node: ast.Attribute, scope: Scope) -> Value:
    return program.read_attribute(program.evaluate(node.value, scope), node.attr, program.place(node, scope))


def _read_items(program: Evaluator, node: ast.List | ast.Tuple | ast.Set, scope: Scope) -> Value:
    found = Items([], program.place(node, scope))
    for element in node.elts:
        value = program.evaluate(element.value if isinstance(element, ast.Starred) else element, scope)
        if not isinstance(element, ast.Starred):
            found.items.append(value)
        else:
            found.extend(value)
    return found


def _read_mapping(program: Evaluator, node: ast.Dict, scope: Scope) -> Value:
    found = Mapping({}, program.place(node, scope))
    for key_node, value_node in zip(node.keys, node.values, strict=True):
        value = program.evaluate(value_node, scope)
        if key_node is None:
            found = operations.merge(found, value, found.place) if isinstance(value, Mapping) else found
            found.open_ended = found.open_ended or ("" if isinstance(value, Mapping) else "a part of the dict is open")
            continue
        key = program.evaluate(key_node, scope)
        if isinstance(key, Constant):
            found.entries[key.value] = value
            found.keys[key.value] = key.place
        else:
            found.open_ended = "a key of the dict is computed at run time"
    return found


def _read_binary(program: Evaluator, node: ast.BinOp, scope: Scope) -> Value:
    left, right = program.evaluate(node.left, scope), program.evaluate(node.right, scope)
    if isinstance(node.op, ast.Div) and isinstance(left, Object) and left.name.endswith("Path"):
        return join_paths(left, right, program.place(node, scope))
    return operations.calculate(node.op, left, right, program.place(node, scope))


def join_paths(left: Object, right: Value, place: object) -> Value:
    """Return `Path(left) / right`."""
    joined = operations.join_path([*left.arguments, right], place)
    return Object(left.name, place, [joined])


def _read_unary(program: Evaluator, node: ast.UnaryOp, scope: Scope) -> Value:
    operand = program.evaluate(node.operand, scope)
    if isinstance(node.op, ast.Not):
        truth = is_true(operand)
        return (
            operations.NOT_COMPUTED if truth is None else Constant(not truth, program.place(node, scope), computed=True)
        )
    return operations.negate(node.op, operand, program.place(node, scope))


def _read_either(program: Evaluator, node: ast.BoolOp, scope: Scope) -> Value:
    """Return what `a or b` and `a and b` are: the first that decides, or all that may."""
    possible: list[Value] = []
    for operand in node.values:
        value = program.evaluate(operand, scope)
        truth = is_true(value)
        last = operand is node.values[-1]
        if truth is None or last or truth is isinstance(node.op, ast.Or):
            possible.append(value)
        if truth is isinstance(node.op, ast.Or):
            break
    if len(possible) > 1:
        default = defaults.take_last(possible) if isinstance(node.op, ast.Or) else None
        if default is not None:
            return default
        taken = points.decide_value(program, node, possible[0], range(len(possible)), scope)
        return choose(possible) if taken is None else possible[taken]
    return choose(possible)


def _read_comparison(program: Evaluator, node: ast.Compare, scope: Scope) -> Value:
    operands = [program.evaluate(one, scope) for one in (node.left, *node.comparators)]
    place = program.place(node, scope)
    pairs = zip(node.ops, operands, operands[1:], strict=False)
    held = [operations.compare(kind, left, right, place) for kind, left, right in pairs]
    truths = list(map(is_true, held))
    if len(held) == 1 or False in truths:
        return held[truths.index(False) if False in truths else 0]
    return held[-1] if None not in truths else operations.NOT_COMPUTED


def _read_conditional(program: Evaluator, node: ast.IfExp, scope: Scope) -> Value:
    value = program.evaluate(node.test, scope)
    truth = is_true(value)
    if truth is None and (asked := defaults.find_presence(program, node.test, scope)) is not None:
        without, used = (node.body, node.orelse) if asked.holds else (node.orelse, node.body)
        default = program.evaluate(without, scope)
        if defaults.uses((used,), asked.asked) and not isinstance(default, Open):
            return defaults.mark(default, asked.name)
    if truth is None:
        taken = points.decide_value(program, node, value, (0, 1), scope)
        truth = None if taken is None else taken == 0
    if truth is not None:
        return program.evaluate(node.body if truth else node.orelse, scope)
    return choose((program.evaluate(node.body, scope), program.evaluate(node.orelse, scope)))


def _read_text(program: Evaluator, node: ast.JoinedStr, scope: Scope) -> Value:
    parts: list[Value] = []
    for part in node.values:
        if not isinstance(part, ast.FormattedValue):
            parts.append(program.evaluate(part, scope))
        elif part.format_spec is None and part.conversion in (-1, 115):
            parts.append(program.evaluate(part.value, scope))
        else:
            parts.append(_read_formatted(program, part, scope))
    return operations.concatenate(parts, program.place(node, scope))


def _read_formatted(program: Evaluator, node: ast.FormattedValue, scope: Scope) -> Value:
    value = program.evaluate(node.value, scope)
    spec = program.evaluate(node.format_spec, scope) if node.format_spec else Constant("")
    if not isinstance(spec, Constant) or not FORMAT.fullmatch(str(spec.value)) or node.conversion not in (-1, 115):
        return operations.NOT_COMPUTED
    return operations.apply(lambda shown: format(shown, str(spec.value)), value, place=program.place(node, scope))


def _read_subscript(program: Evaluator, node: ast.Subscript, scope: Scope) -> Value:
    value = program.evaluate(node.value, scope)
    if isinstance(node.slice, ast.Slice):
        return _read_slice(program, value, node.slice, scope)
    key = points.decide_key(program, node, value, program.evaluate(node.slice, scope), scope)
    if isinstance(value, Name):
        if value.name == "os.environ":
            return program.call(Name("os.environ[]", value.place), [key], {}, program.place(node, scope))
        return Name(f"{value.name}[]", value.place)  # a type with parameters: list[int]
    if isinstance(value, Object):
        found = value.get(str(key.value)) if isinstance(key, Constant) else None
        return found or Open("an item of an object is read at run time")
    if isinstance(value, Choice):
        return choose(operations.take(member, key) for member in value.members)
    return operations.take(value, key)


def _read_slice(program: Evaluator, value: Value, node: ast.Slice, scope: Scope) -> Value:
    ends = [program.evaluate(end, scope) if end else Constant(None) for end in (node.lower, node.upper, node.step)]
    numbers = [end.value for end in ends if isinstance(end, Constant) and isinstance(end.value, int | None)]
    if len(numbers) < 3 or numbers[2] == 0:
        return operations.NOT_COMPUTED
    if isinstance(value, Items):
        return Items(value.items[slice(*numbers)], value.place, value.open_ended)
    if isinstance(value, Constant) and isinstance(value.value, str):
        return Constant(value.value[slice(*numbers)], value.place, value.name, computed=True)
    return operations.NOT_COMPUTED


def _read_call(program: Evaluator, node: ast.Call, scope: Scope) -> Value:
    function = program.evaluate(node.func, scope)
    arguments: list[Value] = []
    keywords: dict[str, Value] = {}
    open_ended = ""
    for argument in node.args:
        value = program.evaluate(argument.value if isinstance(argument, ast.Starred) else argument, scope)
        if not isinstance(argument, ast.Starred):
            arguments.append(value)
        elif isinstance(value, Items) and not value.open_ended:
            arguments += value.items
        else:
            open_ended = "further arguments are computed at run time"
    for keyword in node.keywords:
        value = program.evaluate(keyword.value, scope)
        if keyword.arg is not None:
            keywords[keyword.arg] = value
        else:
            open_ended = spread(value, keywords) or open_ended
    result = program.call(function, arguments, keywords, program.place(node, scope))
    if open_ended and isinstance(result, Object):
        result.open_ended = result.open_ended or open_ended
    return result


def spread(value: Value, keywords: dict[str, Value]) -> str:
    """Add the keywords of `**value`, and return why there may be more."""
    if isinstance(value, Choice) and all(isinstance(member, Mapping) for member in value.members):
        return _spread_choice(value, keywords)
    if isinstance(value, Object) and value.cls is None and value.name.rpartition(".")[2] in ("vars", "asdict"):
        value = value.arguments[0] if value.arguments else value
    if isinstance(value, Object):
        stated = {**value.keywords, **value.attributes}
        keywords.update(stated)
        return value.open_ended or (
            "" if stated or value.cls is not None else "further arguments are computed at run time"
        )
    if not isinstance(value, Mapping):
        return value.reason if isinstance(value, Open) else "further arguments are computed at run time"
    keywords.update({str(key): entry for key, entry in value.entries.items()})
    return value.open_ended


def _spread_choice(value: Choice, keywords: dict[str, Value]) -> str:
    from gpulint.source.python.values import ABSENT

    members = [member for member in value.members if isinstance(member, Mapping)]
    for key in dict.fromkeys(key for member in members for key in member.entries):
        keywords[str(key)] = choose(member.entries.get(key, ABSENT) for member in members)
    return next((member.open_ended for member in members if member.open_ended), "")


def _read_function(program: Evaluator, node: ast.Lambda, scope: Scope) -> Value:
    return Function(node, scope, "<lambda>")


def _read_comprehension(program: Evaluator, node: ast.ListComp | ast.SetComp | ast.GeneratorExp, scope: Scope) -> Value:
    inner, source = _open_comprehension(program, node, scope)
    if source is None or source.rounds or len(node.generators) > 1:
        item = program.evaluate(node.elt, inner)
        if source is not None and source.rounds and len(node.generators) == 1 and not node.generators[0].ifs:
            return Items([item] * source.rounds, program.place(node, scope))
        return Items([], program.place(node, scope), open_ended=True)
    found = Items([], program.place(node, scope), source.open_ended)
    for item in source.items[:COMPREHENSION_MAX]:
        bind(program, node.generators[0].target, item, inner)
        truths = [is_true(program.evaluate(test, inner)) for test in node.generators[0].ifs]
        if all(truths):
            found.items.append(program.evaluate(node.elt, inner))
        elif False not in truths:
            found.open_ended = True
    found.open_ended = found.open_ended or len(source.items) > COMPREHENSION_MAX
    return found


def _read_dict_comprehension(program: Evaluator, node: ast.DictComp, scope: Scope) -> Value:
    inner, source = _open_comprehension(program, node, scope)
    found = Mapping({}, program.place(node, scope))
    if source is None or len(node.generators) > 1 or source.open_ended:
        found.open_ended = "the dict is computed at run time"
        return found
    for item in source.items[:COMPREHENSION_MAX]:
        bind(program, node.generators[0].target, item, inner)
        if all(is_true(program.evaluate(test, inner)) is not False for test in node.generators[0].ifs):
            key = program.evaluate(node.key, inner)
            if isinstance(key, Constant):
                found.entries[key.value] = program.evaluate(node.value, inner)
    return found


def _open_comprehension(program: Evaluator, node: Any, scope: Scope) -> tuple[Scope, Items | None]:
    inner = Scope({}, scope.document, scope.module, scope)
    iterated = program.evaluate(node.generators[0].iter, scope)
    for generator in node.generators:
        bind(program, generator.target, operations.NOT_COMPUTED, inner)
    return inner, iterated if isinstance(iterated, Items) else None


def bind(program: Evaluator, target: ast.expr, value: Value, scope: Scope) -> None:
    """Assign a value to what stands left of an assignment, or to the variable of a loop."""
    if isinstance(target, ast.Name):
        owner = scope.root() if target.id in scope.shared else scope
        owner.names[target.id] = value
    elif isinstance(target, ast.Tuple | ast.List):
        known = isinstance(value, Items) and len(value.items) == len(target.elts) and not value.open_ended
        for at, element in enumerate(target.elts):
            inner = value.items[at] if known and isinstance(value, Items) else _take_part(value, at)
            bind(program, element.value if isinstance(element, ast.Starred) else element, inner, scope)
    elif isinstance(target, ast.Attribute):
        if target.attr == GRADIENT:
            program.record(Object(f"{GRADIENT}_", program.place(target, scope), [value]))
        changed = program.evaluate(target.value, scope)
        if isinstance(changed, Name) and (changed.name, target.attr) == ("sys", "argv"):
            program.replace_words(value, program.place(target, scope))
        else:
            _set_attribute(changed, target.attr, value)
    elif isinstance(target, ast.Subscript):
        owner_value = program.evaluate(target.value, scope)
        key = program.evaluate(target.slice, scope) if not isinstance(target.slice, ast.Slice) else None
        set_item(program, owner_value, key, value, program.place(target, scope))


def _take_part(value: Value, at: int) -> Value:
    """Return one of several values that a call returns; each of them may be the object that it made."""
    return (
        Object(f"{value.name}[{at}]", value.place, receiver=value)
        if isinstance(value, Object)
        else operations.NOT_COMPUTED
    )


def _set_attribute(owner: Value, name: str, value: Value) -> None:
    if isinstance(owner, Object):
        owner.attributes[name] = value
    elif isinstance(owner, Scope):
        owner.names[name] = value
    elif isinstance(owner, Member) and isinstance(owner.receiver, Object):
        part = Object(f"{owner.receiver.name}.{owner.name}", owner.place)
        part.attributes[name] = value
        owner.receiver.attributes[owner.name] = part


def set_item(program: Evaluator, owner: Value, key: Value | None, value: Value, place: object) -> None:
    """Set an item of a dict, a list or the environment."""
    if isinstance(owner, Mapping):
        if isinstance(key, Constant):
            owner.entries[key.value] = value
            owner.keys.setdefault(key.value, key.place)
        else:
            owner.open_ended = "a key of the dict is computed at run time"
    elif isinstance(owner, Items):
        owner.open_ended = True
    elif isinstance(owner, Name) and owner.name == "os.environ" and key is not None:
        program.call(Name("os.environ[]="), [key, value], {}, place)
    elif isinstance(owner, Object) and isinstance(key, Constant):
        owner.attributes[str(key.value)] = value


def _read_inner(program: Evaluator, node: ast.Await | ast.Starred | ast.YieldFrom, scope: Scope) -> Value:
    return program.evaluate(node.value, scope)


def _read_yield(program: Evaluator, node: ast.Yield, scope: Scope) -> Value:
    return program.evaluate(node.value, scope) if node.value else operations.NOT_COMPUTED


def _read_named(program: Evaluator, node: ast.NamedExpr, scope: Scope) -> Value:
    value = program.evaluate(node.value, scope)
    bind(program, node.target, value, scope)
    return value


_READERS: dict[type[ast.expr], Callable[[Evaluator, Any, Scope], Value]] = {
    ast.Constant: _read_constant,
    ast.Name: _read_name,
    ast.Attribute: _read_attribute,
    **dict.fromkeys((ast.List, ast.Tuple, ast.Set), _read_items),
    ast.Dict: _read_mapping,
    ast.BinOp: _read_binary,
    ast.UnaryOp: _read_unary,
    ast.BoolOp: _read_either,
    ast.Compare: _read_comparison,
    ast.IfExp: _read_conditional,
    ast.JoinedStr: _read_text,
    ast.Subscript: _read_subscript,
    ast.Call: _read_call,
    ast.Lambda: _read_function,
    **dict.fromkeys((ast.ListComp, ast.SetComp, ast.GeneratorExp), _read_comprehension),
    ast.DictComp: _read_dict_comprehension,
    **dict.fromkeys((ast.Await, ast.Starred, ast.YieldFrom), _read_inner),
    ast.Yield: _read_yield,
    ast.NamedExpr: _read_named,
}
