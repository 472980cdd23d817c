"""Commands: functions whose parameters Click, Typer, Fire or Hydra take from the command line."""

from __future__ import annotations

import ast
from collections.abc import Iterator, Sequence

from gpulint.source.python import calls, command_line, hydra
from gpulint.source.python.command_line import Declared
from gpulint.source.python.interfaces import Evaluator
from gpulint.source.python.values import Constant, Function, Name, Object, Value, list_members

COMMANDS = frozenset(
    {"click.command", "click.group", "click.group.command", "typer.Typer.command", "typer.Typer.callback"}
)


def find_parameters(function: Function) -> Iterator[Object]:
    """Yield the options that Click's decorators declare."""
    for decorator in function.decorators:
        if isinstance(decorator, Object) and decorator.name in ("click.option", "click.argument"):
            yield decorator


def is_command(function: Function) -> bool:
    """Return whether decorators make a function the command of a program."""
    return any(
        isinstance(one, Name | Object) and (one.name in COMMANDS or one.name.endswith((".command", "hydra.main")))
        for one in function.decorators
    )


def run_command(program: Evaluator, function: Function) -> Value:
    """Run the function of a command with the words of the command."""
    configured = next(
        (one for one in function.decorators if isinstance(one, Object) and one.name == "hydra.main"), None
    )
    if configured is not None:
        return program.run_function(function, [hydra.read(program, configured, function.scope.document.path)], {})
    declared = [_declare_option(one) for one in find_parameters(function)] or list(
        _declare_parameters(program, function)
    )
    result = program.run_function(function, [], command_line.read(program, declared, program.words))
    grouped = [one for one in list_functions(program) if any(_is_below(two, function) for two in one.decorators)]
    run_named(program, grouped)
    return result


def list_functions(program: Evaluator) -> list[Function]:
    """Return the functions of a program's modules."""
    values = [value for scope in program.modules.values() for value in scope.names.values()]
    return [value for value in values if isinstance(value, Function)]


def run_named(program: Evaluator, found: Sequence[Function]) -> None:
    """Run the command of a group that a word names, with the words after it; each of them if no word names one."""
    words = program.words
    for at, word in enumerate(words or ()):
        named = [one for one in found if word.text in _list_names(one)]
        if named:
            program.words = (words or ())[at + 1 :]
            run_command(program, named[0])
            program.words = words
            return
    for one in found:
        run_command(program, one)


def _is_below(decorator: Value, group: Function) -> bool:
    """Return whether a decorator makes a function a command of a group."""
    owner = decorator.receiver if isinstance(decorator, Object) and decorator.name.endswith(".command") else None
    return isinstance(owner, Function) and owner.node is group.node


def _list_names(function: Function) -> tuple[str, ...]:
    """Return the words that name a command: the one that its decorator states, else its function's."""
    for one in function.decorators:
        if isinstance(one, Object) and one.name.endswith(".command"):
            stated = one.arguments[0] if one.arguments else one.keywords.get("name")
            if isinstance(stated, Constant) and isinstance(stated.value, str):
                return (stated.value,)
    return (function.name, function.name.replace("_", "-"))


def _declare_option(option: Object) -> Declared:
    names = [str(one.value) for one in option.arguments if isinstance(one, Constant)]
    flags = tuple(command_line.normalize(name.partition("/")[0]) for name in names if name.startswith("-"))
    own = next((name for name in names if not name.startswith("-")), "")
    long = next((flag for flag in flags if flag.startswith("--")), flags[0] if flags else own)
    is_flag = option.keywords.get("is_flag")
    constant = True if (isinstance(is_flag, Constant) and is_flag.value) or any("/" in name for name in names) else None
    default = option.keywords.get("default") or (Constant(False) if constant else None)
    kind = option.keywords.get("type")
    if kind is None and isinstance(default, Constant) and type(default.value) in (int, float, bool):
        kind = Name(type(default.value).__name__)
    return Declared(flags, own.lstrip("-") or long.lstrip("-"), default, kind, constant)


def _declare_parameters(program: Evaluator, function: Function) -> Iterator[Declared]:
    """Yield the parameters of a function as Typer and Fire make arguments of them."""
    listed = function.node.args
    parameters = [*listed.posonlyargs, *listed.args, *listed.kwonlyargs]
    tail = [None] * (len(listed.posonlyargs) + len(listed.args) - len(listed.defaults))
    defaults: list[ast.expr | None] = [*tail, *listed.defaults, *listed.kw_defaults]
    for parameter, default in zip(parameters, defaults, strict=True):
        value = calls.read_default(program, program.evaluate(default, function.scope)) if default is not None else None
        kind = program.evaluate(parameter.annotation, function.scope) if parameter.annotation is not None else None
        if kind is None and isinstance(value, Constant) and value.value is not None:
            kind = Name(type(value.value).__name__)
        flags = (f"--{parameter.arg}",) if default is not None else ()
        yield Declared(
            flags, parameter.arg, value, kind, True if isinstance(value, Constant) and value.value is False else None
        )


def find_command(value: Value) -> Function | None:
    """Return the function behind `fire.Fire(main)` or `typer.run(main)`."""
    return next((one for one in list_members(value) if isinstance(one, Function)), None)
