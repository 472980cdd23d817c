"""Calls: functions and classes of the program are entered; every other call is kept with its arguments."""

from __future__ import annotations

import ast
from collections.abc import Iterator, Sequence

from gpulint.source.python.interfaces import Evaluator
from gpulint.source.python.statements import RETURNED
from gpulint.source.python.values import (
    CALLER,
    Class,
    Constant,
    Function,
    Mapping,
    Name,
    Object,
    Open,
    Scope,
    Value,
    choose,
)

CONSTRUCTOR = "__init__"
SETTINGS = "BaseSettings"
_DATA = frozenset(
    {"dataclass", "dataclasses.dataclass", "attr.s", "attrs.define", "attr.define", "pydantic.dataclasses.dataclass"}
)
_RECORDS = frozenset({"BaseModel", SETTINGS, "NamedTuple", "TypedDict"})
_FIELDS = frozenset({"field", "Field", "Option", "Argument"})
VALIDATES = frozenset({"model_validate", "parse_obj", "from_dict", "model_construct"})
"""Methods by which pydantic and the like make an object of a dict."""
_MISSING = "a caller decides it"


def run_function(
    program: Evaluator, function: Function, arguments: Sequence[Value], keywords: dict[str, Value]
) -> Value:
    """Return what a function of the program returns for these arguments."""
    scope = Scope({}, function.scope.document, function.scope.module, function.scope)
    given = [*([function.bound] if function.bound is not None else []), *arguments]
    _bind_parameters(program, function, scope, given, dict(keywords))
    if isinstance(function.node, ast.Lambda):
        return program.evaluate(function.node.body, scope)
    program.run(function.node.body, scope)
    return scope.names.get(RETURNED, Constant(None))


def _bind_parameters(
    program: Evaluator, function: Function, scope: Scope, given: list[Value], keywords: dict[str, Value]
) -> None:
    listed = function.node.args
    positional = [*listed.posonlyargs, *listed.args]
    defaults = dict(
        zip([one.arg for one in positional[len(positional) - len(listed.defaults) :]], listed.defaults, strict=True)
    )
    defaults |= {
        one.arg: default
        for one, default in zip(listed.kwonlyargs, listed.kw_defaults, strict=True)
        if default is not None
    }
    for at, parameter in enumerate([*positional, *listed.kwonlyargs]):
        name = parameter.arg
        if at < len(given) and at < len(positional):
            scope.names[name] = given[at]
        elif name in keywords:
            scope.names[name] = keywords.pop(name)
        elif name in defaults:
            scope.names[name] = read_default(program, program.evaluate(defaults[name], function.scope))
        else:
            scope.names[name] = Open(_MISSING, CALLER, name)
    if listed.kwarg:
        scope.names[listed.kwarg.arg] = Mapping(dict(keywords))
    if listed.vararg:
        from gpulint.source.python.values import Items

        scope.names[listed.vararg.arg] = Items(list(given[len(positional) :]))


def read_default(program: Evaluator, value: Value) -> Value:
    """Return the value that `field(default=…)`, `Field(…)` or `typer.Option(…)` states."""
    if not isinstance(value, Object) or value.name.rpartition(".")[2] not in _FIELDS or value.cls is not None:
        return value
    factory = value.keywords.get("default_factory")
    if factory is not None:
        return program.call(factory, [], {}, value.place)
    stated = value.keywords.get("default", value.arguments[0] if value.arguments else None)
    if stated is None:
        return Open(_MISSING, CALLER)
    return stated


def list_fields(made: Class) -> Iterator[tuple[str, Value | None]]:
    """Yield the annotated fields of a class and its bases in their order, each with its default."""
    found: dict[str, Value | None] = {}
    for one in reversed(tuple(made.lineage())):
        for statement in one.node.body:
            if isinstance(statement, ast.AnnAssign) and isinstance(statement.target, ast.Name):
                found[statement.target.id] = one.body.get(statement.target.id)
            elif isinstance(statement, ast.Assign):
                for target in statement.targets:
                    if isinstance(target, ast.Name) and (target.id in found or one.external()):
                        found[target.id] = one.body.get(target.id)
    yield from found.items()


