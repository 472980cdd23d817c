"""Functions: read where they are called, as their arguments have them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

import tree_sitter

from gpulint.source.shell import builtins, variables
from gpulint.source.shell.command import Word
from gpulint.source.shell.run import Context, Function

if TYPE_CHECKING:
    from gpulint.source.shell.statements import Reader

CALLS_MAX = 300
NESTED_CALLS_MAX = 8

_SPEAKS = frozenset(
    {"echo", "printf", "cat", "exit", "return", "true", ":", "tput", "sleep", "date", "shift", "logger"}
)


def define(reader: Reader, node: tree_sitter.Node) -> None:
    named = node.child_by_field_name("name")
    name = reader.script.text_of(named) if named is not None else ""
    known = name in reader.run.functions
    sets = frozenset(variables.read_assignment(node))
    before = reader.variables.snapshot()
    function = Function(reader, node, sets, _only_prints(reader, node), before, len(reader.run.commands))
    earlier = reader.run.functions.get(name)
    reader.run.functions[name] = None if known else function
    if known:
        reader.variables.distrust(sets | (earlier.sets if earlier is not None else frozenset()))


def _only_prints(reader: Reader, node: tree_sitter.Node) -> bool:
    """True if a function only prints messages, so that calls need not be followed."""
    names = {reader.script.text_of(child) for child in variables.extend_path(node, "command_name")}
    sets = any(not _is_local(child) for child in variables.extend_path(node, "variable_assignment"))
    return names <= _SPEAKS and not sets


def call(
    reader: Reader,
    function: Function,
    name: str,
    words: Sequence[Word],
    assignments: tuple[tuple[str, Word], ...],
    where: Context,
) -> None:
    """The body of a function, read as its arguments have it."""
    reader.run.called.add(name)
    reader.run.calls += 1
    if name in reader.run.active or len(reader.run.active) >= NESTED_CALLS_MAX or reader.run.calls > CALLS_MAX:
        reader.variables.forget(function.sets)
        return
    given, before = reader.variables.arguments, reader.variables.snapshot()
    for prefixed, word in assignments:
        reader.variables.assign(prefixed, word)
    reader.variables.arguments = builtins.arguments(words)
    reader.run.active.append(name)
    reader.run.locals.append({})
    body = function.node.child_by_field_name("body")
    if body is not None:
        depth = where.depth + 1
        function.reader.walk(body, Context(depth, where.conditional, not where.conditional))
    reader.run.returned = False
    reader.variables.restore_each((prefixed for prefixed, _ in assignments), before)
    reader.variables.restore_each(*_split(reader.run.locals.pop()))
    reader.run.active.pop()
    reader.variables.arguments = given


def walk_uncalled(reader: Reader) -> None:
    """The functions that the script itself never calls, each where it is written."""
    reader.run.returned = reader.run.exited = False
    uncalled = [one for name, one in reader.run.functions.items() if one is not None and name not in reader.run.called]
    for one in reader.run.functions.values():
        reader.variables.distrust(one.sets if one is not None else ())
    for function in sorted(uncalled, key=lambda one: one.commands, reverse=True):
        if function.reader is reader:
            _walk_uncalled_body(reader, function)


def _walk_uncalled_body(reader: Reader, function: Function) -> None:
    commands, reader.run.commands = reader.run.commands, []
    reader.variables.restore(dict(function.before))
    body = function.node.child_by_field_name("body")
    reader.expansion.once = True
    reader.run.locals.append({})
    if body is not None:
        reader.walk(body, Context(conditional=True, certain=False))
    reader.run.locals.pop()
    reader.expansion.once = False
    commands[function.commands : function.commands] = reader.run.commands
    reader.run.commands = commands


def _is_local(assignment: tree_sitter.Node) -> bool:
    """Whether an assignment is of a name that is a function's own."""
    return (
        assignment.parent is not None and assignment.parent.text is not None and assignment.parent.text[:6] == b"local "
    )


def _split(kept: Mapping[str, variables.KnownValue | None]) -> tuple[list[str], dict[str, variables.KnownValue]]:
    return list(kept), {name: known for name, known in kept.items() if known is not None}
