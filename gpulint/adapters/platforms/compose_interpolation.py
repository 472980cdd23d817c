"""Interpolation: the values of a compose file with its `$NAME` and `${NAME:-default}` filled in, every character placed.

compose-spec, 12-interpolation.md. What no file of the repository sets is the caller's to set: it is unknown, not empty.
"""

from __future__ import annotations

import itertools
import re
from collections.abc import Iterator, Mapping, Sequence
from typing import NamedTuple

DEPTH_MAX = 20
CHARACTERS_MAX = 262_144

_DOLLAR = re.compile(r"\$(?:(?P<dollar>\$)|(?P<bare>[A-Za-z_]\w*)|\{(?P<braced>[A-Za-z_]\w*)(?P<operator>:?[-?+])?)")


class Hole(NamedTuple):
    """Where a reference to a variable that nothing states is left in a text."""

    start: int
    end: int
    name: str


class Place(NamedTuple):
    """Where a character is written: itself, and the whole of the outermost reference that it comes from."""

    start: int
    end: int
    reference: tuple[int, int] | None = None


class Text(NamedTuple):
    """A value after interpolation: where each of its characters stands in the value as written, and what stayed open."""

    text: str
    places: Sequence[Place]
    holes: tuple[Hole, ...] = ()

    def span(self, start: int, end: int) -> tuple[int, int]:
        """The characters as written that stand for these: inside one reference, or with all of those they reach into."""
        if not self.text:
            return 0, 0
        if start >= len(self.text):
            return self.places[-1].end, self.places[-1].end
        first, last = self.places[start], self.places[max(start, min(end, len(self.text)) - 1)]
        if first.reference == last.reference:
            return first.start, max(first.start, last.end)
        return (first.reference or first)[0], (last.reference or last)[1]

    def part(self, places: Sequence[int], text: str) -> Text:
        """A text made of some of the characters, one for each place."""
        within = (hole for hole in self.holes if places and places[0] <= hole.start <= places[-1])
        holes = tuple(
            Hole(at, at + hole.end - hole.start, hole.name) for hole in within if (at := _at(places, hole)) >= 0
        )
        return Text(text, [self.places[at] for at in places], holes)


def filled(text: str, variables: Mapping[str, str | None]) -> Text:
    """A value with its references filled in; a variable without a value here is left open unless it has a default."""
    characters: list[str] = []
    places: list[Place] = []
    holes: list[Hole] = []
    for piece in _pieces(text, 0, len(text), variables, None):
        if len(characters) + len(piece.text) > CHARACTERS_MAX:
            break
        if piece.unknown:
            holes.append(Hole(len(characters), len(characters) + len(piece.text), piece.unknown))
        characters.extend(piece.text)
        places.extend(piece.places())
    return Text("".join(characters), places, tuple(holes))


def _at(places: Sequence[int], hole: Hole) -> int:
    try:
        return places.index(hole.start)
    except ValueError:
        return -1


class _Piece(NamedTuple):
    """A run of characters: as written, or standing for all of a reference, which may be to an unknown variable."""

    text: str
    start: int
    end: int
    reference: tuple[int, int] | None = None
    written: bool = True
    unknown: str = ""

    def places(self) -> Iterator[Place]:
        if not self.written:
            return itertools.repeat(Place(self.start, self.end, self.reference), len(self.text))
        return (Place(self.start + at, self.start + at + 1, self.reference) for at in range(len(self.text)))


def _pieces(
    text: str,
    start: int,
    end: int,
    variables: Mapping[str, str | None],
    reference: tuple[int, int] | None,
    depth: int = 0,
) -> Iterator[_Piece]:
    """The runs from one character to another; `reference` is the outermost one that they are the default of."""
    at = start
    while match := _DOLLAR.search(text, at, end):
        yield _Piece(text[at : match.start()], at, match.start(), reference)
        at = match.end() if match["braced"] is None else _closing(text, match.end(), end)
        if at < 0 or depth > DEPTH_MAX:
            yield _Piece(text[match.start() : match.end()], match.start(), match.end(), reference)
            at = match.end()
        else:
            yield from _value(text, match, at, variables, reference or (match.start(), at), depth)
    yield _Piece(text[at:end], at, end, reference)


def _closing(text: str, at: int, end: int) -> int:
    """The place behind the brace that closes the one open before a place; -1 where none does."""
    open_braces = 1
    for place in range(at, end):
        if text[place] == "{" and text[place - 1] == "$":
            open_braces += 1
        elif text[place] == "}":
            open_braces -= 1
            if not open_braces:
                return place + 1
    return -1


def _value(
    text: str,
    match: re.Match[str],
    end: int,
    variables: Mapping[str, str | None],
    reference: tuple[int, int],
    depth: int,
) -> Iterator[_Piece]:
    """What one reference stands for; its default where that decides."""
    start = match.start()
    if match["dollar"]:
        yield _Piece("$", start, end, None if reference == (start, end) else reference, written=False)
        return
    name, operator = match["bare"] or match["braced"], match["operator"] or ""
    given = variables.get(name)
    stated = bool(given) if operator.startswith(":") else given is not None
    inner = _pieces(text, match.end(), end - 1, variables, reference, depth + 1)
    if operator.endswith("+"):
        yield from inner if stated else ()
    elif stated:
        yield _Piece(str(given), start, end, reference, written=False)
    elif operator.endswith("-"):
        yield from inner
    else:
        yield _Piece(f"${{{name}}}", start, end, reference, written=False, unknown=name)
