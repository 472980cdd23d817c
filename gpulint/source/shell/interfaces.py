"""The interfaces by which the parts of the shell reader use one another without importing one another."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Protocol

import tree_sitter

from gpulint.source.shell.command import Piece, Span, Word
from gpulint.source.shell.run import Context, Run
from gpulint.source.shell.script import Script
from gpulint.source.shell.variables import Variables


class Expander(Protocol):
    """Expands the words of one script: `expansion.Expansion` for those that it uses itself."""

    script: Script
    variables: Variables
    once: bool
    assigns: bool

    def words(self, node: tree_sitter.Node) -> Iterator[Word]: ...

    def expand(self, node: tree_sitter.Node) -> Iterator[Word]: ...

    def value(self, node: tree_sitter.Node) -> Word: ...

    def here(self, redirect: tree_sitter.Node) -> Word | None: ...

    def pieces(self, node: tree_sitter.Node, quoted: bool) -> Iterator[Piece]: ...

    def literal(
        self, start: int, end: int, in_string: bool, heredoc: bool = False, splits: bool = False
    ) -> Iterator[Piece]: ...

    def variable(self, name: str, use: Span) -> tuple[Piece, ...]: ...

    def join(self, items: Sequence[Word], use: Span) -> tuple[Piece, ...]: ...

    def split(self, pieces: Sequence[Piece]) -> tuple[Piece, ...]: ...

    def arithmetic(self, node: tree_sitter.Node, start: int, end: int) -> int | None: ...


class Reader(Protocol):
    """Walks the statements of one script: `statements.ScriptReader` for those that it walks with."""

    script: Script
    run: Run
    variables: Variables

    @property
    def expansion(self) -> Expander: ...

    def walk(self, node: tree_sitter.Node, where: Context) -> None: ...

    def children(self, node: tree_sitter.Node, where: Context) -> None: ...

    def each(self, children: Sequence[tree_sitter.Node], where: Context) -> None: ...

    def open(self, script: Script) -> Reader: ...