def is_record(made: Class) -> bool:
    """Return whether a class takes its annotated fields as arguments."""
    for one in made.lineage():
        for decorator in one.decorators:
            name = decorator.name if isinstance(decorator, Name | Object) else ""
            if name in _DATA:
                return True
    return made.external().rpartition(".")[2] in _RECORDS


def make(program: Evaluator, made: Class, arguments: list[Value], keywords: dict[str, Value], place: object) -> Object:
    """Return an object of a class of the program."""
    external = made.external()
    result = Object(external or made.name, place, cls=made)
    constructor = made.find(CONSTRUCTOR)
    if isinstance(constructor, Function) and not is_record(made):
        program.run_function(bind_method(constructor, result), arguments, keywords)
    elif external or is_record(made):
        fields = dict(list_fields(made))
        values = {name: read_default(program, default) for name, default in fields.items() if default is not None}
        if external.endswith(SETTINGS):
            values |= _read_settings(program, made, fields)
        values |= dict(zip(fields, arguments, strict=False))
        values |= {name: _make_section(program, made, name, value) for name, value in keywords.items()}
        result.keywords = values
        result.arguments = [] if fields else list(arguments)
    if external and external.rpartition(".")[2] not in _RECORDS:
        program.record(result)
    return result


def _make_section(program: Evaluator, made: Class, name: str, value: Value) -> Value:
    """Return a dict that is given for a field whose type is a class of settings as an object of that class."""
    if not isinstance(value, Mapping):
        return value
    for one in made.lineage():
        for statement in one.node.body:
            if (
                isinstance(statement, ast.AnnAssign)
                and isinstance(statement.target, ast.Name)
                and statement.target.id == name
            ):
                kind = program.evaluate(statement.annotation, one.scope)
                entries = {str(key): entry for key, entry in value.entries.items()}
                return (
                    program.make(kind, [], entries, value.place)
                    if isinstance(kind, Class) and is_record(kind)
                    else value
                )
    return value


def _read_settings(program: Evaluator, made: Class, fields: dict[str, Value | None]) -> dict[str, Value]:
    """Return the fields of pydantic's settings that variables of the environment state."""
    prefix = ""
    config = made.find("model_config") or made.find("Config")
    stated = config.get("env_prefix") if isinstance(config, Object) else None
    if isinstance(config, Class):
        stated = config.find("env_prefix")
    if isinstance(stated, Constant):
        prefix = str(stated.value)
    found: dict[str, Value] = {}
    for name, default in fields.items():
        own = default.keywords if isinstance(default, Object) else {}
        alias = next((own[key] for key in ("env", "validation_alias", "alias") if key in own), None)
        variable = str(alias.value) if isinstance(alias, Constant) else f"{prefix}{name}".upper()
        fallback = read_default(program, default) if default is not None else Open(_MISSING, CALLER, variable)
        found[name] = program.call(Name("os.environ.get"), [Constant(variable), fallback], {}, None)
    return found


def is_of_class(function: Function) -> bool:
    """Return whether a method gets its class instead of an object."""
    return any(isinstance(decorator, Name) and decorator.name == "classmethod" for decorator in function.decorators)


def bind_method(function: Function, owner: Value) -> Function:
    """Return a method bound to its object or class; a static method stays as it is."""
    names = {decorator.name for decorator in function.decorators if isinstance(decorator, Name)}
    bound = None if "staticmethod" in names else owner
    if is_of_class(function) and isinstance(owner, Object) and owner.cls is not None:
        bound = owner.cls
    return Function(function.node, function.scope, function.name, function.decorators, bound, function.owner)


def call_parent(
    program: Evaluator, owner: Object, name: str, arguments: list[Value], keywords: dict[str, Value]
) -> Value:
    """Return what `super().name(…)` does to an object."""
    lineage = tuple(owner.cls.lineage())[1:] if owner.cls else ()
    found = next((one.body[name] for one in lineage if name in one.body), None)
    if isinstance(found, Function):
        return program.run_function(bind_method(found, owner), arguments, keywords)
    if name == CONSTRUCTOR:
        owner.keywords.update(keywords)
        owner.arguments = owner.arguments or list(arguments)
        return Constant(None)
    return Open("a method of another package")


def call_each(
    program: Evaluator, functions: Sequence[Value], arguments: list[Value], keywords: dict[str, Value], place: object
) -> Value:
    """Return what each of several functions returns."""
    return choose(program.call(function, arguments, keywords, place) for function in functions)
