"""Evaluation: what a chart's template writes for given values, in parts that keep their locations.

Nothing is started, read or imported. Steps, output and nesting are bounded. A function that is not known, or whose
arguments are open, gives an open value; what an open condition decides leaves a gap.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import NamedTuple

from gpulint.adapters.charts.templates import syntax, value
from gpulint.adapters.charts.templates.functions import FUNCTIONS, LAZY, LINES
from gpulint.adapters.charts.templates.syntax import (
    Branch,
    Call,
    Command,
    Dot,
    Field,
    Function,
    Jump,
    Literal,
    Output,
    Pipeline,
    Text,
    Variable,
)
from gpulint.adapters.charts.templates.value import GAP, OPEN, UNKNOWN, Part, Value
from gpulint.workload import Origin

STEPS_MAX = 400_000
OUTPUT_MAX = 2_000_000
CALLS_MAX = 40
CHANGING = frozenset({"set", "unset", "mergeOverwrite", "mustMergeOverwrite", "merge", "mustMerge"})
"""Functions that change one of their arguments."""


class LimitExceeded(Exception):
    """A template that takes more work than gpulint does."""


class NotInstallable(Exception):
    """A chart that ends the rendering itself (`fail`), because values are missing or contradict each other."""


class Written(NamedTuple):
    """Text that a template writes, with the location of its value and the span of the template that writes it.

    `start` is -1 for text of another file.
    """

    text: str
    origin: Origin | None
    start: int
    end: int
    literal: bool


class _Leave(Exception):
    """`break` or `continue`."""

    def __init__(self, kind: str) -> None:
        self.kind = kind


class Scope:
    """Variables of a block and those around it."""

    def __init__(self, above: Scope | None = None) -> None:
        self.own: dict[str, Value] = {}
        self.above = above

    def get(self, name: str) -> Value:
        """Return a variable; open if there is none."""
        scope: Scope | None = self
        while scope is not None:
            if name in scope.own:
                return scope.own[name]
            scope = scope.above
        return UNKNOWN

    def assign(self, name: str, found: Value) -> None:
        """Set the nearest variable of a name."""
        scope: Scope | None = self
        while scope is not None:
            if name in scope.own:
                scope.own[name] = found
                return
            scope = scope.above


class Evaluator:
    """Evaluates the templates of one chart and its subcharts."""

    def __init__(self, defined: Mapping[str, Sequence[object]]) -> None:
        self._defined = dict(defined)
        self._steps = 0
        self._size = 0
        self._calls = 0

    def render(self, nodes: Sequence[object], context: Value) -> list[Written]:
        """Return what a file writes."""
        scope = Scope()
        scope.own["$"] = context
        out: list[Written] = []
        try:
            self._write(nodes, context, scope, out)
        except _Leave:
            raise LimitExceeded("a chart leaves a loop that it is not in") from None
        except (ValueError, RecursionError) as error:
            raise LimitExceeded(str(error)) from None
        return out

    # ---- nodes

    def _step(self, number: int = 1) -> None:
        self._steps += number
        if self._steps > STEPS_MAX:
            raise LimitExceeded(f"a chart takes more than {STEPS_MAX:,} steps to render")

    def _write(self, nodes: Sequence[object], dot: Value, scope: Scope, out: list[Written]) -> None:
        for node in nodes:
            self._step()
            if isinstance(node, Text):
                self._add(out, Written(node.text, None, node.start, node.start + len(node.text), True))
            elif isinstance(node, Output):
                self._write_output(node, dot, scope, out)
            elif isinstance(node, Branch):
                self._write_branch(node, dot, scope, out)
            elif isinstance(node, Call):
                passed = self._pipeline(node.pipeline, dot, scope) if node.pipeline else Value()
                self._add_parts(out, value.list_parts(self._call(node.name, passed)), node.start, node.end)
            elif isinstance(node, Jump):
                raise _Leave(node.kind)

    def _add(self, out: list[Written], written: Written) -> None:
        self._size += len(written.text)
        if self._size > OUTPUT_MAX:
            raise LimitExceeded(f"a chart renders to more than {OUTPUT_MAX:,} characters")
        out.append(written)

    def _add_parts(self, out: list[Written], parts: Sequence[Part], start: int, end: int) -> None:
        for part in parts:
            self._add(out, Written(part.text, part.origin, start, end, False))
        if not parts:
            self._add(out, Written("", None, start, end, False))

    def _write_output(self, node: Output, dot: Value, scope: Scope, out: list[Written]) -> None:
        found = self._pipeline(node.pipeline, dot, scope)
        if node.pipeline.variables:
            self._add_parts(out, (), node.start, node.end)
            return
        parts = value.list_parts(found)
        if found.is_open and _writes_lines(node.pipeline):
            parts = (Part(GAP),)
        self._add_parts(out, parts, node.start, node.end)

    def _write_branch(self, node: Branch, dot: Value, scope: Scope, out: list[Written]) -> None:
        self._add_parts(out, (), node.start, node.end)
        inner = Scope(scope)
        found = self._pipeline(node.pipeline, dot, inner, assign=node.kind != "range")
        if node.kind == "range":
            self._write_range(node, found, dot, inner, out)
            return
        holds = value.truth(found)
        if holds is None:
            self._leave_open(node, scope, out)
        elif holds:
            self._write(node.body, found if node.kind == "with" else dot, Scope(inner), out)
        else:
            self._write(node.otherwise, dot, Scope(inner), out)

    def _write_range(self, node: Branch, found: Value, dot: Value, scope: Scope, out: list[Written]) -> None:
        pairs = _list_pairs(found)
        if pairs is None:
            self._leave_open(node, scope, out)
            return
        if not pairs:
            self._write(node.otherwise, dot, Scope(scope), out)
        for key, item in pairs:
            inner = Scope(scope)
            names = node.pipeline.variables
            if len(names) > 1:
                inner.own[names[0]] = key
            if names:
                inner.own[names[-1]] = item
            try:
                self._write(node.body, item, inner, out)
            except _Leave as leave:
                if leave.kind == "break":
                    return

    def _leave_open(self, node: Branch, scope: Scope, out: list[Written]) -> None:
        """Leave a gap where it is open what a block writes, and the variables open that it may set."""
        for inner in _walk((*node.body, *node.otherwise)):
            if isinstance(inner, Output):
                for name in inner.pipeline.variables if not inner.pipeline.declares else ():
                    scope.assign(name, UNKNOWN)
            if isinstance(inner, Jump) or any(name in CHANGING for name in _list_functions(inner)):
                raise LimitExceeded("an open condition decides what later lines write")
        first = next((text for text in node.body if isinstance(text, Text)), None)
        if first is not None and "\n" in first.text:
            after = first.text.lstrip("\n")
            indent = " " * (len(after) - len(after.lstrip(" ")))
            self._add(out, Written(f"\n{indent}{GAP}", None, node.start, node.end, False))
        elif any(isinstance(inner, Text | Output | Call | Branch) for inner in node.body):
            self._add(out, Written(OPEN, None, node.start, node.end, False))

    # ---- expressions

    def _pipeline(self, pipeline: Pipeline, dot: Value, scope: Scope, assign: bool = True) -> Value:
        found: Value | None = None
        for command in pipeline.commands:
            found = self._command(command, dot, scope, found)
        result = found or Value()
        if assign and pipeline.variables:
            name = pipeline.variables[-1]
            if pipeline.declares:
                scope.own[name] = result
            else:
                scope.assign(name, result)
        return result

    def _command(self, command: Command, dot: Value, scope: Scope, piped: Value | None) -> Value:
        self._step()
        first, *rest = command.operands
        if isinstance(first, Function):
            return self._apply(first.name, rest, dot, scope, piped)
        found = self._operand(first, dot, scope)
        return UNKNOWN if rest or piped is not None else found

    def _operand(self, operand: object, dot: Value, scope: Scope) -> Value:
        self._step()
        if isinstance(operand, Literal):
            return Value(operand.data)
        if isinstance(operand, Dot):
            return dot
        if isinstance(operand, Variable):
            return scope.get(operand.name)
        if isinstance(operand, Pipeline):
            return self._pipeline(operand, dot, scope)
        if isinstance(operand, Function):
            return self._apply(operand.name, [], dot, scope, None)
        if isinstance(operand, Field):
            found = self._operand(operand.base, dot, scope)
            for name in operand.names:
                found = _descend(found, name)
            return found
        return UNKNOWN

    def _apply(self, name: str, operands: Sequence[object], dot: Value, scope: Scope, piped: Value | None) -> Value:
        if name in LAZY:
            return self._apply_lazily(name, operands, dot, scope, piped)
        arguments = [self._operand(operand, dot, scope) for operand in operands]
        if piped is not None:
            arguments.append(piped)
        if name in ("include", "tpl"):
            return self._include(name, arguments)
        if name == "fail":
            raise NotInstallable(value.word(arguments[0]) if arguments else "")
        function = FUNCTIONS.get(name)
        if function is None:
            return UNKNOWN
        self._step(sum(map(_measure, arguments)))
        try:
            found = function(*arguments)
        except (TypeError, ValueError, ArithmeticError, LookupError, AttributeError, RecursionError):
            return UNKNOWN
        self._step(_measure(found))
        return found

    def _apply_lazily(
        self, name: str, operands: Sequence[object], dot: Value, scope: Scope, piped: Value | None
    ) -> Value:
        """Return the first operand that decides `and` or `or`; the later ones are not evaluated."""
        found = UNKNOWN
        stops = name == "or"
        values: Iterator[Value] = (self._operand(operand, dot, scope) for operand in operands)
        for found in values if piped is None else _chain(values, piped):
            holds = value.truth(found)
            if holds is None:
                return self._settle_open(stops, found, operands, dot, scope, piped)
            if holds is stops:
                return found
        return found

    def _settle_open(
        self, stops: bool, found: Value, operands: Sequence[object], dot: Value, scope: Scope, piped: Value | None
    ) -> Value:
        """Return a later operand that decides the truth of `and` or `or` alone; open if there is none."""
        later = [self._operand(operand, dot, scope) for operand in operands] + ([piped] if piped is not None else [])
        decided = next((each for each in later if value.truth(each) is stops), None)
        if decided is None:
            return UNKNOWN
        return Value(stops) if not stops or isinstance(decided.data, bool) else UNKNOWN

    def _include(self, name: str, arguments: Sequence[Value]) -> Value:
        if len(arguments) != 2 or value.is_open(arguments[0]):
            return UNKNOWN
        if name == "include":
            return self._call(value.word(arguments[0]), arguments[1])
        text = value.text(arguments[0])
        if "{{" not in str(text.data):
            return text
        try:
            template = syntax.parse(str(text.data))
        except (syntax.SyntaxProblem, RecursionError):
            return UNKNOWN
        return self._run(template.nodes, arguments[1])

    def _call(self, name: str, passed: Value) -> Value:
        nodes = self._defined.get(name)
        return UNKNOWN if nodes is None else self._run(nodes, passed)

    def _run(self, nodes: Sequence[object], passed: Value) -> Value:
        self._calls += 1
        if self._calls > CALLS_MAX:
            raise LimitExceeded(f"templates include each other more than {CALLS_MAX} levels deep")
        scope = Scope()
        scope.own["$"] = passed
        out: list[Written] = []
        self._write(nodes, passed, scope, out)
        self._calls -= 1
        try:
            return value.join(Part(written.text, written.origin) for written in out)
        except ValueError as error:
            raise LimitExceeded(str(error)) from None


def _chain(values: Iterator[Value], last: Value) -> Iterator[Value]:
    yield from values
    yield last


def _descend(found: Value, name: str) -> Value:
    """Return a field. What lies below null is open: Helm stops there, so that somebody states it."""
    if found.is_open or not isinstance(found.data, dict):
        return UNKNOWN
    missing = found.origin and found.origin._replace(path=(*found.origin.path, name))
    return found.data.get(name) or Value(origin=missing)


def _list_pairs(found: Value) -> list[tuple[Value, Value]] | None:
    if found.is_open or isinstance(found.data, str | float):
        return None
    if isinstance(found.data, dict):
        return [(_locate_key(key, item), item) for key, item in sorted(found.data.items())]
    if isinstance(found.data, list):
        return [(Value(at), item) for at, item in enumerate(found.data)]
    if isinstance(found.data, int) and not isinstance(found.data, bool):
        return [(Value(at), Value(at)) for at in range(min(found.data, 1000))] if found.data <= 1000 else None
    return [] if found.data is None else None


def _locate_key(key: str, item: Value) -> Value:
    return Value(key, item.origin._replace(key=True) if item.origin is not None and not item.origin.span else None)


def _writes_lines(pipeline: Pipeline) -> bool:
    """Return whether a pipeline writes whole lines, so that nothing may stand for its output."""
    last = pipeline.commands[-1].operands[0]
    return isinstance(last, Function) and last.name in LINES


def _walk(nodes: Sequence[object]) -> Iterator[object]:
    for node in nodes:
        yield node
        if isinstance(node, Branch):
            yield from _walk((*node.body, *node.otherwise))


def _list_functions(node: object) -> Iterator[str]:
    """Yield the functions that a node or an expression calls."""
    if isinstance(node, Function):
        yield node.name
    elif isinstance(node, Output | Branch | Call):
        yield from _list_functions(node.pipeline)
    elif isinstance(node, Pipeline):
        for command in node.commands:
            for operand in command.operands:
                yield from _list_functions(operand)
    elif isinstance(node, Field):
        yield from _list_functions(node.base)


def _measure(found: Value) -> int:
    """Return the work that reading a value takes."""
    length = len(found.data) if isinstance(found.data, str | dict | list) else 0
    return length // 64 + len(found.parts) // 8
