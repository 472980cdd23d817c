"""Interpolation: a compose file's values with `$NAME` and `${NAME:-default}` filled in.

Every character keeps its location (compose-spec, 12-interpolation.md). A variable that no file of
the repository sets is set by the caller: it is unknown, not empty.
"""

from __future__ import annotations

import itertools
import re
from collections.abc import Iterator, Mapping, Sequence
from typing import NamedTuple

from gpulint.source import excess

DEPTH_MAX = 20
CHARACTERS_MAX = 262_144

_DOLLAR = re.compile(r"\$(?:(?P<dollar>\$)|(?P<bare>[A-Za-z_]\w*)|\{(?P<braced>[A-Za-z_]\w*)(?P<operator>:?[-?+])?)")


class Hole(NamedTuple):
    """The position in a text of a reference to a variable that no file sets."""

    start: int
    end: int
    name: str


class Place(NamedTuple):
    """The location of a character: its own, and that of the outermost reference it comes from."""

    start: int
    end: int
    reference: tuple[int, int] | None = None


class Text(NamedTuple):
    """A value after interpolation, with the location of each character and its open variables."""

    text: str
    places: Sequence[Place]
    holes: tuple[Hole, ...] = ()

    def span(self, start: int, end: int) -> tuple[int, int]:
        """Return the written characters that correspond to these.

        They are inside one reference, or include all references that they overlap.
        """
        if not self.text:
            return 0, 0
        if start >= len(self.text):
            return self.places[-1].end, self.places[-1].end
        first, last = self.places[start], self.places[max(start, min(end, len(self.text)) - 1)]
        if first.reference == last.reference:
            return first.start, max(first.start, last.end)
        return (first.reference or first)[0], (last.reference or last)[1]

    def part(self, places: Sequence[int], text: str) -> Text:
        """Return a text made of some of the characters, one for each place."""
        within = (hole for hole in self.holes if places and places[0] <= hole.start <= places[-1])
        holes = tuple(
            Hole(at, at + hole.end - hole.start, hole.name)
            for hole in within
            if (at := _locate_hole(places, hole)) >= 0
        )
        return Text(text, [self.places[at] for at in places], holes)


def fill(text: str, variables: Mapping[str, str | None]) -> Text:
    """Return a value with its references filled in.

    A variable without a value stays open unless it has a default.
    """
    characters: list[str] = []
    places: list[Place] = []
    holes: list[Hole] = []
    for piece in _split_pieces(text, 0, len(text), variables, None):
        length = len(characters) + len(piece.text)
        if excess.is_over(length, CHARACTERS_MAX, "a value has more than {} characters with its variables"):
            break
        if piece.unknown:
            holes.append(Hole(len(characters), len(characters) + len(piece.text), piece.unknown))
        characters.extend(piece.text)
        places.extend(piece.places())
    return Text("".join(characters), places, tuple(holes))


def find_variable(written: str, text: Text) -> str:
    """Return the only variable whose value is a part of a text; empty if there is none, or several."""
    found = {place.reference for place in text.places if place.reference is not None}
    if len(found) != 1:
        return ""
    ((start, end),) = found
    match = _DOLLAR.match(written, start)
    is_whole = any((place.start, place.end) == (start, end) for place in text.places)
    return (match["bare"] or match["braced"] or "") if match is not None and is_whole else ""


def _locate_hole(places: Sequence[int], hole: Hole) -> int:
    try:
        return places.index(hole.start)
    except ValueError:
        return -1


class _Piece(NamedTuple):
    """A run of characters, either as written or replacing a whole reference.

    The reference may be to an unknown variable.
    """

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


def _split_pieces(
    text: str,
    start: int,
    end: int,
    variables: Mapping[str, str | None],
    reference: tuple[int, int] | None,
    depth: int = 0,
) -> Iterator[_Piece]:
    """Yield the runs between two characters.

    `reference` is the outermost reference that they are the default of.
    """
    at = start
    while match := _DOLLAR.search(text, at, end):
        yield _Piece(text[at : match.start()], at, match.start(), reference)
        at = match.end() if match["braced"] is None else _find_closing(text, match.end(), end)
        if at < 0 or excess.is_over(depth, DEPTH_MAX, "variables in a value nest deeper than {} levels"):
            yield _Piece(text[match.start() : match.end()], match.start(), match.end(), reference)
            at = match.end()
        else:
            yield from _resolve_reference(text, match, at, variables, reference or (match.start(), at), depth)
    yield _Piece(text[at:end], at, end, reference)


def _find_closing(text: str, at: int, end: int) -> int:
    """Return the position after the brace that closes the one open before `at`; -1 if none does."""
    open_braces = 1
    for place in range(at, end):
        if text[place] == "{" and text[place - 1] == "$":
            open_braces += 1
        elif text[place] == "}":
            open_braces -= 1
            if not open_braces:
                return place + 1
    return -1


def _resolve_reference(
    text: str,
    match: re.Match[str],
    end: int,
    variables: Mapping[str, str | None],
    reference: tuple[int, int],
    depth: int,
) -> Iterator[_Piece]:
    """Yield what one reference is replaced by, which may be its default."""
    start = match.start()
    if match["dollar"]:
        yield _Piece("$", start, end, None if reference == (start, end) else reference, written=False)
        return
    name, operator = match["bare"] or match["braced"], match["operator"] or ""
    given = variables.get(name)
    stated = bool(given) if operator.startswith(":") else given is not None
    inner = _split_pieces(text, match.end(), end - 1, variables, reference, depth + 1)
    if operator.endswith("+"):
        yield from inner if stated else ()
    elif stated:
        yield _Piece(str(given), start, end, reference, written=False)
    elif operator.endswith("-"):
        yield from inner
    else:
        yield _Piece(f"${{{name}}}", start, end, reference, written=False, unknown=name)
