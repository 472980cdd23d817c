"""Choices: the items of a `case` or `for` of which the caller of a script, or a loop, takes one at a time."""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

from gpulint.source import excess
from gpulint.source.shell.command import Span

ITEMS_MAX = 100
"""The most items of one choice that are read as presets."""
CHOICES_MAX = 20
"""The most choices of one script that are read as presets."""

Key = tuple[str, int]


class Choice(NamedTuple):
    """A `case` over a value that the caller gives, or a `for` over known words: the label and the place of each item.

    `source` is the sourced file that holds it, if any, and `start` its first character there.
    """

    source: str
    start: int
    labels: tuple[str, ...]
    places: tuple[Span, ...]

    @property
    def key(self) -> Key:
        return self.source, self.start


class Choices:
    """The choices found while a script is read, and the item that is taken of each one that is settled."""

    def __init__(self, settled: Mapping[Key, int] | None = None) -> None:
        self.settled: Mapping[Key, int] = settled or {}
        self.found: dict[Key, Choice] = {}

    def add(self, choice: Choice) -> None:
        """Note a choice of at least two items."""
        if len(choice.labels) < 2 or choice.key in self.found:
            return
        if excess.is_over(len(choice.labels), ITEMS_MAX, "a choice of a script has more than {} items"):
            return
        if not excess.is_over(len(self.found) + 1, CHOICES_MAX, "a script has more than {} choices"):
            self.found[choice.key] = choice
