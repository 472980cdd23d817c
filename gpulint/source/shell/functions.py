"""Functions: read where they are called, as their arguments have them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import tree_sitter

from gpulint.source import excess
from gpulint.source.shell import builtins, variables
from gpulint.source.shell.command import Word
from gpulint.source.shell.interfaces import Reader
from gpulint.source.shell.run import Context, Function

CALLS_MAX = 2_000
NESTED_CALLS_MAX = 16

_SPEAKS = frozenset(
    {"echo", "printf", "cat", "exit", "return", "true", ":", "tput", "sleep", "date", "shift", "logger"}
)


def define(reader: Reader, node: tree_sitter.Node) -> None:
    named = node.child_by_field_name("name")
    name = reader.script.text_of(named) if named is not None else ""
    known = name in reader.run.functions
    sets = frozenset(variables.read_assignment(node))
    before = reader.variables.snapshot()
    function = Function(
        reader.script, reader.walk, node, sets, _only_prints(reader, node), before, len(reader.run.commands)
    )
    earlier = reader.run.functions.get(name)
    reader.run.functions[name] = None if known else function
    if known:
        reader.variables.distrust(sets | (earlier.sets if earlier is not None else frozenset()))


def _only_prints(reader: Reader, node: tree_sitter.Node) -> bool:
    """True if a function only prints messages and writes no script, so that calls need not be followed."""
    names = {reader.script.text_of(child) for child in variables.extend_path(node, "command_name")}
    sets = any(not _is_local(child) for child in variables.extend_path(node, "variable_assignment"))
    return names <= _SPEAKS and not sets and b"\n#!" not in (node.text or b"")


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
    if name in reader.run.active or _is_too_much(reader):
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
        function.walk(body, Context(depth, where.conditional, not where.conditional))
    reader.run.returned = False
    reader.variables.restore_each((prefixed for prefixed, _ in assignments), before)
    reader.variables.restore_each(*_split(reader.run.locals.pop()))
    reader.run.active.pop()
    reader.variables.arguments = given


def _is_too_much(reader: Reader) -> bool:
    """Whether a further call exceeds a limit."""
    nested = len(reader.run.active) + 1
    return excess.is_over(
        nested, NESTED_CALLS_MAX, "functions of a script call one another more than {} deep"
    ) or excess.is_over(reader.run.calls, CALLS_MAX, "a script calls its functions more than {} times")


def walk_uncalled(reader: Reader) -> None:
    """The functions that the script itself never calls, each where it is written."""
    reader.run.returned = reader.run.exited = False
    uncalled = [one for name, one in reader.run.functions.items() if one is not None and name not in reader.run.called]
    for one in reader.run.functions.values():
        reader.variables.distrust(one.sets if one is not None else ())
    for function in sorted(uncalled, key=lambda one: one.commands, reverse=True):
        if function.script is reader.script:
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
