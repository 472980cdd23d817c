"""Variables: what is known of each name as a script is read from top to bottom."""

from __future__ import annotations

import collections
import functools
import re
from collections.abc import Iterable, Iterator, Mapping

import tree_sitter

from gpulint.shell.command import Word

VALUE_CHARACTERS_MAX = 65_536

Value = str | tuple[Word, ...] | None

_NAME = r"[A-Za-z_]\w*"


class Variables:
    """The values of one script's variables; None where a name is set to what cannot be known."""

    def __init__(self, environment: Mapping[str, str | None], tree: tree_sitter.Node) -> None:
        self.environment = environment
        self._tree = tree
        self._known: dict[str, Value] = {}
        self._set_by_functions: set[str] = set()

    def value(self, name: str, in_function: bool) -> tuple[str | None, str]:
        """The value of a variable, or why there is none; a function sees only what the script sets once."""
        why = f"the value of ${name} is not known"
        if not re.fullmatch(_NAME, name) or name in self._set_by_functions:
            return None, why
        times_set = self._times_set[name] if in_function else 0
        if times_set > 1:
            return None, why
        if name in self._known or times_set:
            value = self._known.get(name)
            return (value, why) if isinstance(value, str) else (None, why)
        return self.environment.get(name), why

    def array(self, name: str) -> tuple[Word, ...] | None:
        value = self._known.get(name)
        return value if isinstance(value, tuple) else None

    def is_set(self, name: str) -> bool:
        return name in self._known or name in self.environment or name in self._set_by_functions

    def assign(self, name: str, value: Value) -> None:
        too_long = isinstance(value, str) and len(value) > VALUE_CHARACTERS_MAX
        self._known[name] = None if too_long else value

    def append(self, name: str, value: Value) -> None:
        self.assign(name, _appended(self._known.get(name), value))

    def forget(self, names: Iterable[str]) -> None:
        for name in tuple(names):
            self._known[name] = None

    def forget_all(self) -> None:
        self.forget([*self._known, *self.environment])

    def distrust(self, names: Iterable[str]) -> None:
        """Names that a function sets: nobody knows when it is called."""
        self._set_by_functions.update(names)

    def snapshot(self) -> dict[str, Value]:
        return dict(self._known)

    def restore(self, before: dict[str, Value]) -> None:
        self._known = before

    def changed(self, before: Mapping[str, Value]) -> set[str]:
        return {name for name, value in self._known.items() if name not in before or before[name] != value}

    @functools.cached_property
    def _times_set(self) -> collections.Counter[str]:
        return collections.Counter(assigned(self._tree))


def assigned(node: tree_sitter.Node) -> Iterator[str]:
    """The names that assignments anywhere below set."""
    open_nodes = [node]
    while open_nodes:
        child = open_nodes.pop()
        open_nodes.extend(child.named_children)
        name = child.child_by_field_name("name") if child.type == "variable_assignment" else None
        if name is not None and name.text is not None:
            yield name.text.decode("utf-8", "replace")


def _appended(old: Value, new: Value) -> Value:
    if isinstance(old, str) and isinstance(new, str):
        return old + new
    return old + new if isinstance(old, tuple) and isinstance(new, tuple) else None
