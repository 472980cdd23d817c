"""State shared by the readers of a script and of the files that it sources."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import tree_sitter

from gpulint.source.shell.budget import Budget
from gpulint.source.shell.choices import Choices
from gpulint.source.shell.command import Command
from gpulint.source.shell.script import Script
from gpulint.source.shell.variables import KnownValue, Variables

Sourced = Callable[[str], tuple[str, str] | None]
Listed = Callable[[str], tuple[str, ...]]
"""Gives the paths of the files that a path with a hole for one name may be."""


class Context(NamedTuple):
    """The context of a statement. `certain` means that it runs whenever its function or file does."""

    depth: int = 0
    conditional: bool = False
    certain: bool = True
    broken: bool = False


class Function(NamedTuple):
    """A function: its script and how that is walked, what it sets, the variables and the number of
    commands at that time.
    """

    script: Script
    walk: Callable[[tree_sitter.Node, Context], None]
    node: tree_sitter.Node
    sets: frozenset[str]
    speaks_only: bool
    before: dict[str, KnownValue]
    commands: int


class Run:
    """State shared by the readers of a script and of the files that it sources."""

    def __init__(
        self,
        known: Variables,
        sourced: Sourced | None,
        choices: Choices | None = None,
        listed: Listed | None = None,
    ) -> None:
        self.variables = known
        self.sourced = sourced
        self.listed = listed
        self.budget = Budget()
        self.choices = choices
        self.commands: list[Command] = []
        self.functions: dict[str, Function | None] = {}
        self.called: set[str] = set()
        self.active: list[str] = []
        self.locals: list[dict[str, KnownValue | None]] = []
        self.files: list[str] = []
        self.opened = 0
        self.calls = 0
        self.lists = 0
        self.loops = 0
        self.uncertain: dict[str, list[KnownValue]] = {}
        self.certain: dict[str, KnownValue] = {}
        self.returned = False
        self.exited = False

    def exists(self, path: str) -> bool:
        return self.sourced is not None and self.sourced(path) is not None
