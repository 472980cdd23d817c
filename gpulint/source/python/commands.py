"""Commands: functions whose parameters Click, Typer, Fire or Hydra take from the command line."""

from __future__ import annotations

import ast
from collections.abc import Iterator, Sequence

from gpulint.source.python import calls, command_line
from gpulint.source.python.command_line import Declared
from gpulint.source.python.interfaces import Evaluator
from gpulint.source.python.values import CALLER, Constant, Function, Mapping, Name, Object, Open, Value, list_members

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
        return program.run_function(function, [_read_hydra(program, configured, function)], {})
    declared = [_declare_option(one) for one in find_parameters(function)] or list(
        _declare_parameters(program, function)
    )
    return program.run_function(function, [], command_line.read(program, declared, program.words))


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


def _read_hydra(program: Evaluator, configured: Object, function: Function) -> Value:
    """Return the configuration of Hydra: a YAML file next to the program, and the `key=value` words of the command."""
    folder, name = (configured.keywords.get(key) for key in ("config_path", "config_name"))
    if not isinstance(name, Constant):
        return Open("the configuration file is named at run time", CALLER)
    base = str(folder.value) if isinstance(folder, Constant) and folder.value else "."
    file = str(name.value).removesuffix(".yaml")
    found = program.read_file(f"{base}/{file}.yaml", function.scope.document.path)
    if not isinstance(found, Mapping):
        return Open(f"the configuration file {file}.yaml is not in the repository", CALLER)
    for word in program.words or ():
        key, equals, value = (word.text or "").lstrip("+").partition("=")
        if equals:
            _override(found, key.split("."), command_line.infer(Constant(value, word.place)))
    if any(word.text is None for word in program.words or ()):
        found.open_ended = "a word of the command is open"
    return found


def _override(found: Mapping, keys: Sequence[str], value: Value) -> None:
    for key in keys[:-1]:
        inner = found.entries.setdefault(key, Mapping({}))
        if not isinstance(inner, Mapping):
            return
        found = inner
    found.entries[keys[-1]] = value


def find_command(value: Value) -> Function | None:
    """Return the function behind `fire.Fire(main)` or `typer.run(main)`."""
    return next((one for one in list_members(value) if isinstance(one, Function)), None)
