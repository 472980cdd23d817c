"""Translated text: what a shell gets, put together from parts of a file, each of which keeps its place."""

from __future__ import annotations

import bisect
from collections.abc import Sequence
from typing import NamedTuple

from gpulint.source import excess

CHARACTERS_MAX = 100_000
"""The most characters of one recipe, after its variables are filled in."""
RECIPES_MAX = 500
HOLE = "${__not_known}"
"""Stands for what only the tool that runs the recipe can fill in: to the shell reader it is a variable without a value."""

Part = tuple[str, int | None]
"""A text, and where it is written in the file; None if it is not written there as it is."""


class Translated(NamedTuple):
    """The text that a shell gets, and the place of each of its parts."""

    text: str
    starts: tuple[int, ...]
    places: tuple[tuple[int, int], ...]

    def locate(self, start: int, end: int) -> tuple[int, int]:
        """Return the span in the file of a span of the text.

        >>> built = Builder(0)
        >>> built.add("run ", None)
        >>> built.add("model", 40)
        >>> built.finish().locate(4, 9)
        (40, 45)
        """
        first, last = self._locate_character(start), self._locate_character(max(end - 1, start))
        return (first[0], last[1]) if first[0] < last[1] else first

    def _locate_character(self, offset: int) -> tuple[int, int]:
        part = max(bisect.bisect_right(self.starts, offset) - 1, 0)
        if not self.starts:
            return 0, 0
        begin, end = self.places[part]
        at = begin + offset - self.starts[part]
        return (at, at + 1) if at < end else (begin, end)


class Builder:
    """Puts a translated text together; what is not written in the file is at a place that stands for it."""

    def __init__(self, place: int) -> None:
        self._place = place
        self._parts: list[str] = []
        self._starts: list[int] = []
        self._places: list[tuple[int, int]] = []
        self._length = 0

    def add(self, text: str, start: int | None, end: int | None = None) -> None:
        """Add a text that is written at a place, or one that stands for what is written from `start` to `end`."""
        if not text or excess.is_over(
            self._length + len(text), CHARACTERS_MAX, "a recipe expands to more than {} characters"
        ):
            return
        self._parts.append(text)
        self._starts.append(self._length)
        if start is None:
            self._places.append((self._place, self._place + 1))
        else:
            self._place = start
            self._places.append((start, start + len(text) if end is None else end))
        self._length += len(text)

    def extend(self, parts: Sequence[Part]) -> None:
        for text, start in parts:
            self.add(text, start)

    def finish(self) -> Translated:
        return Translated("".join(self._parts), tuple(self._starts), tuple(self._places))


class Recipe(NamedTuple):
    """One target, recipe, service or process: its name, the span that names it, and its commands."""

    name: str
    span: tuple[int, int]
    commands: Translated
