"""The interface by which the parts of the evaluator use one another without importing one another."""

from __future__ import annotations

import ast
from collections.abc import Mapping, Sequence
from typing import Protocol

from gpulint.source.python.values import Class, Function, Given, Object, Plain, Point, Scope, Value


class Evaluator(Protocol):
    """Evaluates one program: `program.Program`."""

    words: Sequence[Given] | None
    environment: Mapping[str, Given]
    open_environment: bool
    known: Mapping[str, Plain]
    modules: dict[str, Scope]
    calls: list[Object]
    written: dict[str, Value]
    points: dict[tuple[object, ...], Point]

    def evaluate(self, node: ast.expr, scope: Scope) -> Value: ...

    def place(self, node: ast.AST, scope: Scope) -> object: ...

    def run(self, statements: Sequence[ast.stmt], scope: Scope) -> bool: ...

    def call(self, function: Value, arguments: list[Value], keywords: dict[str, Value], place: object) -> Value: ...

    def run_function(self, function: Function, arguments: list[Value], keywords: dict[str, Value]) -> Value: ...

    def make(self, made: Class, arguments: list[Value], keywords: dict[str, Value], place: object) -> Value: ...

    def record(self, found: Object) -> Object: ...

    def import_module(self, name: str, scope: Scope, level: int) -> Value: ...

    def read_attribute(self, value: Value, name: str, place: object) -> Value: ...

    def read_file(self, path: str, scope_path: str) -> Value | None: ...

    def replace_words(self, value: Value, place: object) -> None: ...

    def find_unstated(self, name: str) -> Given | None: ...

    def decide(self, point: Point) -> int | None: ...

    def spend(self) -> None: ...
